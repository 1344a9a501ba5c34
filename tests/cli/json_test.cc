// The JSON that other programs rely on: names and shapes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/traces.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::Not;

class JsonReport : public testing::Test {
 protected:
  JsonReport() {
    shell_.write("clean.std", kClean);
    shell_.write("violated.std", kViolated);
  }

  json check(const std::string& arguments, int code) const {
    const Outcome outcome = shell_.run("syndrome check --format json " + arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    json report = json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(report.is_discarded()) << outcome.out;
    return report;
  }

  const Shell shell_;
};

TEST_F(JsonReport, TraceAndTool) {
  const json report = check("violated.std", 1);
  EXPECT_EQ(report["version"], 1);
  EXPECT_EQ(report["tool"], (json{{"name", "syndrome"}, {"version", SYNDROME_VERSION}}));
  const json trace = {{"file", "violated.std"}, {"events", 7}, {"threads", 2},
                      {"variables", 1},         {"locks", 0},  {"blocks", 2}};
  for (const auto& [key, value] : trace.items()) EXPECT_EQ(report["trace"][key], value) << key;
}

TEST_F(JsonReport, ACleanTrace) {
  const json report = check("clean.std", 0);
  ASSERT_EQ(report["checks"].size(), 1U);
  const json& atomicity = report["checks"][0];
  EXPECT_EQ(atomicity["check"], "atomicity");
  EXPECT_EQ(atomicity["engine"], "reach");
  EXPECT_EQ(atomicity["verdict"], "clean");
  EXPECT_TRUE(atomicity["seconds"].is_number());
  EXPECT_EQ(atomicity["findings"], json::array());
}

TEST_F(JsonReport, TheCycle) {
  for (const std::string engine : {"reach", "aerodrome", "velodrome"}) {
    const json report = check("--engine " + engine + " violated.std", 1);
    const json& atomicity = report["checks"][0];
    EXPECT_EQ(atomicity["engine"], engine);
    EXPECT_EQ(atomicity["verdict"], "violated");
    ASSERT_EQ(atomicity["findings"].size(), 1U);
    const json& finding = atomicity["findings"][0];
    EXPECT_EQ(finding["check"], "atomicity");
    EXPECT_EQ(finding["rule"], "conflict-cycle");
    EXPECT_EQ(finding["certainty"], "observed");
    EXPECT_EQ(finding["event"], 6);
    EXPECT_EQ(finding["block"], 1);
    EXPECT_EQ(finding["cycle"], (json{{{"from", 2}, {"to", 4}}, {{"from", 4}, {"to", 6}}}));
    EXPECT_FALSE(finding["message"].get<std::string>().empty());
    ASSERT_TRUE(finding["sites"].is_array());
    ASSERT_FALSE(finding["sites"].empty());
    EXPECT_EQ(finding["sites"][0]["file"], "bank.c");
    EXPECT_TRUE(finding["sites"][0]["line"].is_number_integer());
    EXPECT_TRUE(finding["sites"][0]["column"].is_number_integer());
  }
}

std::vector<std::string> fingerprints(const json& report) {
  std::vector<std::string> found;
  for (const json& finding : report["checks"][0]["findings"]) {
    found.push_back(finding["fingerprint"]);
  }
  return found;
}

TEST_F(JsonReport, TheFingerprintIsMadeOfSites) {
  const std::vector<std::string> first = fingerprints(check("violated.std", 1));
  // Other threads, another variable, events before it: the same place in the source.
  const Outcome other = shell_.run(
      "(echo 'u|w(z)|bank.c:99:1'; sed 's/^t/u/; s/(x)/(y)/' violated.std) > other.std; "
      "sed 's/bank/shop/' violated.std > elsewhere.std");
  ASSERT_EQ(other.code, 0);
  EXPECT_EQ(fingerprints(check("other.std", 1)), first);
  EXPECT_THAT(fingerprints(check("elsewhere.std", 1)), Not(testing::Eq(first)));
}

TEST_F(JsonReport, OneFindingForEachCombinationOfSitesUnlessAll) {
  ASSERT_EQ(shell_.run("cat violated.std violated.std violated.std > thrice.std").code, 0);
  EXPECT_EQ(check("thrice.std", 1)["checks"][0]["findings"].size(), 1U);
  EXPECT_EQ(check("--all thrice.std", 1)["checks"][0]["findings"].size(), 3U);
}

TEST_F(JsonReport, ChecksStandInTheOrderRequested) {
  for (const auto& [list, order] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"count,atomicity", {"count", "atomicity"}},
           {"atomicity,count", {"atomicity", "count"}}}) {
    std::vector<std::string> names;
    const json report = check("--check " + list + " violated.std", 1);
    for (const json& entry : report["checks"]) names.push_back(entry["check"]);
    EXPECT_EQ(names, order);
  }
}

TEST_F(JsonReport, NamesThatAreNotJsonAreStillWritten) {
  shell_.write(
      "odd.std",
      "t\"1|begin(tr\\an\tsfer)|b.c:1:1\nt\"1|r(\xff\xfe)|b.c:2:1\nt2|w(\xff\xfe)|b.c:3:1\n"
      "t\"1|w(\xff\xfe)|b.c:4:1\nt\"1|end|b.c:5:1\n");
  EXPECT_EQ(check("odd.std", 1)["checks"][0]["findings"].size(), 1U);
}

}  // namespace
}  // namespace syndrome::test
