// Small traces whose text is known: what is found, how well it is founded, and what the verifier
// rejects.

#include "check/units/units.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "check/samples/random_trace.h"
#include "check/units/detector.h"
#include "check/units/verify.h"

namespace syndrome::check::units {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

struct Flow {
  std::string_view from;
  std::string_view to;
  std::uint32_t how = 0;
};

SiteId site(const Names& names, std::string_view name) {
  const StringTable& table = names.table(Space::kSite);
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i] == name) return SiteId(i);
  }
  throw std::invalid_argument(std::string(name));
}

/// All variables are 8 bytes each, end to end, and all objects are the whole of it.
SmallTrace trace_of(std::string_view text, const std::vector<Flow>& flows) {
  SmallTrace trace = from_std(text);
  Layout& layout = trace.names.layout();
  for (const Flow& flow : flows) {
    layout.flows.push_back({site(trace.names, flow.from), site(trace.names, flow.to), flow.how});
  }
  const std::size_t variables = trace.names.table(Space::kVariable).size();
  for (std::size_t i = 0; i < variables; ++i) layout.variables.push_back({0x1000 + 8 * i, 0});
  layout.objects.resize(trace.names.table(Space::kObject).size(), {0x1000, 8 * variables});
  return trace;
}

/// Each finding as "tier rule or pattern: events, connection".
std::vector<std::string> findings(std::string_view text, const std::vector<Flow>& flows,
                                  bool possible = false) {
  SmallTrace trace = trace_of(text, flows);
  Options options;
  options.possible = possible;
  const std::unique_ptr<Check> check = make_units(options);
  do {
    check->take({trace.events, 1}, trace.names);
  } while (check->end_of_pass(trace.names));
  const CheckResult result = check->result();
  EXPECT_TRUE(result.complete);
  std::vector<std::string> lines;
  for (const Finding& finding : result.findings) {
    std::string line = fmt::format("{} {}", finding.tier, finding.rule);
    if (finding.pattern != 0) line += fmt::format(" {}", finding.pattern);
    line += ":";
    for (const EventNumber event : finding.events) line += fmt::format(" {}", event);
    for (const Edge& edge : finding.cycle) line += fmt::format(" {}>{}", edge.from, edge.to);
    lines.push_back(line + ", " + finding.connection);
  }
  return lines;
}

constexpr std::string_view kStale = R"(A|enter(f)
  A|r(x)|a:1
  B|w(x)|b:1
  A|w(x)|a:2
)";

TEST(Units, a_stale_update) {
  EXPECT_THAT(findings(kStale, {{"a:1", "a:2", unit::kFlowData}}),
              ElementsAre("certain pattern 1: 2 3 4, the value read at a:1 is part of what a:2 "
                          "writes"));
  EXPECT_THAT(findings(kStale, {}), IsEmpty());
  EXPECT_THAT(findings(kStale, {}, true), ElementsAre("possible pattern 1: 2 3 4, "));
  EXPECT_THAT(findings(kStale, {{"a:2", "a:1", unit::kFlowData}}), IsEmpty());
}

TEST(Units, a_check_that_is_made_again_is_clean) {
  const std::vector<Flow> flows = {{"a:1", "a:3", unit::kFlowControl | unit::kFlowDecides}};
  constexpr std::string_view kChecked = R"(A|enter(f)
    A|r(x)|a:1
    B|w(x)|b:1
    A|acq(m)
    A|r(x)|a:2
    A|w(x)|a:3
    A|rel(m))";
  EXPECT_THAT(findings(kChecked, flows),
              ElementsAre("likely pattern 1: 2 3 6, the value read at a:1 decides whether a:3 "
                          "happens"));
  std::vector<Flow> again = flows;
  again.push_back({"a:2", "a:3", unit::kFlowControl | unit::kFlowDecides});
  EXPECT_THAT(findings(kChecked, again), IsEmpty());
}

TEST(Units, two_rounds_of_a_loop_are_clean) {
  const std::vector<Flow> flows = {{"a:1", "a:2", unit::kFlowData},
                                   {"a:1", "a:1", unit::kFlowData}};
  EXPECT_THAT(findings("A|enter(f)\nA|r(x)|a:1\nB|w(x)|b:1\nA|r(x)|a:1\nA|w(x)|a:2", flows, true),
              IsEmpty());
}

