// Follows the threads of a trace from event to event: who is inside of a block, and who has stood
// still for a lock. What the index is built from, and what single events are looked at with.
//
//   inside   an event of a thread whose outermost block is open, its begin and end included. Only
//            begin … end are blocks; an end without a begin is passed over.
//   a wait   an acquire (shared or not) of a lock that another thread has released since the
//            thread's last event: until then this one could not go on. It has lasted from that
//            event to the acquire, neither included. A thread's first event is no wait.

#pragma once

#include <cstdint>
#include <vector>

#include "event/event.h"

namespace syndrome::explore {

struct Wait {
  ThreadId thread;
  LockId lock;
  EventNumber after = 0;  // the thread's last event before
  EventNumber until = 0;  // the acquire
  friend bool operator==(const Wait&, const Wait&) = default;
};

struct OpenBlock {
  ThreadId thread;
  std::uint32_t depth = 1;  // begins that have no end yet
  EventNumber begin = 0;    // of the outermost
  LabelId label;
  friend bool operator==(const OpenBlock&, const OpenBlock&) = default;
};

class Follower {
 public:
  /// What is to know of an event.
  struct Seen {
    bool inside = false;
    bool ends_block = false;       // the outermost one
    EventNumber waited_after = 0;  // of a wait: Wait::after; otherwise 0
  };

  [[nodiscard]] Seen take(EventNumber number, const Event& event) {
    if (event.thread.index() >= threads_.size()) threads_.resize(event.thread.index() + 1);
    State& thread = threads_[event.thread.index()];
    Seen seen;
    switch (event.kind) {
      case EventKind::kBegin:
        if (thread.depth++ == 0) {
          thread.begin = number;
          thread.label = event.label();
        }
        seen.inside = true;
        break;
      case EventKind::kEnd:
        seen.inside = thread.depth > 0;
        seen.ends_block = thread.depth == 1;
        if (thread.depth > 0) --thread.depth;
        break;
      case EventKind::kRelease:
      case EventKind::kReleaseShared:
        released(event.target) = number;
        seen.inside = thread.depth > 0;
        break;
      case EventKind::kAcquire:
      case EventKind::kAcquireShared:
        // A release of the thread's own is not after its last event.
        if (thread.last != 0 && released(event.target) > thread.last) {
          seen.waited_after = thread.last;
        }
        seen.inside = thread.depth > 0;
        break;
      default: seen.inside = thread.depth > 0;
    }
    thread.last = number;
    return seen;
  }

  /// To begin in the middle of a trace, with a block that was open there.
  void reopen(const OpenBlock& block) {
    if (block.thread.index() >= threads_.size()) threads_.resize(block.thread.index() + 1);
    State& thread = threads_[block.thread.index()];
    thread.depth = block.depth;
    thread.begin = block.begin;
    thread.label = block.label;
  }

  /// The block of the thread's last event, if that was inside; also right after the block's end.
  [[nodiscard]] OpenBlock block_of(ThreadId thread) const {
    const State& state = threads_[thread.index()];
    return {thread, state.depth, state.begin, state.label};
  }

  /// Ascending by thread.
  [[nodiscard]] std::vector<OpenBlock> open_blocks() const {
    std::vector<OpenBlock> open;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].depth > 0) open.push_back(block_of(ThreadId(i)));
    }
    return open;
  }

 private:
  struct State {
    EventNumber last = 0;
    EventNumber begin = 0;
    std::uint32_t depth = 0;
    LabelId label;
  };
  EventNumber& released(std::uint32_t lock) {
    if (lock >= released_.size()) released_.resize(std::size_t{lock} + 1);
    return released_[lock];
  }

  std::vector<State> threads_;
  std::vector<EventNumber> released_;  // by lock: its last release, 0 for none
};

}  // namespace syndrome::explore
