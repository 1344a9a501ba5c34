// The drafts of live/following.h, as runtime/draft.cc keeps them, and what the checker makes of
// what is sent (live/watch.cc): each thread's words in their order, everything behind what it says
// to be behind, and beyond that in any order.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "event/event.h"
#include "event/quiet.h"
#include "event/sieve.h"

namespace syndrome::live {

class SimulatedDrafts {
 public:
  using Word = sieve::Word;
  /// Events that have versions are in their order, those of one object each.
  using Object = std::pair<int, std::uint32_t>;

  /// Of an event that is no access.
  [[nodiscard]] static Object object_of(const Event& event) {
    switch (event.kind) {
      case EventKind::kFork:
      case EventKind::kJoin: return {1, event.child().value};
      case EventKind::kAcquire:
      case EventKind::kAcquireShared:
      case EventKind::kRelease:
      case EventKind::kReleaseShared: return {2, event.target};
      case EventKind::kBegin:
      case EventKind::kEnd:
      // A thread stops (with_stops() in differential.cc).
      case EventKind::kFence: return {1, event.thread.value};
      case EventKind::kBarrierArrive:
      case EventKind::kBarrierLeave: return {4, event.target};
      case EventKind::kPost:
      case EventKind::kWait: return {5, event.target};
      case EventKind::kCondWait:
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast: return {6, event.target};
      default: return {7, event.target};
    }
  }

  /// A thread has got the slot, and begins at that position.
  void begin(std::uint32_t slot, Word position) {
    if (slot >= slots_.size()) slots_.resize(slot + 1);
    Slot& its = slots_[slot];
    its.direct = false;
    its.locks = 0;
    its.behind = {};
    its.ring.push_back({.kind = Kind::kPlace, .position = position});
    its.sent_place = position;
    its.draft.clear();
    its.unclear.forget();
    begin_region(its, position);
  }

  /// An event, before its position; `object` if it has a version.
  void event(std::uint32_t slot, const Event& event, std::optional<Object> object) {
    Slot& its = slots_[slot];
    Item item{.kind = Kind::kEvent, .event = event};
    if (object) {
      item.object = *object;
      item.version = ++versions_[*object];
      its.clean = false;
    }
    put(its, item);
  }
  /// An access of the thread at its position.
  void access(std::uint32_t slot, const Event& event, std::uint64_t granule, Word position) {
    put(slots_[slot],
        {.kind = Kind::kEvent, .position = position, .event = event, .granule = granule});
  }
  void place(std::uint32_t slot, Word position) {
    put(slots_[slot], {.kind = Kind::kPlace, .position = position});
  }
  /// An access of another slot before, or, without an event, only its position.
  void late(std::uint32_t slot, std::uint32_t other, Word position,
            const std::optional<Event>& event, std::uint64_t granule) {
    come_behind(slot, other, position);
    Item item{.kind = Kind::kLate, .slot = other, .position = position, .granule = granule};
    item.has_event = event.has_value();
    if (event) item.event = *event;
    put(slots_[slot], item);
  }
  /// Behind a position, and all that its thread is behind.
  void come_behind(std::uint32_t slot, std::uint32_t other, Word position) {
    const sieve::Known its = slots_[other].behind;
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      say_behind(slot, i, i == other && position > its.at[i] ? position : its.at[i]);
    }
  }

  /// Whether the lock needs no version.
  [[nodiscard]] bool by_position(std::uint32_t slot) const { return !slots_[slot].direct; }
  void acquire(std::uint32_t slot, std::uint32_t lock) {
    for (std::uint32_t i = 0; i < slots_.size(); ++i) say_behind(slot, i, order_[lock].at[i]);
  }
  /// Behind the position of the event.
  void held(std::uint32_t slot, int change) { slots_[slot].locks += change; }
  void release(std::uint32_t slot, std::uint32_t lock, Word position) {
    order_[lock].join(slots_[slot].behind, static_cast<std::uint32_t>(slots_.size()));
    order_[lock].at[slot] = position;
  }