TEST(Units, a_fork_or_join_ends_a_unit) {
  const std::vector<Flow> flows = {{"a:1", "a:2", unit::kFlowData}};
  EXPECT_THAT(findings("A|enter(f)\nA|r(x)|a:1\nA|fork(B)\nB|w(x)|b:1\nA|w(x)|a:2", flows, true),
              IsEmpty());
}

constexpr std::string_view kHeld = R"(A|enter(f)
  A|acq(m)
  A|r(x)|a:1
  B|w(x)|b:1
  A|r(x)|a:2
  A|rel(m)
)";

TEST(Units, a_lock_held_over_both_accesses_is_certain) {
  EXPECT_THAT(findings(kHeld, {}),
              ElementsAre("certain pattern 2: 3 4 5, m is held from a:1 to a:2, and the other "
                          "thread does not hold it"));
  EXPECT_THAT(findings(R"(A|enter(f)
    A|acq(m)
    A|r(x)|a:1
    A|rel(m)
    B|w(x)|b:1
    A|acq(m)
    A|r(x)|a:2
    A|rel(m))",
                       {}),
              IsEmpty());
}

constexpr std::string_view kCheckThenAct = R"(A|enter(f)
  A|object(o)
  A|acq(m)
  A|r(x)|a:1
  A|rel(m)
  B|enter(g)
  B|acq(m)
  B|w(x)|b:1
  B|w(y)|b:2
  B|rel(m)
  A|acq(m)
  A|w(y)|a:2
  A|rel(m)
)";

TEST(Units, a_check_and_an_act_at_two_locations_are_a_cycle) {
  EXPECT_THAT(
      findings(kCheckThenAct, {{"a:1", "a:2", unit::kFlowControl | unit::kFlowDecides}}),
      ElementsAre("likely set-cycle: 4>8 9>12, the value read at a:1 decides whether a:2 happens"));
  EXPECT_THAT(findings(kCheckThenAct, {{"a:1", "a:2", unit::kFlowControl}}), IsEmpty());
}

/// Why a changed finding is rejected, when the one finding of the trace is not.
template <class Change>
std::optional<std::string> reject(std::string_view text, const std::vector<Flow>& flows,
                                  const Change& change) {
  SmallTrace trace = trace_of(text, flows);
  Detector detector;
  detector.take({trace.events, 1}, trace.names);
  Found found = detector.found().at(0);
  change(found, trace.names);
  Verifier verifier(std::span(&found, 1));
  verifier.take({trace.events, 1}, trace.names);
  return verifier.reject(found);
}

TEST(Units, the_verifier_rejects_what_is_no_pattern) {
  const std::vector<Flow> flows = {{"a:1", "a:2", unit::kFlowData}};
  constexpr std::string_view kMore = R"(A|enter(f)
    A|r(x)|a:1
    B|w(x)|b:1
    A|w(x)|a:2
    A|w(y)|a:3
    C|w(x)|c:1
    A|fork(D)
    A|w(x)|a:2)";
  const auto rejected = [&](const auto& change) {
    return reject(kMore, flows, [&](Found& f, const Names&) { change(f); });
  };
  EXPECT_EQ(rejected([](Found&) {}), std::nullopt);
  EXPECT_THAT(rejected([](Found& f) { f.pattern = 15; }), Optional(Eq("there is no such pattern")));
  EXPECT_THAT(rejected([](Found& f) { f.events[0] = 1; }), Optional(Eq("an event is no access")));
  EXPECT_THAT(rejected([](Found& f) { f.events[0] = 99; }), Optional(Eq("an event is no access")));
  EXPECT_THAT(rejected([](Found& f) { f.events[1] = 2; }),
              Optional(Eq("the events are not in order")));
  EXPECT_THAT(rejected([](Found& f) { f.pattern = 2; }),
              Optional(Eq("an event is of the wrong kind")));
  EXPECT_THAT(rejected([](Found& f) { f.events[2] = 5; }),
              Optional(Eq("an event is at another location")));
  EXPECT_THAT(rejected([](Found& f) { f.events[2] = 6; }),
              Optional(Eq("a unit is of two threads")));
  EXPECT_THAT(rejected([](Found& f) { f.events = {2, 4, 8, 0}; }),
              Optional(Eq("there is one thread")));
  EXPECT_THAT(rejected([](Found& f) { f.unit = 2; }), Optional(Eq("it is another activation")));
  EXPECT_THAT(rejected([](Found& f) { f.from = f.to; }), Optional(Eq("the steps are others")));
  EXPECT_THAT(rejected([](Found& f) { f.events[2] = 8; }),
              Optional(Eq("the activation forks or joins in between")));
  for (const Link link : {Link::kAddress, Link::kControl, Link::kJoined, Link::kSource,
                          Link::kReset, Link::kReread, Link::kNone}) {
    EXPECT_THAT(rejected([&](Found& f) { f.judgement.link = link; }),
                Optional(Eq("nothing connects them")));
  }
  EXPECT_THAT(rejected([](Found& f) { f.judgement.link = Link::kOther; }),
              Optional(Eq("the other thread has one access")));
  EXPECT_THAT(rejected([](Found& f) { f.judgement.link = Link::kHold; }),
              Optional(Eq("the lock is not held from the one to the other")));
}

