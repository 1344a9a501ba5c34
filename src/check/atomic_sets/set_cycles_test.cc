// What the 14 patterns do not have: cycles in the conflict graph of a set. And what is kept for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "check/atomic_sets/atomic_sets.h"
#include "check/atomic_sets/differential.h"
#include "check/atomic_sets/oracle.h"
#include "check/atomic_sets/verify.h"

namespace syndrome::check::atomic_sets {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

CheckResult run(const SmallTrace& trace, const Options& options) {
  const std::unique_ptr<Check> check = make_atomic_sets(options);
  std::vector<Event> events = trace.events;
  do {
    check->take({events, 1}, trace.names);
  } while (check->end_of_pass(trace.names));
  return check->result();
}

/// Each finding as "rule, units: from>to …", with a set for all.
std::vector<std::string> findings(std::string_view text, bool all = true) {
  const SmallTrace trace = from_std(text);
  Options options;
  options.all = all;
  options.default_sets = spec::DefaultSets::kAll;
  EXPECT_EQ(disagreement(trace.events, trace.names, unit_options(options)), "");
  std::vector<std::string> result;
  for (const Finding& finding : run(trace, options).findings) {
    std::string line(finding.rule);
    for (const EventNumber unit : finding.units) line += " " + std::to_string(unit);
    line += ":";
    for (const Edge& edge : finding.cycle) {
      line += " " + std::to_string(edge.from) + ">" + std::to_string(edge.to);
    }
    if (finding.count > 1) line += " x" + std::to_string(finding.count);
    result.push_back(std::move(line));
  }
  return result;
}

constexpr std::string_view kSkew = R"(A|begin()|a:1
B|begin()|b:1
A|r(x)|a:2
B|r(y)|b:2
A|w(y)|a:3
B|w(x)|b:3
A|end()|a:4
B|end()|b:4
)";

constexpr std::string_view kThree = R"(A|begin()|a:1
A|w(x)|a:2
B|begin()|b:1
B|r(x)|b:2
B|w(y)|b:3
B|end()|b:4
C|begin()|c:1
C|r(y)|c:2
C|w(z)|c:3
C|end()|c:4
A|r(z)|a:3
A|end()|a:4
)";

TEST(SetCycles, WriteSkew) {
  EXPECT_THAT(findings(kSkew), ElementsAre("set-cycle 2 1: 4>5 3>6"));
}

TEST(SetCycles, ThreeUnits) {
  EXPECT_THAT(findings(kThree), ElementsAre("set-cycle 1 3 7: 2>4 5>8 9>11"));
}

TEST(SetCycles, FourUnitsAndAccessesOutsideOfUnits) {
  // B and D are single accesses; no program order leads from B's access to the next one of its
  // thread.
  EXPECT_THAT(findings("A|begin()\nA|r(x)\nB|w(x)\nC|begin()\nC|r(x)\nC|w(y)\nC|end()\n"
                       "D|r(y)\nA|r(y)\nA|end()\n"),
              ElementsAre("set-cycle 1 3 4: 2>3 3>5 6>9"));
  EXPECT_THAT(findings("A|begin()\nA|r(x)\nB|w(x)\nB|w(y)\nA|r(y)\nA|end()\n"), IsEmpty());
}

TEST(SetCycles, TheShortestIsShown) {
  // C leads to A over B, and by itself.
  const std::vector<std::string> found = findings(
      "A|begin()\nA|r(x)\nB|begin()\nB|w(x)\nB|r(q)\nB|w(y)\nB|end()\n"
      "C|begin()\nC|r(y)\nC|w(x)\nC|w(z)\nC|end()\nA|w(z)\nA|end()\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], "set-cycle 1 8: 2>10 11>13");
}

TEST(SetCycles, WhatAPatternExplainsIsNoCycleBesides) {
  EXPECT_THAT(findings("A|begin()\nA|r(x)\nB|w(x)\nA|w(x)\nA|r(x)\nA|end()\n"),
              ElementsAre("pattern 1 3:", "pattern 1 3:"));
  // The cycle is there first, and its two units show a pattern later on.
  EXPECT_THAT(findings(std::string(kSkew.substr(0, kSkew.find("A|end"))) + "A|w(x)|a:9\n"),
              ElementsAre("pattern 1 2:"));
}

TEST(SetCycles, OneForEachCombinationOfSites) {
  const std::string twice = std::string(kThree) + std::string(kThree);
  EXPECT_THAT(findings(twice), ElementsAre("set-cycle 1 3 7: 2>4 5>8 9>11",
                                           "set-cycle 13 15 19: 14>16 17>20 21>23"));
  EXPECT_THAT(findings(twice, false), ElementsAre("set-cycle 1 3 7: 2>4 5>8 9>11 x2"));
}

TEST(SetCycles, AreJudgedWhereSetsAreDeclared) {
  const SmallTrace trace = from_std(kThree);
  EXPECT_EQ(run(trace, {}).verdict, Verdict::kClean);
  const Result<spec::Spec> spec = spec::parse_spec("[atomic-sets]\nS = ['x', 'y', 'z']\n");
  Options options;
  options.spec = &*spec;
  const CheckResult result = run(trace, options);
  EXPECT_EQ(result.verdict, Verdict::kViolated);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].set, "S");
  EXPECT_EQ(result.findings[0].event, 11U);
  EXPECT_THAT(result.findings[0].locations, ElementsAre("x", "y", "z"));
  ASSERT_EQ(result.findings[0].witnesses.size(), 6U);
  EXPECT_EQ(result.findings[0].witnesses[0].block, 1U);
  EXPECT_EQ(result.findings[0].witnesses[0].block_end, 12U);
}

