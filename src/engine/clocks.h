// Vector clocks of what threads synchronize by, and where they are kept: a table by address.
//
// An entry of a clock is the last epoch of a slot that whoever acquires the object comes to know. A
// clock has as many entries as there were slots when it grew, from a pool of blocks of a few sizes.
//
// The table never says less than it knows: when there is no room for an object or its clock, it
// says that it has *lost* something, and from then on whoever acquires an object that is not there
// counts as knowing everything. So an order may seem to be there that is not, and a race may be
// missed; no race is named that is none.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/cell.h"
#include "engine/host.h"
#include "engine/spin.h"

namespace syndrome::engine {

/// Of an object. Its table's lock guards it.
struct Clock {
  std::uint32_t* entries = nullptr;
  std::uint32_t size = 0;
  bool everything = false;  // whoever acquires it knows all
  /// Whoever knows this epoch of this slot knows all of the clock; slot 0: there is no such.
  std::uint32_t slot = 0;
  std::uint32_t epoch = 0;

  [[nodiscard]] bool empty() const { return size == 0 && !everything; }
};

class ClockPool {
 public:
  void start(const Host& host, const Limits& limits) {
    host_ = &host;
    left_ = limits.clock_entries;
  }
  /// Makes it as long as `size`; false when there is no room.
  [[nodiscard]] bool grow(Clock& clock, std::uint32_t size);
  void clear(Clock& clock);

 private:
  static constexpr unsigned kSizes = 5;  // 16, 32, … 256 entries
  [[nodiscard]] static unsigned class_of(std::uint32_t size) {
    unsigned index = 0;
    while ((16u << index) < size) ++index;
    return index;
  }

  const Host* host_ = nullptr;
  Spin spin_;
  std::uint64_t left_ = 0;
  std::uint32_t* free_[kSizes] = {};  // the first two words are the next one
  std::uint32_t* room_ = nullptr;
  std::uint32_t room_left_ = 0;
};

/// Things at one address that have nothing to do with each other.
enum class Kind : std::uint8_t { kLock, kAtomic, kSemaphore, kBarrier, kAnnotation, kThread };

struct Object {
  std::uint64_t address = 0;
  std::uint32_t next = 0;  // 1 + index, in its chain or among the free ones
  std::uint32_t era = 0;   // of epochs; what is from an earlier one says nothing
  Kind kind = Kind::kLock;
  bool closed = true;       // kBarrier: somebody has left the round that arrivals joined
  std::uint32_t round = 0;  // kBarrier
  Clock clock;   // kLock: of the last exclusive release; kBarrier: of the round that is open
  Clock shared;  // kLock: of shared releases since then; kBarrier: of all rounds before
};

class Objects {
 public:
  static constexpr std::uint32_t kChains = 1u << 14;

  [[nodiscard]] bool start(const Host& host, const Limits& limits);
  [[nodiscard]] ClockPool& pool() { return pool_; }

  /// Calls use(Object*) while nobody else uses the object; null when it is not there, or
  /// when it should be made and there is no room. Gives what use gives.
  template <class Use>
  auto with(Kind kind, std::uint64_t address, bool make, const Use& use) {
    Chain& chain = chains_[chain_of(kind, address)];
    const Locked locked(chain.spin);
    Object* object = find(chain, kind, address);
    if (object == nullptr && make) object = add(chain, kind, address);
    if (object != nullptr) renew(*object);
    return use(object);
  }
  void remove(Kind kind, std::uint64_t address);
  /// All in these bytes, but for threads, whose numbers are no addresses.
  void remove_range(std::uint64_t address, std::uint64_t bytes);
  /// All clocks are of an earlier era from here on. Nobody uses any meanwhile.
  void begin_era() { era_.fetch_add(1, std::memory_order_relaxed); }
  /// Something was released and could not be kept.
  void lose() { lost_.store(true, std::memory_order_release); }
  [[nodiscard]] bool lost() const { return lost_.load(std::memory_order_acquire); }

 private:
  struct Chain {
    Spin spin;
    std::uint32_t first;  // 1 + index
  };
  [[nodiscard]] static std::uint32_t chain_of(Kind kind, std::uint64_t address) {
    const std::uint64_t mixed =
        ((address >> 2) + (std::uint64_t{static_cast<std::uint8_t>(kind)} << 56)) *
        0x9E3779B97F4A7C15u;
    return static_cast<std::uint32_t>(mixed >> 40) & (kChains - 1);
  }
  [[nodiscard]] Object* find(const Chain& chain, Kind kind, std::uint64_t address);
  [[nodiscard]] Object* add(Chain& chain, Kind kind, std::uint64_t address);
  void renew(Object& object) {
    const std::uint32_t era = era_.load(std::memory_order_relaxed);
    if (object.era == era) return;
    pool_.clear(object.clock);
    pool_.clear(object.shared);
    object.era = era;
  }

  ClockPool pool_;
  /// How many objects there may be in a line of 64 bytes of memory, by a hash of it.
  static constexpr std::uint32_t kLines = 1u << 16;
  [[nodiscard]] std::atomic<std::uint32_t>& line_of(std::uint64_t address) {
    return lines_[(((address >> 6) * 0x9E3779B97F4A7C15u) >> 40) & (kLines - 1)];
  }

  std::atomic<std::uint32_t>* lines_ = nullptr;
  Chain* chains_ = nullptr;
  Object* objects_ = nullptr;
  Spin spin_;  // of what follows
  std::uint32_t count_ = 0;
  std::uint32_t most_ = 0;
  std::uint32_t free_ = 0;
  std::atomic<std::uint32_t> era_{0};
  std::atomic<bool> lost_{false};
};

}  // namespace syndrome::engine
