// Which blocks are blamed, and by which cycle.

#include "check/atomicity/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "check/atomicity/oracle.h"
#include "check/atomicity/verify.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Found {
  std::vector<EventNumber> strict;
  std::vector<EventNumber> wide;
  std::vector<Finding> findings;
  std::string incomplete;
};

Found find(SmallTrace& trace, std::size_t window, std::size_t most = 1U << 20U) {
  Found found;
  Evidence::Options options;
  options.wide = true;
  options.window = window;
  options.most = most;
  Evidence evidence(options, [&](const Cycle& cycle) {
    if (cycle.sense == Sense::kStrict) found.strict.push_back(cycle.block);
    found.wide.push_back(cycle.block);
    Finding finding;
    finding.block = cycle.block;
    finding.cycle = cycle.edges;
    found.findings.push_back(finding);
  });
  dispatch(evidence, Batch{trace.events, 1});
  evidence.finish();
  found.incomplete = evidence.incomplete();
  std::sort(found.strict.begin(), found.strict.end());
  std::sort(found.wide.begin(), found.wide.end());
  return found;
}

std::vector<std::string> rejections(SmallTrace& trace, const Found& found) {
  std::vector<std::string> reasons;
  CycleVerifier verifier(found.findings);
  verifier.take(Batch{trace.events, 1});
  for (const Finding& finding : found.findings) {
    if (const auto reason = verifier.reject(finding)) reasons.push_back(*reason);
  }
  return reasons;
}

// The lost update: `add` holds the lock throughout and is innocent, although a cycle leaves it at
// its read and comes back at its write.
constexpr std::string_view kLostUpdate = R"(
  T1|begin(late_add)
  T1|acq(m)
  T1|r(balance)
  T1|rel(m)
  T2|begin(add)
  T2|acq(m)
  T2|r(balance)
  T2|w(balance)
  T2|rel(m)
  T2|end()
  T1|acq(m)
  T1|w(balance)
  T1|rel(m)
  T1|end())";

TEST(Evidence, BlamesTheBlockThatCanBeInterrupted) {
  SmallTrace trace = from_std(kLostUpdate);
  const Found found = find(trace, 100);
  EXPECT_THAT(found.strict, ElementsAre(1));
  EXPECT_THAT(found.wide, ElementsAre(1, 5));
  EXPECT_THAT(rejections(trace, found), IsEmpty());
}

TEST(Evidence, ShowsAccessesRatherThanLocks) {
  SmallTrace trace = from_std(kLostUpdate);
  const Found found = find(trace, 100);
  EXPECT_THAT(found.findings.at(0).cycle, ElementsAre(Edge{3, 8}, Edge{8, 12}));
}

TEST(Evidence, BlamesBothWhenBothAreInterrupted) {
  SmallTrace trace = from_std(R"(
    T1|begin()
    T2|begin()
    T1|w(x)
    T2|w(y)
    T1|r(y)
    T2|r(x)
    T1|end()
    T2|end())");
  EXPECT_THAT(find(trace, 100).strict, ElementsAre(1, 2));
}

TEST(Evidence, LeavesTransactionsOutThatACycleCanDoWithout) {
  // x passes from T1 to T2 to T3, y back: T2's block is not needed.
  SmallTrace trace = from_std(R"(
    T1|begin()
    T1|w(x)
    T2|begin()
    T2|w(x)
    T2|end()
    T3|begin()
    T3|r(x)
    T3|w(x)
    T3|w(y)
    T3|end()
    T1|r(y)
    T1|end())");
  const Found found = find(trace, 100);
  ASSERT_THAT(found.strict, ElementsAre(1));
  EXPECT_EQ(found.findings.at(0).cycle.size(), 2U);
}

TEST(Evidence, FollowsALockPastAHoldThatEndsInTheBlock) {
  // T1 holds the lock from before its block on and releases it inside: from T2's release to T3's
  // acquire there is a conflict, but no way through T1's hold that avoids its block.
  SmallTrace trace = from_std(R"(
    T2|begin()
    T2|acq(l)
    T2|rel(l)
    T1|acq(l)
    T1|begin()
    T1|w(y)
    T2|r(y)
    T3|begin()
    T3|w(z)
    T1|r(z)
    T1|rel(l)
    T3|acq(l))");
  EXPECT_THAT(find(trace, 100).strict, ElementsAre(1, 5, 8));
  EXPECT_EQ(oracle(trace.events).strict, find(trace, 100).strict);
}

TEST(Evidence, EntersABlockWhereItJoinsTheThreadThatForkedIt) {
  SmallTrace trace = from_std(R"(
    T2|begin()
    T2|fork(T5)
    T5|fork(T6)
    T6|begin()
    T6|w(x)
    T6|join(T5)
    T2|r(x))");
  EXPECT_EQ(oracle(trace.events).wide, find(trace, 100).wide);
}

TEST(Evidence, BlocksThatDoNotViolateDoNotUseUpWhatTheOthersNeed) {
  // Each block of T2 is on a cycle with T1's, but only the last one can be interrupted; to find
  // that out, each of the others is searched to the end of the trace.
  std::string text = "T1|begin()\nT1|r(x)\n";
  for (int i = 0; i < 2000; ++i) text += "T2|begin()\nT2|r(y)\nT2|r(y)\nT2|end()\nT3|r(y)\n";
  text += "T2|begin()\nT2|r(z)\nT3|w(z)\nT2|w(z)\nT2|end()\nT2|w(x)\nT1|r(x)\nT1|end()\n";
  SmallTrace trace = from_std(text);
  Evidence::Options options;
  options.budget = 20'000;
  std::vector<EventNumber> blocks;
  Evidence evidence(options, [&](const Cycle& cycle) { blocks.push_back(cycle.block); });
  dispatch(evidence, Batch{trace.events, 1});
  evidence.finish();
  EXPECT_THAT(blocks, ::testing::Contains(10'003));
}

TEST(Evidence, SaysWhenItHadToForget) {
  std::string text = "T1|begin()\nT1|r(x)\n";
  for (int i = 0; i < 200; ++i) text += "T2|w(x)\n";
  text += "T1|r(x)\nT1|end()\n";
  SmallTrace trace = from_std(text);
  EXPECT_THAT(find(trace, 16, 64).incomplete, ::testing::HasSubstr("are not listed"));
  EXPECT_THAT(find(trace, 16).incomplete, "");
  EXPECT_THAT(find(trace, 16).strict, ElementsAre(1));
}

}  // namespace
}  // namespace syndrome::check
