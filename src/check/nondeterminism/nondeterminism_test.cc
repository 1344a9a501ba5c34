// Predictive nondeterminism: the paper's examples, the verifier, the check, and the analysis
// against brute force over random traces. A failure prints the shrunk trace; `nondeterminism_fuzz
// COUNT SEED` (tests/fuzz) runs more of them.

#include "check/nondeterminism/nondeterminism.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <set>

#include "check/nondeterminism/definition.h"
#include "check/nondeterminism/differential.h"
#include "check/nondeterminism/oracle.h"
#include "check/nondeterminism/order.h"
#include "check/nondeterminism/survey.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What the analysis finds, which must be what the oracle finds.
Nondeterminism both(std::string_view text) {
  const SmallTrace trace = from_std(text);
  const auto expected = nondeterminism_oracle(trace.events, 1'000'000);
  EXPECT_TRUE(expected);
  Nondeterminism found = predict(trace.events);
  EXPECT_EQ(found, *expected);
  return found;
}

std::set<EventNumber> reads_of(const Nondeterminism& found) {
  std::set<EventNumber> reads;
  for (const auto& [w, r, c] : found.seen) reads.insert(r);
  return reads;
}

CheckResult check(const SmallTrace& trace, const Options& options = {}) {
  const std::unique_ptr<Check> made = make_nondeterminism(options);
  std::vector<Event> events = trace.events;
  made->take({events, 1}, trace.names);
  EXPECT_FALSE(made->end_of_pass(trace.names));
  return made->result();
}

// Figure 1: no race, because of the lock; but the scopes can swap, and then r reads the initial
// value.
constexpr std::string_view kFigure1 = R"(
    T1|acq(l)
    T1|w(x)
    T1|rel(l)
    T2|acq(l)
    T2|r(x)
    T2|rel(l))";

TEST(PredictiveNondeterminism, Figure1LockedButNondeterministic) {
  const Nondeterminism found = both(kFigure1);
  EXPECT_EQ(found.seen, (decltype(found.seen){{2, 5, 0}}));
  EXPECT_THAT(found.unsettled, IsEmpty());
}

// Figure 4: c, w, e1 acq, e2 w(y), e3 rel in T1; e4 r(y), e5 acq, r, e6 rel in T2. The witness
// c -> r -> w has a cycle: e4 has to read e2, which comes after w.
TEST(PredictiveNondeterminism, Figure4ReadThatDependsOnAnother) {
  const Nondeterminism found = both(R"(
    T1|w(x)
    T1|w(x)
    T1|acq(l)
    T1|w(y)
    T1|rel(l)
    T2|r(y)
    T2|acq(l)
    T2|r(x)
    T2|rel(l))");
  EXPECT_EQ(found.feasible, (decltype(found.feasible){{4, 6, 0}}));
}

// Figure 5: two scopes of each of two locks, unordered; whichever order is chosen, there is a path
// from c (event 1) to w (event 21), so w cannot come first. Neither lock alone, nor any pair of
// threads, shows that: the choices have to be made.
constexpr std::array<std::string_view, 2> kFigure5 = {R"(
    T1|w(v)
    T1|w(p)
    T2|acq(l1)
    T2|w(q1)
    T2|r(p)
    T2|rel(l1))",
                                                      R"(
    T4|r(q1)
    T4|r(q2)
    T4|w(z)
    T5|acq(l2)
    T5|w(s1)
    T5|r(z)
    T5|rel(l2)
    T6|acq(l2)
    T6|w(s2)
    T6|r(z)
    T6|rel(l2)
    T7|r(s1)
    T7|r(s2)
    T7|w(v)
    T7|r(v))"};

TEST(PredictiveNondeterminism, Figure5EveryChoiceClosesACycle) {
  const SmallTrace trace = from_std(std::string(kFigure5[0]) + R"(
    T3|acq(l1)
    T3|w(q2)
    T3|r(p)
    T3|rel(l1))" + std::string(kFigure5[1]));
  const Nondeterminism found = predict(trace.events);
  EXPECT_FALSE(reads_of(found).contains(25)) << "r(v) cannot read event 1 after event 24";
}

TEST(PredictiveNondeterminism, Figure5WithoutOneOfTheLocks) {
  const SmallTrace trace = from_std(std::string(kFigure5[0]) + R"(
    T3|w(q2)
    T3|r(p))" + std::string(kFigure5[1]));
  const Nondeterminism found = predict(trace.events);
  EXPECT_TRUE(found.seen.contains({22, 23, 1})) << "nothing orders the scopes of l1 any more";
}

