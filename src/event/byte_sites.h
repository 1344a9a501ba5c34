// Sites of bytes: what one thread did to several bytes of a granule at one position is one entry
// (event/sieve.h), also where it did so at different sites. Like sieve.h, compiled into other
// people's programs.
//
// The site of such an entry is Cell::kSeveral and the number of a ByteSites, which has a site for
// each byte. What stands there for bytes that the entry does not have means nothing. A table keeps
// each ByteSites once, for good: there are about as many as a program has ways to go through eight
// bytes. Where it is full, with() says so, and there is an entry for each site.

#pragma once

#include <cstdint>

#include "event/sieve.h"

namespace syndrome::sieve {

struct ByteSites {
  static constexpr unsigned kBytes = 8;
  std::uint32_t of[kBytes];

  void set(unsigned bytes, std::uint32_t site) {
    for (unsigned i = 0; i < kBytes; ++i) {
      if ((bytes >> i & 1) != 0) of[i] = site;
    }
  }
  [[nodiscard]] bool operator==(const ByteSites&) const = default;
};

/// All of it 0: empty. Any thread may call anything at any time, and so may a forked child: nobody
/// waits for anybody.
template <unsigned kBits>
class ByteSitesTable {
 public:
  /// The site of an entry, once these bytes were accessed at `other`; 0: there is no room.
  [[nodiscard]] std::uint32_t with(std::uint32_t site, unsigned bytes, std::uint32_t other) {
    ByteSites wanted{};
    for (unsigned i = 0; i < ByteSites::kBytes; ++i) wanted.of[i] = site_of(site, i);
    wanted.set(bytes, other);
    bool one = true;
    for (const std::uint32_t each : wanted.of) one &= each == other;
    return one ? other : number_of(wanted);
  }

  [[nodiscard]] std::uint32_t site_of(std::uint32_t site, unsigned byte) const {
    if ((site & Cell::kSeveral) == 0) return site;
    return all_[site & ~Cell::kSeveral].of[byte];
  }

 private:
  static constexpr std::uint32_t kMost = (1u << kBits) - 1;  // 0 is none
  static constexpr unsigned kPlaceBits = kBits + 1;
  static_assert(kMost < Cell::kSeveral);

  /// The table of places never gets full: it has twice as many as there are numbers.
  [[nodiscard]] std::uint32_t number_of(const ByteSites& wanted) {
    std::uint64_t hash = 0;
    for (const std::uint32_t site : wanted.of) hash = (hash ^ site) * 0x9E3779B97F4A7C15u;
    std::uint32_t mine = 0;
    for (std::uint64_t at = hash >> (64 - kPlaceBits);;) {
      std::uint32_t& place = places_[at];
      std::uint32_t number = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
      if (number == 0) {
        if (mine == 0) {
          mine = take_number();
          if (mine == 0) return 0;
          all_[mine] = wanted;
        }
        if (__atomic_compare_exchange_n(&place, &number, mine, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
          return mine | Cell::kSeveral;
        }
      }
      // If somebody was faster with the same, the number that was taken stays unused.
      if (all_[number] == wanted) return number | Cell::kSeveral;
      at = (at + 1) & ((1u << kPlaceBits) - 1);
    }
  }
  [[nodiscard]] std::uint32_t take_number() {
    std::uint32_t count = __atomic_load_n(&count_, __ATOMIC_RELAXED);
    do {
      if (count == kMost) return 0;
    } while (!__atomic_compare_exchange_n(&count_, &count, count + 1, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return count + 1;
  }

  std::uint32_t count_;
  std::uint32_t places_[1u << kPlaceBits];  // numbers, by what they stand for; 0: none
  ByteSites all_[kMost + 1];
};

/// What a thread has asked of such a table, which never says anything else later.
class ByteSitesCache {
 public:
  template <class Table>
  [[nodiscard]] std::uint32_t with(Table& table, std::uint32_t site, unsigned bytes,
                                   std::uint32_t other) {
    const std::uint64_t key = (std::uint64_t{site} << 32) | other;
    // Neighbouring sites differ in their lower bits, and in nothing else.
    Asked& asked = asked_[((key ^ (std::uint64_t{bytes} << 24)) * 0x9E3779B97F4A7C15u) >> kShift];
    if (asked.key == key && asked.bytes == bytes) return asked.is;
    asked = {key, bytes, table.with(site, bytes, other)};
    return asked.is;
  }

 private:
  static constexpr unsigned kBits = 10;
  static constexpr unsigned kShift = 64 - kBits;
  struct Asked {
    std::uint64_t key;
    std::uint32_t bytes;  // 0: nothing
    std::uint32_t is;
  };
  Asked asked_[1u << kBits];
};

}  // namespace syndrome::sieve
