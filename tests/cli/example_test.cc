// examples/: bank.std, which the README shows, and visits.cc, which `make demo` records.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;

struct Line {
  std::string thread, op, target;
  std::size_t line = 0;  // in bank.cc
};

std::vector<Line> bank_events() {
  const std::regex shape(R"(([^|]*)\|(\w+)\((.*)\)\|bank\.cc:(\d+):\d+)");
  std::vector<Line> events;
  std::istringstream trace(read_file(source_directory() / "examples/bank.std"));
  for (std::string text; std::getline(trace, text);) {
    if (text.starts_with('#')) continue;
    std::smatch part;
    EXPECT_TRUE(std::regex_match(text, part, shape)) << text;
    if (part.size() == 5) events.push_back({part[1], part[2], part[3], std::stoul(part[4])});
  }
  return events;
}

TEST(BankExample, EveryAccessIsLocked) {
  std::map<std::string, std::string> holder;  // of each lock
  for (const Line& event : bank_events()) {
    if (event.op == "acq") holder[event.target] = event.thread;
    if (event.op == "rel") holder[event.target].clear();
    if (event.op != "r" && event.op != "w") continue;
    const std::string account = event.target.substr(0, event.target.find('.'));
    EXPECT_EQ(holder[account + ".mutex"], event.thread) << event.op << " of " << event.target;
  }
}

TEST(BankExample, PlacesAreThoseOfTheProgram) {
  std::vector<std::string> source(1);
  std::istringstream program(read_file(source_directory() / "examples/bank.cc"));
  for (std::string line; std::getline(program, line);) source.push_back(line);
  const std::map<std::string, std::string> shows = {
      {"r", "balance_"}, {"w", "balance_ "},      {"acq", "guard("},  {"rel", "}"},
      {"end", "}"},      {"fork", "std::thread"}, {"join", ".join()"}};
  for (const Line& event : bank_events()) {
    ASSERT_LT(event.line, source.size());
    const std::string wanted = event.op == "begin"
                                   ? event.target.substr(event.target.rfind(':') + 1) + "("
                                   : shows.at(event.op);
    EXPECT_THAT(source[event.line], testing::HasSubstr(wanted)) << event.op << " " << event.target;
  }
}

TEST(BankExample, TheTransferViolatesAndNothingElse) {
  const Shell shell;
  const Outcome outcome = shell.run("syndrome check --format json examples/bank.std");
  ASSERT_EQ(outcome.code, 1) << outcome.err;
  const json findings = json::parse(outcome.out)["checks"][0]["findings"];
  ASSERT_EQ(findings.size(), 1U);
  const std::vector<Line> events = bank_events();
  const Line& begin = events.at(findings[0]["block"].get<std::size_t>() - 1);
  EXPECT_EQ(begin.op, "begin");
  EXPECT_EQ(begin.target, "Account::transfer");
  EXPECT_EQ(begin.thread, "alice");
}

TEST(VisitsExample, LosesUpdatesAndTheReportSaysWhere) {
  const Shell shell;
  const Outcome recorded = shell.run(
      "syndrome c++ -g -std=c++20 -pthread examples/visits.cc -o visits && "
      "syndrome record -o visits.syn -- ./visits");
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const Outcome outcome = shell.run("syndrome check --format json visits.syn");
  ASSERT_EQ(outcome.code, 1) << outcome.err;
  // What a recording is checked for when nobody says what: it has blocks, none deterministic.
  const json checks = json::parse(outcome.out)["checks"];
  ASSERT_EQ(checks.size(), 3U) << outcome.out;
  EXPECT_EQ(checks[0]["check"], "races");
  EXPECT_EQ(checks[0]["verdict"], "clean");
  EXPECT_EQ(checks[1]["check"], "atomic-sets");
  EXPECT_EQ(checks[1]["verdict"], "violated");
  EXPECT_EQ(checks[2]["check"], "atomicity");
  const json findings = checks[2]["findings"];
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(findings[0]["message"].get<std::string>(), testing::HasSubstr("Counter::add"));
  int accesses = 0;
  for (const json& site : findings[0]["sites"]) {
    if (site.value("op", "") != "r" && site.value("op", "") != "w") continue;
    ++accesses;
    EXPECT_THAT(site.value("file", ""), testing::EndsWith("visits.cc"));
    EXPECT_EQ(site.value("locks", json::array()).size(), 1U) << site;
  }
  EXPECT_GE(accesses, 3);
}

}  // namespace
}  // namespace syndrome::test
