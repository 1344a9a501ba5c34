// External serializability as conflict serializability: shows an engine of check/atomicity/ a trace
// in which each block is one thread's.
//
// All that happens in a block takes place on the line of the thread that began it, as if that
// thread did everything, in the order of the trace: a line is what the engine takes for a thread,
// and a transaction of that line is the whole block. Forks and joins inside of the block vanish.
// When the thread ends the block while threads forked inside of it live on, the block keeps the
// line, and the thread goes on with a new one that is forked from it. A thread that is in a block
// when it is joined from outside hands over by happens_before … happens_after; so do barriers,
// whose rounds belong to threads, not to lines.
//
// So the transactions of the flat trace are the blocks and the single events outside of them, an
// edge of the one graph is an edge or a path of the other, and engine, search and senses are those
// of atomicity. An inner block is checked with the blocks around it dissolved: `dissolved`.
//
// For a search that reports events (`last` is given), each edge must lie between two events that
// conflict in the trace. A fork of a line would conflict with all that happens on it; so there,
// forks and joins are shown as happens_before … happens_after too, at the fork and the child's
// first event, at the child's last event and the join. An event may then be shown twice, with the
// same number: in one transaction, or as two neighbours outside of blocks.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "check/analysis.h"
#include "check/atomicity/conflict.h"
#include "check/determinism/blocks.h"
#include "event/event.h"

namespace syndrome::check::determinism {

template <class Engine>
class Flatten {
 public:
  /// `dissolved`: begins of blocks, the outermost first, each the parent of the next. `last`, if
  /// not null: the last event of each thread, so that what is ordered before a join is exact to the
  /// event (for cycles, and the strict sense); without it, to the transaction.
  Flatten(Engine& engine, const Blocks& blocks, std::vector<EventNumber> dissolved = {},
          const std::vector<EventNumber>* last = nullptr)
      : engine_(engine), blocks_(blocks), dissolved_(std::move(dissolved)), last_(last) {}

  /// An event, between Blocks::enter and Blocks::leave.
  void take(const Event& e, EventNumber n) {
    Thread& state = act(e.thread);
    const BlockIndex block = relative(e.thread);
    const bool begins = block != kNoBlock && block == blocks_.opened();
    if (begins) show(EventKind::kBegin, e, state.line, 0, n);
    take_over(e, n, state);
    if (e.flags != 0) {
      // A block that counts may begin and end inside of one that does not.
      if (e.kind != EventKind::kBegin && e.kind != EventKind::kEnd) return pass_by(e, n, block);
    }
    switch (e.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
      case EventKind::kRmw:
      case EventKind::kAcquire:
      case EventKind::kRelease:
      case EventKind::kAcquireShared:
      case EventKind::kReleaseShared:
      case EventKind::kPost:
      case EventKind::kWait:
      case EventKind::kCondWait:
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast: show(e, state.line, e.target, n); break;
      case EventKind::kHappensBefore:
      case EventKind::kHappensAfter: show(e, state.line, 2 * e.target, n); break;
      case EventKind::kBarrierArrive: arrive(e, n, state.line); break;
      case EventKind::kBarrierLeave: leave(e, n, state.line); break;
      case EventKind::kFork: fork(e, n, block); break;
      case EventKind::kJoin: join(e, n, block); break;
      case EventKind::kBegin:
      case EventKind::kEnter:
        if (!begins) neutral(e, n, state.line);
        break;
      case EventKind::kEnd:
      case EventKind::kExit: end(e, n, block); break;
      default: neutral(e, n, state.line); break;
    }
    finish_event(e, n, block);
  }

  /// In place of take() for an access that is not to be looked at.
  void pass(const Event& e, EventNumber n) {
    if (e.thread.index() < threads_.size() && threads_[e.thread.index()].quiet) [[likely]]
      return;
    Thread& state = act(e.thread);
    neutral(e, n, state.line);
    take_over(e, n, state);
    state.quiet = true;
  }

 private:
  static constexpr std::uint32_t kNoLine = ~0U;

