// A hash for numbers whose bits say little in places: tsl::robin_map takes the low bits of the hash,
// and std::hash of a number is the number.

#pragma once

#include <cstddef>
#include <cstdint>

namespace syndrome {

__extension__ using Uint128 = unsigned __int128;

/// Every bit of the number has a part in the low bits of the hash: keys that differ in their upper
/// bits alone, such as a shard above a version, must not fall on one place.
struct MixHash {
  [[nodiscard]] std::size_t operator()(std::uint64_t value) const {
    const Uint128 product = Uint128{value} * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(static_cast<std::uint64_t>(product) ^
                                    static_cast<std::uint64_t>(product >> 64));
  }
};

}  // namespace syndrome
