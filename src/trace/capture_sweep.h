// Which calls of a recording (capture_reducer.h) can have a part in a violation of atomic sets.
//
// Each of the 14 patterns has two units of different threads and two conflicts between them, one in
// each direction. Take the one whose later access comes last. So its unit, and with it its call, is
// still open when the other conflict's later access is made, has made the earlier access of that
// one, and will come behind an access of a call that overlaps with it. The sweep goes through what
// capture_reduce.h has kept in the order in which the recording is read, knows what each open call
// has accessed, and marks both calls of such a conflict, if the one that was open has come behind
// anybody later. An access outside of calls is a unit by itself, and marked the same way. What is
// not marked is left out, and no finding with it, nor does another one appear: units are as they
// were.
//
// A container of the library is one location: bytes near each other that may be parts of one count
// as one.
//
// What belongs together is decided by the names of all locations that have been accessed, also by
// calls that are left out. So when anything is marked at all, the first access to each byte of each
// object stays, with the functions around it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "event/wire.h"
#include "trace/capture_shared.h"
#include "trace/huge_allocator.h"

namespace syndrome::trace {

/// What the sweep has to know of a thread's words, in their order.
struct SweepItem {
  enum Kind : std::uint8_t {
    kAccess,     // value: granule
    kTime,       // value: time; `at` is that of the word behind
    kSync,       // value: time, and in the next item: value: version, at: shard
    kPartBegin,  // value: which part of a call of the thread: with its first access
    kPartEnd,
    kRenew,  // value: address, and in the next item: value: bytes
    kLoop,   // value: address, and in the next item: value: stride, at: how many, bytes: of each
  };
  static constexpr std::uint8_t kRead = 1;
  static constexpr std::uint8_t kWrite = 2;
  static constexpr std::uint8_t kOfContainer = 4;
  static constexpr std::uint8_t kNamesOnly = 8;  // it has no conflicts

  std::uint64_t value = 0;
  std::uint32_t at = 0;  // its record's place in the words
  Kind kind = kAccess;
  std::uint8_t access = 0;
  std::uint8_t bytes = 0;  // of the granule, a bit for each; of a loop, how many
};
static_assert(sizeof(SweepItem) == 16);

/// Of a granule, a bit for each byte that an access has.
[[nodiscard]] inline std::uint8_t bytes_of_granule(std::uint64_t granule, std::uint64_t address,
                                                   std::uint64_t bytes) {
  const std::uint64_t from = granule << 3;
  const std::uint64_t first = address > from ? address - from : 0;
  const std::uint64_t end = std::min<std::uint64_t>(address + bytes - from, 8);
  return static_cast<std::uint8_t>((0xffu << first) & (0xffu >> (8 - end)));
}

/// A call with something in it: words[begin, end).
struct SweepCall {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool stays = false;  // it has what cannot be left out: a fork, a lock that it does not give back
};

/// Units that are one by default end where someone waits: so a call has parts, each of which
/// counts by itself. They are left out together.
struct SweepThread {
  HugeVector<wire::Word> words;
  HugeVector<SweepItem> items;
  std::vector<SweepCall> calls;
  std::vector<std::uint32_t> parts;     // of each, its call
  std::vector<std::uint32_t> renewals;  // records of memory in calls
};

/// Leaves in each thread's words what can matter, with times that make the order that the recording
/// is read in, and without versions. False: there are too many calls.
[[nodiscard]] bool sweep(std::span<SweepThread> threads, const CaptureShared& shared);

}  // namespace syndrome::trace
