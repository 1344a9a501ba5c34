// Velodrome (Flanagan, Freund, Yi, PLDI 2008): conflict serializability by the transaction graph.
//
// A node for each transaction, an edge from each transaction to the next one that conflicts with
// it; the trace is serializable iff no edge closes a cycle. What makes that affordable:
//
// Garbage collection. Only an open block takes new incoming edges; a finished node never does. So
// a finished node without incoming edges will never be on a cycle: it goes, with its outgoing
// edges, and so may its successors. Threads, variables, locks name nodes by slot and generation;
// the name of a collected node is dead and stands for "nothing that matters". What remains are the
// nodes that an open block reaches: usually a handful.
//
// Representatives. An event outside of blocks is a transaction that takes edges once, when it
// happens. Let P be its predecessors that are still alive (its thread's last transaction among
// them); its representative, whose name is stored wherever the event's own would be, is
//   nothing          if P is empty: its own node would be collected at once
//   p                if p in P is finished and each other member of P has an edge to p. What
//                    reaches the event reaches p and the other way round, except for p itself; and
//                    what the event reaches p reaches. So every path through the event's own node
//                    is one through p between the same ends, and back, except for a path from p to
//                    the event and back to p, which needs a new edge into p: p is finished, and
//                    has none. (The forking block of a thread's first event is not finished, and
//                    fork, child's event, join in one block is a cycle.)
//   its thread's last node, with more edges into it, if that is an event of this thread outside
//                    of blocks that nothing but the thread has named yet: acquires, joins and the
//                    other events that only take edges. Nobody leaves it except by program order,
//                    so what comes into it later comes in before every way out.
//   a new node       otherwise.
// Two live nodes of one thread are always joined by a path, the older first: a new node has an
// edge from the thread's last representative, which the one before reaches or is. Hence a set of
// readers needs one name for each thread that owns a node, the youngest.
//
// Order. Every node has a place in an order that all edges respect. An edge that respects it too
// cannot close a cycle and needs no search; new nodes come last, so those are nearly all. For the
// others we search from both ends in turn, edge by edge: forward from the target, backward from
// the source. When one side is exhausted, there is no path, and that side moves to its end of the
// order: all that the target reaches to the back, or all that reaches the source to the front. So
// a search costs twice the smaller side: a block that is open for long and has many successors does
// not pay for them at each edge from a block that has few predecessors. (Where both sides are large
// again and again, time is quadratic, as it is for the published algorithm.)
//
// Otherwise time is linear in events and edges; memory follows variables, locks, threads and live
// nodes.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "check/atomicity/conflict.h"
#include "check/atomicity/engine.h"

namespace syndrome::check {

class Velodrome : public EventHandlers {
 public:
  Velodrome() : nodes_(1) {}

  [[nodiscard]] const Violation& violation() const { return violation_; }
  [[nodiscard]] std::vector<Stat> stats() const;

  /// Nodes of the graph now.
  [[nodiscard]] std::uint64_t live_nodes() const { return created_ - collected_; }

  void on_read(const Event& e, EventNumber n) {
    Thread& t = thread(e.thread);
    Variable& x = grown(variables_, e.target);
    if (t.in_block) {
      // Then the edge from the last writer is there already, or is not needed.
      if (x.reader == t.last || x.writer == t.last) return;
      if (alive(x.writer)) link(x.writer, t, n);
      add_reader(x, t.last);
      return;
    }
    sources_.clear();
    if (alive(x.writer)) sources_.push_back(x.writer);
    const Ref self = unary(t, e.thread, Publishes::kYes);
    if (self != kNone) add_reader(x, self);
  }
  void on_write(const Event& e, EventNumber n) {
    Thread& t = thread(e.thread);
    Variable& x = grown(variables_, e.target);
    if (t.in_block && x.writer == t.last && x.more == 0 &&
        (x.reader == kNone || x.reader == t.last)) {
      return;
    }
    sources_.clear();
    if (x.more != 0) [[unlikely]] {
      take_more_readers(x);
    }
    if (alive(x.reader)) sources_.push_back(x.reader);
    // A reader since the last write has an edge from it, or is in the same transaction.
    if (sources_.empty() && alive(x.writer)) sources_.push_back(x.writer);
    x.writer = transact(t, e.thread, n, Publishes::kYes);
    x.reader = kNone;
  }
  void on_rmw(const Event& e, EventNumber n) { on_write(e, n); }

