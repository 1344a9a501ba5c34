// What is deterministic and what is not: the paper's figures, and each rule by itself. Every trace
// is shown to the oracle too.

#include "check/determinism/determinism.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "check/determinism/differential.h"
#include "check/determinism/verify.h"
#include "event/sources.h"

namespace syndrome::check::determinism {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Each finding as "rule block: events" or "rule block: from>to …".
std::vector<std::string> findings(std::string_view text, bool all = false) {
  const SmallTrace trace = from_std(text);
  EXPECT_EQ(disagreement(trace.events, trace.names), "");
  Options options;
  options.all = all;
  std::vector<std::string> result;
  for (const Finding& finding : run_on(trace.events, trace.names, options).findings) {
    std::string line = std::string(finding.rule) + " " + std::to_string(finding.block) + ":";
    for (const EventNumber event : finding.events) line += " " + std::to_string(event);
    for (const Edge& edge : finding.cycle) {
      line += " " + std::to_string(edge.from) + ">" + std::to_string(edge.to);
    }
    result.push_back(std::move(line));
  }
  return result;
}

CheckResult check(std::string_view text, const Options& options = {}) {
  const SmallTrace trace = from_std(text);
  return run_on(trace.events, trace.names, options);
}

std::uint64_t stat(const CheckResult& result, std::string_view name) {
  for (const Stat& each : result.stats) {
    if (each.name == name) return each.value;
  }
  ADD_FAILURE() << "no statistic " << name;
  return 0;
}

// --- the paper's figures

TEST(Determinism, Figure1QuicksortIsDeterministic) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|acq(a)
    M|r(a0)
    M|w(a0)
    M|fork(T1)
    M|fork(T2)
    T1|w(a1)
    T2|w(a2)
    T2|fork(T3)
    T3|w(a3)
    T2|join(T3)
    T2|r(a3)
    M|join(T1)
    M|join(T2)
    M|rel(a)
    M|end())"),
              IsEmpty());
}

constexpr std::string_view kBarrier = R"(
    M|begin()
    M|fork(A)
    M|fork(B)
    A|r(x)
    B|r(x)
    M|r(x)
    A|barrier_arrive(b)
    B|barrier_arrive(b)
    M|barrier_arrive(b)
    A|barrier_leave(b)
    B|barrier_leave(b)
    M|barrier_leave(b)
    M|w(x)
    )";

TEST(Determinism, Figure2aWorkersMeetAtABarrier) {
  EXPECT_THAT(findings(std::string(kBarrier) + R"(
    M|barrier_arrive(b)
    A|barrier_arrive(b)
    B|barrier_arrive(b)
    B|barrier_leave(b)
    A|barrier_leave(b)
    M|barrier_leave(b)
    A|r(x)
    B|r(x)
    M|end())"),
              IsEmpty());
}

TEST(Determinism, AMissingBarrierIsAConflict) {
  EXPECT_THAT(findings(std::string(kBarrier) + "A|r(x)\nM|end()"),
              ElementsAre("conflict-in-block 1: 13 14"));
}

TEST(Determinism, Figure2bTasksOfAThreadPoolAreDeterministic) {
  EXPECT_THAT(findings(R"(
    M|fork(W1)
    M|fork(W2)
    M|acq(q)
    M|w(list)
    M|rel(q)
    W1|acq(q)
    W1|r(list)
    W1|rel(q)
    W1|begin()
    W1|fork(C1)
    C1|w(x)
    W1|join(C1)
    W1|r(x)
    M|acq(q)
    M|w(list)
    M|rel(q)
    W2|acq(q)
    W2|r(list)
    W2|rel(q)
    W2|begin()
    W2|w(y)
    W1|end()
    W2|end())"),
              IsEmpty());
}

// --- conflicts in a block

TEST(Determinism, LocksDoNotOrder) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    A|acq(l)
    A|w(x)
    A|rel(l)
    M|acq(l)
    M|w(x)
    M|rel(l)
    M|join(A)
    M|end())"),
              ElementsAre("conflict-in-block 1: 3 6", "conflict-in-block 1: 4 7"));
}

