// Guards against: steps and activations that are not those of the definition, in traces with calls
// of the library, call-backs, marks, recursion, blocks that are their functions once more, locks
// that are taken twice, and threads that stop.

#include "check/units/activations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/samples/random_trace.h"
#include "check/units/definition.h"
#include "event/labels.h"

namespace syndrome::check::units {
namespace {

/// "f:a/g:b lock 3 epoch 0 waits 0": the functions, each with its step, and the rest.
class Words {
 public:
  explicit Words(const Names& names) : names_(names) {}

  void function(LabelId label, EventNumber begin, SiteId step) {
    text_ += fmt::format("{}{}@{}:{}", text_.empty() ? "" : "/", names_.label(label), begin,
                         names_.site(step));
  }
  void hold(LockId lock, EventNumber since) { holds_.emplace(lock, since); }
  std::string end(std::uint32_t epoch, std::uint32_t waits) {
    for (const auto& [lock, since] : holds_) {
      text_ += fmt::format(" {} since {}", names_.lock(lock), since);
    }
    if (epoch != 0) text_ += fmt::format(" epoch {}", epoch);
    if (waits != 0) text_ += fmt::format(" waits {}", waits);
    return text_;
  }

 private:
  const Names& names_;
  std::string text_;
  std::map<LockId, EventNumber> holds_;
};

std::string kept(const Activations& activations, const Event& event, const Names& names) {
  Words words(names);
  const std::span<const Activation> open = activations.open(event.thread);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const SiteId step =
        i + 1 < open.size() ? open[i + 1].call : activations.step(event.thread, event.site);
    words.function(open[i].function, open[i].begin, step);
  }
  for (const Hold& hold : activations.holds(event.thread)) words.hold(hold.lock, hold.since);
  return words.end(activations.epoch(event.thread), activations.waits(event.thread));
}

std::string defined(const Snapshot& snapshot, const Names& names) {
  Words words(names);
  for (std::size_t i = 0; i < snapshot.stack.size(); ++i) {
    const Running& running = snapshot.stack[i];
    words.function(running.enter.label(), running.begin, snapshot.steps.at(i));
  }
  for (const auto& [lock, since] : snapshot.held) words.hold(lock, since);
  return words.end(snapshot.forks, snapshot.waits);
}

/// What both say of the last event of the trace, an access, which they have to agree on, as on all
/// before it.
std::string at_last(std::string_view text) {
  const SmallTrace trace = from_std(text);
  Activations activations;
  Stacks stacks;
  std::string last = "no access";
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    activations.take(event, i + 1, trace.names);
    const std::optional<Snapshot> snapshot = stacks.take(event, i + 1, trace.names);
    if (!snapshot) continue;
    last = kept(activations, event, trace.names);
    EXPECT_EQ(last, defined(*snapshot, trace.names)) << "event " << i + 1;
  }
  return last;
}

TEST(Activations, a_step_is_an_access_or_a_call) {
  EXPECT_EQ(at_last("A|enter(f)\nA|r(x)|a"), "f@1:a");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(g)|b\nA|r(x)|c"), "f@1:b/g@2:c");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(g)|b\nA|exit(g)\nA|r(x)|c"), "f@1:c");
  EXPECT_EQ(at_last("A|enter(f)\nA|exit(f)\nA|r(x)|c"), "");
  EXPECT_EQ(at_last("A|enter(f)\nB|enter(g)\nB|r(x)|c"), "g@2:c");
}

TEST(Activations, a_call_of_the_library_is_one_step) {
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::vector<int>::size() const)|b\nA|r(x)|c"), "f@1:b");
  // However deep; and what it calls of the program belongs to the same step.
  EXPECT_EQ(at_last(R"(A|enter(f)
    A|enter(std::sort(int*, int*))|b
    A|enter(std::swap(int&, int&))|c
    A|r(x)|d)"),
            "f@1:b");
  EXPECT_EQ(at_last(R"(A|enter(f)
    A|enter(std::sort(int*, int*))|b
    A|enter(less)|c
    A|r(x)|d)"),
            "f@1:b/less@3:d");
  // And it goes on behind it.
  EXPECT_EQ(at_last(R"(A|enter(f)
    A|enter(std::sort(int*, int*))|b
    A|enter(less)|c
    A|exit(less)
    A|r(x)|d)"),
            "f@1:b");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::x)|b\nA|exit(std::x)\nA|r(x)|d"), "f@1:d");
}

TEST(Activations, the_library_below_all_functions_is_no_step) {
  EXPECT_EQ(at_last("A|enter(std::thread::run)|a\nA|enter(f)|b\nA|r(x)|c"), "f@2:c");
  EXPECT_EQ(at_last("A|enter(std::thread::run)|a\nA|r(x)|c"), "");
}

TEST(Activations, a_call_of_the_library_from_nowhere_counts_by_what_it_calls) {
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::x)\nA|r(x)|c"), "f@1:c");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::x)\nA|enter(std::y)|b\nA|r(x)|c"), "f@1:b");
}

