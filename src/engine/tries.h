// How often something has come up, by a number that stands for it; and whether it is worth another
// try. Lock-free; what finds no room is tried once in a while, by its place.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/host.h"

namespace syndrome::engine {

class Tries {
 public:
  [[nodiscard]] bool start(const Host& host) {
    table_ = static_cast<Try*>(host.map(host.context, sizeof(Try) * kSize));
    return table_ != nullptr;
  }
  /// The 1st, 2nd, 4th, 8th, … time, `most` times in all.
  [[nodiscard]] bool again(std::uint64_t key, unsigned most) {
    Try& found = at(key);
    const std::uint32_t seen = found.seen.fetch_add(1, std::memory_order_relaxed) + 1;
    return (seen & (seen - 1)) == 0 && seen >> most == 0;
  }
  void retire(std::uint64_t key) { at(key).seen.store(kRetired, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kSize = 1u << 14;
  static constexpr std::uint32_t kLook = 32;
  static constexpr std::uint32_t kRetired = (1u << 31) + 1;
  struct Try {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint32_t> seen;
  };

  [[nodiscard]] Try& at(std::uint64_t key) {
    if (key == 0) key = 1;
    const auto first = static_cast<std::uint32_t>((key * 0x9E3779B97F4A7C15u) >> 40);
    for (std::uint32_t i = 0; i < kLook; ++i) {
      Try& entry = table_[(first + i) & (kSize - 1)];
      std::uint64_t known = entry.key.load(std::memory_order_relaxed);
      if (known == 0 && entry.key.compare_exchange_strong(known, key)) return entry;
      if (known == key) return entry;
    }
    return table_[first & (kSize - 1)];
  }

  Try* table_ = nullptr;
};

}  // namespace syndrome::engine