TEST(Units, the_verifier_rejects_two_rounds) {
  const auto change = [](Found& f, const Names&) {
    f.events = {2, 3, 5, 0};
    f.pattern = 2;
    f.to = f.from;
  };
  EXPECT_THAT(reject("A|enter(f)\nA|r(x)|a:1\nB|w(x)|b:1\nA|w(x)|a:2\nA|r(x)|a:1",
                     {{"a:1", "a:2", unit::kFlowData}}, change),
              Optional(Eq("it is one step")));
}

TEST(Units, the_verifier_rejects_a_lock_that_both_have) {
  const auto nothing = [](Found&, const Names&) {};
  EXPECT_EQ(reject(kHeld, {}, nothing), std::nullopt);
  // Only a shared lock can be held by both.
  const auto hold = [](Found& f, const Names&) { f.judgement.link = Link::kHold; };
  EXPECT_THAT(reject(R"(A|enter(f)
    A|acq_shared(m)
    A|r(x)|a:1
    B|acq_shared(m)
    B|w(x)|b:1
    A|r(x)|a:2)",
                     {}, hold),
              Optional(Eq("the other one has the lock, too")));
}

TEST(Units, the_verifier_rejects_what_is_no_cycle) {
  const std::vector<Flow> flows = {{"a:1", "a:2", unit::kFlowControl | unit::kFlowDecides}};
  const auto rejected = [&](const auto& change) {
    return reject(std::string(kCheckThenAct) + "B|w(y)|b:3\nA|r(y)|a:3\nB|r(x)|b:4\n", flows,
                  [&](Found& f, const Names&) { change(f); });
  };
  ASSERT_EQ(rejected([](Found& f) { ASSERT_EQ(f.pattern, 0); }), std::nullopt);
  EXPECT_THAT(rejected([](Found& f) { f.events[3] = 13; }), Optional(Eq("an event is no access")));
  EXPECT_THAT(rejected([](Found& f) { f.events[3] = 14; }),
              Optional(Eq("a unit is of two threads")));
  EXPECT_THAT(rejected([](Found& f) { f.events = {4, 4, 12, 12}; }),
              Optional(Eq("there is one thread")));
  EXPECT_THAT(rejected([](Found& f) { f.events[2] = 14; }), Optional(Eq("an edge leads back")));
  EXPECT_THAT(rejected([](Found& f) { f.events[1] = 9; }),
              Optional(Eq("an event is at another location")));
  EXPECT_THAT(rejected([](Found& f) { f.events[1] = 16; }), Optional(Eq("an edge is no conflict")));
  EXPECT_THAT(rejected([](Found& f) { f.events[2] = 14, f.events[3] = 15; }),
              Optional(Eq("the other accesses are not in one critical section")));
  EXPECT_THAT(rejected([](Found& f) { f.unit = 6; }), Optional(Eq("it is another activation")));
  EXPECT_THAT(rejected([](Found& f) { f.judgement.link = Link::kAddress; }),
              Optional(Eq("nothing connects them")));
}

}  // namespace
}  // namespace syndrome::check::units
