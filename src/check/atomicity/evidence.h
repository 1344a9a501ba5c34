// The second look at a trace that is not serializable: every violating block, with its cycle.
//
// Keeps the events of a window, and builds the transaction graph of the window when it is full. A
// transaction that no open block reaches can be in no cycle that is still to come (a finished one
// takes no more edges in, and neither do those before it), so its strongly connected component is
// final: it is searched for violating blocks (cycle_search.h) and forgotten. What an open block
// reaches stays for the next window.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/analysis.h"
#include "check/atomicity/component.h"
#include "check/atomicity/conflict.h"
#include "check/atomicity/cycle_search.h"

namespace syndrome::check {

class Evidence : public EventHandlers {
 public:
  struct Options {
    bool wide = false;   // also blocks that violate in the wide sense only
    bool lines = false;  // as CycleSearch has it
    /// One cycle is enough, if possible one through a block of this thread.
    std::optional<ThreadId> one_of;
    /// Events kept before the graph is built for the first time.
    std::size_t window = 1U << 20U;
    /// Events kept at most. Past it, the oldest cycles are settled as if the trace ended here, and
    /// incomplete() tells.
    std::size_t most = 1U << 24U;
    /// Events that all searches together may look at.
    std::uint64_t budget = 500'000'000;
  };
  using OnCycle = std::function<void(Cycle)>;

  Evidence(const Options& options, OnCycle on_cycle);

  void on_read(const Event& e, EventNumber n) { append(e, n); }
  void on_write(const Event& e, EventNumber n) { append(e, n); }
  void on_rmw(const Event& e, EventNumber n) { append(e, n); }
  void on_acquire(const Event& e, EventNumber n) { append(e, n); }
  void on_release(const Event& e, EventNumber n) { append(e, n); }
  void on_acquire_shared(const Event& e, EventNumber n) { append(e, n); }
  void on_release_shared(const Event& e, EventNumber n) { append(e, n); }
  void on_fork(const Event& e, EventNumber n) { append(e, n); }
  void on_join(const Event& e, EventNumber n);
  void on_begin(const Event& e, EventNumber n);
  void on_end(const Event& e, EventNumber n);
  void on_barrier_arrive(const Event& e, EventNumber n) {
    append(e, n, rounds_.arrive(e.thread, e.barrier()));
  }
  void on_barrier_leave(const Event& e, EventNumber n) {
    append(e, n, rounds_.leave(e.thread, e.barrier()));
  }
  void on_post(const Event& e, EventNumber n) { append(e, n); }
  void on_wait(const Event& e, EventNumber n) { append(e, n); }
  void on_happens_before(const Event& e, EventNumber n) { append(e, n); }
  void on_happens_after(const Event& e, EventNumber n) { append(e, n); }
  void on_cond_wait(const Event& e, EventNumber n) { append(e, n); }
  void on_cond_signal(const Event& e, EventNumber n) { append(e, n); }
  void on_cond_broadcast(const Event& e, EventNumber n) { append(e, n); }
  // These order nothing between threads, except that a join comes after them.
  void on_thread_start(const Event& e, EventNumber n) { pass_by(e, n); }
  void on_thread_stop(const Event& e, EventNumber n) { pass_by(e, n); }
  void on_alloc(const Event& e, EventNumber n) { pass_by(e, n); }
  void on_free(const Event& e, EventNumber n) { pass_by(e, n); }
  void on_enter(const Event& e, EventNumber n) { pass_by(e, n); }
  void on_exit(const Event& e, EventNumber n) { pass_by(e, n); }
  void on_fence(const Event& e, EventNumber n) { pass_by(e, n); }
  void on_nested(const Event& e, EventNumber n) { pass_by(e, n); }

  /// After the last event: settles what is left.
  void finish();

  /// Why the list of violating blocks may not be complete; empty when it is.
  [[nodiscard]] const std::string& incomplete() const { return incomplete_; }
  [[nodiscard]] std::uint64_t components() const { return components_; }

 private:
  using NodeIndex = std::uint32_t;
  static constexpr NodeIndex kNone = ~0U;

  struct Node : ComponentTransaction {
    bool open = false;
  };
  struct Graph {  // successors of node n: targets[begin[n]] … targets[begin[n + 1]]
    std::vector<std::size_t> begin;
    std::vector<NodeIndex> targets;
  };

  struct ThreadState {
    NodeIndex open = kNone;  // the node of its open block
    /// Its last event, when that is not in the log; then `passed_in` is the event's block, if any.
    EventNumber passed = 0;
    Event passed_event;
    NodeIndex passed_in = kNone;
  };

  void append(const Event& e, EventNumber n, std::uint64_t round = 0);
  void pass_by(const Event& e, EventNumber n);
  ThreadState& state(ThreadId thread);
  void settle(bool everything);
  [[nodiscard]] Graph build_graph() const;
  [[nodiscard]] std::vector<bool> reachable_from_open(const Graph& graph) const;
  void search_components(const Graph& graph, const std::vector<bool>& alive);
  void search(const Component& members);
  void search_one(const Component& members);
  void keep(const std::vector<bool>& alive);

  Options options_;
  OnCycle on_cycle_;
  BarrierRounds rounds_;
  std::vector<ComponentEvent> log_;
  std::vector<Node> nodes_;
  std::vector<ThreadState> threads_;
  std::size_t next_settle_;
  std::uint64_t components_ = 0;
  bool found_one_ = false;
  std::string incomplete_;
};

}  // namespace syndrome::check