// The third write: T1's r(z) could read T2's write only if T1's r(x) changed first.
TEST(PredictiveNondeterminism, PreservedCouplesForbidThirdWrites) {
  const Nondeterminism found = both(R"(
    T1|w(x)
    T1|w(p)
    T1|acq(l)
    T1|r(x)
    T1|r(z)
    T1|rel(l)
    T2|r(p)
    T2|acq(l)
    T2|w(x)
    T2|w(z)
    T2|rel(l))");
  EXPECT_THAT(reads_of(found), ElementsAre(4, 7));
}

// T3's scope is open: in a complete reordering it has to be the last.
TEST(PredictiveNondeterminism, FinalValuesNeedAllEvents) {
  EXPECT_THAT(both(R"(
    T1|acq(l)
    T1|w(x)
    T1|rel(l)
    T2|acq(l)
    T2|w(x))")
                  .unsettled,
              IsEmpty());
  EXPECT_THAT(both(R"(
    T1|acq(l)
    T1|w(x)
    T1|rel(l)
    T2|acq(l)
    T2|w(x)
    T2|rel(l))")
                  .unsettled,
              ElementsAre(std::pair<EventNumber, EventNumber>(5, 2)));
}

TEST(PredictiveNondeterminism, ForkJoinProgramIsClean) {
  const SmallTrace trace = from_std(R"(
    T0|w(x)
    T0|fork(T1)
    T1|r(x)
    T1|w(y)
    T0|join(T1)
    T0|r(y))");
  const CheckResult result = check(trace);
  EXPECT_EQ(result.verdict, Verdict::kClean);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes[0], HasSubstr("2 reads would read the same write"));
}

TEST(PredictiveNondeterminism, SignalsBarriersAndMemoryOrder) {
  EXPECT_THAT(both(R"(
    T1|w(x)
    T1|post(s)
    T2|wait(s)
    T2|r(x))")
                  .seen,
              IsEmpty());
  EXPECT_THAT(both(R"(
    T1|w(x)
    T1|cond_signal(c)
    T2|cond_wait(c)
    T2|r(x))")
                  .seen,
              IsEmpty());
  EXPECT_THAT(both(R"(
    T1|w(x)
    T1|barrier_arrive(b)
    T2|barrier_arrive(b)
    T2|barrier_leave(b)
    T2|r(x)
    T1|barrier_leave(b)
    T1|w(y))")
                  .seen,
              IsEmpty());
  EXPECT_THAT(both(R"(
    T1|w(x)
    T1|free(x)
    T2|alloc(x)
    T2|r(x))")
                  .seen,
              IsEmpty());
}

TEST(PredictiveNondeterminism, SharedScopesDoNotExcludeEachOther) {
  const Nondeterminism found = both(R"(
    T1|acq_shared(l)
    T1|w(x)
    T2|acq_shared(l)
    T2|w(x)
    T1|r(x)
    T1|rel_shared(l)
    T2|rel_shared(l))");
  EXPECT_TRUE(found.seen.contains({4, 5, 2}));
}

TEST(ReorderingVerifier, SaysWhatIsWrongWithASchedule) {
  const SmallTrace trace = from_std(kFigure1);
  const Reorderings definition(trace.events);
  const auto why = [&](const Claim& claim, std::vector<EventNumber> schedule) {
    return reject(definition, claim, schedule).value_or("accepted");
  };
  EXPECT_EQ(why({5, 2, 0}, {4, 5}), "accepted");
  EXPECT_THAT(why({5, 2, 0}, {5}), HasSubstr("is missing"));
  EXPECT_THAT(why({5, 2, 0}, {1, 4, 5}), HasSubstr("lock that another thread holds"));
  EXPECT_THAT(why({5, 2, 0}, {1, 2, 3, 4, 5}), HasSubstr("it reads 2 instead of 0"));
  EXPECT_THAT(why({5, 2, 0}, {4, 4, 5}), HasSubstr("comes twice"));
  EXPECT_THAT(why({5, 2, 0}, {4}), HasSubstr("does not end in the read"));
  EXPECT_THAT(why({5, 0, 2}, {4, 5}), HasSubstr("reads 2, not 0"));
  EXPECT_THAT(why({5, 2, 2}, {4, 5}), HasSubstr("is the write itself"));
  EXPECT_THAT(why({5, 2, 1}, {4, 5}), HasSubstr("event 1 is no write"));
  EXPECT_THAT(why({2, 2, 0}, {1, 2}), HasSubstr("event 2 is no read"));
  EXPECT_THAT(why({0, 2, 0}, {1, 2, 3}), HasSubstr("3 events of 6"));
  EXPECT_THAT(why({5, 2, 0}, {4, 99, 5}), HasSubstr("no such event"));
}

