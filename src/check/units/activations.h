// Which functions of the program are running in each thread, and by which step each of them came to
// what happens now (docs/units.md).
//
// An *activation* is one run of a function of the program, known by the event that entered it. A
// *step* of it is an access that it makes itself, or a call within which the access happens; either
// is known by its site. Functions of the library belong to their callers: a call of one is one
// step. What code without probes calls back begins anew: it sees no activation below.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "event/event.h"
#include "event/ids.h"
#include "event/names.h"

namespace syndrome::check::units {

/// A way to call a function: who calls it, and at which step. The same for every activation that
/// was reached by the same calls, so there are as many as the program's text makes, not its run.
using ContextId = std::uint32_t;

struct Activation {
  EventNumber begin = 0;
  LabelId function;
  SiteId call;  // the step of the activation below that led here; none for the lowest
  ContextId context = 0;
  std::uint32_t first_object = 0;  // in Activations::objects_of
};

/// What a lock is held since.
struct Hold {
  LockId lock;
  EventNumber since = 0;
};

class Activations {
 public:
  Activations();

  /// Every event of the trace, in order, not dropped; accesses change nothing.
  void take(const Event& event, EventNumber number, const Names& names);

  /// The activations that an access of the thread belongs to, outermost first.
  [[nodiscard]] std::span<const Activation> open(ThreadId thread) const;
  /// The step of the innermost one that an access at this site belongs to.
  [[nodiscard]] SiteId step(ThreadId thread, SiteId site) const;
  /// The objects that one of open() works on.
  [[nodiscard]] std::span<const ObjectId> objects(ThreadId thread, std::size_t activation) const;
  [[nodiscard]] std::span<const Hold> holds(ThreadId thread) const;
  /// Changes when the thread forks or joins another.
  [[nodiscard]] std::uint32_t epoch(ThreadId thread) const { return at(thread).epoch; }
  /// Changes when the thread has waited for another.
  [[nodiscard]] std::uint32_t waits(ThreadId thread) const { return at(thread).waits; }

  /// How many calls are around the function of this context, 0 for what a thread begins with.
  [[nodiscard]] std::uint32_t depth(ContextId context) const { return contexts_[context].depth; }
  /// The step in the context around it; and that context.
  [[nodiscard]] SiteId call(ContextId context) const { return contexts_[context].call; }
  [[nodiscard]] ContextId around(ContextId context) const { return contexts_[context].around; }

 private:
  enum class Kind : std::uint8_t { kProgram, kLibrary, kTransparent, kCalledBack };
  struct Frame {
    Kind kind = Kind::kProgram;
    SiteId outer_step;  // Thread::library_step before a frame of the program
    std::size_t outer_base = 0;
  };
  struct Thread {
    std::vector<Frame> frames;  // all
    std::vector<Activation> open;
    std::vector<ObjectId> objects;
    std::vector<Hold> holds;
    std::size_t base = 0;  // the first of `open` that is seen
    SiteId library_step;   // the call that led into the library; none: the library does not run
    std::uint32_t epoch = 0;
    std::uint32_t waits = 0;
  };
  struct Context {
    ContextId around = 0;
    SiteId call;
    LabelId function;
    std::uint32_t depth = 0;
  };

  [[nodiscard]] const Thread& at(ThreadId thread) const;
  [[nodiscard]] Thread& of(ThreadId thread);
  void enter(Thread& thread, const Event& event, EventNumber number, const Names& names);
  static void leave(Thread& thread);
  [[nodiscard]] Kind kind_of(LabelId label, const Names& names);
  [[nodiscard]] ContextId context(const Thread& thread, SiteId call, LabelId function);

  std::vector<Thread> threads_;
  Thread none_;
  std::vector<std::optional<Kind>> kinds_;  // by label
  std::vector<Context> contexts_;
  std::vector<std::vector<ContextId>> called_from_;  // by context
};

}  // namespace syndrome::check::units
