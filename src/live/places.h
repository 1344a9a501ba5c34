// Where the positions of a program that follows its own accesses (event/sieve.h) are in the trace
// of what it told.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "event/event.h"

namespace syndrome::live {

/// Behind which event of the trace what has a position of a slot comes, and whose it is. Positions
/// grow, and so do events, but not each position has an event of its own (event/quiet.h): what is
/// between two that are known is behind the event of the first.
class Places {
 public:
  struct Place {
    ThreadId thread;
    EventNumber event = 0;
    std::uint64_t position = 0;  // of that event
  };

  /// The first event of a thread is behind the last one of the thread that had the slot before.
  void set(std::uint64_t position, ThreadId thread, EventNumber event) {
    if (owners_.empty() || owners_.back().thread != thread) owners_.push_back({position, thread});
    // Untrusted.
    if (count_ != 0 && position <= last_.position) return;
    add({position, std::max(event, last_.event)});
  }
  /// The last one known, if that position is not.
  [[nodiscard]] Place at(std::uint64_t position) const {
    if (count_ == 0) return {};
    const auto next = std::ranges::upper_bound(bases_, position, {}, &Base::position);
    const auto base = next == bases_.begin() ? next : next - 1;
    Step found{base->position, base->event};
    std::size_t byte = base->byte;
    const std::size_t end = base + 1 == bases_.end() ? bytes_.size() : (base + 1)->byte;
    while (byte < end) {
      const Step step = step_at(byte, found);
      if (step.position > position) break;
      found = step;
    }
    const auto after = std::ranges::upper_bound(owners_, position, {}, &Owner::from);
    const ThreadId thread = after == owners_.begin() ? owners_.front().thread : (after - 1)->thread;
    return {thread, found.event, found.position};
  }

 private:
  struct Owner {
    std::uint64_t from;
    ThreadId thread;
  };
  struct Step {
    std::uint64_t position = 0;
    EventNumber event = 0;
  };
  /// Each kEvery-th, and where the steps from it to the next one lie.
  struct Base {
    std::uint64_t position;
    EventNumber event;
    std::size_t byte;
  };
  // A byte for most steps, because there may be as many as events: to the next position, over so
  // many events. kTwo: over as many positions and events as the next two bytes say; kFar: the next
  // sixteen.
  static constexpr std::size_t kEvery = 64;
  static constexpr std::uint8_t kTwo = 254;
  static constexpr std::uint8_t kFar = 255;

  void add(const Step& step) {
    const std::uint64_t positions = step.position - last_.position;
    const std::uint64_t events = step.event - last_.event;
    last_ = step;
    if (count_++ % kEvery == 0) {
      bases_.push_back({step.position, step.event, bytes_.size()});
    } else if (positions == 1 && events < kTwo) {
      put(events, 1);
    } else if (positions < 256 && events < 256) {
      put(kTwo, 1);
      put(positions, 1);
      put(events, 1);
    } else {
      put(kFar, 1);
      put(positions, 8);
      put(events, 8);
    }
  }
  void put(std::uint64_t value, unsigned bytes) {
    for (; bytes > 0; --bytes, value >>= 8) bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  [[nodiscard]] std::uint64_t take(std::size_t& byte, unsigned bytes) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{bytes_[byte++]} << (8 * i);
    return value;
  }
  /// The step that begins at the byte, which is the next one's then.
  [[nodiscard]] Step step_at(std::size_t& byte, const Step& before) const {
    const std::uint64_t first = take(byte, 1);
    if (first < kTwo) return {before.position + 1, before.event + first};
    const unsigned size = first == kTwo ? 1 : 8;
    const std::uint64_t positions = take(byte, size);
    return {before.position + positions, before.event + take(byte, size)};
  }

  Step last_;
  std::size_t count_ = 0;
  std::deque<std::uint8_t> bytes_;
  std::vector<Base> bases_;
  std::vector<Owner> owners_;
};

}  // namespace syndrome::live
