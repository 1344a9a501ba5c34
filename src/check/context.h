// What surrounds the events that findings speak of: the call stack, the locks held and where they
// were taken, and where each thread was created. One more look at the trace, which only a trace
// with findings pays for, and only up to the last event that a finding names.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "check/count/count.h"
#include "check/finding.h"
#include "event/event.h"

namespace syndrome::check {

/// A function that is open, and where its caller calls it.
struct Call {
  LabelId function;
  SiteId site;
  friend bool operator==(const Call&, const Call&) = default;
};

struct HeldLock {
  LockId lock;
  SiteId site;            // where it was taken
  EventNumber event = 0;  // the acquire
  bool shared = false;
  /// The calls that led there, innermost first: a lock is mostly taken in a guard of the library.
  std::array<SiteId, 6> callers{};
};

struct Context {
  std::vector<Call> stack;     // innermost first, at most Contexts::kMaxFrames
  std::uint64_t deeper = 0;    // open functions that the stack leaves out, all of them outer ones
  std::vector<HeldLock> held;  // oldest first
};

/// How a thread came to be.
struct Creation {
  EventNumber fork = 0;
  ThreadId creator;
  SiteId site;
  Context context;
};

struct Contexts {
  static constexpr std::size_t kMaxFrames = 64;

  std::unordered_map<EventNumber, Context> at;           // of every witness
  std::unordered_map<std::uint32_t, Creation> creation;  // by thread; the first thread has none
};

/// Collects contexts from the events as they stand in the trace (before spec/ turns functions into
/// blocks). An exit closes its function and whatever is still open inside of it, as an exception or
/// longjmp leaves it; without a name, the innermost one; one that was never entered is passed over.
class ContextPass {
 public:
  explicit ContextPass(std::span<const CheckResult> results);

  /// Whether a trace with these events has anything to tell about a finding.
  [[nodiscard]] static bool worthwhile(const Counts& counts);

  void take(const Batch& batch);

  /// Nothing that comes later matters.
  [[nodiscard]] bool satisfied() const { return next_ == wanted_.size(); }
  [[nodiscard]] Contexts result() { return std::move(contexts_); }

 private:
  struct Thread {
    std::vector<Call> calls;      // innermost last
    std::vector<HeldLock> locks;  // oldest first; re-entrant ones several times
  };

  void apply(const Event& event, EventNumber number);
  [[nodiscard]] Thread& thread(ThreadId id);
  [[nodiscard]] static Context snapshot(const Thread& thread);
  static void exit(Thread& thread, LabelId function);
  static void acquire(Thread& thread, const Event& event, EventNumber number);
  static void release(Thread& thread, LockId lock, bool shared);

  std::vector<EventNumber> wanted_;  // ascending, each once
  std::size_t next_ = 0;
  std::vector<bool> involved_;  // by thread: whether a witness is its
  std::vector<Thread> threads_;
  Contexts contexts_;
};

}  // namespace syndrome::check