  struct Thread {
    std::uint32_t line = kNoLine;
    bool acted = false;
    bool quiet = false;  // has been shown, and nothing has changed that an access would change
    /// Forked inside of this block, whose line it is on; 0: outside of all.
    EventNumber inside = 0;
    /// What its next event, the first one on its line, comes after.
    std::optional<std::uint32_t> taken_from;
    bool ended = false;  // that is the end of a block that lives on, by this thread
    std::optional<std::uint32_t> handed_over;  // its last event
  };

  Thread& thread(ThreadId id) {
    if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
    return threads_[id.index()];
  }
  Thread& act(ThreadId id) {
    Thread& state = thread(id);
    if (state.line == kNoLine) state.line = lines_++;
    state.acted = true;
    return state;
  }
  /// The first event of a line comes after what it was forked by.
  void take_over(const Event& e, EventNumber n, Thread& state) {
    if (!state.taken_from) return;
    show(EventKind::kHappensAfter, e, state.line, *state.taken_from, n);
    forget(*state.taken_from);
    state.taken_from.reset();
    state.ended = false;
  }

  /// The block that is the transaction of what the thread does now.
  [[nodiscard]] BlockIndex relative(ThreadId id) const {
    BlockIndex b = blocks_.innermost(id);
    if (b == kNoBlock) return kNoBlock;
    if (dissolved_.empty()) return blocks_[b].outermost;
    BlockIndex found = kNoBlock;
    for (; b != kNoBlock; b = blocks_[b].parent) {
      const Block& block = blocks_[b];
      if (block.depth < dissolved_.size() && dissolved_[block.depth] == block.begin) break;
      found = b;
    }
    return found;
  }

  void show(const Event& e, std::uint32_t line, std::uint32_t target, EventNumber n) {
    show(e.kind, e, line, target, n);
  }
  void show(EventKind kind, const Event& e, std::uint32_t line, std::uint32_t target, EventNumber n,
            MemoryOrder order = MemoryOrder::kPlain) {
    Event flat = e;
    flat.kind = kind;
    flat.thread = ThreadId(line);
    flat.target = target;
    flat.flags = 0;
    flat.order = order;
    dispatch(engine_, flat, n);
  }
  /// An event that orders nothing, but is one of its line.
  void neutral(const Event& e, EventNumber n, std::uint32_t line) {
    show(EventKind::kThreadStart, e, line, 0, n);
  }
  void pass_by(const Event& e, EventNumber n, BlockIndex block) {
    neutral(e, n, threads_[e.thread.index()].line);
    finish_event(e, n, block);
  }

  // --- happens_before … happens_after of our own, with odd names

  std::uint32_t new_object() { return 2 * objects_++ + 1; }
  void forget(std::uint32_t object) {
    if constexpr (requires { engine_.forget_home_made(object); }) engine_.forget_home_made(object);
  }
  /// Of what the thread did last: for a join.
  void hand_over(const Event& e, EventNumber n, Thread& state) {
    if (state.handed_over) return;
    state.handed_over = new_object();
    // A thread that was forked inside of the block is in no order with what is before the block.
    show(EventKind::kHappensBefore, e, state.line, *state.handed_over, n,
         state.inside == 0 ? kLastOfThread : MemoryOrder::kPlain);
    // A thread is mostly joined once, and soon. Only for those that are joined several times
    // (Java), so much later, the order would be lost.
    constexpr std::size_t kKept = 4096;
    handed_over_.push_back(*state.handed_over);
    if (handed_over_.size() <= kKept) return;
    forget(handed_over_.front());
    handed_over_.pop_front();
  }

  // --- forks, joins, ends

  void fork(const Event& e, EventNumber n, BlockIndex block) {
    thread(e.child());
    Thread& state = threads_[e.thread.index()];
    Thread& child = threads_[e.child().index()];
    if (block != kNoBlock) {
      child.line = state.line;
      child.inside = blocks_[block].begin;
      return neutral(e, n, state.line);
    }
    child.line = lines_++;
    if (last_ == nullptr) return show(e, state.line, child.line, n);
    child.taken_from = new_object();
    show(EventKind::kHappensBefore, e, state.line, *child.taken_from, n);
  }

