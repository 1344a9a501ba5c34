// What is found and what is not: each pattern, the paper's figures, each rule for units by itself,
// and what the check gives back. Every trace is shown to the oracle too.

#include "check/atomic_sets/atomic_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/atomic_sets/differential.h"
#include "check/atomic_sets/oracle.h"
#include "check/atomic_sets/verify.h"
#include "trace/capture_shared.h"

namespace syndrome::check::atomic_sets {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CheckResult run(const SmallTrace& trace, const Options& options) {
  const std::unique_ptr<Check> check = make_atomic_sets(options);
  bool again = true;
  for (int pass = 0; again; ++pass) {
    EXPECT_LT(pass, 3);
    std::vector<Event> events = trace.events;
    for (std::size_t at = 0; at < events.size() && !check->satisfied(); at += 2) {
      const std::size_t size = std::min<std::size_t>(2, events.size() - at);
      check->take({std::span(events).subspan(at, size), at + 1}, trace.names);
    }
    again = check->end_of_pass(trace.names);
  }
  return check->result();
}

/// Each finding as "pattern set: events".
std::vector<std::string> findings(std::string_view text, std::string_view spec_text = "",
                                  bool all = true) {
  const SmallTrace trace = from_std(text);
  const Result<spec::Spec> spec = spec::parse_spec(spec_text);
  EXPECT_TRUE(spec) << spec.error().message;
  Options options;
  options.all = all;
  options.spec = &*spec;
  EXPECT_EQ(disagreement(trace.events, trace.names, unit_options(options)), "");
  std::vector<std::string> result;
  for (const Finding& finding : run(trace, options).findings) {
    std::string line = std::to_string(finding.pattern) + " " + finding.set + ":";
    for (const EventNumber event : finding.events) line += " " + std::to_string(event);
    result.push_back(std::move(line));
  }
  return result;
}

constexpr std::string_view kAll = "atomic-sets.options.default = 'all'";
constexpr std::string_view kEach = "atomic-sets.options.default = 'each'";

/// The pattern alone: begin, its events, end.
std::string trace_of(const Pattern& pattern) {
  std::string text = "U|begin()\nV|begin()\n";
  for (const Step& step : pattern.events()) {
    text += std::string(step.other ? "V" : "U") + (step.write ? "|w(" : "|r(") +
            (step.second ? "l2)\n" : "l1)\n");
  }
  return text + "U|end()\nV|end()\n";
}

TEST(AtomicSets, EachPatternIsFoundAlone) {
  for (const Pattern& pattern : kPatterns) {
    const std::string events = pattern.length == 3 ? " 3 4 5" : " 3 4 5 6";
    EXPECT_THAT(findings(trace_of(pattern), kAll),
                ElementsAre(std::to_string(pattern.number) + " all:" + events))
        << pattern.number;
    // Two locations that do not belong together.
    if (pattern.two_locations()) {
      EXPECT_THAT(findings(trace_of(pattern), kEach), IsEmpty());
    }
  }
}

TEST(AtomicSets, SerialUnitsAreFine) {
  EXPECT_THAT(findings("U|begin()\nU|w(x)\nU|r(y)\nU|w(y)\nU|end()\n"
                       "V|begin()\nV|r(x)\nV|w(x)\nV|w(y)\nV|end()\nU|r(x)",
                       kAll),
              IsEmpty());
}

// Figure 1: the counter of operations is a set by itself, and inc() its unit.
constexpr std::string_view kFigure1 = R"(
    T1|enter(Account::transfer)
    T1|r(Account::checking@10)
    T1|w(Account::checking@10)
    T1|enter(Global::inc)
    T1|r(Global::ops@20)
    T1|w(Global::ops@20)
    T1|exit()
    T2|enter(run)
    T2|enter(Global::inc)
    T2|r(Global::ops@20)
    T2|w(Global::ops@20)
    T2|exit()
    T2|exit()
    T1|r(Account::savings@10)
    T1|w(Account::savings@10)
    T1|enter(Global::inc)
    T1|r(Global::ops@20)
    T1|w(Global::ops@20)
    T1|exit()
    T1|exit())";

