// Guards against: a pattern that reports cannot speak of, or that changes when it is saved and read
// again.

#include "report/pattern_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/advice.h"
#include "report/fingerprint.h"
#include "report/json.h"
#include "report/story.h"
#include "report/testing.h"
#include "report/text.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// transfer() of T1 writes both halves, and total() of T2 reads them in between.
Finding pattern9() {
  Finding finding;
  finding.check = "atomic-sets";
  finding.rule = "pattern";
  finding.pattern = 9;
  finding.set = "Account at 5581c0";
  finding.locations = {"Account::checking@5581c0", "Account::savings@5581c0"};
  finding.units = {1, 3};
  finding.events = {2, 4, 5, 6};
  finding.event = 6;
  const auto site = [&](EventNumber event, const char* thread, EventKind op, std::size_t location,
                        EventNumber unit) {
    Site one;
    one.event = event;
    one.thread = thread;
    one.op = op;
    one.target = finding.locations[location];
    one.block = unit;
    one.locks = {"m"};
    finding.sites.push_back(one);
  };
  site(2, "T1", EventKind::kWrite, 0, 1);
  site(4, "T2", EventKind::kRead, 0, 3);
  site(5, "T2", EventKind::kRead, 1, 3);
  site(6, "T1", EventKind::kWrite, 1, 1);
  finding.blocks = {{1, 8, "T1", "Account::transfer(int)", {}},
                    {3, 7, "T2", "Account::total()", {}}};
  finding.message = message_of(finding);
  finding.fingerprint = fingerprint_of(finding);
  return finding;
}

/// Each of two functions reads what the other one writes.
Finding write_skew() {
  Finding finding =
      cycle(0, {{3, 6}, {5, 8}},
            {site(3, "T1", EventKind::kRead, "x", "a.cc:2", 1, {"m"}),
             site(5, "T2", EventKind::kRead, "y", "b.cc:2", 2, {"m"}),
             site(6, "T2", EventKind::kWrite, "x", "b.cc:3", 2, {"m"}),
             site(8, "T1", EventKind::kWrite, "y", "a.cc:3", 1, {"m"})},
            {block(1, 9, "T1", "go_off(int)", "a.cc:1"), block(2, 7, "T2", "leave()", "b.cc:1")});
  finding.check = "atomic-sets";
  finding.rule = "set-cycle";
  finding.set = "duty";
  finding.locations = {"x", "y"};
  finding.units = {1, 2};
  finding.message = message_of(finding);
  finding.fingerprint = fingerprint_of(finding);
  return finding;
}

TEST(SetCycleWords, SayWhatHappened) {
  const Finding finding = write_skew();
  ASSERT_TRUE(is_set_cycle(finding));
  EXPECT_EQ(headline_of(finding), "go_off and leave did not run one after the other on x and y");
  const Explanation explanation = explain(finding);
  ASSERT_EQ(explanation.edges.size(), 2U);
  EXPECT_THAT(explanation.edges[0], HasSubstr("go_off must come before leave: T1 reads x"));
  EXPECT_EQ(explanation.conclusion,
            "No order of whole units of work does both: go_off would have to come before itself. "
            "(Atomic set duty.)");
  EXPECT_THAT(usual_fix(finding),
              AllOf(HasSubstr("holds lock m"), HasSubstr("between event 3 and event 8")));
  EXPECT_THAT(finding.message, HasSubstr("atomic set duty: T1 read x at 3 before T2 wrote x at 6"));
}

TEST(SetCycleWords, TheFingerprintDoesNotTellWhichUnitClosedTheCycle) {
  Finding other = write_skew();
  std::swap(other.cycle[0], other.cycle[1]);
  std::swap(other.units[0], other.units[1]);
  EXPECT_EQ(fingerprint_of(other), write_skew().fingerprint);
  other.sites[0].place = parse_place("a.cc:7");
  EXPECT_NE(fingerprint_of(other), write_skew().fingerprint);
}

TEST(PatternWords, SayWhatHappened) {
  const Finding finding = pattern9();
  ASSERT_TRUE(is_pattern(finding));
  EXPECT_EQ(pattern_headline(finding),
            "inconsistent read of Account::checking and Account::savings");
  EXPECT_EQ(
      pattern_words(finding),
      "T1 writes Account::checking (event 2) in Account::transfer, then T2 reads it (event 4) "
      "in Account::total, then T2 reads Account::savings (event 5), then T1 writes it (event "
      "6)");
  EXPECT_EQ(pattern_meaning(finding), "An inconsistent state of the two is observed.");
  EXPECT_THAT(usual_fix(finding),
              AllOf(HasSubstr("holds lock m"), HasSubstr("between event 2 and event 6")));
  EXPECT_THAT(finding.message, HasSubstr("(pattern 9)"));
}

TEST(PatternWords, AFixNamesTheLocationsWhenNoLockIsHeld) {
  Finding finding = pattern9();
  finding.sites[1].locks.clear();
  EXPECT_EQ(usual_fix(finding),
            "Hold one lock in Account::transfer from event 2 to event 6, the same one that every "
            "other access to Account::checking@5581c0 and Account::savings@5581c0 holds.");
}

TEST(PatternWords, TheFingerprintTellsPatternsApart) {
  Finding other = pattern9();
  other.pattern = 10;
  EXPECT_NE(fingerprint_of(other), pattern9().fingerprint);
}

TEST(PatternWords, WhatIsNotCompleteIsNoPattern) {
  Finding finding = pattern9();
  finding.events.pop_back();
  EXPECT_FALSE(is_pattern(finding));
  finding = pattern9();
  finding.pattern = 0;
  EXPECT_FALSE(is_pattern(finding));
  finding = pattern9();
  finding.sites.erase(finding.sites.begin());
  EXPECT_FALSE(is_pattern(finding));
  EXPECT_EQ(message_of(finding), "pattern at event 6");
}

TEST(PatternWords, SavedFindingsReadTheSame) {
  Report report = report_with({pattern9()});
  report.checks[0].check = "atomic-sets";
  const std::string saved = to_json({&report, 1}, false, {});
  EXPECT_THAT(saved,
              AllOf(HasSubstr("\"pattern\": 9"), HasSubstr("\"set\": \"Account at 5581c0\"")));
  const auto read = from_json(saved);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->reports.size(), 1);
  EXPECT_EQ(to_json({read->reports.data(), 1}, false, {}), saved);
  EXPECT_EQ(to_text(read->reports[0], {}), to_text(report, {}));
}

TEST(PatternWords, ThoseOfTheSameUnitsAndDataAreToldOnce) {
  Finding again = pattern9();
  again.pattern = 10;
  again.locations = {"Account::savings@99", "Account::checking@99"};
  EXPECT_EQ(pattern_group(again), pattern_group(pattern9()));
  Report report = report_with({pattern9(), again});
  report.checks[0].check = "atomic-sets";
  EXPECT_THAT(to_text(report, {}), HasSubstr("See 1, by the same"));
  again.locations[0] = "Account::limit@99";
  EXPECT_NE(pattern_group(again), pattern_group(pattern9()));
}

}  // namespace
}  // namespace syndrome::report