  void on_acquire(const Event& e, EventNumber n) {
    Lock& lock = grown(locks_, e.target);
    sources_.clear();
    if (!lock.shared.refs.empty()) [[unlikely]] {
      take_alive(lock.shared);
    }
    if (alive(lock.releaser)) sources_.push_back(lock.releaser);
    transact(thread(e.thread), e.thread, n, Publishes::kNo);
  }
  void on_release(const Event& e, EventNumber n) {
    Lock& lock = grown(locks_, e.target);
    sources_.clear();
    lock.releaser = transact(thread(e.thread), e.thread, n, Publishes::kYes);
    if (!lock.shared.refs.empty()) lock.shared = {};  // our acquire comes after all of them
  }
  void on_acquire_shared(const Event& e, EventNumber n);
  void on_release_shared(const Event& e, EventNumber n);
  void on_fork(const Event& e, EventNumber n);
  void on_join(const Event& e, EventNumber n);
  void on_begin(const Event& e, EventNumber n);
  void on_end(const Event& e, EventNumber n);
  void on_barrier_arrive(const Event& e, EventNumber n);
  void on_barrier_leave(const Event& e, EventNumber n);
  void on_post(const Event& e, EventNumber n);
  void on_wait(const Event& e, EventNumber n);
  void on_happens_before(const Event& e, EventNumber n);
  void on_happens_after(const Event& e, EventNumber n);
  void on_cond_wait(const Event& e, EventNumber n);
  void on_cond_signal(const Event& e, EventNumber n);
  void on_cond_broadcast(const Event& e, EventNumber n) { on_cond_signal(e, n); }
  void on_thread_start(const Event& e, EventNumber n) { step(e, n); }
  void on_thread_stop(const Event& e, EventNumber n) { step(e, n); }
  void on_alloc(const Event& e, EventNumber n) { step(e, n); }
  void on_free(const Event& e, EventNumber n) { step(e, n); }
  void on_enter(const Event& e, EventNumber n) { step(e, n); }
  void on_exit(const Event& e, EventNumber n) { step(e, n); }
  void on_fence(const Event& e, EventNumber n) { step(e, n); }
  // A nested event has an event of its thread before it, and no conflict but with its thread: its
  // representative is that event's.

  void soon(const Event& event) const {
    if (is_access(event.kind) && event.target < variables_.size()) {
      __builtin_prefetch(&variables_[event.target], 1);
    }
  }

 private:
  /// Names a node, weakly: dead once the node is collected.
  struct Ref {
    std::uint32_t slot;
    std::uint32_t generation;
    friend bool operator==(Ref, Ref) = default;
  };
  struct HashRef {
    std::size_t operator()(Ref ref) const {
      return (std::uint64_t{ref.generation} << 32 | ref.slot) * 0x9E3779B97F4A7C15u;
    }
  };
  /// Never alive: slot 0 is not used, and no slot has generation 0.
  static constexpr Ref kNone{.slot = 0, .generation = 0};

  /// Whether an event leaves its transaction's name somewhere else than at its thread.
  enum class Publishes : bool { kNo, kYes };

  struct Node {
    std::uint32_t generation = 1;
    ThreadId owner;
    std::uint64_t born = 0;      // the how-manyth node
    std::int64_t place = 0;      // smaller than that of every successor
    std::uint64_t visit = 0;     // search and side that came by last
    Ref last_target = kNone;     // of the newest outgoing edge
    std::uint32_t in_count = 0;  // incoming edges from live nodes
    bool finished = false;
    std::vector<std::uint32_t> out;  // slots; all alive, because this node is
    std::vector<Ref> in;             // in_count live ones, and perhaps dead ones
  };

  struct Thread {
    Ref last = kNone;       // representative of its last event; before its first, of its fork
    bool in_block = false;  // then `last` is the block's node
    bool has_event = false;
    bool fresh = false;       // `last` is alive or was, outside of blocks, and named only here
    std::uint64_t sweep = 0;  // of a bag, the last to meet a node of this thread; where that is
    std::size_t kept = 0;
    /// Of the open block: all in its `in`, once they are too many to scan.
    std::unique_ptr<std::unordered_set<Ref, HashRef>> sources;
  };

  /// Transactions of which each must precede some later event. May hold the dead, and more than one
  /// of a thread, but at most twice as many as it must, and costs constant time each.
  struct Bag {
    std::vector<Ref> refs;
    std::size_t swept = 0;  // how many were left by the last sweep
  };

  struct Variable {
    Ref writer = kNone;
    Ref reader = kNone;      // since that write; the latest to be added
    std::uint32_t more = 0;  // in reader_bags_: the other readers
  };

  struct Lock {
    Ref releaser = kNone;
    Bag shared;  // releasers since then, of shared holds
  };