TEST(AtomicSets, Figure1IsSerializableForEachSet) {
  EXPECT_THAT(findings(kFigure1), IsEmpty());
}

TEST(AtomicSets, Figure1IsNotWhenAllIsOneSet) {
  EXPECT_THAT(findings(kFigure1, kAll), Contains(HasSubstr("1 all:")));
}

TEST(AtomicSets, Figure3HasPattern11) {
  EXPECT_THAT(findings(R"(
    T1|begin(u1)
    T1|r(x)
    T1|r(y)
    T2|begin(u2)
    T2|r(x)
    T2|r(y)
    T2|r(y)
    T2|w(y)
    T2|w(x)
    T2|end()
    T1|r(x)
    T1|w(x)
    T1|w(y)
    T1|end())",
                       kAll),
              Contains("11 all: 3 8 9 11"));
}

// --- units

TEST(AtomicSets, AnAccessOutsideIsAUnitByItself) {
  EXPECT_THAT(findings("U|r(x)\nV|w(x)\nU|w(x)"), IsEmpty());
  EXPECT_THAT(findings("U|begin()\nU|r(x)\nV|w(x)\nU|w(x)\nU|end()"), ElementsAre("1 x: 2 3 4"));
}

TEST(AtomicSets, InnerBlocksArePartOfTheOutermost) {
  EXPECT_THAT(findings("U|begin()\nU|begin()\nU|r(x)\nU|end()\nV|w(x)\nU|begin()\nU|w(x)"),
              ElementsAre("1 x: 3 5 7"));
}

TEST(AtomicSets, AMemberFunctionIsAUnitForItsObject) {
  // sum() accesses nothing itself: get() does, for the object that sum() is called for.
  EXPECT_THAT(findings("M|enter(main)\nM|enter(A::sum(int))\nM|enter(A::get())\nM|r(A::x@1)\n"
                       "M|exit()\nV|w(A::x@1)\nM|enter(A::get())\nM|r(A::x@1)\nM|exit()\n"),
              ElementsAre("2 A at 1: 4 6 8"));
  // The second object is another's.
  EXPECT_THAT(findings("M|enter(A::sum(int))\nM|enter(A::get())\nM|r(A::x@1)\nM|exit()\n"
                       "M|enter(A::get())\nM|r(A::x@2)\nM|exit()\nV|w(A::x@2)\n"
                       "M|enter(A::get())\nM|r(A::x@2)\nM|exit()\n"),
              IsEmpty());
}

TEST(AtomicSets, AFunctionIsAUnitForWhatItAccessesItself) {
  EXPECT_THAT(findings("M|enter(main)\nM|enter(free)\nM|r(A::x@1)\nV|w(A::x@1)\nM|w(A::x@1)"),
              ElementsAre("1 A at 1: 3 4 5"));
  // Through the library counts as itself.
  EXPECT_THAT(findings("M|enter(free)\nM|enter(std::swap)\nM|r(A::x@1)\nV|w(A::x@1)\nM|w(A::x@1)"),
              ElementsAre("1 A at 1: 3 4 5"));
  EXPECT_THAT(findings("M|enter(main)\nM|r(A::x@1)\nV|w(A::x@1)\nM|w(A::x@1)"), IsEmpty());
}

TEST(AtomicSets, WhatAThreadBeginsWithIsNoUnit) {
  EXPECT_THAT(findings("M|fork(V)\nV|enter(std::run)\nV|enter(work)\nV|r(A::x@1)\nM|w(A::x@1)\n"
                       "V|w(A::x@1)"),
              IsEmpty());
  EXPECT_THAT(findings("M|fork(V)\nV|enter(work)\nV|enter(step)\nV|r(A::x@1)\nM|w(A::x@1)\n"
                       "V|w(A::x@1)"),
              ElementsAre("1 A at 1: 4 5 6"));
}

constexpr std::string_view kCaller =
    "M|enter(free)\nM|enter(A::get())\nM|r(A::x@1)\nM|exit()\nV|w(A::x@1)\n"
    "M|enter(A::set())\nM|w(A::x@1)\nM|exit()\nM|exit()";

