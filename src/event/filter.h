// What need not be told of a program that is checked while it runs, because nothing has changed
// since it was: a table of words that all threads share, one for each granule of 8 bytes (and for
// others that fall on the same place). Like wire.h, compiled into other people's programs.
//
// An entry says who accessed its granule last: the address and the *key* of the thread, xored, and
// above them a 0 for each byte that was read and for each that was written. A thread's key is a new
// one after each synchronization, and at the begin and end of a block. An access whose key, address
// and bytes are there needs no word: one like it has been told, and nobody else came in between.
//
// Who finds another thread's entry in place of its own takes a new key: what it had told before
// that one came does not stand for what comes after. But of two that only read, none comes between
// what the other does.

#pragma once

#include "event/wire.h"

namespace syndrome::filter {

using wire::Word;

inline constexpr Word kBytes = Word{1} << 22;  // of the table

/// Where the entry of an address lies. The heaps of threads begin 64 MiB apart: without the shift
/// they would lie on each other.
[[nodiscard]] constexpr Word offset_of(Word address) {
  return (address ^ (address >> 8)) & (kBytes - sizeof(Word));
}

inline constexpr Word kKeyBits = ((Word{1} << 48) - 1) & ~Word{7};
inline constexpr unsigned kReadShift = 48;
inline constexpr unsigned kWriteShift = 56;
inline constexpr Word kNothing = Word{0xffff} << kReadShift;  // was accessed yet
/// Whose an entry is shows in these bits of a key: addresses hardly differ in them.
inline constexpr unsigned kThreadShift = 40;
inline constexpr Word kThreadBits = Word{0xff} << kThreadShift;

/// The key of a thread, by its number, in its segment of that number.
[[nodiscard]] constexpr Word key_of(Word thread, Word segment) {
  // Odd, so that no number comes again within 2^37; far apart, so that two numbers and two
  // addresses do not differ in the same bits.
  constexpr Word kOdd = 0x165667b19e3779f9;
  return (((segment * kOdd) << 3) & kKeyBits & ~kThreadBits) | ((thread % 255 + 1) << kThreadShift);
}

/// What an access to those bytes of a granule needs to be 0 in entry ^ address ^ key.
[[nodiscard]] constexpr Word needs(Word mask, bool write) {
  return kKeyBits | (mask << (write ? kWriteShift : kReadShift));
}
[[nodiscard]] constexpr bool knows(Word entry, Word address, Word key, Word needs) {
  return ((entry ^ address ^ key) & needs) == 0;
}

/// Whether the entry is another thread's.
[[nodiscard]] constexpr bool is_foreign(Word entry, Word address, Word key) {
  return entry != 0 && ((entry ^ address ^ key) & kThreadBits) != 0;
}

/// Of an access, and those of another thread that the entry tells of: whether one of them writes.
[[nodiscard]] constexpr bool comes_between(Word entry, bool write) {
  constexpr Word kNoWrite = Word{0xff} << kWriteShift;
  return write || (entry & kNoWrite) != kNoWrite;
}
/// Whether an access that the entry does not know needs a new key.
[[nodiscard]] constexpr bool needs_key(Word entry, Word address, Word key, Word needs) {
  return is_foreign(entry, address, key) && comes_between(entry, (needs >> kWriteShift) != 0);
}

/// The entry after an access that it did not know; the key is the thread's new one, if it needed
/// one.
[[nodiscard]] constexpr Word after(Word entry, Word address, Word key, Word needs) {
  Word accessed = needs & kNothing;
  // Who has written needs not be told to read.
  accessed |= (accessed >> (kWriteShift - kReadShift)) & kNothing;
  if (((entry ^ address ^ key) & kKeyBits) == 0) return entry & ~accessed;
  return ((address ^ key) & kKeyBits) | (kNothing & ~accessed);
}

/// The entry after an access that was told without asking: others must see that someone was there.
[[nodiscard]] constexpr Word touched(Word entry, Word address, Word key, bool write) {
  if (!is_foreign(entry, address, key) || !comes_between(entry, write)) return entry;
  return ((address ^ key) & kKeyBits) | kNothing;
}

}  // namespace syndrome::filter
