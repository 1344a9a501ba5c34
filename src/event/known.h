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
  void clear(std::uint32_t slots) {
    for (std::uint32_t i = 0; i < slots && i < kKnown; ++i) at[i] = 0;
  }
  /// Slots beyond are 0 in both: there are never fewer than before.
  void copy(const Known& other, std::uint32_t slots) {
    for (std::uint32_t i = 0; i < slots && i < kKnown; ++i) at[i] = other.at[i];
  }
};

/// What is past for good, when nothing but atomicity is checked: what a slot did at positions below
/// Past::of(slot) is in no cycle that is still to be closed, and need not be kept.
///
/// A cycle that comes comes back to a block from one that is open now or begins later. So what is
/// in blocks that are over is past, if all that came before it is past, too: nothing leads there
/// any more. *Directly* before it, that is enough: those have had to ask the same.
///
/// State, and who may touch it: a slot's own thread its limit; anyone raises what is past.
class Past {
 public:
  [[nodiscard]] Word of(std::uint32_t slot) const {
    return slot < kKnown ? __atomic_load_n(&past_[slot], __ATOMIC_RELAXED) : 0;
  }
  /// What the slot did at positions below is in blocks that are over, and its thread's `before` has
  /// all that came before them.
  void set_limit(std::uint32_t slot, Word position) {
    if (slot < kKnown) __atomic_store_n(&limits_[slot], position, __ATOMIC_RELEASE);
  }
  /// By the slot's own thread: whether all below its limit is past.
  bool advance(std::uint32_t slot, const Known& before, std::uint32_t slots) {
    if (slot >= kKnown) return false;
    for (std::uint32_t i = 0; i < slots && i < kKnown; ++i) {
      if (before.at[i] > of(i) && i != slot) return false;
    }
    raise(slot, limits_[slot]);
    return true;
  }
  /// For all slots together, which may have waited for each other. `before_of(slot)` is what came
  /// before the slot's, which may become more while this looks.
  template <class BeforeOf>
  void advance_all(std::uint32_t slots, const BeforeOf& before_of) {
    if (slots > kKnown) slots = kKnown;
    Word reached[kKnown];
    for (std::uint32_t i = 0; i < slots; ++i) {
      reached[i] = __atomic_load_n(&limits_[i], __ATOMIC_ACQUIRE);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = 0; i < slots; ++i) {
        if (reached[i] <= of(i)) continue;
        const Known& before = before_of(i);
        for (std::uint32_t k = 0; k < slots; ++k) {
          const Word known = __atomic_load_n(&before.at[k], __ATOMIC_RELAXED);
          if (k == i || known <= reached[k] || known <= of(k)) continue;
          reached[i] = of(i);
          changed = true;
          break;
        }
      }
    }
    for (std::uint32_t i = 0; i < slots; ++i) raise(i, reached[i]);
  }
  void clear() {
    for (Word& word : past_) word = 0;
    for (Word& word : limits_) word = 0;
  }

 private:
  void raise(std::uint32_t slot, Word position) {
    Word was = of(slot);
    while (was < position && !__atomic_compare_exchange_n(&past_[slot], &was, position, false,
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }
  Word past_[kKnown]{};
  Word limits_[kKnown]{};
};

/// What is *clear*, when nothing but atomicity is checked: what a slot did at positions below
/// Clear::of(slot) is in no cycle, neither in one that is still to be closed nor in one that has
/// been, unless it is in the trace with all of that. What is past may be in one that has been
/// closed.
///
/// A transaction that is over is clear when all that came directly before it is. In a cycle, one
/// would have had to be clear before all others, and before the one that it comes behind.
///
/// State, and who may touch it: anyone raises it.
class Clear {
 public:
  [[nodiscard]] Word of(std::uint32_t slot) const {
    return slot < kKnown ? __atomic_load_n(&clear_[slot], __ATOMIC_RELAXED) : 0;
  }
  void raise(std::uint32_t slot, Word position) {
    if (slot >= kKnown) return;
    Word was = of(slot);
    while (was < position && !__atomic_compare_exchange_n(&clear_[slot], &was, position, false,
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }
  void clear() {
    for (Word& word : clear_) word = 0;
  }

 private:
  Word clear_[kKnown]{};
};

/// Of a slot: the transactions that are over and were not clear then, in order. When there is no
/// room for them one by one, the last ones are one: then they wait for each other's, as those of
/// two slots may, until all is sent.
template <std::uint32_t kWords>
class Unclear {
 public:
  static_assert((kWords & (kWords - 1)) == 0 && kWords > 2 * (kKnown + 1));

  /// Whether what the slot did at positions below is clear, after a transaction is over. `before`
  /// is all that came directly before it, or before what its slot had done until then.
  bool over(Clear& clear, std::uint32_t slot, Word position, const Known& before,
            std::uint32_t slots) {
    if (slots > kKnown) slots = kKnown;
    if (settle(clear, slot) &&
        are_clear(clear, slot, slots, [&](std::uint32_t i) { return before.at[i]; })) {
      clear.raise(slot, position);
      return true;
    }
    // There is room for the last one to grow, too: slots only become more.
    if (end_ - first_ + 2 * (kKnown + 1) > kWords) end_ = last_;
    last_ = end_;
    word(end_++) = (Word{slots} << kSlotsShift) | position;
    for (std::uint32_t i = 0; i < slots; ++i) word(end_++) = before.at[i];
    return false;
  }
  /// Whether nothing is left of them that is not clear.
  bool settle(Clear& clear, std::uint32_t slot) {
    while (first_ != end_) {
      const Word position = word(first_) & ((Word{1} << kSlotsShift) - 1);
      const auto slots = static_cast<std::uint32_t>(word(first_) >> kSlotsShift);
      if (position > clear.of(slot)) {
        if (!are_clear(clear, slot, slots, [&](std::uint32_t i) { return word(first_ + 1 + i); })) {
          return false;
        }
        clear.raise(slot, position);
      }
      first_ += 1 + slots;
    }
    return true;
  }
  void forget() { first_ = end_ = last_ = 0; }

 private:
  static constexpr unsigned kSlotsShift = 48;
  template <class BeforeOf>
  [[nodiscard]] static bool are_clear(const Clear& clear, std::uint32_t slot, std::uint32_t slots,
                                      const BeforeOf& before_of) {
    for (std::uint32_t i = 0; i < slots; ++i) {
      if (i != slot && before_of(i) > clear.of(i)) return false;
    }
    return true;
  }
  [[nodiscard]] Word& word(Word at) { return words_[at % kWords]; }

  Word first_ = 0;  // of each: its position, and how many slots there were; what came before it
  Word end_ = 0;
  Word last_ = 0;  // where the last one begins
  Word words_[kWords]{};
};

/// What posts to a semaphore make known to waits behind them, or happens-before annotations to
/// happens-after ones: all that came before. At one address, of the kind that came last.
struct Signals {
  Known known{};
  bool home_made = false;  // annotations

  void post(const Known& clock, bool home_made_one, std::uint32_t slots) {
    if (home_made != home_made_one) known.clear(slots);
    home_made = home_made_one;
    known.join(clock, slots);
  }
  void wait(Known& waiter, bool home_made_one, std::uint32_t slots) const {
    if (home_made == home_made_one) waiter.join(known, slots);
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