// Waiting lets others in on purpose, so a function that looks again is two units; unless it is
// declared to be one.
TEST(AtomicSets, AWaitEndsWhatIsAUnitByDefault) {
  constexpr std::string_view kWait = R"(
    T1|enter(Queue::take)
    T1|r(Queue::count@10)
    T1|cond_wait(c)
    T2|enter(run)
    T2|enter(Queue::put)
    T2|w(Queue::count@10)
    T2|exit()
    T1|r(Queue::count@10)
    T1|w(Queue::count@10)
    T1|exit()
    T2|exit()
)";
  EXPECT_THAT(findings(kWait), IsEmpty());
  EXPECT_THAT(findings(kWait, "[units]\nwork = ['Queue::take']"),
              ElementsAre("2 Queue at 10: 2 6 8", "1 Queue at 10: 2 6 9"));
  // The same after a wait is found.
  EXPECT_THAT(findings(R"(
    T1|enter(Queue::take)
    T1|cond_wait(c)
    T1|w(Queue::count@10)
    T1|cond_wait(c)
    T1|r(Queue::count@10)
    T2|enter(run)
    T2|enter(Queue::put)
    T2|w(Queue::count@10)
    T2|exit()
    T1|r(Queue::count@10)
    T1|exit()
    T2|exit()
)"),
              ElementsAre("2 Queue at 10: 5 8 10"));
}

// std::async and threads that a function makes and waits for were told of in every run.
TEST(AtomicSets, SoDoJoinsBarriersSemaphoresAndFutures) {
  const auto run = [](std::string_view wait) {
    return "T1|enter(sum)\nT1|w(Parts::left@10)\nT1|fork(T2)\nT2|enter(run)\n"
           "T2|r(Parts::left@10)\nT2|exit()\n" +
           std::string(wait) + "T1|w(Parts::left@10)\nT1|exit()";
  };
  EXPECT_THAT(findings(run("")), ElementsAre("3 Parts at 10: 2 5 7"));
  for (const std::string_view wait :
       {"T1|join(T2)\n", "T1|wait(s)\n", "T1|barrier_arrive(b)\nT1|barrier_leave(b)\n",
        "T1|enter(std::future<int>::get())\nT1|exit()\n"}) {
    EXPECT_THAT(findings(run(wait)), IsEmpty()) << wait;
    EXPECT_THAT(findings(run(wait), "[units]\nwork = ['sum']"), ::testing::SizeIs(1)) << wait;
  }
}

// A pool's worker: it takes the lock before its loop, and again at the end of each round, at
// another place. The second round is a unit of its own; what only goes on behind the taking is not.
TEST(AtomicSets, ALoopThatLetsGoOfItsLockHasAUnitForEachRound) {
  const auto worker = [](std::string_view again) {
    return "T1|enter(Pool::work)\nT1|acq(m)|p:1\nT1|r(Pool::count@10)|p:2\n"
           "T1|w(Pool::count@10)|p:3\nT1|rel(m)|p:4\n"
           "T2|enter(run)\nT2|enter(Pool::put)\nT2|acq(m)\nT2|w(Pool::count@10)\nT2|rel(m)\n"
           "T2|exit()\nT2|exit()\nT1|acq(m)|p:5\n" +
           std::string(again) + "T1|w(Pool::count@10)|p:3\nT1|rel(m)|p:4\nT1|exit()";
  };
  EXPECT_THAT(findings(worker("T1|r(Pool::count@10)|p:2\n")), IsEmpty());
  // Nor is a loop behind the taking.
  EXPECT_THAT(findings("T1|enter(Pool::grow)\nT1|acq(m)|p:1\nT1|r(Pool::count@10)|p:2\n"
                       "T1|rel(m)|p:3\nT2|enter(run)\nT2|enter(Pool::put)\nT2|acq(m)\n"
                       "T2|w(Pool::count@10)\nT2|rel(m)\nT2|exit()\nT2|exit()\nT1|acq(m)|p:4\n"
                       "T1|r(Pool::size@10)|p:5\nT1|r(Pool::size@10)|p:5\n"
                       "T1|w(Pool::count@10)|p:6\nT1|rel(m)|p:7\nT1|exit()"),
              Not(IsEmpty()));
}