TEST(Activations, what_is_called_back_begins_anew) {
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(unit (called back))\nA|enter(g)|b\nA|r(x)|c"), "g@3:c");
  EXPECT_EQ(at_last(R"(A|enter(f)
    A|enter(unit (called back))
    A|enter(g)|b
    A|exit(g)
    A|exit(unit (called back))
    A|r(x)|c)"),
            "f@1:c");
  // Out of the library, too; it is still one step behind that.
  constexpr std::string_view kCalled = R"(A|enter(f)
    A|enter(std::x)|a
    A|enter(unit (called back))
    A|enter(g)|b
    A|enter(h)|c
    A|r(x)|d
)";
  EXPECT_EQ(at_last(kCalled), "g@4:c/h@5:d");
  EXPECT_EQ(
      at_last(std::string(kCalled) + "A|exit(h)\nA|exit(g)\nA|exit(unit (called back))\nA|r(x)|d"),
      "f@1:a");
}

TEST(Activations, marks_are_seen_through) {
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(unit S)|b\nA|r(x)|c"), "f@1:c");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(deterministic d)|b\nA|enter(g)|c\nA|r(x)|d"),
            "f@1:c/g@3:d");
  EXPECT_EQ(at_last("A|enter(f)\nA|begin()|b\nA|r(x)|c"), "f@1:c");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::x)|a\nA|begin()|b\nA|r(x)|c\nA|end()\nA|r(x)|d"),
            "f@1:a");
}

TEST(Activations, a_block_may_be_its_function_once_more) {
  EXPECT_EQ(at_last("A|enter(f)\nA|begin(f)|b\nA|r(x)|c"), "f@1:c");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::x)|a\nA|begin(f)|b\nA|r(x)|c"), "f@1:a");
  // Another one is a function of its own.
  EXPECT_EQ(at_last("A|enter(f)\nA|begin(g)|b\nA|r(x)|c"), "f@1:b/g@2:c");
}

TEST(Activations, a_recursion_is_a_function_each_time) {
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(f)|b\nA|enter(f)|b\nA|r(x)|c"), "f@1:b/f@2:b/f@3:c");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(f)|b\nA|exit(f)\nA|r(x)|c"), "f@1:c");
}

TEST(Activations, the_same_calls_are_the_same_context) {
  const SmallTrace trace = from_std(R"(A|enter(f)|a
    A|enter(g)|b
    A|exit(g)
    A|enter(g)|b
    A|exit(g)
    A|enter(g)|c)");
  Activations activations;
  std::vector<ContextId> contexts;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    activations.take(trace.events[i], i + 1, trace.names);
    if (trace.events[i].kind != EventKind::kEnter) continue;
    contexts.push_back(activations.open(ThreadId(0u)).back().context);
  }
  ASSERT_EQ(contexts.size(), 4U);
  EXPECT_EQ(contexts[1], contexts[2]);
  EXPECT_NE(contexts[1], contexts[3]);
  EXPECT_EQ(activations.around(contexts[3]), contexts[0]);
  EXPECT_EQ(trace.names.site(activations.call(contexts[3])), "c");
  EXPECT_EQ(activations.depth(contexts[0]) + 1, activations.depth(contexts[3]));
}

TEST(Activations, a_recursion_that_is_very_deep_stays_at_one_context) {
  Names names;
  Activations activations;
  Event enter;
  enter.kind = EventKind::kEnter;
  enter.target = names.table(Space::kLabel).append("f");
  EventNumber number = 0;
  for (int i = 0; i < 300; ++i) activations.take(enter, ++number, names);
  const std::span<const Activation> open = activations.open(enter.thread);
  ASSERT_EQ(open.size(), 300U);
  EXPECT_EQ(open[298].context, open[299].context);
  EXPECT_NE(open[98].context, open[99].context);
  EXPECT_EQ(open[299].begin, 300U);
}

TEST(Activations, holds_are_since_the_first_acquire) {
  EXPECT_EQ(at_last("A|acq(m)\nA|acq(m)\nA|rel(m)\nA|acq_shared(n)\nA|r(x)"),
            " m since 1 n since 4");
  EXPECT_EQ(at_last("A|acq(m)\nA|rel(m)\nA|acq(m)\nA|r(x)"), " m since 3");
  EXPECT_EQ(at_last("A|acq(m)\nA|acq(n)\nA|rel(m)\nA|r(x)"), " n since 2");
  EXPECT_EQ(at_last("A|acq_shared(m)\nA|rel_shared(m)\nB|acq(m)\nA|r(x)"), "");
}

TEST(Activations, forks_and_joins_are_of_the_thread_that_makes_them) {
  EXPECT_EQ(at_last("A|fork(B)\nB|r(x)\nA|join(B)\nA|r(x)"), " epoch 2");
  EXPECT_EQ(at_last("A|fork(B)\nA|fork(C)\nB|r(x)"), "");
}

