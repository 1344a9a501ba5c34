// What threads of live/following.h leave at objects for those who come there later, as
// runtime/follow_order.cc leaves and reads it.

#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "event/event.h"
#include "event/sieve.h"
#include "live/simulated_filter.h"

namespace syndrome::live {

class Marks {
 public:
  /// For a thread that begins: behind who forked it.
  void begin(sieve::Thread& thread, ThreadId id, std::uint32_t slots) {
    thread.comes_after(marks_[{1, id.value}], slots);
  }
  /// `child`: the thread that was joined, if it has ever begun.
  void meet(sieve::Thread& thread, const Event& event, Layout layout, std::uint32_t slots,
            const sieve::Thread* child) {
    const auto mark = [&](int place, std::uint32_t object) {
      marks_[{place, object}].at[thread.slot] = thread.position;
    };
    const auto read = [&](int place, std::uint32_t object) {
      thread.comes_after(marks_[{place, object}], slots);
    };
    switch (event.kind) {
      case EventKind::kAcquire:
      case EventKind::kAcquireShared: return read(0, event.target);
      case EventKind::kRelease:
      case EventKind::kReleaseShared: return mark(0, event.target);
      case EventKind::kFork: return mark(1, event.child().value);
      case EventKind::kJoin:
        if (child != nullptr) thread.comes_after(child->slot, child->position);
        return;
      case EventKind::kBarrierArrive: return mark(2, event.target);
      case EventKind::kBarrierLeave: return read(2, event.target);
      case EventKind::kPost:
      case EventKind::kWait:
      case EventKind::kCondWait:
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast:
      case EventKind::kHappensBefore:
      case EventKind::kHappensAfter: read(3, event.target); return mark(3, event.target);
      case EventKind::kRead:
      case EventKind::kWrite:
      case EventKind::kRmw: {
        const auto place = static_cast<std::uint32_t>(place_of(event.target, layout).address >> 4);
        read(4, place);
        return mark(4, place);
      }
      default: return;
    }
  }

 private:
  std::map<std::pair<int, std::uint32_t>, sieve::Known> marks_;  // by kind of object, and object
};

}  // namespace syndrome::live