// A function that is an atomic block and waits: its accesses belong to the function, which is
// around the block.
TEST(AtomicSets, AWaitInABlockEndsNothing) {
  EXPECT_THAT(findings("T1|enter(add)\nT1|begin(add)\nT1|r(Sum::all@10)\nT1|cond_wait(c)\n"
                       "T2|w(Sum::all@10)\nT1|w(Sum::all@10)\nT1|end()\nT1|exit()"),
              ElementsAre("1 Sum at 10: 3 5 6"));
}

// A wait that times out is only seen by its lock, which is given back and taken again at one place.
TEST(AtomicSets, AWaitThatTimesOutEndsOne) {
  const auto poll = [](std::string_view again, std::string_view between) {
    return "T1|enter(Queue::poll)\nT1|acq(m)|q:1\nT1|r(Queue::count@10)|q:2\nT1|rel(m)|q:3\n" +
           std::string(between) +
           "T2|enter(run)\nT2|enter(Queue::put)\nT2|acq(m)\nT2|w(Queue::count@10)\n"
           "T2|rel(m)\nT2|exit()\nT1|acq(m)|" +
           std::string(again) + "\nT1|r(Queue::count@10)|q:4\nT1|rel(m)|q:5\nT1|exit()\nT2|exit()";
  };
  EXPECT_THAT(findings(poll("q:3", "")), IsEmpty());
  EXPECT_THAT(findings(poll("q:6", "")), ElementsAre("2 Queue at 10: 3 8 12"));
  EXPECT_THAT(findings(poll("q:3", "T1|r(x)|q:7\n")), ElementsAre("2 Queue at 10: 3 9 13"));
  EXPECT_THAT(findings(poll("q:3", ""), "[units]\nwork = ['Queue::poll']"),
              ElementsAre("2 Queue at 10: 3 8 12"));
}

// What code without probes calls is no part of whoever called that code, which goes on afterwards.
TEST(AtomicSets, WhatIsCalledBackIsAUnitByItself) {
  const auto handled = [](std::string_view call, std::string_view back) {
    return "M|enter(Loop::run)\n" + std::string(call) +
           "M|enter(handle)\nM|w(Loop::n@10)\nM|exit()\n" + std::string(back) +
           "V|w(Loop::n@10)\n" + std::string(call) +
           "M|enter(handle)\nM|w(Loop::n@10)\nM|exit()\n" + std::string(back) + "M|exit()";
  };
  EXPECT_THAT(findings(handled("M|enter(unit (called back))\n", "M|exit()\n")), IsEmpty());
  EXPECT_THAT(findings(handled("", "")), ElementsAre("5 Loop at 10: 3 5 7"));
  EXPECT_THAT(findings(handled("M|enter(unit (called back))\n", "M|exit()\n"),
                       "[units]\nwork = ['Loop::run']"),
              ElementsAre("5 Loop at 10: 4 7 10"));
  EXPECT_THAT(findings(R"(
    M|enter(Loop::run)
    M|r(Loop::n@10)
    M|enter(unit (called back))
    M|enter(handle)
    M|r(Loop::n@10)
    M|exit()
    M|exit()
    V|w(Loop::n@10)
    M|r(Loop::n@10)
    M|exit()
)"),
              ElementsAre("2 Loop at 10: 2 8 9"));
  // Once a declared unit has the set, it has it before and behind.
  EXPECT_THAT(findings(R"(
    T0|enter(D::h())
    T0|enter(unit)
    T0|enter(unit (called back))
    T0|r(C::a@10)
    T0|exit()
    T1|w(C::a@10)
    T0|r(C::a@10)
)"),
              ElementsAre("2 C at 10: 4 6 7"));
}

