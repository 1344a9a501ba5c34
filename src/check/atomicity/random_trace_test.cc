// The random traces are worth something only if they are well-formed, reproducible and varied.

#include "check/samples/random_trace.h"

#include <gtest/gtest.h>

#include <array>

#include "check/atomicity/oracle.h"
#include "trace/wellformed.h"

namespace syndrome::check {
namespace {

constexpr std::uint64_t kTraces = 4000;

TEST(RandomTrace, SameSeedSameTrace) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(to_std(random_trace(seed)), to_std(random_trace(seed)));
  }
  EXPECT_NE(to_std(random_trace(1)), to_std(random_trace(2)));
}

TEST(RandomTrace, StdTextReadsBackAsTheSame) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const SmallTrace trace = random_trace(seed);
    EXPECT_EQ(from_std(to_std(trace)).events, trace.events) << seed;
  }
}

// The flags that the traces come with are those that the first stage of every check would set.
TEST(RandomTrace, TheWellFormednessStageAgrees) {
  for (std::uint64_t seed = 0; seed < kTraces; ++seed) {
    const SmallTrace trace = random_trace(seed);
    std::vector<Event> events = trace.events;
    for (Event& event : events) event.flags = 0;
    std::string complaint;
    trace::WellFormed stage([&](const trace::Fault& fault) {
      complaint = fault.message;
      return false;
    });
    Batch batch{events, 1};
    ASSERT_TRUE(stage.apply(batch, trace.names)) << complaint << '\n' << to_std(trace);
    ASSERT_EQ(events, trace.events) << seed;
  }
}

TEST(RandomTrace, EveryShapeOccurs) {
  std::array<std::uint64_t, kEventKindCount> kinds{};
  std::uint64_t nested = 0;
  std::uint64_t open_at_end = 0;
  std::uint64_t joined_in_block = 0;
  std::uint64_t forked_in_block = 0;
  std::uint64_t silent_children = 0;
  std::uint64_t violated = 0;
  for (std::uint64_t seed = 0; seed < kTraces; ++seed) {
    SmallTrace trace = random_trace(seed);
    TraceState state;
    std::set<ThreadId> acted;
    std::set<ThreadId> forked;
    for (Event& event : trace.events) {
      ++kinds[static_cast<std::size_t>(event.kind)];
      if (event.flags != 0) ++nested;
      if (event.kind == EventKind::kJoin && state.depth(event.child()) > 0) ++joined_in_block;
      if (event.kind == EventKind::kJoin && forked.contains(event.child()) &&
          !acted.contains(event.child())) {
        ++silent_children;
      }
      if (event.kind == EventKind::kFork) forked.insert(event.child());
      if (event.kind == EventKind::kFork && state.depth(event.thread) > 0) ++forked_in_block;
      acted.insert(event.thread);
      state.apply(event);
    }
    for (const ThreadId thread : acted) open_at_end += state.depth(thread) > 0 ? 1 : 0;
    violated += oracle(trace.events).serializable ? 0 : 1;
  }
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    // Only recordings know of objects.
    if (kind == static_cast<std::size_t>(EventKind::kObject)) continue;
    EXPECT_GT(kinds[kind], 20U) << kEventKindNames[kind];
  }
  EXPECT_GT(nested, 1000U);
  EXPECT_GT(open_at_end, 1000U);
  EXPECT_GT(joined_in_block, 20U);
  EXPECT_GT(forked_in_block, 200U);
  EXPECT_GT(silent_children, 20U);
  EXPECT_GT(violated, kTraces * 15 / 100);
  EXPECT_LT(violated, kTraces * 40 / 100);
}

TEST(TraceState, RefusesWhatIsNotWellFormed) {
  for (const char* text : {
           "A|rel(l)",
           "A|acq(l)\nB|acq(l)",
           "A|acq_shared(l)\nB|acq(l)",
           "A|acq_shared(l)\nA|rel(l)",
           "A|fork(A)",
           "A|fork(B)\nA|fork(B)",
           "B|r(x)\nA|fork(B)",
           "A|join(A)",
           "A|join(B)\nB|r(x)",
           "A|thread_stop()\nA|r(x)",
           "A|end()",
           "A|exit(f)",
           "A|barrier_leave(b)",
           "A|nothing(b)",
           "A|r",
       }) {
    EXPECT_THROW((void)from_std(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace syndrome::check