TEST(ReorderingVerifier, PreservesEveryReadButTheLast) {
  const SmallTrace trace = from_std(R"(
    T1|w(x)
    T2|r(x)
    T2|r(x))");
  const Reorderings definition(trace.events);
  EXPECT_THAT(reject(definition, {3, 1, 0}, std::vector<EventNumber>{2, 3}).value_or(""),
              HasSubstr("event 2: it reads 0 instead of 1"));
}

TEST(NondeterminismCheck, GroupsBySitesAndCountsTriples) {
  const SmallTrace trace = from_std(R"(
    T1|w(x)|a.cc:1
    T2|r(x)|a.cc:2
    T1|w(y)|a.cc:1
    T3|r(y)|a.cc:2
    T1|r(y)|a.cc:3
    T3|w(y)|a.cc:4)");
  const CheckResult grouped = check(trace);
  EXPECT_EQ(grouped.verdict, Verdict::kViolated);
  ASSERT_EQ(grouped.findings.size(), 2U);
  EXPECT_EQ(grouped.findings[0].count, 2U);
  EXPECT_EQ(grouped.findings[0].read, 2U);
  EXPECT_THAT(grouped.findings[0].schedule, ElementsAre(2));
  EXPECT_EQ(grouped.findings[0].certainty, Certainty::kPredicted);
  Options all;
  all.all = true;
  EXPECT_EQ(check(trace, all).findings.size(), 3U);
  Options first;
  first.first = true;
  EXPECT_EQ(check(trace, first).findings.size(), 1U);
}

TEST(NondeterminismCheck, UndecidedWithoutEffort) {
  const SmallTrace trace = from_std(R"(
    T1|acq(l)
    T1|r(x)
    T1|rel(l)
    T2|acq(l)
    T2|w(x)
    T2|rel(l))");
  EXPECT_EQ(check(trace).verdict, Verdict::kViolated);
  Options options;
  options.witness_effort = 1;
  const CheckResult result = check(trace, options);
  EXPECT_EQ(result.verdict, Verdict::kUndecided);
  EXPECT_FALSE(result.complete);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes[0], HasSubstr("--effort"));
}

TEST(NondeterminismCheck, JobsFindTheSame) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const SmallTrace trace = random_trace(seed);
    Options options;
    options.all = true;
    const CheckResult one = check(trace, options);
    options.jobs = 4;
    const CheckResult four = check(trace, options);
    ASSERT_EQ(one.findings.size(), four.findings.size());
    for (std::size_t i = 0; i < one.findings.size(); ++i) {
      EXPECT_EQ(one.findings[i].schedule, four.findings[i].schedule);
      EXPECT_EQ(one.findings[i].read, four.findings[i].read);
    }
    EXPECT_EQ(one.verdict, four.verdict);
  }
}

// Whoever interrupts gets what was found until then, told apart from all there is.
TEST(NondeterminismCheck, AnInterruptedSearchSaysWhatItDidNotLookAt) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const std::string n = std::to_string(i);
    text += "T1|w(x" + n + ")\nT2|r(x" + n + ")|" + n + "\n";
  }
  const SmallTrace trace = from_std(text);
  ASSERT_EQ(check(trace).findings.size(), 300U);
  for (const unsigned jobs : {1U, 3U}) {
    std::atomic<int> asked = 0;
    Options options;
    options.jobs = jobs;
    options.interrupted = [&asked] { return ++asked > 100; };
    const CheckResult some = check(trace, options);
    EXPECT_EQ(some.verdict, Verdict::kViolated);
    EXPECT_FALSE(some.complete);
    EXPECT_GE(some.findings.size(), 90U);
    EXPECT_LE(some.findings.size(), 110U);
    EXPECT_THAT(some.notes, testing::Contains(HasSubstr("interrupted while searching: 200 reads")));
    options.interrupted = [] { return true; };
    const CheckResult none = check(trace, options);
    EXPECT_EQ(none.verdict, Verdict::kUndecided);
    EXPECT_FALSE(none.complete);
  }
}

