// What need not be told of a program that is checked while it runs, because nothing has changed
// since it was: a table of words that each thread has for itself, one for each granule of 8 bytes
// (and for others that fall on the same place). Like wire.h, compiled into other people's programs.
//
// An entry says what the thread did to its granule last: the address and the thread's *key* of
// then, xored, and above them a 0 for each byte that was read and for each that was written. An
// access whose key, address and bytes are there needs no word: one like it has been told, or is
// where others find it, and nobody else came in between.
//
// A thread takes a new key after each synchronization, and at the begin and end of a block. Whoever
// comes to where others have been, with an access that conflicts with theirs, gives those threads
// new keys (sieve::Update: Host::intrude): what they had done before does not stand for what they
// do afterwards. Where synchronization orders the two, there is nothing to do: who is ordered
// before another has synchronized since, and so has another key already. Threads that only read the
// same do not disturb each other.

#pragma once

#include <cstddef>

#include "event/wire.h"

namespace syndrome::filter {

using wire::Word;

/// Of the part of a table that is in use. It begins small and grows where accesses push each other
/// out: with 1 MiB, sparse took 5 times as long as with ThreadSanitizer, with 16 MiB 0.9 times; but
/// who goes once through much memory has nothing from a large one, and touches its pages.
inline constexpr Word kLeastBytes = Word{1} << 20;
inline constexpr Word kMostBytes = Word{1} << 24;
[[nodiscard]] constexpr Word mask_of(Word bytes) {
  return bytes - sizeof(Word);
}

/// Where the entry of an address lies. With the shift, the rows of a matrix do not all lie on each
/// other.
[[nodiscard]] constexpr Word offset_of(Word address, Word mask = mask_of(kLeastBytes)) {
  return (address ^ (address >> 8)) & mask;
}

inline constexpr Word kKeyBits = ((Word{1} << 48) - 1) & ~Word{7};
inline constexpr unsigned kReadShift = 48;
inline constexpr unsigned kWriteShift = 56;
inline constexpr Word kNothing = Word{0xffff} << kReadShift;  // was accessed yet

/// The key of that number. Its thread gives itself even ones and others give it odd ones: none
/// comes twice.
[[nodiscard]] constexpr Word key_of(Word number) {
  // Odd, so that no number comes again within 2^45; far apart, so that two numbers and two
  // addresses do not differ in the same bits.
  constexpr Word kOdd = 0x165667b19e3779f9;
  return ((number * kOdd) << 3) & kKeyBits;
}

/// A thread's table; the probes find the mask and the key in front of it.
struct Table {
  Word segments = 0;    // keys that the thread has given itself
  Word intrusions = 0;  // that others have given it
  Word lost = 0;        // of what was done with one key, as far as that was noticed
  Word unused[3] = {};  // the entries begin with a line of the cache
  Word mask = mask_of(kLeastBytes);
  Word key = 0;  // written by all, without order: every value is a new one
  Word entries[kMostBytes / sizeof(Word)];  // what is not in use is 0

  [[nodiscard]] Word now() const { return __atomic_load_n(&key, __ATOMIC_RELAXED); }
  [[nodiscard]] Word& entry(Word address) {
    return *reinterpret_cast<Word*>(reinterpret_cast<char*>(entries) + offset_of(address, mask));
  }
  /// By its thread.
  void begin_segment() { __atomic_store_n(&key, key_of(2 * ++segments), __ATOMIC_RELAXED); }
  /// By its thread, that often: the table did not know what it had known before. Whether that was
  /// so often that it should grow.
  [[nodiscard]] bool lose(Word count) {
    lost += count;
    return lost * sizeof(Word) * 4 > mask && mask < mask_of(kMostBytes);
  }
  [[nodiscard]] Word bytes() const { return mask + sizeof(Word); }
  /// By its thread. Most of what it knows lies elsewhere then, and so is not known any more.
  void grow() {
    mask = mask_of(4 * bytes());
    lost = 0;
  }
  /// By any other one.
  void intrude() {
    const Word number = __atomic_fetch_add(&intrusions, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&key, key_of(2 * number + 1), __ATOMIC_RELAXED);
  }
};
static_assert(offsetof(Table, entries) % 64 == 0);
static_assert(offsetof(Table, key) + sizeof(Word) == offsetof(Table, entries));

/// What an access to those bytes of a granule needs to be 0 in entry ^ address ^ key.
[[nodiscard]] constexpr Word needs(Word mask, bool write) {
  return kKeyBits | (mask << (write ? kWriteShift : kReadShift));
}
/// The same of an access to two granules, which the table knows nothing of: the lowest
/// bits of its address are not 0, and those of entries and keys are.
inline constexpr Word kNever = ~Word{0};
[[nodiscard]] constexpr bool knows(Word entry, Word address, Word key, Word needs) {
  return ((entry ^ address ^ key) & needs) == 0;
}

/// The entry after an access that it did not know.
[[nodiscard]] constexpr Word after(Word entry, Word address, Word key, Word needs) {
  Word accessed = needs & kNothing;
  // Who has written needs not be told to read.
  accessed |= (accessed >> (kWriteShift - kReadShift)) & kNothing;
  if (((entry ^ address ^ key) & kKeyBits) == 0) return entry & ~accessed;
  return ((address ^ key) & kKeyBits) | (kNothing & ~accessed);
}

}  // namespace syndrome::filter
