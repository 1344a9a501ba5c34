// Guards the definition itself: verdict, first violating prefix, and which block is to blame.

#include "check/atomicity/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

using testing::ElementsAre;

OracleResult run(std::string_view text) {
  return oracle(from_std(text).events);
}

TEST(Oracle, EmptyTraceIsSerializable) {
  EXPECT_TRUE(oracle({}).serializable);
}

TEST(Oracle, ReadThenUpdateWithAWriteBetween) {
  const OracleResult result = run(R"(
    A|begin()
    A|r(x)
    B|w(x)
    A|w(x)
    A|end())");
  EXPECT_FALSE(result.serializable);
  EXPECT_EQ(result.first_violation, 4U);
  EXPECT_THAT(result.wide, ElementsAre(1));
  EXPECT_THAT(result.strict, ElementsAre(1));
}

TEST(Oracle, TwoReadsWithAReadBetweenDoNotConflict) {
  EXPECT_TRUE(run("A|begin()\nA|r(x)\nB|r(x)\nA|r(x)\nA|end()").serializable);
}

TEST(Oracle, RmwConflictsWithReads) {
  EXPECT_FALSE(run("A|begin()\nA|r(x)\nB|rmw(x)\nA|r(x)\nA|end()").serializable);
}

// B holds the lock throughout; A takes it twice. Both are on the cycle, A alone is to blame.
TEST(Oracle, LockedBlockThatAnotherStraddlesIsNotBlamed) {
  const OracleResult result = run(R"(
    A|begin()
    A|acq(l)
    A|r(a)
    A|rel(l)
    B|begin()
    B|acq(l)
    B|r(a)
    B|w(a)
    B|rel(l)
    B|end()
    A|acq(l)
    A|w(a)
    A|rel(l)
    A|end())");
  EXPECT_EQ(result.first_violation, 11U);
  EXPECT_THAT(result.wide, ElementsAre(1, 5));
  EXPECT_THAT(result.strict, ElementsAre(1));
}

// The paper's rho3: each block is left and then entered again.
TEST(Oracle, TwoOpenBlocksCloseACycle) {
  const OracleResult result = run(R"(
    A|begin()
    B|begin()
    A|w(x)
    B|w(y)
    A|r(y)
    B|r(x))");
  EXPECT_EQ(result.first_violation, 6U);
  EXPECT_THAT(result.wide, ElementsAre(1, 2));
  EXPECT_THAT(result.strict, ElementsAre(1, 2));
}

TEST(Oracle, ForkAndJoinOfAChildWithAnEventInOneBlock) {
  EXPECT_EQ(run("A|begin()\nA|fork(B)\nB|r(x)\nA|join(B)\nA|end()").first_violation, 4U);
  EXPECT_TRUE(run("A|begin()\nA|fork(B)\nA|join(B)\nA|end()").serializable);
}

// The cycle enters B's second block by thread order only: B is passed through, not to blame.
TEST(Oracle, ThreadOrderDoesNotBlame) {
  const OracleResult result = run(R"(
    A|begin()
    A|w(x)
    B|begin()
    B|r(x)
    B|end()
    B|begin()
    B|w(y)
    B|end()
    A|r(y)
    A|end())");
  EXPECT_EQ(result.first_violation, 9U);
  EXPECT_THAT(result.wide, ElementsAre(1));
}

TEST(Oracle, NestedBlocksCountAsTheOutermost) {
  const OracleResult result = run(R"(
    A|begin()
    A|begin()
    A|r(x)
    A|end()
    B|w(x)
    A|begin()
    A|r(x)
    A|end()
    A|end())");
  EXPECT_EQ(result.first_violation, 7U);
  EXPECT_THAT(result.strict, ElementsAre(1));
}

TEST(Oracle, ReentrantLockOperationsDoNotConflict) {
  EXPECT_TRUE(
      run("A|acq(l)\nA|begin()\nA|acq(l)\nA|rel(l)\nA|end()\nA|rel(l)\nB|acq(l)").serializable);
}

TEST(Oracle, SharedLocksOrderOnlyAgainstExclusive) {
  EXPECT_TRUE(run(R"(
    A|begin()
    A|acq_shared(l)
    A|rel_shared(l)
    B|acq_shared(l)
    B|rel_shared(l)
    A|acq_shared(l)
    A|end())")
                  .serializable);
  EXPECT_FALSE(run(R"(
    A|begin()
    A|acq_shared(l)
    A|rel_shared(l)
    B|acq(l)
    B|rel(l)
    A|acq_shared(l)
    A|end())")
                   .serializable);
}

TEST(Oracle, BarrierInABlockIsAViolation) {
  EXPECT_EQ(run(R"(
    A|begin()
    A|barrier_arrive(b)
    B|barrier_arrive(b)
    B|barrier_leave(b)
    A|barrier_leave(b)
    A|end())")
                .first_violation,
            0U);  // B's two events are transactions of their own
  EXPECT_EQ(run(R"(
    A|begin()
    B|begin()
    A|barrier_arrive(b)
    B|barrier_arrive(b)
    B|barrier_leave(b)
    A|barrier_leave(b))")
                .first_violation,
            6U);
}

TEST(Oracle, PostsAndSignalsOrderWhatWaits) {
  EXPECT_FALSE(run("A|begin()\nA|post(s)\nB|wait(s)\nB|post(s)\nA|wait(s)").serializable);
  EXPECT_FALSE(
      run("A|begin()\nA|cond_signal(c)\nB|cond_wait(c)\nB|cond_broadcast(c)\nA|cond_wait(c)")
          .serializable);
  EXPECT_TRUE(run("A|begin()\nA|post(s)\nB|post(s)\nA|post(s)").serializable);
  // Home-made synchronization orders as well, but is no semaphore.
  EXPECT_FALSE(run("A|begin()\nA|happens_before(s)\nB|happens_after(s)\nB|happens_before(s)\n"
                   "A|happens_after(s)")
                   .serializable);
  EXPECT_TRUE(
      run("A|begin()\nA|happens_before(s)\nB|wait(s)\nB|post(s)\nA|happens_after(s)").serializable);
  EXPECT_TRUE(
      run("A|begin()\nA|fence_seq_cst()\nB|fence_seq_cst()\nA|fence_seq_cst()").serializable);
}

TEST(Oracle, SomeBlockIsToBlameIffThereIsACycle) {
  int violated = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const SmallTrace trace = random_trace(seed);
    const OracleResult result = oracle(trace.events);
    violated += result.serializable ? 0 : 1;
    ASSERT_EQ(result.serializable, result.strict.empty()) << seed << '\n' << to_std(trace);
    ASSERT_EQ(result.serializable, result.first_violation == 0) << seed;
    ASSERT_TRUE(std::ranges::includes(result.wide, result.strict)) << seed;
    ASSERT_EQ(result.serializable, result.wide.empty()) << seed;
  }
  EXPECT_GT(violated, 300);
}

TEST(Oracle, FirstViolationIsTheLeastPrefix) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const SmallTrace trace = random_trace(seed);
    const std::span<const Event> events = trace.events;
    const std::size_t at = oracle(events).first_violation;
    if (at == 0) continue;
    EXPECT_TRUE(oracle(events.first(at - 1)).serializable) << seed;
    EXPECT_FALSE(oracle(events.first(at)).serializable) << seed;
  }
}

}  // namespace
}  // namespace syndrome::check