// Several tests, so that ctest can run them side by side: 6,000 traces in all.
class NondeterminismDifferential : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t kTracesEach = 1500;

TEST_P(NondeterminismDifferential, AgreesWithBruteForce) {
  std::uint64_t found = 0;
  const auto differs =
      first_nondeterminism_disagreement(GetParam() * kTracesEach, kTracesEach, &found);
  EXPECT_FALSE(differs) << *differs;
  EXPECT_GT(found, kTracesEach / 4);
  EXPECT_LT(found, kTracesEach - kTracesEach / 4);
}

INSTANTIATE_TEST_SUITE_P(FixedSeeds, NondeterminismDifferential,
                         testing::Range<std::uint64_t>(0, 4));

TEST(NondeterminismDifferentialFresh, AgreesWithBruteForceOnASeedOfToday) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::cout << "seed " << seed << '\n';
  const auto differs = first_nondeterminism_disagreement(seed, 500);
  EXPECT_FALSE(differs) << "seed " << seed << '\n' << *differs;
}

// Guards against: a "proof" in which a thread uses memory that is not allocated yet.
class Published : public ::testing::Test {
 protected:
  /// Variables of these names are in memory that was allocated; each is an allocation of its own.
  static Layout heap(const SmallTrace& trace, const std::vector<std::string>& names) {
    Layout layout;
    layout.variables.resize(trace.names.table(Space::kVariable).size());
    for (std::uint32_t v = 0; v < layout.variables.size(); ++v) {
      if (std::ranges::find(names, trace.names.variable(VarId(v))) == names.end()) continue;
      layout.variables[v].region = static_cast<std::uint32_t>(layout.regions.size());
      layout.regions.emplace_back();
    }
    return layout;
  }
  static std::vector<Precedence> of(std::string_view text, const std::vector<std::string>& names) {
    const SmallTrace trace = from_std(text);
    return published(trace.events, heap(trace, names));
  }
};

TEST_F(Published, what_code_without_probes_handed_over_comes_after_all_before_it) {
  // B takes the node out of a list that only the library knows.
  constexpr std::string_view kText =
      "A|w(node)\nA|acq(m)\nA|rel(m)\nA|w(y)\nB|acq(m)\nB|rel(m)\nB|r(node)\nB|r(node)\nA|w(z)";
  EXPECT_EQ(of(kText, {"node"}), (std::vector<Precedence>{{4, 7}}));
  EXPECT_TRUE(of(kText, {}).empty());
  const SmallTrace trace = from_std(kText);
  const std::vector<Precedence> precedences = of(kText, {"node"});
  const Claim claim{7, 1, 0};
  const std::vector<EventNumber> schedule = {5, 6, 7};
  EXPECT_FALSE(reject(Reorderings(trace.events), claim, schedule));
  EXPECT_EQ(reject(Reorderings(trace.events, precedences), claim, schedule),
            "step 3, event 7: it uses memory that it cannot know of yet");
}

TEST_F(Published, what_the_trace_explains_is_free) {
  // Through a pointer that is read, a fork, a third thread.
  EXPECT_TRUE(of("A|w(node)\nA|w(p)\nB|r(p)\nB|r(node)", {"node"}).empty());
  EXPECT_TRUE(of("A|w(node)\nA|fork(B)\nB|r(node)", {"node"}).empty());
  EXPECT_TRUE(of("A|w(node)\nA|w(p)\nC|r(p)\nC|w(q)\nB|r(q)\nB|r(node)", {"node"}).empty());
  EXPECT_TRUE(
      of("A|w(node)\nA|happens_before(o)\nB|happens_after(o)\nB|r(node)", {"node"}).empty());
  // Not by a pointer that was written before, nor by reading the node itself.
  EXPECT_EQ(of("A|w(p)\nA|w(node)\nB|r(p)\nB|r(node)", {"node"}).size(), 1U);
  EXPECT_EQ(of("A|w(node)\nB|r(node)\nB|w(node)", {"node"}), (std::vector<Precedence>{{1, 2}}));
  // Who knows one allocation of a thread knows what came before it.
  EXPECT_EQ(of("A|w(n1)\nA|w(n2)\nB|r(n2)\nB|r(n1)", {"n1", "n2"}),
            (std::vector<Precedence>{{2, 3}}));
}

}  // namespace
}  // namespace syndrome::check
