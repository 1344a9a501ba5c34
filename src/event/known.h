// What threads of a program that follows its own accesses (event/sieve.h) know of each other's,
// from the synchronization between them. It may be less than there is, never more.

#pragma once

#include <cstdint>

namespace syndrome::sieve {

using Word = std::uint64_t;

/// What a thread knows of the others: of a slot, accesses at positions below known[slot] happen
/// before whatever the thread does next. Of further slots it knows nothing.
inline constexpr std::uint32_t kKnown = 64;
struct Known {
  Word at[kKnown];

  [[nodiscard]] Word of(std::uint32_t slot) const { return slot < kKnown ? at[slot] : 0; }
  void join(const Known& other, std::uint32_t slots) {
    for (std::uint32_t i = 0; i < slots && i < kKnown; ++i) {
      if (other.at[i] > at[i]) at[i] = other.at[i];
    }
  }
  /// Slots beyond are 0 in both: there are never fewer than before.
  void copy(const Known& other, std::uint32_t slots) {
    for (std::uint32_t i = 0; i < slots && i < kKnown; ++i) at[i] = other.at[i];
  }
};

/// Those who meet at a barrier: what the ones that arrived know, for this round and the last one.
struct Rounds {
  Known clocks[2]{};
  std::uint32_t now = 0;
  bool leaving = false;

  /// The round, to be given to leave().
  std::uint32_t arrive(const Known& clock, std::uint32_t slots) {
    if (leaving) {
      now ^= 1;
      leaving = false;
      clocks[now] = {};
    }
    clocks[now].join(clock, slots);
    return now;
  }
  void leave(Known& known, std::uint32_t round, std::uint32_t slots) {
    if (round == now) leaving = true;
    known.join(clocks[round & 1], slots);
  }
};

}  // namespace syndrome::sieve