TEST(Determinism, ReadersOfALockDoNotConflict) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    A|acq_shared(l)
    M|acq_shared(l)
    A|rel_shared(l)
    M|rel_shared(l)
    M|end())"),
              IsEmpty());
}

TEST(Determinism, AtomicsDoNotOrderEither) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    A|w_release(flag)
    M|r_acquire(flag)
    M|end())"),
              ElementsAre("conflict-in-block 1: 3 4"));
}

TEST(Determinism, APostOrdersTheWaitThatItReleasesAndNoEarlierOne) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    M|w(x)
    M|post(s)
    A|wait(s)
    A|r(x)
    M|join(A)
    M|end())"),
              IsEmpty());
  // The first post releases the wait; what comes between the posts may come after it.
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    M|post(s)
    M|w(x)
    M|post(s)
    A|wait(s)
    A|r(x)
    M|join(A)
    M|end())"),
              ElementsAre("conflict-in-block 1: 4 7"));
}

TEST(Determinism, TwoWaitsCompete) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|post(s)
    M|post(s)
    M|fork(A)
    A|wait(s)
    M|wait(s)
    M|end())"),
              ElementsAre("conflict-in-block 1: 5 6"));
}

TEST(Determinism, AnAnnotationOfHomeMadeSynchronizationIsBelieved) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    A|w(x)
    A|happens_before(o)
    M|happens_after(o)
    M|r(x)
    M|end())"),
              IsEmpty());
}

TEST(Determinism, OrderThroughTheOutsideDoesNotCount) {
  // A and B are ordered by U, which is not in the block: then the block is not alone either.
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    M|fork(B)
    A|w(x)
    A|post(s)
    U|wait(s)
    U|post(t)
    B|wait(t)
    B|w(x)
    M|end())"),
              ElementsAre("external-cycle 1: 5>6 6>7 7>8", "conflict-in-block 1: 4 9"));
}

// --- interference from outside

TEST(Determinism, ABlockOfOneThreadIsAnAtomicOne) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|r(x)
    U|w(x)
    M|w(x)
    M|end())"),
              ElementsAre("external-cycle 1: 2>3 3>4"));
}

TEST(Determinism, TheThreadsOfABlockAreOneBlockToOthers) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    M|w(x)
    U|r(x)
    U|w(y)
    A|r(y)
    M|join(A)
    M|end())"),
              ElementsAre("external-cycle 1: 3>4 4>5 5>6"));
}

TEST(Determinism, AChildMayOutliveItsBlock) {
  EXPECT_THAT(findings("M|begin()\nM|fork(A)\nM|end()\nM|w(x)\nA|w(y)\nM|join(A)\nM|r(y)"),
              IsEmpty());
  EXPECT_THAT(findings("M|begin()\nM|fork(A)\nM|end()\nM|w(x)\nA|r(x)\nM|join(A)"),
              ElementsAre("external-cycle 1: 3>4 4>5"));
}

// --- blocks in blocks

TEST(Determinism, AConflictIsReportedForEachBlockThatItBreaks) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|begin()
    M|fork(A)
    A|w(x)
    M|w(x)
    M|join(A)
    M|end()
    M|end())"),
              ElementsAre("conflict-in-block 1: 4 5", "conflict-in-block 2: 4 5"));
}

TEST(Determinism, AnInnerBlockIsNotOrderedByWhatIsAroundIt) {
  // W orders A and M in the outer block, and interferes with the inner one.
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(W)
    M|begin()
    M|fork(A)
    A|w(x)
    A|post(s)
    W|wait(s)
    W|post(t)
    M|wait(t)
    M|w(x)
    M|end()
    M|end())"),
              ElementsAre("external-cycle 3: 6>7 7>8 8>9", "conflict-in-block 3: 5 10"));
}

