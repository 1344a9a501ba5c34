// What an instrumented program writes: one stream of 64-bit words for each thread.
//
// The probes (instrument/), the runtime inside the program (runtime/), the recorder (record/) and
// the reader of recordings (trace/) share this page. It depends on nothing, not even on the rest of
// event/, because it is compiled into other people's programs.
//
// A word is never 0, so that the end of a stream shows without a count: after kill -9, what follows
// the last published word is read up to the first 0.
//
//   access     site:16 0:1 address:47        site is a number in the function that runs, from 1
//   control    top:16  1:1 payload:43 kind:4
//   operand    1:1 value:63                  after a control word that announces it
//
// Which function runs is known from the enter and exit words before. What a site is (read or write,
// how many bytes, where in the source, the variable's name) stands in the unit (event/unit.h) of
// the function.
//
// Words come in lines of 32, aligned. The first word of a line is a kTime, and there may be others;
// no record crosses from a line into the next (what is left of a line is filled with kPad).

#pragma once

#include <cstddef>
#include <cstdint>

namespace syndrome::wire {

using Word = std::uint64_t;

/// Of everything that probes, runtime, recorder and reader must agree on. A unit that was compiled
/// with another number is refused with a message.
inline constexpr std::uint32_t kAbi = 8;

inline constexpr std::size_t kLineWords = 32;
inline constexpr unsigned kAddressBits = 47;
inline constexpr Word kAddressMask = (Word{1} << kAddressBits) - 1;
inline constexpr Word kControlBit = Word{1} << kAddressBits;
inline constexpr Word kOperandBit = Word{1} << 63;
inline constexpr unsigned kTopShift = 48;
inline constexpr Word kKindMask = 0xf;
inline constexpr Word kPayloadMask = kAddressMask & ~kKindMask;

enum class Control : std::uint8_t {
  kPad = 0,
  /// payload: address of the unit::Function, which is 16-aligned; top: the site of the call in the
  /// function that ran before, 0 when unknown (called from code without probes).
  kEnter = 1,
  kExit = 2,  // payload: the same address; top: 0
  /// As kEnter, for a function that does nothing but one access: it ends after the next access.
  kLeaf = 3,
  /// payload and top: the time stamp counter, low 43 bits in the payload, the next 16 in top.
  kTime = 4,
  /// top: the bits above 16 of the site of the access that follows.
  kWide = 5,
  /// Memory of any length: memcpy, read(2), … top: site of the access, or of the call when payload
  /// bit 5 is set. payload bit 4: a write. Operands: address, length (not 0).
  kRange = 6,
  /// Synchronization, memory, atomics, blocks: top: site of the call (for kAtomic*: of the access);
  /// payload bits 4…11: Sync; bits 12…15: number of operands. Operands: object, version, time, and
  /// what the Sync says; or the object alone, without a version and a time.
  kSync = 7,
  /// After the kEnter of a function that calls setjmp. payload: a number, unique in this thread.
  kFrame = 8,
  /// The function whose frame has this number runs again; what it had called is over.
  kResume = 9,
  /// These bytes of the stack are a new variable from here on. Operands: address, bytes.
  kLocals = 10,
  /// The accesses of a loop, in the order in which it made them: round after round, in each round
  /// one access for each of its sites. top: how many sites, and from bit 4 on how many of them, the
  /// first ones, had their turn once more after the last whole round; payload: whole rounds, at
  /// most kMaxRounds. Operands: the strides, kStridesInWord to a word. Then an access word for each
  /// site: its address in the first round.
  kRun = 11,
  // Of a process that follows its accesses itself (event/sieve.h), where every access that has a
  // word is an event.
  /// What the thread does from here on is at this position of this slot. top: slot; payload:
  /// position.
  kPlace = 12,
  /// An earlier access: behind what had this position of this slot, which has happened before what
  /// follows here. top: slot, and from bit 10 on what it is (kLateWrite, kLateAtomic); payload:
  /// position. Operands: address and from bit 48 on how many bytes (0: only the order counts); the
  /// address of its unit, 0 when unknown; the index of its site in the unit; the last position up
  /// to there that the slot has told of.
  kLate = 13,
  /// As kLate, of a lock: top: slot, and kLateRelease; operands: its address, then as there, and
  /// the version of its shard, 0: none.
  kLateLock = 14,
  /// What follows comes behind this position of this slot. top: slot; payload: position. In place
  /// of versions, for the locks of a process that is checked for nothing but atomicity
  /// (runtime/draft.h): their kSync have one operand, the object.
  kBehind = 15,
};
inline constexpr std::size_t kLateWords = 5;
inline constexpr std::size_t kLateLockWords = 6;
inline constexpr std::uint32_t kSlotMask = 0x3ff;
inline constexpr std::uint32_t kLateWrite = 0x400;
inline constexpr std::uint32_t kLateAtomic = 0x800;
inline constexpr std::uint32_t kLateRelease = 0x400;
/// A position, as payload of a control word.
[[nodiscard]] constexpr Word position_of(Word word) {
  return (word & ((Word{1} << 47) - 1)) >> 4;
}

inline constexpr std::size_t kMaxRunSites = 8;
/// A longer loop leaves several records, so that reading one takes bounded time and memory.
inline constexpr std::uint64_t kMaxRounds = 4096;
inline constexpr unsigned kStrideBits = 15;  // two's complement, in bytes
inline constexpr std::size_t kStridesInWord = 4;
[[nodiscard]] constexpr bool is_stride(std::int64_t bytes) {
  return bytes >= -(std::int64_t{1} << (kStrideBits - 1)) &&
         bytes < (std::int64_t{1} << (kStrideBits - 1));
}
[[nodiscard]] constexpr Word stride_bits(std::int64_t bytes, std::size_t index) {
  const Word mask = (Word{1} << kStrideBits) - 1;
  return (static_cast<Word>(bytes) & mask) << (kStrideBits * (index % kStridesInWord));
}
[[nodiscard]] constexpr std::int64_t stride_of(Word strides, std::size_t index) {
  const unsigned above = 64 - kStrideBits * (static_cast<unsigned>(index % kStridesInWord) + 1);
  return static_cast<std::int64_t>(strides << above) >> (64 - kStrideBits);
}
/// Of the whole record, in words.
[[nodiscard]] constexpr std::size_t run_words(std::size_t sites) {
  return 1 + (sites + kStridesInWord - 1) / kStridesInWord + sites;
}

/// What a kSync is. `object` is an address unless it says otherwise; a thread's number counts the
/// threads of the process from 0 (the first).
enum class Sync : std::uint8_t {
  kThreadStart = 0,  // object: the thread's own number
  kThreadStop = 1,   // object: the thread's own number
  kFork = 2,         // object: the child's number
  kJoin = 3,         // object: the child's number
  kAcquire = 4,
  kRelease = 5,
  kAcquireShared = 6,
  kReleaseShared = 7,
  kBarrierArrive = 8,
  kBarrierLeave = 9,
  kPost = 10,
  kWait = 11,
  kCondWait = 12,
  kCondSignal = 13,
  kCondBroadcast = 14,
  kAlloc = 15,  // operand: size; what was there before is gone
  kFree = 16,   // operand: size, 0 when only the allocator knows it
  // operands: size in bytes | order << 8 (the numbers of C's memory_order)
  kAtomicLoad = 17,
  kAtomicStore = 18,
  kAtomicRmw = 19,
  kFence = 20,  // object: 0; operand: order << 8
  // Annotations.
  kHappensBefore = 21,
  kHappensAfter = 22,
  // Scoped blocks. object: number of a string (meta::kString) that is the label; operand: Block.
  kBlockBegin = 23,
  kBlockEnd = 24,
  /// A lock, barrier, semaphore or condition begins or ends its life; the address may be another
  /// one's next.
  kDestroy = 25,
  /// Not an event: gives this access its place in `--order exact`. The access words that follow, up
  /// to the next control word, happen at this version. object: an address of the access.
  kOrdered = 26,
};
inline constexpr std::size_t kSyncCount = 27;

enum class Block : std::uint8_t { kAtomic = 0, kDeterministic = 1, kUnit = 2 };

// Order. Every kSync takes a version from the counter of its object's shard: versions of a shard
// are 1, 2, 3, … in the order in which the operations took effect. A release takes it before, an
// acquire after the real operation; an atomic takes it while it holds the shard. Program order and
// these versions order everything that the program orders. Times order the rest as well as they
// can. A version may be missing (the thread was killed between taking and writing it).
inline constexpr unsigned kShardBits = 12;
inline constexpr std::size_t kShards = std::size_t{1} << kShardBits;

/// The shard of an address; memory (kAlloc, kFree) goes by its 64-KiB region, so that neighbours
/// that the allocator splits and merges are ordered; threads by their number; kFence: shard 0.
[[nodiscard]] constexpr std::size_t shard_of(Word value) {
  return static_cast<std::size_t>((value * 0x9E3779B97F4A7C15u) >> (64 - kShardBits));
}
[[nodiscard]] constexpr std::size_t shard_of(Sync kind, Word object) {
  switch (kind) {
    case Sync::kAlloc:
    case Sync::kFree: return shard_of((object >> 16) | (Word{1} << 62));
    case Sync::kFence: return 0;
    case Sync::kThreadStart:
    case Sync::kThreadStop:
    case Sync::kFork:
    case Sync::kJoin: return shard_of(object | (Word{1} << 61));
    default: return shard_of(object >> 3);  // so that parts of one granule share a shard
  }
}

[[nodiscard]] constexpr Word access(Word address, std::uint32_t site) {
  return (Word{site} << kTopShift) | (address & kAddressMask);
}
[[nodiscard]] constexpr Word control(Control kind, Word payload, std::uint32_t top) {
  return (Word{top & 0xffff} << kTopShift) | kControlBit | (payload & kPayloadMask) |
         static_cast<Word>(kind);
}
/// Of an access to several granules, beside its word: what the filter has to know of it.
[[nodiscard]] constexpr Word wide(Word bytes, bool write) {
  return (bytes << 1) | (write ? 1 : 0);
}
[[nodiscard]] constexpr Word operand(Word value) {
  return value | kOperandBit;
}
[[nodiscard]] constexpr Word run(Word rounds, std::size_t sites, std::uint32_t rest) {
  return control(Control::kRun, rounds << 4, static_cast<std::uint32_t>(sites) | (rest << 4));
}
[[nodiscard]] constexpr Word sync(Sync kind, unsigned operands, std::uint32_t call) {
  return control(Control::kSync,
                 (Word{static_cast<std::uint8_t>(kind)} << 4) | (Word{operands} << 12), call);
}
[[nodiscard]] constexpr Word time(Word counter) {
  return control(Control::kTime, counter << 4,
                 static_cast<std::uint32_t>(counter >> (kAddressBits - 4)));
}

[[nodiscard]] constexpr bool is_control(Word word) {
  return (word & kControlBit) != 0;
}
[[nodiscard]] constexpr Control kind_of(Word word) {
  return static_cast<Control>(word & kKindMask);
}
[[nodiscard]] constexpr std::uint32_t top_of(Word word) {
  return static_cast<std::uint32_t>(word >> kTopShift);
}
[[nodiscard]] constexpr Word address_of(Word word) {
  return word & kAddressMask;
}
[[nodiscard]] constexpr Word payload_of(Word word) {
  return word & kPayloadMask;
}
[[nodiscard]] constexpr Word value_of(Word word) {
  return word & ~kOperandBit;
}
[[nodiscard]] constexpr Word time_of(Word word) {
  return (payload_of(word) >> 4) | (Word{top_of(word)} << (kAddressBits - 4));
}
[[nodiscard]] constexpr Sync sync_of(Word word) {
  return static_cast<Sync>((word >> 4) & 0xff);
}
[[nodiscard]] constexpr unsigned operands_of(Word word) {
  return static_cast<unsigned>((word >> 12) & 0xf);
}

// Beside the words, a process writes what its words speak of: a sequence of records, each
// {type:u32 bytes:u32} and then `bytes` bytes, a multiple of 8, padded with 0.
enum class Meta : std::uint32_t {
  /// Always the first: abi:u32 pid:u32 parent:u32 0:u32 counter_hz:u64 counter:u64 (now)
  /// realtime_ns:u64 (now), then the command line, arguments separated by 0.
  kProcess = 1,
  kUnit = 2,    // address:u64, then the unit's bytes (event/unit.h)
  kString = 3,  // number:u64, then the text
  /// base:u64 end:u64 instrumented:u64, then the path. Each module that is loaded.
  kModule = 4,
  /// number:u64 tid:u64, then the thread's name as the system shows it. Again when it changes.
  kThread = 5,
  /// address:u64 size:u64 unit:u64 (address) name:u32 (offset in the unit's strings) 0:u32,
  /// repeated:
  /// the global variables of a unit.
  kGlobals = 6,
  /// The text of a warning that whoever reads the trace should see.
  kWarning = 7,
  /// seed:u64. The process ran with noise (runtime/noise.h).
  kNoise = 8,
  /// how:u32 (EndHow) number:u32 (exit code or signal) thread:u32 (its number, kNoThread: unknown)
  /// said_by:u32 (EndSaidBy). How the process ended, or was about to.
  kEnded = 9,
};

enum class EndHow : std::uint32_t { kExit = 0, kSignal = 1 };
enum class EndSaidBy : std::uint32_t {
  kWaiter = 0,   // whoever waited for the process: this is how it ended
  kProcess = 1,  // the process, with nothing left to do but to end
  kHandler = 2,  // the process, before a handler of the program that may go on
};
inline constexpr std::uint32_t kNoThread = UINT32_MAX;

}  // namespace syndrome::wire
