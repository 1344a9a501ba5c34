// The check as a whole: passes, grouping, --first, --all.

#include "check/atomicity/atomicity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/atomicity/oracle.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Outcome {
  CheckResult result;
  int passes = 0;
};

Outcome run(SmallTrace& trace, const Options& options) {
  Outcome outcome;
  const std::unique_ptr<Check> check = make_atomicity(options);
  bool again = true;
  while (again) {
    ++outcome.passes;
    constexpr std::size_t kBatch = 5;  // so that every pass crosses batches
    const std::span<Event> events = trace.events;
    for (std::size_t i = 0; i < events.size() && !check->satisfied(); i += kBatch) {
      const std::size_t count = std::min(kBatch, events.size() - i);
      check->take(Batch{events.subspan(i, count), i + 1}, trace.names);
    }
    again = check->end_of_pass(trace.names);
  }
  outcome.result = check->result();
  return outcome;
}

std::vector<EventNumber> blocks(const CheckResult& result) {
  std::vector<EventNumber> numbers;
  for (const Finding& finding : result.findings) numbers.push_back(finding.block);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

SmallTrace twice_the_same() {
  return from_std(R"(
    T1|begin(get)|a.cc:1
    T1|r(x)|a.cc:2
    T2|w(x)|a.cc:9
    T1|r(x)|a.cc:3
    T1|end()|a.cc:4
    T1|begin(get)|a.cc:1
    T1|r(x)|a.cc:2
    T2|w(x)|a.cc:9
    T1|r(x)|a.cc:3
    T1|end()|a.cc:4)");
}

TEST(Atomicity, CleanTracesAreReadOnce) {
  SmallTrace trace = from_std("T1|begin()\nT1|w(x)\nT1|end()\nT2|w(x)\n");
  const Outcome clean = run(trace, {});
  EXPECT_EQ(clean.passes, 1);
  EXPECT_EQ(clean.result.verdict, Verdict::kClean);
  EXPECT_EQ(clean.result.engine, "reach");
}

TEST(Atomicity, GroupsByTheSitesOfTheCycle) {
  SmallTrace trace = twice_the_same();
  const CheckResult result = run(trace, {}).result;
  EXPECT_EQ(result.verdict, Verdict::kViolated);
  ASSERT_THAT(result.findings, SizeIs(1));
  EXPECT_EQ(result.findings[0].count, 2U);
  EXPECT_EQ(result.findings[0].event, 4U);
  EXPECT_THAT(result.findings[0].cycle, ElementsAre(Edge{2, 3}, Edge{3, 4}));
  EXPECT_THAT(result.findings[0].witnesses, SizeIs(4));
}

TEST(Atomicity, AllListsEveryBlock) {
  SmallTrace trace = twice_the_same();
  Options options;
  options.all = true;
  EXPECT_THAT(blocks(run(trace, options).result), ElementsAre(1, 6));
}

TEST(Atomicity, FirstLooksNoFurther) {
  SmallTrace trace = from_std(R"(
    T1|begin()|a
    T1|r(x)|b
    T2|w(x)|c
    T1|r(x)|d
    T1|end()|e
    T1|begin()|f
    T1|r(y)|g
    T2|w(y)|h
    T1|r(y)|i
    T1|end()|j)");
  Options options;
  options.first = true;
  const CheckResult result = run(trace, options).result;
  EXPECT_THAT(blocks(result), ElementsAre(1));
  EXPECT_THAT(blocks(run(trace, {}).result), ElementsAre(1, 6));
}

TEST(Atomicity, EveryEngineSeesCyclesOfBlocksThatNeverEnd) {
  SmallTrace trace = from_std(R"(
    T1|begin()
    T2|begin()
    T1|w(x)
    T2|w(y)
    T1|r(y)
    T2|r(x))");
  for (const std::string_view engine : atomicity_engines()) {
    Options options;
    options.engine = engine;
    EXPECT_THAT(blocks(run(trace, options).result), ElementsAre(1, 2)) << engine;
  }
}

TEST(Atomicity, AerodromeSaysWhenThereAreTooManyThreads) {
  SmallTrace trace;
  for (std::uint32_t t = 0; t < 17'000; ++t) {
    trace.events.push_back(
        {.thread = ThreadId(t), .target = 0, .site = {}, .kind = EventKind::kRead});
  }
  Options options;
  options.engine = "aerodrome";
  const CheckResult result = run(trace, options).result;
  EXPECT_EQ(result.verdict, Verdict::kUndecided);
  EXPECT_THAT(result.notes, ElementsAre(::testing::HasSubstr("the default, reach, can")));
  EXPECT_EQ(run(trace, {}).result.verdict, Verdict::kClean);
}

TEST(Atomicity, EveryEngineShowsWhatTheOracleDemands) {
  for (std::uint64_t seed = 50'000; seed < 51'000; ++seed) {
    SmallTrace trace = random_trace(seed);
    const OracleResult expected = oracle(trace.events);
    for (const std::string_view engine : atomicity_engines()) {
      Options options;
      options.engine = engine;
      options.all = true;
      const CheckResult all = run(trace, options).result;
      ASSERT_EQ(all.verdict == Verdict::kClean, expected.serializable) << engine << " " << seed;
      ASSERT_EQ(blocks(all), expected.wide) << engine << " " << seed << "\n" << to_std(trace);
      ASSERT_THAT(all.notes, IsEmpty());
      options.all = false;
      options.first = true;
      ASSERT_EQ(run(trace, options).result.findings.size(), expected.serializable ? 0U : 1U)
          << engine << " " << seed << "\n"
          << to_std(trace);
      options.first = false;
      options.effort = 0;
      const CheckResult cut_off = run(trace, options).result;
      if (expected.serializable) continue;
      ASSERT_THAT(cut_off.findings, SizeIs(1)) << engine << " " << seed << "\n" << to_std(trace);
      ASSERT_THAT(expected.strict, Contains(cut_off.findings[0].block));
      ASSERT_FALSE(cut_off.complete);
      ASSERT_THAT(cut_off.notes, ElementsAre(HasSubstr("is not complete")));
    }
  }
}

}  // namespace
}  // namespace syndrome::check