TEST(Determinism, AWorkerThatMeetsOthersTwiceIsNotAlone) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|fork(A)
    A|begin()
    A|barrier_arrive(b)
    M|barrier_arrive(b)
    M|barrier_leave(b)
    A|barrier_leave(b)
    M|barrier_arrive(b)
    A|barrier_arrive(b)
    A|barrier_leave(b)
    M|barrier_leave(b)
    A|end()
    M|end())"),
              ElementsAre("external-cycle 3: 4>6 6>8 8>10"));
}

// A cycle may go past the block in the order of the block's own thread: from what the thread did
// before to whoever joins it.
TEST(Determinism, TheOrderOfAThreadLeadsPastItsLastBlock) {
  EXPECT_THAT(findings("T2|begin()|0\nT2|r(x1)|0\nT3|w(x1)|0\nT1|begin()|0\nT3|begin()|0\n"
                       "T3|r(x1)|0\nT1|r(x3)|0\nT3|w(x3)|0\nT2|w(x1)|0\nT1|join(T3)|0\n",
                       true),
              Contains("external-cycle 5: 6>9 2>3 3>10 7>8"));
}

// The last event of such a block is another thread's, which is in no order with what comes next.
TEST(Determinism, TheOrderOfAThreadLeadsOnFromABlockThatOthersWereIn) {
  EXPECT_THAT(findings("T2|begin()|0\nT2|r(x)|0\nT1|begin()|0\nT1|fork(T3)|0\nT3|w(x)|0\n"
                       "T1|join(T3)|0\nT1|end()|0\nT1|w(z)|0\nT1|begin()|0\nT1|w(y)|0\nT2|r(y)|0\n"
                       "T4|r(z)|0\nT4|w(v)|0\nT1|r(v)|0\nT1|end()|0\n",
                       true),
              Contains(HasSubstr("external-cycle 9:")));
}

// The thread that is joined has gone on in the block: what it did before is before the block.
TEST(Determinism, AJoinOfAThreadOfTheBlockIsNoWayIn) {
  EXPECT_THAT(findings("T0|begin()|0\nT0|fork(T2)|0\nT0|acq(l2)|0\nT0|end()|0\nT0|begin()|0\n"
                       "T0|rel(l2)|0\nT2|fork(T3)|0\nT0|fork(T4)|0\nT4|join(T0)|0\nT3|acq(l2)|0\n",
                       true),
              Not(Contains(HasSubstr("external-cycle 5:"))));
}

// --- the filter

// What is skipped is still the last that a thread did before it is joined.
TEST(Determinism, AJoinComesAfterWhatIsSkipped) {
  EXPECT_THAT(findings("T0|begin()|0\nT0|begin()|0\nT0|fork(T1)|0\nT0|end()|0\nT0|r(x0)|0\n"
                       "T1|join(T0)|0\n"),
              ElementsAre("external-cycle 2: 4>5 5>6"));
}

TEST(Determinism, DataWithoutRacesIsSkipped) {
  const CheckResult result = check(R"(
    M|begin()
    M|fork(A)
    A|w(x)
    M|w(y)
    M|join(A)
    M|r(x)
    M|end())");
  EXPECT_EQ(result.verdict, Verdict::kClean);
  EXPECT_EQ(stat(result, "accesses"), 3U);
  EXPECT_EQ(stat(result, "accesses skipped: no race on their data"), 3U);
}

TEST(Determinism, ARaceOutsideOfBlocksIsNoFinding) {
  EXPECT_THAT(findings("M|begin()\nM|w(y)\nM|end()\nM|w(x)\nU|w(x)"), IsEmpty());
}

TEST(Determinism, ALockThatWasTakenBeforeTheForkDoesNotHideAConflict) {
  EXPECT_THAT(findings(R"(
    M|begin()
    M|acq(l)
    M|fork(A)
    M|w(x)
    M|rel(l)
    A|acq(l)
    A|w(x)
    A|rel(l)
    M|end())"),
              ElementsAre("conflict-in-block 1: 4 7"));
}

// --- what is said