// A copy asks the other object for its size, and then for what is in it.
TEST(AtomicSets, WhatCopiesAnObjectIsAUnitForIt) {
  for (const std::string_view function : {"V::V(V&)", "V::operator=(V const&)"}) {
    EXPECT_THAT(findings("T1|enter(" + std::string(function) + R"()
      T1|w(V::size@10)
      T1|enter(V::get())
      T1|r(V::size@20)
      T1|exit()
      T2|w(V::size@20)
      T1|enter(V::copy())
      T1|r(V::size@20)
      T1|exit()
      T1|exit()
)"),
                ElementsAre("2 V at 20: 4 6 8"));
  }
}

// A loop that takes its lock in each round, by itself or by a function that returns with it; not
// one that calls a function which takes it and lets go of it.
TEST(AtomicSets, ARoundOfALoopThatLocksIsAUnit) {
  const auto rounds = [](std::string_view lock, std::string_view unlock) {
    const std::string round = std::string(lock) + R"(
      T1|r(Queue::count@10)|loop:2
      T1|w(Queue::count@10)|loop:3
)" + std::string(unlock);
    return findings("T1|enter(produce)|main:1\n" + round +
                    R"(
      T2|enter(run)|0
      T2|enter(Queue::put)|run:1
      T2|w(Queue::count@10)|put:1
      T2|exit()|run:1
      T2|exit()|0
)" + round + "T1|exit()|main:1\n");
  };
  EXPECT_THAT(rounds("T1|acq(m)|loop:1", "T1|rel(m)|loop:4"), IsEmpty());
  EXPECT_THAT(rounds("T1|enter(lock)|loop:1\nT1|acq(m)|lock:1\nT1|exit()|loop:1",
                     "T1|enter(unlock)|loop:4\nT1|rel(m)|unlock:1\nT1|exit()|loop:4"),
              IsEmpty());
  EXPECT_THAT(rounds("", ""), Not(IsEmpty()));
  EXPECT_THAT(
      rounds("T1|enter(peek)|loop:1\nT1|acq(m)|peek:1\nT1|rel(m)|peek:2\nT1|exit()|loop:1", ""),
      Not(IsEmpty()));
}

TEST(AtomicSets, ACallerIsAUnitWhenItIsDeclared) {
  EXPECT_THAT(findings(kCaller), IsEmpty());
  EXPECT_THAT(findings(kCaller, "[units]\nwork = ['free']"), ElementsAre("1 A at 1: 3 5 7"));
  EXPECT_THAT(findings(kCaller, "[units.for]\nA = ['free']"), ElementsAre("1 A at 1: 3 5 7"));
  EXPECT_THAT(findings(kCaller, "[units.for]\nB = ['free']"), IsEmpty());
  EXPECT_THAT(findings(kCaller, "[atomic-sets]\nS = ['A::x']\n[units.for]\nS = ['free']"),
              ElementsAre("1 S of 1: 3 5 7"));
}

std::string annotated(std::string_view label) {
  return "M|enter(free)\nM|enter(" + std::string(label) + ")\n" + std::string(kCaller).substr(14) +
         "\nM|exit()";
}

TEST(AtomicSets, AnnotatedUnits) {
  EXPECT_THAT(findings(annotated("unit A")), ElementsAre("1 A at 1: 4 6 8"));
  EXPECT_THAT(findings(annotated("unit B, A")), ElementsAre("1 A at 1: 4 6 8"));
  EXPECT_THAT(findings(annotated("unit ")), ElementsAre("1 A at 1: 4 6 8"));
  EXPECT_THAT(findings(annotated("unit B")), IsEmpty());
  // The unit is known by the function that is annotated.
  const SmallTrace trace = from_std(annotated("unit A"));
  const CheckResult result = run(trace, {});
  ASSERT_EQ(result.findings.size(), 1);
  EXPECT_THAT(result.findings[0].units, ElementsAre(1, 6));
}

TEST(AtomicSets, ExcludedFunctionsAreNoUnits) {
  constexpr std::string_view kTrace = "M|enter(free)\nM|r(A::x@1)\nV|w(A::x@1)\nM|w(A::x@1)";
  EXPECT_THAT(findings(kTrace), ElementsAre("1 A at 1: 2 3 4"));
  EXPECT_THAT(findings(kTrace, "[units]\nexclude = ['free']"), IsEmpty());
  EXPECT_THAT(findings(kTrace, "[atomic-sets.options]\nexclude = ['A::x']"), IsEmpty());
}

