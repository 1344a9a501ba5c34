// AeroDrome's Algorithm 1 (Mathur and Viswanathan, ASPLOS 2020), line by line: the middle step
// between the oracle and aerodrome.h. Not an engine for users: every `end` visits every clock.
//
// Three things are not in the paper's text.
//
// A joined thread that had no event is not joined into the clock. Its clock is the forking
// thread's, and line 22 would find the begin of the very block that forked and joined it; but a
// thread without an event is in no transaction, so nothing comes back from it.
//
// Blocks that are open when the trace ends. A cycle through two of them is found at the `end` of
// one (theorem 2 asks that all but one are complete), which never comes; finish() plays it.
//
// Other kinds of events, each by the procedures that have the same conflicts:
//   rmw                         WRITE: it conflicts with every access
//   acq_shared                  CHECKANDGET of L, as a read is of W
//   rel_shared                  publishes to a clock for each thread and lock, as a read does to R
//   acq                         also CHECKANDGET of the shared releases of other threads
//   post, cond_signal,          publish to a clock for each thread and object
//     cond_broadcast, arrive    (for barriers, each thread and round)
//   wait, cond_wait, leave      CHECKANDGET of what other threads published there
//
// Where it reports: at the event that closes the cycle if all its other blocks are complete then,
// else at the `end` (or in finish()) that leaves only one incomplete. So the verdict is that of
// the oracle, the event may be a later one.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "check/atomicity/conflict.h"
#include "check/atomicity/engine.h"

namespace syndrome::check {

class AerodromeLiteral : public EventHandlers {
 public:
  /// A vector time; entries beyond its size are 0.
  using Clock = std::vector<std::uint32_t>;

  void on_read(const Event& e, EventNumber n);
  void on_write(const Event& e, EventNumber n);
  void on_rmw(const Event& e, EventNumber n) { on_write(e, n); }
  void on_acquire(const Event& e, EventNumber n);
  void on_release(const Event& e, EventNumber n);
  void on_acquire_shared(const Event& e, EventNumber n);
  void on_release_shared(const Event& e, EventNumber n);
  void on_fork(const Event& e, EventNumber n);
  void on_join(const Event& e, EventNumber n);
  void on_begin(const Event& e, EventNumber n);
  void on_end(const Event& e, EventNumber n);
  void on_barrier_arrive(const Event& e, EventNumber n);
  void on_barrier_leave(const Event& e, EventNumber n);
  void on_post(const Event& e, EventNumber n) { publish(e, n, Space::kSemaphore); }
  void on_wait(const Event& e, EventNumber n) { observe(e, n, Space::kSemaphore); }
  // Apart from posts and waits, which are of round 0.
  void on_happens_before(const Event& e, EventNumber n) { publish(e, n, Space::kSemaphore, 1); }
  void on_happens_after(const Event& e, EventNumber n) { observe(e, n, Space::kSemaphore, 1); }
  void on_cond_wait(const Event& e, EventNumber n) { observe(e, n, Space::kCondition); }
  void on_cond_signal(const Event& e, EventNumber n) { publish(e, n, Space::kCondition); }
  void on_cond_broadcast(const Event& e, EventNumber n) { publish(e, n, Space::kCondition); }
  void on_thread_start(const Event& e, EventNumber) { acted(e.thread); }
  void on_thread_stop(const Event& e, EventNumber) { acted(e.thread); }
  void on_alloc(const Event& e, EventNumber) { acted(e.thread); }
  void on_free(const Event& e, EventNumber) { acted(e.thread); }
  void on_enter(const Event& e, EventNumber) { acted(e.thread); }
  void on_exit(const Event& e, EventNumber) { acted(e.thread); }
  void on_fence(const Event& e, EventNumber) { acted(e.thread); }

  /// Ends the blocks that are still open; `last` is the number of the trace's last event.
  void finish(EventNumber last);

  [[nodiscard]] const Violation& violation() const { return violation_; }
  [[nodiscard]] std::vector<Stat> stats() const { return {}; }

  // The clocks by their names in the paper.
  [[nodiscard]] Clock c(ThreadId t) { return thread(t).clock; }
  [[nodiscard]] Clock w(VarId x) { return writes_[x].clock; }
  [[nodiscard]] Clock r(ThreadId t, VarId x) { return reads_[{t, x}]; }
  [[nodiscard]] Clock l(LockId lock) { return releases_[lock].clock; }

 private:
  struct Thread {
    Clock clock;          // C_t
    Clock begin;          // C_t at the last begin
    bool active = false;  // has an active transaction
    bool acted = false;   // has had an event
  };
  struct Last {
    Clock clock;                     // W_x or L_l
    std::optional<ThreadId> thread;  // lastWThr or lastRelThr
  };
  /// What threads publish to: a space, its target, and for barriers the round.
  using Channel = std::tuple<Space, std::uint32_t, std::uint64_t>;

  Thread& thread(ThreadId t);
  Thread& acted(ThreadId t);
  void check_and_get(const Clock& clk, ThreadId t, EventNumber n);
  void end(ThreadId t, EventNumber n);
  void publish(const Event& e, EventNumber n, Space space, std::uint64_t round = 0);
  void observe(const Event& e, EventNumber n, Space space, std::uint64_t round = 0);

  std::map<ThreadId, Thread> threads_;
  std::map<VarId, Last> writes_;
  std::map<LockId, Last> releases_;
  std::map<std::pair<ThreadId, VarId>, Clock> reads_;  // R_{t,x}
  std::map<Channel, std::map<ThreadId, Clock>> channels_;
  BarrierRounds rounds_;
  Violation violation_;
};

}  // namespace syndrome::check