TEST(Determinism, ACleanVerdictSaysWhatWasProved) {
  const CheckResult one = check("M|begin()\nM|fork(A)\nA|w(x)\nM|join(A)\nM|end()");
  EXPECT_THAT(one.notes,
              ElementsAre(AllOf(HasSubstr("the one deterministic block"), HasSubstr("Lemma 1"),
                                Not(HasSubstr("Theorem 1")), HasSubstr("takes for granted"))));
  const CheckResult two = check("M|fork(A)\nM|begin()\nM|w(x)\nM|end()\nA|begin()\nA|end()");
  EXPECT_THAT(two.notes, ElementsAre(AllOf(HasSubstr("the 2 deterministic blocks"),
                                           HasSubstr("Theorem 1"), Not(HasSubstr("Lemma 1")))));
  const CheckResult outside = check("M|begin()\nM|w(x)\nM|end()\nU|w(y)");
  EXPECT_THAT(outside.notes, ElementsAre(HasSubstr("Theorem 1")));
  EXPECT_THAT(check("M|w(x)").notes, IsEmpty());
}

TEST(Determinism, CallsThatDifferFromRunToRunAreNoted) {
  const CheckResult result = check(R"(
    M|enter(rand)
    M|exit(rand)
    M|begin()
    M|enter(std::chrono::_V2::steady_clock::now)
    M|exit(std::chrono::_V2::steady_clock::now)
    M|enter(brand)
    M|exit(brand)
    M|enter(extern time)|/src/shop.cc:12:5 Shop::sell
    M|exit(extern time)
    M|enter(time)|/src/shop.cc:30:5 Shop::sell
    M|exit(time)
    M|end())");
  EXPECT_EQ(result.verdict, Verdict::kClean);
  EXPECT_THAT(
      result.notes,
      Contains(AllOf(testing::EndsWith(": std::chrono::steady_clock::now, time (shop.cc:12)"),
                     Not(HasSubstr("rand")))));
}

TEST(Determinism, SourcesAreKnownByTheirNames) {
  for (const char* name :
       {"time", "time(long*)", "std::rand()", "::getrandom", "std::random_device::operator()()",
        "java/lang/System.nanoTime()J", "std::chrono::_V2::system_clock::now()", "__isoc99_scanf",
        "__read_chk", "std::istream::operator>>(int&)",
        "std::basic_istream<char>& std::getline<char>(std::basic_istream<char>&)"}) {
    EXPECT_NE(sources::name_of(name), "") << name;
  }
  for (const char* name : {"", "mytime", "Account::time", "restart(int)", "operator()", "now()",
                           "__time_chk_", "std::basic_istream<char>::~basic_istream()"}) {
    EXPECT_EQ(sources::name_of(name), "") << name;
  }
}

TEST(Determinism, FirstStopsThere) {
  Options options;
  options.first = true;
  const CheckResult result = check(R"(
    M|begin()
    M|fork(A)
    A|w(x)
    M|w(x)
    A|w(y)
    M|w(y)
    M|end())",
                                   options);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_THAT(result.findings[0].events, ElementsAre(3, 4));
}

TEST(Determinism, FindingsAtTheSameSitesAreOne) {
  const CheckResult result = check(R"(
    M|begin()|f:1
    M|fork(A)|f:2
    A|w(x)|f:3
    M|w(x)|f:4
    M|end()|f:5
    M|join(A)|f:6
    M|begin()|f:1
    M|fork(B)|f:2
    M|w(x)|f:4
    B|w(x)|f:3
    M|end()|f:5)");
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].count, 2U);
  EXPECT_THAT(result.findings[0].events, ElementsAre(3, 4));
}

// --- which blocks

constexpr std::string_view kFunctions = R"(
    M|begin(save)
    M|r(x)
    U|w(x)
    M|w(x)
    M|end(save)
    M|enter(deterministic sort)
    M|fork(A)
    A|w(y)
    M|w(y)
    M|exit(deterministic sort)
    M|join(A)
    M|enter(fill)
    M|fork(B)
    B|w(z)
    M|w(z)
    M|exit(fill))";

