// Guards against: a stack that is not the event's, frames that an exception left open, locks that
// were let go of, a thread that was created somewhere else, a look at more of the trace than
// needed.

#include "check/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/suggest.h"

namespace syndrome::check {
namespace {

using ::testing::ElementsAre;

/// Events whose numbers are also their sites.
class Trace {
 public:
  Trace& add(unsigned thread, EventKind kind, std::uint32_t target = 0) {
    Event event;
    event.thread = ThreadId(thread);
    event.kind = kind;
    event.target = target;
    event.site = SiteId(events.size() + 1);
    events.push_back(event);
    return *this;
  }
  Trace& enter(unsigned thread, std::uint32_t f) { return add(thread, EventKind::kEnter, f); }
  Trace& exit(unsigned thread, std::uint32_t f) { return add(thread, EventKind::kExit, f); }

  /// The contexts of these events, in batches of two.
  [[nodiscard]] Contexts around(const std::vector<EventNumber>& numbers) {
    std::vector<CheckResult> results(1);
    for (const EventNumber number : numbers) {
      Witness witness;
      witness.number = number;
      witness.event = events[number - 1];
      results[0].findings.emplace_back().witnesses.push_back(witness);
    }
    ContextPass pass(results);
    for (std::size_t i = 0; i < events.size() && !pass.satisfied(); i += 2) {
      seen = std::min(i + 2, events.size());
      pass.take({std::span(events).subspan(i, seen - i), i + 1});
    }
    EXPECT_TRUE(pass.satisfied());
    return pass.result();
  }

  std::vector<Event> events;
  std::size_t seen = 0;
};

std::vector<std::uint32_t> functions(const Contexts& contexts, EventNumber event) {
  std::vector<std::uint32_t> result;
  for (const Call& call : contexts.at.at(event).stack) result.push_back(call.function.value);
  return result;
}

TEST(Context, the_stack_is_of_the_thread_and_innermost_first) {
  Trace trace;
  trace.enter(0, 1).enter(1, 7).enter(0, 2).enter(0, 3).exit(0, 3);
  trace.add(0, EventKind::kWrite).add(1, EventKind::kRead).exit(0, 2).add(0, EventKind::kRead);
  const Contexts contexts = trace.around({9, 6, 7});
  EXPECT_THAT(functions(contexts, 6), ElementsAre(2, 1));
  EXPECT_EQ(contexts.at.at(6).stack[0].site, SiteId(3U)) << "where its caller calls it";
  EXPECT_THAT(functions(contexts, 7), ElementsAre(7));
  EXPECT_THAT(functions(contexts, 9), ElementsAre(1));
}

TEST(Context, an_exit_closes_what_an_exception_left_open) {
  Trace trace;
  trace.enter(0, 1).enter(0, 2).enter(0, 3).exit(0, 2).add(0, EventKind::kRead);  // 5
  trace.exit(0, 9).add(0, EventKind::kRead);  // 7: nobody entered 9
  trace.exit(0, 0).add(0, EventKind::kRead);  // 9: an exit without a name
  trace.exit(0, 1).add(0, EventKind::kRead);  // 11: one too many
  const Contexts contexts = trace.around({5, 7, 9, 11});
  EXPECT_THAT(functions(contexts, 5), ElementsAre(1));
  EXPECT_THAT(functions(contexts, 7), ElementsAre(1));
  EXPECT_THAT(functions(contexts, 9), ElementsAre());
  EXPECT_THAT(functions(contexts, 11), ElementsAre());
}

TEST(Context, a_deep_recursion_is_cut_and_counted) {
  Trace trace;
  for (std::uint32_t i = 1; i <= 100; ++i) trace.enter(0, i);
  trace.add(0, EventKind::kRead);
  const Context context = trace.around({101}).at.at(101);
  EXPECT_EQ(context.stack.size(), Contexts::kMaxFrames);
  EXPECT_EQ(context.stack[0].function, LabelId(100U));
  EXPECT_EQ(context.deeper, 100 - Contexts::kMaxFrames);
}

TEST(Context, locks_are_those_held_with_where_they_were_taken) {
  Trace trace;
  trace.add(0, EventKind::kAcquire, 5).add(0, EventKind::kAcquireShared, 6);
  trace.add(0, EventKind::kAcquire, 5).add(0, EventKind::kRelease, 5);
  trace.add(0, EventKind::kWrite);  // 5
  trace.add(0, EventKind::kRelease, 5).add(1, EventKind::kAcquire, 5).add(0, EventKind::kWrite);
  const Contexts contexts = trace.around({5, 8, 3});
  const std::vector<HeldLock>& both = contexts.at.at(5).held;
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].lock, LockId(5U));
  EXPECT_EQ(both[0].event, 1U) << "the outermost one";
  EXPECT_EQ(both[1].lock, LockId(6U));
  EXPECT_TRUE(both[1].shared);
  ASSERT_EQ(contexts.at.at(8).held.size(), 1U);
  EXPECT_EQ(contexts.at.at(8).held[0].lock, LockId(6U));
}

TEST(Context, threads_of_findings_know_where_they_were_created) {
  Trace trace;
  trace.enter(0, 1).add(0, EventKind::kFork, 1).enter(0, 2).add(0, EventKind::kFork, 2);
  trace.add(2, EventKind::kWrite).add(1, EventKind::kWrite).add(0, EventKind::kWrite);
  const Contexts contexts = trace.around({5});
  ASSERT_EQ(contexts.creation.size(), 1U) << "thread 1 is in no finding";
  const Creation& creation = contexts.creation.at(2);
  EXPECT_EQ(creation.fork, 4U);
  EXPECT_EQ(creation.creator, ThreadId(0U));
  EXPECT_EQ(creation.site, SiteId(4U));
  EXPECT_EQ(creation.context.stack.size(), 2U);
  EXPECT_LT(trace.seen, trace.events.size()) << "what comes after the last event is not looked at";
}

TEST(Suggestions, functions_that_lock_twice_come_first_and_the_library_never) {
  Names names;
  for (const char* name :
       {"main", "bank::add<int>(int)", "std::f()", "get()", "alone()", "worker()", "lock_all()"}) {
    names.table(Space::kLabel).append(name);
  }
  Trace trace;
  trace.enter(0, 1).enter(0, 5).exit(0, 5);
  trace.enter(0, 7).add(0, EventKind::kAcquire, 1).exit(0, 7).add(0, EventKind::kRelease, 1);
  trace.enter(1, 3).enter(1, 6).add(1, EventKind::kAcquire, 1).add(1, EventKind::kRelease, 1);
  for (const unsigned thread : {0U, 1U}) {
    trace.enter(thread, 2);
    for (int i = 0; i < 2; ++i) {
      trace.enter(thread, 4).add(thread, EventKind::kAcquire, 0).enter(thread, 3);
      trace.exit(thread, 3).add(thread, EventKind::kRelease, 0).exit(thread, 4);
    }
    trace.exit(thread, 2);
  }
  Suggestions suggestions;
  suggestions.take({trace.events, 1}, names);
  EXPECT_THAT(suggestions.names(), ElementsAre("bank::add<int>", "get", "alone"));
}

}  // namespace
}  // namespace syndrome::check