constexpr std::string_view kSpanning =
    "M|enter(main)\nM|enter(save)\nM|w(A::x@1)\nM|fork(H)\nV|r(A::x@1)\nH|enter(help)\n"
    "H|w(A::x@1)\nH|exit()\nM|join(H)\nM|exit()";

TEST(AtomicSets, AUnitMaySpanThreads) {
  EXPECT_THAT(findings(kSpanning), IsEmpty());
  EXPECT_THAT(findings(kSpanning, "[atomic-sets.options]\nspan-threads = true"),
              ElementsAre("3 A at 1: 3 5 7"));
}

TEST(AtomicSets, ByClassAtomicAccessesDoNotCount) {
  constexpr std::string_view kTrace = "M|begin()\nM|r_acquire(x)\nV|rmw(x)\nM|w_release(x)";
  EXPECT_THAT(findings(kTrace), IsEmpty());
  EXPECT_THAT(findings(kTrace, kEach), ElementsAre("1 x: 2 3 4"));
}

// --- what the check gives back

constexpr std::string_view kLoop = R"(
    M|begin()|b
    M|r(x)|1
    V|w(x)|2
    M|w(x)|3
    M|end()|e
    M|begin()|b
    M|r(y)|1
    V|w(y)|2
    M|w(y)|3
    M|end()|e)";

TEST(AtomicSets, OneFindingForEachCombinationOfSites) {
  const CheckResult grouped = run(from_std(kLoop), {});
  EXPECT_EQ(grouped.check, "atomic-sets");
  EXPECT_EQ(grouped.verdict, Verdict::kViolated);
  ASSERT_EQ(grouped.findings.size(), 1);
  const Finding& finding = grouped.findings[0];
  EXPECT_EQ(finding.count, 2);
  EXPECT_EQ(finding.rule, "pattern");
  EXPECT_EQ(finding.event, 4);
  EXPECT_THAT(finding.locations, ElementsAre("x"));
  EXPECT_THAT(finding.units, ElementsAre(1, 3));
  ASSERT_EQ(finding.witnesses.size(), 3);
  EXPECT_EQ(finding.witnesses[0].block, 1);
  EXPECT_EQ(finding.witnesses[0].block_end, 5);
  EXPECT_EQ(finding.witnesses[1].block, 0);

  Options all;
  all.all = true;
  EXPECT_EQ(run(from_std(kLoop), all).findings.size(), 2);
  Options first;
  first.first = true;
  EXPECT_EQ(run(from_std(kLoop), first).findings.size(), 1);
}

TEST(AtomicSets, WarnsOfWhatMatchesNothing) {
  const Result<spec::Spec> spec =
      spec::parse_spec("[atomic-sets]\nS = ['count']\n[units]\nw = ['nobody']");
  Options options;
  options.spec = &*spec;
  const CheckResult result = run(from_std("M|enter(some)\nM|w(counts)\nM|exit()"), options);
  EXPECT_THAT(result.warnings,
              ElementsAre("spec, line 2, column 6: S = \"count\" matches no variable of this "
                          "trace; nearest: counts",
                          HasSubstr("w = \"nobody\" matches no function or block")));
}

TEST(AtomicSetsVerifier, RejectsWhatIsNot) {
  const SmallTrace trace = from_std("M|begin()\nM|r(x)\nV|w(x)\nM|w(x)\nM|w(y)\nM|end()");
  const Finding good = [] {
    Finding finding;
    finding.pattern = 1;
    finding.set = "x";
    finding.locations = {"x"};
    finding.units = {1, 3};
    finding.events = {2, 3, 4};
    return finding;
  }();
  std::vector<Finding> claims(7, good);
  claims[1].pattern = 2;
  claims[2].events = {3, 2, 4};
  claims[3].units = {1, 2};
  claims[4].set = "y";
  claims[5].events = {2, 3, 5};
  claims[6].locations = {"x", "y"};
  Verifier verifier(claims, {});
  std::vector<Event> events = trace.events;
  verifier.take({events, 1}, trace.names);
  EXPECT_EQ(verifier.reject(claims[0]), std::nullopt);
  for (std::size_t i = 1; i < claims.size(); ++i) {
    EXPECT_NE(verifier.reject(claims[i]), std::nullopt) << i;
  }
}