  void join(const Event& e, EventNumber n, BlockIndex block) {
    thread(e.child());
    Thread& state = threads_[e.thread.index()];
    Thread& child = threads_[e.child().index()];
    const bool same_block =
        child.inside != 0 && block != kNoBlock && blocks_[block].begin == child.inside;
    if (!child.acted || same_block) {
      neutral(e, n, state.line);
    } else if (child.ended) {
      show(EventKind::kHappensAfter, e, state.line, *child.taken_from, n);
    } else if (child.handed_over || child.inside != 0 || last_ != nullptr ||
               shares_its_line(e.child())) {
      hand_over(e, n, child);
      show(EventKind::kHappensAfter, e, state.line, *child.handed_over, n);
    } else {
      show(e, state.line, child.line, n);
    }
    die(e.child(), e, n);
  }

  /// Whether a thread that was not forked in a block has begun one in which others are.
  [[nodiscard]] bool shares_its_line(ThreadId id) const {
    const BlockIndex block = relative(id);
    return block != kNoBlock && blocks_[block].alive > 1;
  }

  /// The thread has no more events. If it was the last of a block whose begin it was not, that
  /// ends.
  void die(ThreadId id, const Event& e, EventNumber n) {
    const Thread& state = thread(id);
    if (!blocks_.dies(id)) return;
    const BlockIndex block = relative(id);
    if (state.line == kNoLine || block == kNoBlock || blocks_[block].alive != 1) return;
    if (state.inside != 0) show(EventKind::kEnd, e, state.line, 0, n);
  }

  void end(const Event& e, EventNumber n, BlockIndex block) {
    Thread& state = threads_[e.thread.index()];
    const BlockIndex closing = blocks_.closing();
    const bool ends = closing != kNoBlock && block != kNoBlock && state.inside == 0 &&
                      blocks_[block].depth >= blocks_[closing].depth;
    if (!ends) return neutral(e, n, state.line);
    if (is_last(e, n)) hand_over(e, n, state);
    if (blocks_[block].alive == 1) return show(EventKind::kEnd, e, state.line, 0, n);
    state.taken_from = new_object();
    state.ended = true;
    show(EventKind::kHappensBefore, e, state.line, *state.taken_from, n);
    state.line = lines_++;
    state.quiet = false;
  }

  [[nodiscard]] bool is_last(const Event& e, EventNumber n) const {
    return last_ != nullptr && e.thread.index() < last_->size() && (*last_)[e.thread.index()] == n;
  }

  /// After the event itself: a thread's last one is what a join comes after.
  void finish_event(const Event& e, EventNumber n, BlockIndex block) {
    Thread& state = threads_[e.thread.index()];
    const bool stops = e.kind == EventKind::kThreadStop;
    if (is_last(e, n)) {
      if (!state.ended) hand_over(e, n, state);
    } else if (stops && block != kNoBlock && (state.inside != 0 || shares_its_line(e.thread))) {
      hand_over(e, n, state);
    }
    if (stops) die(e.thread, e, n);
  }

  // --- barriers

  using RoundKey = std::pair<std::uint32_t, std::uint64_t>;
  struct Round {
    std::uint32_t object = 0;
    std::uint64_t inside = 0;
  };

  void arrive(const Event& e, EventNumber n, std::uint32_t line) {
    Round& round = inside_[{e.target, rounds_.arrive(e.thread, e.barrier())}];
    if (round.inside++ == 0) round.object = new_object();
    show(EventKind::kHappensBefore, e, line, round.object, n);
  }
  void leave(const Event& e, EventNumber n, std::uint32_t line) {
    const auto round = inside_.find({e.target, rounds_.leave(e.thread, e.barrier())});
    if (round == inside_.end()) return neutral(e, n, line);
    show(EventKind::kHappensAfter, e, line, round->second.object, n);
    if (--round->second.inside > 0) return;
    forget(round->second.object);
    inside_.erase(round);
  }

  Engine& engine_;
  const Blocks& blocks_;
  std::vector<EventNumber> dissolved_;
  const std::vector<EventNumber>* last_;
  std::vector<Thread> threads_;
  std::uint32_t lines_ = 0;
  std::uint32_t objects_ = 0;
  std::deque<std::uint32_t> handed_over_;
  BarrierRounds rounds_;
  std::map<RoundKey, Round> inside_;
};

}  // namespace syndrome::check::determinism