  struct Barrier {
    struct Round {
      Bag arrived;
      std::uint64_t inside = 0;
    };
    std::unordered_map<std::uint64_t, Round> rounds;  // with threads that have not left
    std::unordered_map<ThreadId, std::uint64_t> inside;
  };

  template <class T>
  static T& grown(std::vector<T>& table, std::size_t index) {
    if (index >= table.size()) [[unlikely]] {
      table.resize(index + 1);
    }
    return table[index];
  }
  Thread& thread(ThreadId id) { return grown(threads_, id.index()); }

  [[nodiscard]] bool alive(Ref ref) const { return nodes_[ref.slot].generation == ref.generation; }
  [[nodiscard]] Node& node(Ref ref) { return nodes_[ref.slot]; }

  /// The event has edges from sources_ (alive; repetitions allowed). Gives its representative.
  Ref transact(Thread& t, ThreadId id, EventNumber n, Publishes publishes) {
    if (!t.in_block) return unary(t, id, publishes);
    for (const Ref source : sources_) link(source, t, n);
    return t.last;
  }
  Ref unary(Thread& t, ThreadId id, Publishes publishes) {
    if (sources_.empty() && !alive(t.last)) {
      t.has_event = true;
      t.last = kNone;
      ++without_node_;
      return kNone;
    }
    return unary_after(t, id, publishes);
  }
  Ref unary_after(Thread& t, ThreadId id, Publishes publishes);
  /// An event that conflicts with its own thread alone.
  void step(const Event& e, EventNumber n) {
    sources_.clear();
    transact(thread(e.thread), e.thread, n, Publishes::kNo);
  }

  /// An edge into t's open block, unless it is there.
  void link(Ref source, Thread& t, EventNumber n) {
    if (source == t.last || node(source).last_target == t.last) return;
    link_block(source, t, n);
  }
  void link_block(Ref source, Thread& t, EventNumber n);
  /// An edge that is not there, and closes no cycle.
  void add_edge(Ref source, Ref target);
  [[nodiscard]] bool has_edge(Ref source, Ref target);
  /// For an edge against the order: whether target reaches source. If not, moves nodes in the order
  /// so that the edge respects it.
  [[nodiscard]] bool closes_cycle(Ref source, Ref target);

  Ref new_node(ThreadId owner);
  void collect(std::uint32_t slot);

  void add_reader(Variable& x, Ref reader) {
    if (x.reader == reader) return;
    if (x.more == 0 && !alive(x.reader)) {
      x.reader = reader;
    } else {
      add_to_readers(x, reader);
    }
  }
  void add_to_readers(Variable& x, Ref reader);
  void take_more_readers(Variable& x);
  void insert(Bag& bag, Ref ref);
  /// Leaves what is alive, and of each owner only the youngest.
  void sweep(Bag& bag);
  /// Drops the dead, and appends the others to sources_.
  void take_alive(Bag& bag);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_nodes_;
  std::vector<Thread> threads_;
  std::vector<Variable> variables_;
  std::vector<Bag> reader_bags_{1};
  std::vector<std::uint32_t> free_bags_;
  std::vector<Lock> locks_;
  BarrierRounds barrier_rounds_;
  std::unordered_map<BarrierId, Barrier> barriers_;
  std::vector<Bag> semaphores_;  // posts
  std::vector<Bag> home_made_;   // happens_before
  std::vector<Bag> conditions_;  // signals and broadcasts
  std::vector<Ref> sources_;     // of the event at hand

  /// One end of a search: what it has reached, breadth first.
  struct Side {
    std::vector<std::uint32_t> reached;
    std::size_t head = 0;  // in reached: the node whose edges come next
    std::size_t edge = 0;  // of that node
  };
  enum class Step : std::uint8_t { kOn, kMet, kExhausted };
  [[nodiscard]] Step step_forward();
  [[nodiscard]] Step step_backward();
  Side forward_;
  Side backward_;
  std::uint64_t stamp_ = 0;  // Node::visit of the forward side; one more for the backward side
  std::int64_t front_ = 0;
  std::int64_t back_ = 0;
  std::uint64_t sweep_ = 0;
  std::vector<std::uint32_t> doomed_;  // empty but in collect()

  Violation violation_;
  std::uint64_t created_ = 0;
  std::uint64_t collected_ = 0;
  std::uint64_t most_alive_ = 0;
  std::uint64_t edges_ = 0;
  std::uint64_t searches_ = 0;
  std::uint64_t visited_ = 0;
  std::uint64_t without_node_ = 0;
  std::uint64_t shared_node_ = 0;
};

static_assert(AtomicityEngine<Velodrome>);

}  // namespace syndrome::check