  /// Where no block is open. `before`: what came directly before what it did until then.
  void pass(std::uint32_t slot, Word position, const sieve::Known& before, bool help) {
    Slot& its = slots_[slot];
    if (its.direct) return;
    const auto slots = static_cast<std::uint32_t>(slots_.size());
    const bool clear = its.unclear.over(clear_, slot, position, before, slots);
    for (std::uint32_t i = 0; i < slots && !clear && help; ++i) {
      (void)slots_[i].unclear.settle(clear_, i);
    }
    if (its.locks != 0) return;
    if (!clear) {
      if (!its.clean) begin_region(its, position);
      return;
    }
    if (its.clean && its.slots == slots_.size()) {
      thrown_ += its.draft.size() - its.from;
      its.draft.resize(its.from);
      its.draft.push_back({.kind = Kind::kPlace, .position = position});
      for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        if (its.behind.at[i] > its.behind_before.at[i]) {
          its.draft.push_back({.kind = Kind::kBehind, .slot = i, .position = its.behind.at[i]});
        }
      }
      return;
    }
    begin_region(its, position);
  }
  void leave(std::uint32_t slot) { slots_[slot].direct = true; }

  [[nodiscard]] Word clear(std::uint32_t slot) const { return clear_.of(slot); }

  /// past(slot) as sieve::Past::of; stir(granule): an access to it is in the trace.
  template <class PastOf, class Stir>
  void send(const PastOf& past, const Stir& stir) {
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      Slot& its = slots_[i];
      for (Item& item : its.draft) {
        const bool accessed = item.granule != 0;
        if (accessed) stir(item.granule);
        const std::uint32_t of = item.kind == Kind::kLate ? item.slot : i;
        if (accessed && item.position < clear_.of(of)) {
          if (item.kind == Kind::kEvent) continue;
          item.has_event = false;
        }
        if (item.kind == Kind::kPlace) its.sent_place = item.position;
        its.ring.push_back(item);
      }
      its.draft.clear();
      its.clean = false;
    }
    for (std::uint32_t i = 0; i < slots_.size(); ++i) clear_.raise(i, past(i));
  }

  [[nodiscard]] std::uint64_t thrown() const { return thrown_; }

  /// What the checker makes of it. Empty when something waits for what never comes.
  [[nodiscard]] std::optional<std::vector<Event>> merged(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Merge merge;
    merge.at.resize(slots_.size());
    merge.places.resize(slots_.size());
    for (;;) {
      std::vector<std::uint32_t> ready;
      bool over = true;
      for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        if (merge.at[i] == slots_[i].ring.size()) continue;
        over = false;
        if (merge.can_go_on(slots_[i].ring[merge.at[i]])) ready.push_back(i);
      }
      if (over) return merge.trace();
      if (ready.empty()) return std::nullopt;
      // One slot as far as it comes before the next, or any: what nothing keeps in order comes to
      // lie as far from its place as it can.
      const std::uint32_t slot = seed % 3 == 0   ? ready.front()
                                 : seed % 3 == 1 ? ready.back()
                                                 : ready[random() % ready.size()];
      merge.take(slot, slots_[slot].ring[merge.at[slot]++]);
    }
  }

 private:
  enum class Kind : std::uint8_t { kEvent, kPlace, kBehind, kLate };
  struct Item {
    Kind kind = Kind::kEvent;
    std::uint32_t slot = 0;  // of kBehind and kLate
    Word position = 0;
    Event event{};
    std::uint64_t granule = 0;  // of an access; 0: it is none
    Object object{};
    std::uint64_t version = 0;  // 0: none
    bool has_event = true;      // of kLate
  };
  struct Slot {
    std::vector<Item> ring;
    std::vector<Item> draft;
    std::size_t from = 0;
    std::size_t slots = 0;
    bool clean = false;
    bool direct = false;
    int locks = 0;
    Word sent_place = 0;
    sieve::Known behind{};
    sieve::Known behind_before{};
    sieve::Unclear<256> unclear;
  };
  struct Merge {
    std::vector<std::size_t> at;
    std::vector<std::map<Word, std::size_t>> places;  // of a slot: positions, and events before
    std::map<Object, std::uint64_t> versions;
    std::vector<Event> events;
    std::multimap<std::pair<std::size_t, Word>, Event> lates;

    [[nodiscard]] bool can_go_on(const Item& item) const {
      if (item.kind == Kind::kEvent && item.version != 0) {
        const auto known = versions.find(item.object);
        return (known == versions.end() ? 0 : known->second) + 1 == item.version;
      }
      if (item.kind != Kind::kBehind && item.kind != Kind::kLate) return true;
      const auto& its = places[item.slot];
      return !its.empty() && its.rbegin()->first >= item.position;
    }
    void take(std::uint32_t slot, const Item& item) {
      switch (item.kind) {
        case Kind::kEvent:
          if (item.version != 0) versions[item.object] = item.version;
          events.push_back(item.event);
          break;
        case Kind::kPlace: places[slot][item.position] = events.size(); break;
        case Kind::kBehind: break;
        case Kind::kLate: {
          if (!item.has_event) break;
          const auto place = std::prev(places[item.slot].upper_bound(item.position));
          lates.emplace(
              std::pair(place->second, sieve::order_of_late(item.position, place->first, false)),
              item.event);
          break;
        }
      }
    }
    [[nodiscard]] std::vector<Event> trace() const {
      std::vector<Event> all;
      auto next = lates.begin();
      for (std::size_t i = 0; i <= events.size(); ++i) {
        for (; next != lates.end() && next->first.first == i; ++next) all.push_back(next->second);
        if (i < events.size()) all.push_back(events[i]);
      }
      return all;
    }
  };

  void put(Slot& its, const Item& item) { (its.direct ? its.ring : its.draft).push_back(item); }
  void begin_region(Slot& its, Word position) {
    its.from = its.draft.size();
    its.draft.push_back({.kind = Kind::kPlace, .position = position});
    its.slots = slots_.size();
    its.behind_before = its.behind;
    its.clean = true;
  }
  void say_behind(std::uint32_t slot, std::uint32_t other, Word position) {
    Slot& its = slots_[slot];
    if (other == slot || its.behind.at[other] >= position) return;
    its.behind.at[other] = position;
    put(its, {.kind = Kind::kBehind, .slot = other, .position = position});
  }

  std::vector<Slot> slots_;
  std::map<Object, std::uint64_t> versions_;
  std::map<std::uint32_t, sieve::Known> order_;  // by lock
  sieve::Clear clear_;
  std::uint64_t thrown_ = 0;
};

}  // namespace syndrome::live
