// A hash for numbers whose low bits say little, such as addresses: tsl::robin_map takes the low
// bits of the hash, and std::hash of a number is the number.

#pragma once

#include <cstddef>
#include <cstdint>

namespace syndrome {

struct MixHash {
  [[nodiscard]] std::size_t operator()(std::uint64_t value) const {
    const std::uint64_t mixed = value * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
};

}  // namespace syndrome
