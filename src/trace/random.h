// Random numbers that are the same on every machine, for generated traces.

#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace syndrome::trace {

/// xoshiro256** (Blackman and Vigna, public domain algorithm), seeded by splitmix64. Our own,
/// because the standard's distributions differ from library to library.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15U;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ mixed >> 30U) * 0xBF58476D1CE4E5B9U;
      mixed = (mixed ^ mixed >> 27U) * 0x94D049BB133111EBU;
      word = mixed ^ mixed >> 31U;
    }
  }

  [[nodiscard]] std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Below `limit`; off uniform by less than limit / 2^32.
  [[nodiscard]] std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>((bits() >> 32U) * limit >> 32U);
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace syndrome::trace
