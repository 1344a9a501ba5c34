// The transaction graph of a sequence of events, with few edges: each conflict between two
// transactions is an edge or is implied by a path of them.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "check/atomicity/component.h"
#include "check/atomicity/conflict.h"

namespace syndrome::check {

template <class OnEdge>
class TransactionEdges {
 public:
  explicit TransactionEdges(OnEdge on_edge) : on_edge_(std::move(on_edge)) {}

  void add(const ComponentEvent& e) {
    const Event& event = e.event;
    const std::uint32_t node = e.transaction;
    follow_thread(event.thread, node);
    switch (event.kind) {
      case EventKind::kRead: {
        Object& object = at(Space::kVariable, event.target, 0);
        edges_from(object.strong, node);
        record(object.weak, event.thread, node);
        break;
      }
      case EventKind::kWrite:
      case EventKind::kRmw: {
        Object& object = at(Space::kVariable, event.target, 0);
        edges_from(object.strong, node);
        edges_from(object.weak, node);
        object.weak.clear();
        object.strong.assign(1, {event.thread, node});
        break;
      }
      case EventKind::kAcquire: {
        Object& object = at(Space::kLock, event.target, 0);
        edges_from(object.strong, node);
        edges_from(object.weak, node);
        break;
      }
      case EventKind::kRelease: {
        Object& object = at(Space::kLock, event.target, 0);
        object.weak.clear();
        object.strong.assign(1, {event.thread, node});
        break;
      }
      case EventKind::kAcquireShared:
        edges_from(at(Space::kLock, event.target, 0).strong, node);
        break;
      case EventKind::kReleaseShared:
        record(at(Space::kLock, event.target, 0).weak, event.thread, node);
        break;
      case EventKind::kBarrierArrive:
      case EventKind::kPost:
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast:
        record(at(*target_space(event.kind), event.target, e.round).strong, event.thread, node);
        break;
      case EventKind::kBarrierLeave:
      case EventKind::kWait:
      case EventKind::kCondWait:
        edges_from(at(*target_space(event.kind), event.target, e.round).strong, node);
        break;
      case EventKind::kHappensBefore: record(home_made(event).strong, event.thread, node); break;
      case EventKind::kHappensAfter: edges_from(home_made(event).strong, node); break;
      case EventKind::kFork: threads_[event.child()].forked_by = node; break;
      case EventKind::kJoin: {
        const auto child = threads_.find(event.child());
        if (child != threads_.end() && child->second.last != kNone) edge(child->second.last, node);
        break;
      }
      default: break;
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  struct Party {
    ThreadId thread;
    std::uint32_t node;
  };
  struct Object {
    std::vector<Party> strong;  // whom every later party is ordered after
    std::vector<Party> weak;    // readers, shared releases: only writes and acquires are
  };
  struct ThreadState {
    std::uint32_t last = kNone;
    std::uint32_t forked_by = kNone;
  };

  Object& at(Space space, std::uint32_t target, std::uint32_t round) {
    const std::uint64_t high = (static_cast<std::uint64_t>(space) << 28U) ^ round;
    return objects_[(high << 32U) | target];
  }
  /// Apart from posts and waits, which are of round 0.
  Object& home_made(const Event& event) { return at(Space::kSemaphore, event.target, 1); }
  void edge(std::uint32_t from, std::uint32_t to) {
    if (from != to) on_edge_(from, to);
  }
  void edges_from(const std::vector<Party>& parties, std::uint32_t node) {
    for (const Party& party : parties) edge(party.node, node);
  }
  static void record(std::vector<Party>& parties, ThreadId thread, std::uint32_t node) {
    for (Party& party : parties) {
      if (party.thread == thread) {
        party.node = node;
        return;
      }
    }
    parties.push_back({thread, node});
  }
  void follow_thread(ThreadId thread, std::uint32_t node) {
    ThreadState& state = threads_[thread];
    if (state.last != kNone) {
      edge(state.last, node);
    } else if (state.forked_by != kNone) {
      edge(state.forked_by, node);
    }
    state.last = node;
  }

  struct Mix {  // keys differ in their high bits, tables look at the low ones
    std::size_t operator()(std::uint64_t key) const noexcept {
      return (key ^ (key >> 32U)) * 0x9e3779b97f4a7c15U >> 16U;
    }
  };

  OnEdge on_edge_;
  tsl::robin_map<std::uint64_t, Object, Mix> objects_;
  std::unordered_map<ThreadId, ThreadState> threads_;
};

}  // namespace syndrome::check
