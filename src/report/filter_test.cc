// Guards against: a suppression that hides more or less than it says, a verdict that is better than
// what was looked at.

#include "report/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/registry.h"
#include "report/testing.h"

namespace syndrome::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Filter filter_of(std::string_view suppressions) {
  Filter::Options options;
  Result<std::vector<spec::Suppression>> read = spec::parse_suppressions(suppressions);
  EXPECT_TRUE(read.ok());
  options.suppressions = std::move(*read);
  return Filter(std::move(options));
}

bool hides(std::string_view suppressions, const Finding& finding) {
  Report report = report_with({finding});
  filter_of(suppressions).apply(report, true);
  return report.checks[0].findings.empty();
}

TEST(Filter, every_frame_of_every_site_counts) {
  const Finding finding = with_stacks();
  for (const std::string_view pattern :
       {"^get$", "^get(int)$", "transfer<int>", "^main$", "^run()", "^a5$", "invoke.h", "src/bank",
        "^balance$", "^deposit$", "bank.cc$"}) {
    EXPECT_TRUE(hides("conflict-cycle:" + std::string(pattern), finding)) << pattern;
  }
  // Neither part of a path from its middle on, nor who created the threads, nor another rule.
  for (const std::string_view line : {"conflict-cycle:^bank.cc", "conflict-cycle:^start",
                                      "conflict-cycle:a6", "race:main", "races:*", "mutex:*"}) {
    EXPECT_FALSE(hides(line, finding)) << line;
  }
}

TEST(Filter, some_kinds_look_at_innermost_frames_alone) {
  Finding race = with_stacks();
  race.rule = "race";
  race.check = "races";
  race.cycle.clear();
  EXPECT_TRUE(hides("race:main", race));
  EXPECT_TRUE(hides("race_top:^get", race));
  EXPECT_FALSE(hides("race_top:main", race));
  EXPECT_FALSE(hides("race_top:balance", race));
  EXPECT_TRUE(hides("called_from_lib:bank.cc", race));
  EXPECT_FALSE(hides("called_from_lib:^get", race));
  EXPECT_FALSE(hides("called_from_lib:invoke.h", race));
  race.sites[2].stack.frames[0].place = parse_place("libz.so.1+0x1234 deflate");
  EXPECT_TRUE(hides("called_from_lib:libz.so", race));
}

TEST(Filter, the_first_line_has_the_finding_and_all_that_match_are_used) {
  Filter filter = filter_of("conflict-cycle:get\nconflict-cycle:main\nconflict-cycle:none\n");
  Report report = report_with({with_stacks()});
  filter.apply(report, true);
  EXPECT_THAT(report.checks[0].suppressed, ElementsAre(Suppressed{1, "conflict-cycle:get", 1}));
  EXPECT_THAT(filter.unmatched(), ElementsAre(HasSubstr("line 3: conflict-cycle:none")));
}

TEST(Filter, a_list_that_is_not_complete_does_not_become_clean) {
  Report report = report_with({check_then_act()});
  report.checks[0].complete = false;
  filter_of("atomicity:*").apply(report, true);
  EXPECT_EQ(report.checks[0].verdict, check::Verdict::kUndecided);
  // Nor does one whose findings were never shown.
  report = report_with({});
  report.checks[0].verdict = check::Verdict::kViolated;
  filter_of("atomicity:*").apply(report, true);
  EXPECT_EQ(report.checks[0].verdict, check::Verdict::kViolated);
}

TEST(Filter, every_check_and_rule_is_a_kind) {
  for (const check::Registration& entry : check::registry()) {
    if (entry.asked_for_by_name_only) continue;
    for (const check::Rule& rule : entry.rules) {
      for (const std::string_view kind : {entry.name, rule.name}) {
        EXPECT_TRUE(spec::parse_suppressions(std::string(kind) + ":*").ok()) << kind;
      }
    }
  }
}

TEST(Filter, a_clean_report_stays_as_it_is) {
  Report report = report_with({});
  filter_of("").apply(report, true);
  EXPECT_EQ(report.checks[0].verdict, check::Verdict::kClean);
  EXPECT_THAT(report.checks[0].suppressed, IsEmpty());
}

}  // namespace
}  // namespace syndrome::report
