// `--check atomic-sets`: what the call and the spec say, and the JSON that other programs rely on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Two halves, x and y, read while they are written. No comments, so an event's number is its line.
constexpr std::string_view kTrace =
    "t1|begin(transfer)|bank.c:1\n"
    "t1|w(x)|bank.c:2\n"
    "t2|begin(total)|bank.c:11\n"
    "t2|r(x)|bank.c:12\n"
    "t2|r(y)|bank.c:13\n"
    "t2|end(total)|bank.c:14\n"
    "t1|w(y)|bank.c:3\n"
    "t1|end(transfer)|bank.c:4\n";

class AtomicSetsCommand : public testing::Test {
 protected:
  AtomicSetsCommand() { shell_.write("t.std", kTrace); }

  [[nodiscard]] Outcome check(const std::string& arguments) const {
    return shell_.run("syndrome check --check atomic-sets " + arguments + " t.std");
  }

  const Shell shell_;
};

TEST_F(AtomicSetsCommand, WithoutASetThereIsNothingWrong) {
  EXPECT_EQ(check("").code, 0);
  EXPECT_EQ(check("--atomic-sets each").code, 0);
}

TEST_F(AtomicSetsCommand, OneSetForAll) {
  const Outcome outcome = check("--atomic-sets all --format json");
  ASSERT_EQ(outcome.code, 1) << outcome.err;
  const json report = json::parse(outcome.out);
  ASSERT_EQ(report["checks"].size(), 1);
  const json& entry = report["checks"][0];
  EXPECT_EQ(entry["check"], "atomic-sets");
  EXPECT_EQ(entry["verdict"], "violated");
  ASSERT_EQ(entry["findings"].size(), 1);
  const json& finding = entry["findings"][0];
  EXPECT_EQ(finding["rule"], "pattern");
  EXPECT_EQ(finding["pattern"], 9);
  EXPECT_EQ(finding["locations"], json::array({"x", "y"}));
  EXPECT_EQ(finding["set"], "all");
  EXPECT_EQ(finding["events"], json::array({2, 4, 5, 7}));
  EXPECT_EQ(finding["units"], json::array({1, 3}));
  EXPECT_EQ(finding["event"], 7);
  EXPECT_EQ(finding["certainty"], "observed");
  EXPECT_EQ(finding["sites"][1]["thread"], "t2");
}

TEST_F(AtomicSetsCommand, TheCallOverridesTheSpecsDefault) {
  shell_.write("spec.toml", "[atomic-sets.options]\ndefault = 'all'\n");
  EXPECT_EQ(check("--spec spec.toml").code, 1);
  EXPECT_EQ(check("--spec spec.toml --atomic-sets each").code, 0);
  const Outcome wrong = check("--atomic-sets some");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--atomic-sets: expected class, each or all, found 'some'"));
}

TEST_F(AtomicSetsCommand, OneLineOfSpecExcludesALocation) {
  shell_.write("spec.toml", "[atomic-sets]\nS = ['x', 'y']\n");
  EXPECT_EQ(check("--spec spec.toml").code, 1);
  shell_.write("spec.toml", "[atomic-sets]\nS = ['x', 'y']\noptions.exclude = ['y']\n");
  EXPECT_EQ(check("--spec spec.toml").code, 0);
}

TEST_F(AtomicSetsCommand, WarnsOfEntriesThatMatchNothing) {
  shell_.write("spec.toml", "[atomic-sets]\nS = ['x', 'yy']\n[units.for]\nS = ['totl']\n");
  const Outcome outcome = check("--spec spec.toml");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("S = \"yy\" matches no variable of this trace; nearest: "));
  EXPECT_THAT(outcome.err, HasSubstr("S = \"totl\" matches no function or block of this trace"));
}

/// t1 before t2 by x, t2 before t3 by y, t3 before t1 by z.
constexpr std::string_view kThree =
    "t1|begin(a)|bank.c:1\n"
    "t1|w(x)|bank.c:2\n"
    "t2|begin(b)|bank.c:11\n"
    "t2|r(x)|bank.c:12\n"
    "t2|w(y)|bank.c:13\n"
    "t2|end(b)|bank.c:14\n"
    "t3|begin(c)|bank.c:21\n"
    "t3|r(y)|bank.c:22\n"
    "t3|w(z)|bank.c:23\n"
    "t3|end(c)|bank.c:24\n"
    "t1|r(z)|bank.c:3\n"
    "t1|end(a)|bank.c:4\n";

TEST_F(AtomicSetsCommand, ACycleOfThreeUnits) {
  shell_.write("t.std", kThree);
  EXPECT_EQ(check("").code, 0);
  EXPECT_EQ(check("--atomic-sets each").code, 0);
  const Outcome outcome = check("--atomic-sets all --format json");
  ASSERT_EQ(outcome.code, 1) << outcome.err;
  const json report = json::parse(outcome.out);
  const json& entry = report["checks"][0];
  EXPECT_EQ(entry["verdict"], "violated");
  ASSERT_EQ(entry["findings"].size(), 1);
  const json& finding = entry["findings"][0];
  EXPECT_EQ(finding["rule"], "set-cycle");
  EXPECT_FALSE(finding.contains("pattern"));
  EXPECT_EQ(finding["set"], "all");
  EXPECT_EQ(finding["locations"], json::array({"x", "y", "z"}));
  EXPECT_EQ(finding["units"], json::array({1, 3, 7}));
  EXPECT_EQ(finding["cycle"], json::parse(R"([{"from": 2, "to": 4}, {"from": 5, "to": 8},
                                              {"from": 9, "to": 11}])"));
  EXPECT_EQ(finding["event"], 11);
  EXPECT_EQ(finding["blocks"].size(), 3);

  const Outcome text = check("--atomic-sets all");
  EXPECT_THAT(text.out, HasSubstr("a, b and c did not run one after the other on x, y and z"));
  (void)check("--atomic-sets all --format json --stats -o saved.json");
  EXPECT_EQ(shell_.run("syndrome report saved.json").out, text.out);
  EXPECT_EQ(check("--atomic-sets all --format html -o page.html").code, 1);
  const json log = json::parse(check("--atomic-sets all --format sarif").out);
  EXPECT_EQ(log["runs"][0]["results"][0]["ruleId"], "set-cycle");
  EXPECT_EQ(log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"].size(), 3);
  shell_.write("known.supp", "set-cycle:bank.c\n");
  EXPECT_EQ(check("--atomic-sets all --suppressions known.supp").code, 0);
}

TEST_F(AtomicSetsCommand, SavedFindingsRenderTheSame) {
  const Outcome text = check("--atomic-sets all");
  (void)check("--atomic-sets all --format json --stats -o saved.json");
  EXPECT_EQ(shell_.run("syndrome report saved.json").out, text.out);
}

}  // namespace
}  // namespace syndrome::test
