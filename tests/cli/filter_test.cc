// --suppressions and --baseline: what is left out does not count, and is not forgotten either.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/traces.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FilterOfCheck : public testing::Test {
 protected:
  FilterOfCheck() {
    shell_.write("transfer.std", kViolated);
    // The same bug at another place.
    const Outcome made = shell_.run(
        "sed 's/bank/shop/; s/(x)/(y)/; s/^t1/t3/; s/^t2/t4/; s/transfer/refund/' transfer.std > "
        "refund.std; cat transfer.std refund.std > both.std");
    EXPECT_EQ(made.code, 0) << made.err;
  }

  [[nodiscard]] json check(const std::string& arguments, int code) const {
    const Outcome outcome = shell_.run("syndrome check --format json " + arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return json::parse(outcome.out);
  }

  const Shell shell_;
};

TEST_F(FilterOfCheck, AFunctionAFileAndAVariableAreSuppressed) {
  for (const std::string line :
       {"conflict-cycle:^transfer$", "atomicity:bank.c", "conflict-cycle:^x$", "atomicity:*"}) {
    shell_.write("s.supp", line + "\n");
    const Outcome outcome = shell_.run("syndrome check --suppressions s.supp transfer.std");
    EXPECT_EQ(outcome.code, 0) << line << outcome.out;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("no other violation"), HasSubstr("1 finding, "),
                                   HasSubstr("line 1, " + line)))
        << line;
    EXPECT_THAT(outcome.err, IsEmpty()) << line;
  }
}

TEST_F(FilterOfCheck, OthersStayAndCount) {
  shell_.write("s.supp", "# known\nconflict-cycle:transfer\n");
  const json report = check("--suppressions s.supp both.std", 1);
  const json& entry = report["checks"][0];
  EXPECT_EQ(entry["verdict"], "violated");
  ASSERT_EQ(entry["findings"].size(), 1U);
  EXPECT_THAT(entry["findings"][0]["message"].get<std::string>(), HasSubstr("refund"));
  ASSERT_EQ(entry["suppressed"].size(), 1U);
  EXPECT_EQ(entry["suppressed"][0]["line"], 2);
  EXPECT_EQ(entry["suppressed"][0]["suppression"], "conflict-cycle:transfer");
  EXPECT_EQ(entry["suppressed"][0]["findings"], 1);
}

TEST_F(FilterOfCheck, WhatMatchedNothingIsSaid) {
  shell_.write("s.supp",
               "conflict-cycle:^bank$\nrace:transfer\ndeadlock:m\nthread:t\natomicity:refund\n");
  const Outcome outcome =
      shell_.run("syndrome check --suppressions s.supp transfer.std refund.std");
  EXPECT_EQ(outcome.code, 1);
  // Line 2 is about another check, lines 3 and 4 about nothing that we report.
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("s.supp"), HasSubstr("line 1"), HasSubstr("^bank$"),
                                 Not(HasSubstr("line 2")), Not(HasSubstr("line 3")),
                                 Not(HasSubstr("line 4")), Not(HasSubstr("line 5"))));
  EXPECT_THAT(shell_.run("syndrome check -q --suppressions s.supp transfer.std").err, IsEmpty());
}

TEST_F(FilterOfCheck, AWrongFileIsTwoBeforeAnythingIsChecked) {
  shell_.write("s.supp", "race:x\n\nraces_top:y\n");
  const Outcome outcome = shell_.run("syndrome check --suppressions s.supp transfer.std");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("s.supp: line 3"), HasSubstr("races_top"), HasSubstr("race_top")));
  EXPECT_EQ(shell_.run("syndrome check --suppressions missing transfer.std").code, 2);
  EXPECT_EQ(shell_.run("syndrome check --baseline missing transfer.std").code, 2);
  EXPECT_EQ(shell_.run("syndrome check --baseline transfer.std transfer.std").code, 2);
}

TEST_F(FilterOfCheck, TheFirstFindingIsTheFirstThatIsLeft) {
  shell_.write("s.supp", "conflict-cycle:transfer\n");
  const json report = check("--first --suppressions s.supp both.std", 1);
  ASSERT_EQ(report["checks"][0]["findings"].size(), 1U);
  EXPECT_THAT(report["checks"][0]["findings"][0]["message"].get<std::string>(),
              HasSubstr("refund"));
}

TEST_F(FilterOfCheck, OnlyWhatIsNewCounts) {
  EXPECT_EQ(shell_.run("syndrome check --format json -o old.json transfer.std").code, 1);
  const Outcome same = shell_.run("syndrome check --baseline old.json transfer.std");
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out,
              AllOf(HasSubstr("1 finding of the baseline"), Not(HasSubstr("did not show up"))));

  const json more = check("--baseline old.json both.std", 1);
  ASSERT_EQ(more["checks"][0]["findings"].size(), 1U);
  EXPECT_THAT(more["checks"][0]["findings"][0]["message"].get<std::string>(), HasSubstr("refund"));
  EXPECT_EQ(more["checks"][0]["baseline"]["known"], 1);
  EXPECT_EQ(more["checks"][0]["baseline"]["gone"], 0);

  const Outcome other = shell_.run("syndrome check --baseline old.json refund.std");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("1 finding of the baseline did not show up"));
}

TEST_F(FilterOfCheck, ABaselineMayBeOfSeveralTracesAndSoMayTheCall) {
  EXPECT_EQ(shell_.run("syndrome check --format json -o old.json transfer.std refund.std").code, 1);
  EXPECT_EQ(shell_.run("syndrome check -q --baseline old.json both.std").code, 0);
  // The last report tells what no trace has shown.
  const json reports = check("--baseline old.json transfer.std transfer.std", 0);
  EXPECT_FALSE(reports[0]["checks"][0]["baseline"].contains("gone"));
  EXPECT_EQ(reports[1]["checks"][0]["baseline"]["gone"], 1);
  const json all = check("--baseline old.json transfer.std refund.std", 0);
  EXPECT_EQ(all[1]["checks"][0]["baseline"]["gone"], 0);
}

TEST_F(FilterOfCheck, WhatWasLeftOutIsInASavedReportToo) {
  shell_.write("s.supp", "conflict-cycle:transfer\n");
  EXPECT_EQ(shell_.run("syndrome check --format json -o old.json refund.std").code, 1);
  const std::string options = "--suppressions s.supp --baseline old.json both.std";
  const Outcome direct = shell_.run("syndrome check " + options);
  EXPECT_EQ(direct.code, 0) << direct.out;
  EXPECT_EQ(shell_.run("syndrome check --format json " + options + " | syndrome report -").out,
            direct.out);
}

}  // namespace
}  // namespace syndrome::test