std::vector<EventNumber> blocks_of(const CheckResult& result) {
  std::vector<EventNumber> blocks;
  for (const Finding& finding : result.findings) blocks.push_back(finding.block);
  return blocks;
}

TEST(Determinism, AnnotatedFunctionsAreBlocks) {
  EXPECT_THAT(blocks_of(check(kFunctions)), ElementsAre(1, 6));
  Options recorded;
  recorded.every_begin_is_deterministic = false;
  EXPECT_THAT(blocks_of(check(kFunctions, recorded)), ElementsAre(6));
}

TEST(Determinism, DeclaredFunctionsAndLabelsAreBlocks) {
  Options declared;
  declared.every_begin_is_deterministic = false;
  declared.deterministic = [](std::string_view name) { return name == "fill" || name == "save"; };
  EXPECT_THAT(blocks_of(check(kFunctions, declared)), ElementsAre(1, 6, 12));
}

// --- the verifier

std::string verdict(std::string_view text, const Finding& finding) {
  const SmallTrace trace = from_std(text);
  std::vector<Event> events = trace.events;
  Verifier verifier({finding}, BlockRule({}));
  verifier.take({events, 1}, trace.names);
  return verifier.reject(finding).value_or("");
}

TEST(DeterminismVerifier, AcceptsAndRejectsConflicts) {
  constexpr std::string_view kTrace = R"(
    M|begin()
    M|fork(A)
    A|w(x)
    M|w(x)
    M|join(A)
    M|w(x)
    M|r(y)
    M|end()
    M|w(x))";
  const auto of = [](EventNumber block, EventNumber earlier, EventNumber later) {
    Finding finding;
    finding.rule = kConflictRule;
    finding.block = block;
    finding.events = {earlier, later};
    return finding;
  };
  EXPECT_EQ(verdict(kTrace, of(1, 3, 4)), "");
  EXPECT_THAT(verdict(kTrace, of(1, 3, 6)), HasSubstr("are ordered"));
  EXPECT_THAT(verdict(kTrace, of(1, 3, 7)), HasSubstr("do not conflict"));
  EXPECT_THAT(verdict(kTrace, of(1, 3, 9)), HasSubstr("not in the block"));
  EXPECT_THAT(verdict(kTrace, of(2, 3, 4)), HasSubstr("not in the block"));
  EXPECT_THAT(verdict(kTrace, of(1, 4, 3)), HasSubstr("not in order"));
  EXPECT_THAT(verdict(kTrace, of(1, 3, 40)), HasSubstr("not in the trace"));
}

TEST(DeterminismVerifier, AcceptsAndRejectsCycles) {
  constexpr std::string_view kTrace = R"(
    M|begin()
    M|fork(A)
    M|w(x)
    U|r(x)
    U|w(y)
    A|r(y)
    M|end())";
  const auto of = [](EventNumber block, std::vector<Edge> edges) {
    Finding finding;
    finding.rule = kCycleRule;
    finding.block = block;
    finding.cycle = std::move(edges);
    return finding;
  };
  // U's two events are two transactions, which the order of the thread connects.
  EXPECT_EQ(verdict(kTrace, of(1, {{3, 4}, {4, 5}, {5, 6}})), "");
  EXPECT_THAT(verdict(kTrace, of(1, {{3, 4}, {5, 6}})), HasSubstr("not in one transaction"));
  EXPECT_THAT(verdict(kTrace, of(1, {{3, 5}, {5, 6}})), HasSubstr("do not conflict"));
  EXPECT_THAT(verdict(kTrace, of(1, {{2, 6}, {6, 2}})), HasSubstr("one transaction"));
  EXPECT_THAT(verdict(kTrace, of(2, {{3, 4}, {4, 5}, {5, 6}})), HasSubstr("does not begin"));
  EXPECT_THAT(verdict(kTrace, of(1, {{3, 4}})), HasSubstr("two edges"));
}

}  // namespace
}  // namespace syndrome::check::determinism
