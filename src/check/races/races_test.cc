// The check as the driver sees it: which findings it gives, grouped or not, and when it stops.

#include "check/races/races.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "check/races/happens_before.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Events = std::vector<EventNumber>;

/// Leads the trace past the check as often as it asks for it, in batches of two.
CheckResult run(SmallTrace trace, const Options& options = {}) {
  const std::unique_ptr<Check> check = make_races(options);
  bool again = true;
  for (int pass = 0; again; ++pass) {
    EXPECT_LT(pass, 4);
    for (std::size_t at = 0; at < trace.events.size() && !check->satisfied(); at += 2) {
      const std::size_t size = std::min<std::size_t>(2, trace.events.size() - at);
      check->take({std::span(trace.events).subspan(at, size), at + 1}, trace.names);
    }
    again = check->end_of_pass(trace.names);
  }
  return check->result();
}

std::vector<Events> events_of(const CheckResult& result) {
  std::vector<Events> events;
  for (const Finding& finding : result.findings) events.push_back(finding.events);
  return events;
}

constexpr std::string_view kLoop =
    "A|w(x)|a\nB|w(x)|b\nA|w(x)|a\nB|w(x)|b\nA|w(y)|a\nB|w(y)|b\nA|r(x)|c";

TEST(Races, OneFindingForEachPairOfSites) {
  const CheckResult result = run(from_std(kLoop));
  EXPECT_EQ(result.check, "races");
  EXPECT_EQ(result.verdict, Verdict::kViolated);
  EXPECT_TRUE(result.complete);
  EXPECT_THAT(events_of(result), ElementsAre(Events{1, 2}, Events{4, 7}));
  EXPECT_EQ(result.findings[0].count, 4);
  EXPECT_EQ(result.findings[1].count, 1);
  EXPECT_EQ(result.findings[0].rule, "race");
  EXPECT_EQ(result.findings[0].event, 2);
  ASSERT_EQ(result.findings[0].witnesses.size(), 2);
  EXPECT_EQ(result.findings[0].witnesses[1].number, 2);
}

TEST(Races, AllOfThem) {
  Options options;
  options.all = true;
  EXPECT_THAT(events_of(run(from_std(kLoop), options)),
              ElementsAre(Events{1, 2}, Events{2, 3}, Events{3, 4}, Events{5, 6}, Events{4, 7}));
}

TEST(Races, TheFirstAlone) {
  Options options;
  options.first = true;
  EXPECT_THAT(events_of(run(from_std(kLoop), options)), ElementsAre(Events{1, 2}));
}

TEST(Races, AnEventWithoutASiteIsOneOfItsOwn) {
  EXPECT_THAT(events_of(run(from_std("A|w(x)\nB|w(x)\nA|w(x)\nB|w(x)"))),
              ElementsAre(Events{1, 2}, Events{2, 3}, Events{3, 4}));
}

TEST(Races, OfSeveralSitesThatRaceEachIsTold) {
  // FastTrack's last write would be the one at b alone.
  EXPECT_THAT(events_of(run(from_std("A|w(x)|a\nB|w(x)|b\nC|r(x)|c"))),
              ElementsAre(Events{1, 2}, Events{1, 3}, Events{2, 3}));
}

TEST(Races, NoneInAnOrderedTrace) {
  const CheckResult result = run(from_std("A|w(x)\nA|post(s)\nB|wait(s)\nB|w(x)"));
  EXPECT_EQ(result.verdict, Verdict::kClean);
  EXPECT_TRUE(result.findings.empty());
  EXPECT_FALSE(result.stats.empty());
}

TEST(Races, FindingsAreBoundedAndThatIsSaid) {
  std::string text;
  for (int i = 0; i < 6000; ++i) text += "A|w(x)\nB|w(x)\n";
  const CheckResult result = run(from_std(text));
  EXPECT_EQ(result.findings.size(), 10'000);
  EXPECT_FALSE(result.complete);
  ASSERT_EQ(result.notes.size(), 1);
  EXPECT_THAT(result.notes[0], HasSubstr("1999 more racing pairs"));
}

TEST(Races, TooManyThreadsLeaveItUndecided) {
  SmallTrace trace;
  for (std::size_t t = 0; t <= HappensBefore::kMaxSlots; ++t) {
    trace.events.push_back({.thread = ThreadId(t), .target = 0, .site = {}});
  }
  const CheckResult result = run(std::move(trace));
  EXPECT_EQ(result.verdict, Verdict::kUndecided);
  EXPECT_FALSE(result.complete);
  ASSERT_EQ(result.notes.size(), 1);
  EXPECT_THAT(result.notes[0], HasSubstr("more than 8192 threads"));
}

}  // namespace
}  // namespace syndrome::check