// --- what a recording that is not kept leaves out (trace/capture_shared.h)

/// The trace without accesses that have no conflicts or are repeated; a variable is a granule.
std::vector<Event> only_shared(const std::vector<Event>& events) {
  trace::CaptureShared shared;
  trace::CaptureRepeats repeats;
  const auto address = [](const Event& e) { return (std::uint64_t{e.target} + 1) * 8; };
  const auto is_access = [](const Event& e) { return e.kind <= EventKind::kRmw; };
  for (const Event& e : events) {
    if (is_access(e)) shared.touch(e.thread.value, address(e), 8, e.kind != EventKind::kRead);
  }
  std::vector<std::uint64_t> segment(64);
  std::uint64_t segments = 0;
  std::vector<Event> kept;
  for (const Event& e : events) {
    if (!is_access(e)) {
      segment.at(e.thread.index()) = ++segments;
    } else if (e.kind == EventKind::kRmw || e.order != MemoryOrder::kPlain) {
      repeats.disturb(address(e), 8);
    } else if (repeats.knows((segment.at(e.thread.index()) << 8) + e.thread.index() + 1, e.site.value,
                             address(e), 8, e.kind == EventKind::kWrite) ||
               !shared.has_conflicts(address(e))) {
      continue;
    }
    kept.push_back(e);
  }
  return kept;
}

TEST(AtomicSets, WhatHasNoConflictsOrIsRepeatedChangesNoVerdict) {
  std::uint64_t violated = 0;
  std::uint64_t dropped = 0;
  for (std::uint64_t seed = 0; seed < 2500; ++seed) {
    Sample sample = random_sample(seed);
    // By class, what was accessed before has a say in what belongs together.
    if (sample.options.sets.otherwise == spec::DefaultSets::kClass) continue;
    sample.options.sets.spec = nullptr;
    const std::vector<Event> kept = only_shared(sample.trace.events);
    dropped += sample.trace.events.size() - kept.size();
    const auto locations = [&](const std::vector<Event>& events) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> result;
      for (const Violation& one : oracle(events, sample.trace.names, sample.options)) {
        result.emplace(std::minmax(one.first, one.second));
      }
      return result;
    };
    const auto all = locations(sample.trace.events);
    violated += all.empty() ? 0 : 1;
    EXPECT_EQ(locations(kept), all) << "seed " << seed << "\n" << to_std(sample.trace);
    if (HasFailure()) break;
  }
  EXPECT_GT(violated, 200U);
  EXPECT_GT(dropped, 4'000U);
}

// --- memory

TEST(AtomicSetsMatcher, HoldsNoMoreForALongerRun) {
  const auto held_after = [](int rounds) {
    Matcher matcher([](const Match&) {});
    // One unit stays open, and others come and go in the same set.
    const Matcher::UnitId stays = matcher.open({1, ThreadId(0U)});
    EventNumber n = 1;
    for (int i = 0; i < rounds; ++i) {
      matcher.access(stays, {0, 0}, EventKind::kRead, {++n, {}});
      const Matcher::UnitId other = matcher.open({++n, ThreadId(1U)});
      matcher.access(other, {0, 0}, EventKind::kRead, {++n, {}});
      matcher.access(other, {0, 1}, EventKind::kWrite, {++n, {}});
      matcher.close(other);
      matcher.access_alone(ThreadId(2U), {0, 1}, EventKind::kWrite, {++n, {}});
    }
    return matcher.counts().held;
  };
  EXPECT_EQ(held_after(1000), held_after(100'000));
  EXPECT_LE(held_after(1000), 3);
}

}  // namespace
}  // namespace syndrome::check::atomic_sets