TEST(Activations, waits) {
  EXPECT_EQ(at_last("A|barrier_arrive(b)\nA|r(x)"), "");
  EXPECT_EQ(at_last("A|barrier_arrive(b)\nA|barrier_leave(b)\nA|r(x)"), " waits 1");
  EXPECT_EQ(at_last("B|post(s)\nA|wait(s)\nA|cond_wait(c)\nA|r(x)"), " waits 2");
  EXPECT_EQ(at_last("A|post(s)\nA|cond_signal(c)\nB|wait(s)\nA|r(x)"), "");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::future<int>::get())|a\nA|r(x)|b"), "f@1:a waits 1");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::shared_future<int>::get() const)|a\nA|r(x)|b"),
            "f@1:a waits 1");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::__basic_future<int>::wait() const)|a\nA|r(x)|b"),
            "f@1:a waits 1");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(std::future<int>::valid() const)|a\nA|r(x)|b"), "f@1:a");
  EXPECT_EQ(at_last("A|enter(f)\nA|enter(my::future<int>::get())|a\nA|r(x)|b"),
            "f@1:a/my::future<int>::get()@2:b");
}

TEST(Activations, objects_belong_to_the_function_that_was_entered) {
  const SmallTrace trace = from_std(R"(A|enter(f)
    A|object(o)
    A|object(p)
    A|enter(std::x)
    A|object(q)
    A|enter(g)
    A|object(r))");
  Activations activations;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    activations.take(trace.events[i], i + 1, trace.names);
  }
  const auto objects = [&](std::size_t activation) {
    std::string text;
    for (const ObjectId object : activations.objects(ThreadId(0u), activation)) {
      text += trace.names.of(Space::kObject, object.value);
    }
    return text;
  };
  EXPECT_EQ(objects(0), "op");
  EXPECT_EQ(objects(1), "r");
}

/// Functions of the program and the library, marks, locks, forks, waits and accesses, nested in any
/// way that well-formedness allows.
SmallTrace random_stacks(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  constexpr std::array<std::string_view, 11> kFunctions = {"f",
                                                           "g",
                                                           "S::h(int)",
                                                           "std::vector<int>::size() const",
                                                           "void std::sort<int*>(int*, int*)",
                                                           "__gthread_active_p",
                                                           "std::future<int>::get()",
                                                           "std::__basic_future<int>::wait() const",
                                                           "unit S",
                                                           "deterministic d",
                                                           kCalledBackLabel};
  SmallTrace trace;
  for (const std::string_view name : kFunctions) trace.names.table(Space::kLabel).append(name);
  constexpr std::uint32_t kThreads = 4;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    trace.names.table(Space::kThread).append(fmt::format("T{}", i));
    for (const Space space : {Space::kVariable, Space::kLock, Space::kBarrier, Space::kSemaphore,
                              Space::kCondition, Space::kSite}) {
      trace.names.table(space).append(fmt::format("n{}", i));
    }
  }
  using enum EventKind;
  constexpr std::array kKinds = {
      kEnter, kEnter,   kEnter,         kEnter,        kBegin,   kExit,          kExit,
      kExit,  kEnd,     kRead,          kRead,         kWrite,   kRmw,           kRead,
      kWrite, kAcquire, kAcquire,       kRelease,      kRelease, kAcquireShared, kReleaseShared,
      kFork,  kJoin,    kBarrierArrive, kBarrierLeave, kPost,    kWait,          kCondWait};
  const std::uint32_t threads = 1 + below(kThreads);
  const std::uint32_t functions = below(2) == 0 ? 4 : kFunctions.size() + 1;
  const std::uint32_t size = 10 + below(110);
  TraceState state;
  for (std::uint32_t i = 0; i < size; ++i) {
    Event event;
    event.thread = ThreadId(below(threads));
    event.kind = kKinds.at(below(kKinds.size()));
    event.site = SiteId(below(5));
    switch (event.kind) {
      case kEnter:
      case kExit: event.target = 1 + below(functions == 4 ? 4 : kFunctions.size()); break;
      case kBegin:
      case kEnd: event.target = below(functions); break;
      default: event.target = below(2); break;
    }
    if (event.kind == kJoin || event.kind == kFork) event.target = below(threads);
    if (event.kind == kRead && below(60) == 0) event.kind = kThreadStop;
    if (below(50) == 0) {
      event.flags = kDropped;
    } else {
      if (!state.allows(event)) continue;
      state.apply(event);
    }
    trace.events.push_back(event);
  }
  return trace;
}

TEST(Activations, agree_with_the_definition_on_random_streams) {
  std::size_t compared = 0;
  std::size_t deep = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const SmallTrace trace = random_stacks(seed);
    Activations activations;
    Stacks stacks;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const Event& event = trace.events[i];
      activations.take(event, i + 1, trace.names);
      const std::optional<Snapshot> snapshot = stacks.take(event, i + 1, trace.names);
      if (!snapshot) continue;
      ASSERT_EQ(kept(activations, event, trace.names), defined(*snapshot, trace.names))
          << "seed " << seed << ", event " << i + 1 << "\n"
          << to_std(trace);
      ++compared;
      if (snapshot->stack.size() > 1) ++deep;
    }
  }
  EXPECT_GT(compared, 10'000U);
  EXPECT_GT(deep, 3'000U);
}

}  // namespace
}  // namespace syndrome::check::units