TEST(SetCycles, TheVerifierRejectsWhatIsNone) {
  const SmallTrace trace = from_std(kThree);
  std::vector<Event> events = trace.events;
  Options options;
  options.default_sets = spec::DefaultSets::kAll;
  const Finding right = run(trace, options).findings.at(0);
  const auto reject = [&](const auto& change) {
    Finding finding = right;
    change(finding);
    Verifier verifier(std::span(&finding, 1), unit_options(options));
    verifier.take({events, 1}, trace.names);
    return verifier.reject(finding);
  };
  EXPECT_EQ(reject([](Finding&) {}), std::nullopt);
  EXPECT_THAT(reject([](Finding& f) { f.cycle.pop_back(); }), Optional(HasSubstr("as units")));
  EXPECT_THAT(reject([](Finding& f) { std::swap(f.cycle[0].from, f.cycle[0].to); }),
              Optional(HasSubstr("is not before")));
  EXPECT_THAT(reject([](Finding& f) { f.cycle[0].to = 5; }), Optional(HasSubstr("two locations")));
  EXPECT_THAT(reject([](Finding& f) { f.cycle[1] = {4, 8}; }), Optional(HasSubstr("locations")));
  EXPECT_THAT(reject([](Finding& f) { f.units[1] = 7; }), Optional(HasSubstr("unit that begins")));
  EXPECT_THAT(reject([](Finding& f) { std::swap(f.cycle[0], f.cycle[1]); }),
              Optional(HasSubstr("two units")));
  EXPECT_THAT(reject([](Finding& f) { f.cycle[0].from = 1; }), Optional(HasSubstr("no access")));
}

// --- memory and time

TEST(SetCycles, AnyNumberOfUnitsThatAreOver) {
  std::string text = "A|begin()\nA|r(x)\nB|begin()\nB|w(x)\nB|w(y)\nB|end()\n";
  for (int i = 0; i < 1000; ++i) text += "C|begin()\nC|w(z)\nC|end()\n";
  const SmallTrace trace = from_std(text + "A|r(y)\nA|end()\n");
  Options options;
  options.default_sets = spec::DefaultSets::kAll;
  const CheckResult result = run(trace, options);
  EXPECT_EQ(result.verdict, Verdict::kViolated);
  const auto held = std::ranges::find(result.stats, "most units held together", &Stat::name);
  ASSERT_NE(held, result.stats.end());
  EXPECT_EQ(held->value, 3U);  // nobody leads to a unit of C
}

TEST(SetCycles, WhatIsOverIsForgottenWhenNobodyLeadsToIt) {
  SetGraph graph;
  SetGraph::Node a;
  SetGraph::Node b;
  SetGraph::Node c;
  SetGraph::Node d;
  std::vector<SetGraph::Node*> forgotten;
  graph.open(a);
  graph.open(b);
  EXPECT_FALSE(graph.edge(a, b));
  EXPECT_FALSE(graph.edge(b, c));
  graph.close(c, forgotten);
  graph.close(b, forgotten);
  EXPECT_THAT(forgotten, IsEmpty());
  EXPECT_EQ(graph.groups(), 1U);  // both wait for a alone
  graph.open(d);
  EXPECT_FALSE(graph.edge(c, d));
  EXPECT_TRUE(graph.edge(d, a));  // a leads to d over b and c
  graph.close(a, forgotten);      // d leads to a, and so to the others
  EXPECT_THAT(forgotten, IsEmpty());
  EXPECT_TRUE(graph.edge(c, d));
  graph.close(d, forgotten);
  EXPECT_EQ(forgotten.size(), 4U);
  EXPECT_EQ(graph.groups(), 0U);
}

TEST(SetCycles, MoreThan64LiveUnits) {
  constexpr std::size_t kUnits = 200;
  std::vector<SetGraph::Node> units(kUnits);
  SetGraph graph;
  for (SetGraph::Node& unit : units) graph.open(unit);
  for (std::size_t i = 1; i < kUnits; ++i) EXPECT_FALSE(graph.edge(units[i - 1], units[i]));
  EXPECT_TRUE(graph.edge(units[kUnits - 1], units[0]));
}

TEST(SetCycles, ManyLiveUnitsThatOnlyReadAreNotComparedWithEachOther) {
  Matcher matcher([](const Match&) {});
  std::vector<Matcher::UnitId> units;
  EventNumber n = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) units.push_back(matcher.open({++n, ThreadId(i)}));
  for (int round = 0; round < 3; ++round) {
    for (const Matcher::UnitId unit : units) {
      matcher.access(unit, {0, 0}, EventKind::kRead, {++n, {}});
    }
  }
  for (const Matcher::UnitId unit : units) matcher.close(unit);
  EXPECT_EQ(matcher.counts().pairs, 0U);
}

}  // namespace
}  // namespace syndrome::check::atomic_sets
