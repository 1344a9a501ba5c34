// What calls.h keeps: of memory, of each thread for others, and of a thread's open call. Depends on
// nothing.

#pragma once

#include <cstddef>
#include <cstdint>

namespace syndrome::calls {

using Word = std::uint64_t;

inline constexpr Word kRead = 1;
inline constexpr Word kWrite = 2;
inline constexpr Word kKinds = 3;
/// An entry: serial:54 slot:8 kinds:2. 0: none. `kinds` is what the call has done to the granule.
inline constexpr unsigned kSlotBits = 8;
inline constexpr Word kMany = (Word{1} << kSlotBits) - 1;
inline constexpr Word kMaxSlots = kMany;
inline constexpr unsigned kSerialShift = kSlotBits + 2;

[[nodiscard]] constexpr Word entry_of(Word serial, Word slot) {
  return (serial << kSerialShift) | (slot << 2);
}
[[nodiscard]] constexpr Word serial_of(Word entry) {
  return entry >> kSerialShift;
}
[[nodiscard]] constexpr Word slot_of(Word entry) {
  return (entry >> 2) & kMany;
}
inline constexpr Word kOnlySerial = ~((Word{1} << kSerialShift) - 1);
/// What has been done to each of some bytes of a granule, with one serial: bytes:8 kinds:2.
[[nodiscard]] constexpr Word fresh_of(Word kinds, Word bytes) {
  return (bytes << 2) | kinds;
}
/// Behind one more access with the same serial.
[[nodiscard]] constexpr Word fresh_after(Word old, Word kinds, Word bytes) {
  const Word before = old & kKinds;
  const Word those = old >> 2;
  if (before == kinds) return fresh_of(kinds, those | bytes);
  if ((kinds & before) == before) return fresh_of(kinds, bytes);
  if ((kinds & before) == kinds) return fresh_of(before, those);
  return (those & bytes) != 0 ? fresh_of(before | kinds, those & bytes) : fresh_of(kinds, bytes);
}

/// Many: above that, a bit for each of the first slots that have read, the last of them for all
/// further slots, and the same for those that have written.
inline constexpr Word kManySlots = (64 - kSerialShift) / 2;
inline constexpr Word kAllSlots = (Word{1} << kManySlots) - 1;
inline constexpr Word kForever = ~Word{0};
[[nodiscard]] constexpr Word many_of(Word readers, Word writers) {
  return (writers << (kSerialShift + kManySlots)) | (readers << kSerialShift) | (kMany << 2) |
         (readers != 0 ? kRead : 0) | (writers != 0 ? kWrite : 0);
}
[[nodiscard]] constexpr Word readers_of(Word many) {
  return (many >> kSerialShift) & kAllSlots;
}
[[nodiscard]] constexpr Word writers_of(Word many) {
  return many >> (kSerialShift + kManySlots);
}
[[nodiscard]] constexpr Word bit_of(Word slot) {
  return Word{1} << (slot < kManySlots ? slot : kManySlots - 1);
}

inline constexpr Word kWhile = Word{1} << 25;  // a hundredth of a second

/// Who has accessed a granule. All 0: nobody.
struct alignas(16) Cell {
  Word a;
  Word b;
  Word read_until;  // when the last call that has read it, and is in neither, ended; 0: none
  Word written_until;
  Word many_time;  // when b was last made many, or kForever
};

/// What a page has in place of the cells of its granules: one for all of them, and which of them
/// its last call has accessed, a bit for each; written by that call's thread alone.
struct Page {
  Cell cell;
  Word read;
  Word written;
};

[[nodiscard]] inline Word load(const Word& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
inline void store(Word& word, Word value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

/// A call that is over.
struct Ended {
  Word first;  // its serials
  Word last;
  Word end;  // its time
};
/// One that is kept, and which calls that came behind it may have to be, too: those that did so up
/// to a time.
struct Kept {
  Word first;
  Word last_in;
};

/// What others have to know of a thread. It alone writes here, but for `out`.
struct alignas(64) Slot {
  /// What a thread does while another one waits for its core: milliseconds of calls.
  static constexpr Word kEnded = 1 << 11;
  static constexpr Word kKept = 1 << 9;
  static constexpr Word kMargin = 16;  // of those that are about to be written over
  Word first;                          // serial of its open call; 0: none
  Word begin;                          // its time
  Word out;                            // when others first came behind it; 0: they did not
  Word count;                          // calls that are over
  Word kept_count;                     // of those, in `kept`
  alignas(64) Ended ended[kEnded];
  Kept kept[kKept];

  [[nodiscard]] bool is_open(Word serial) const {
    const Word from = load(first);
    return from != 0 && serial >= from;
  }
  /// The last call that is over and began with this serial or before, as far as they are known.
  struct Known {
    const Ended* at;  // null: none of those is known any more
    const Ended* oldest;
  };
  [[nodiscard]] Known known(Word serial) const {
    const Word all = load(count);
    if (all == 0) return {nullptr, nullptr};
    const Word oldest = all > kEnded - kMargin ? all - (kEnded - kMargin) : 0;
    Word low = oldest;
    Word high = all;
    // Mostly it is the newest.
    if (load(ended[(all - 1) % kEnded].first) <= serial) low = all - 1;
    while (high - low > 1) {
      const Word middle = low + (high - low) / 2;
      (load(ended[middle % kEnded].first) <= serial ? low : high) = middle;
    }
    const Ended& one = ended[low % kEnded];
    return {load(one.first) <= serial ? &one : nullptr, &ended[oldest % kEnded]};
  }
  /// Of a call that is over: whether it is kept, and came behind someone at this time or later.
  [[nodiscard]] bool came_in(Word serial, Word time) const {
    const Word all = load(kept_count);
    const Word oldest = all > kKept - kMargin ? all - (kKept - kMargin) : 0;
    for (Word at = all; at > oldest; --at) {
      const Kept& one = kept[(at - 1) % kKept];
      const Word from = load(one.first);
      if (from == serial) return load(one.last_in) >= time;
      if (from < serial) return false;
    }
    // Older than all that are known.
    return oldest != 0;
  }
  /// When the call ended that was open at this time and is not any more; or later, if that was long
  /// ago.
  [[nodiscard]] Word end_after(Word time) const {
    const Word all = load(count);
    if (all == 0) return 0;
    Word low = all > kEnded - kMargin ? all - (kEnded - kMargin) : 0;
    Word high = all - 1;
    // Mostly it is the newest.
    if (high > low && load(ended[(high - 1) % kEnded].end) < time) low = high;
    while (low < high) {
      const Word middle = low + (high - low) / 2;
      if (load(ended[middle % kEnded].end) < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return load(ended[low % kEnded].end);
  }
  /// When the call of a serial that is not open ended, and its last serial; or later ones, if that
  /// was long ago.
  struct End {
    Word serial;
    Word time;
  };
  [[nodiscard]] End end_of(Word serial) const {
    const Known one = known(serial);
    if (one.at != nullptr) return {load(one.at->last), load(one.at->end)};
    return {serial, one.oldest != nullptr ? load(one.oldest->end) : 0};
  }
};

/// A call that this one has come behind when it was open.
struct Source {
  Word slot;
  Word first;
  Word at;
};

/// What a thread has done with a serial to a granule, which has a key of its own, if nobody has
/// been there since.
struct Recent {
  Word key;   // turn:18 key:46; 0: none. turn: how often the thread had seen an intrusion
  Word what;  // serial:54 bytes:8 kinds:2
};
inline constexpr unsigned kKeyBits = 46;
inline constexpr Word kKeyMask = (Word{1} << kKeyBits) - 1;

/// A thread's open call.
struct Call {
  static constexpr unsigned kMostSources = 8;
  static constexpr unsigned kRecentBits = 9;
  Word slot;
  Word serial;    // the last one that was given
  Word now;       // the one that it goes by
  Word first;     // 0: no call is open
  Word mark;      // what it leaves in cells: `first`, or where it may yet be split()
  Word begin;     // time
  Word last_in;   // when it last came behind someone; 0: never
  Word last_end;  // when the thread's last call ended
  Word intrusions;
  Word seen;  // the last one of anybody that it has seen
  Word turn;  // how often it has, as in Recent::key
  unsigned count;
  bool certain;  // it is kept in any case
  Source sources[kMostSources];
  Slot::End over[kMaxSlots];  // by slot: calls up to this serial were over by that time
  Recent recent[1u << kRecentBits];

  void next_serial() { set_serial(++serial); }
  void set_serial(Word number) { now = number; }
  [[nodiscard]] Recent& recent_of(Word key) {
    return recent[(key ^ (key >> kRecentBits)) % (1u << kRecentBits)];
  }
};

}  // namespace syndrome::calls
