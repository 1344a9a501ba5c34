// What a thread that holds its calls back (hold.h) keeps, and what the files of that share.
// Internal.
//
// State, and who may touch it:
//   a Holder        its thread; who ends the process, when that does not write any more
//   Slot::out       anyone (event/calls.h); the rest of a slot its thread
//   a cell          anyone, by compare-and-swap
//   told bits       anyone, set and cleared without order: who races with that has freed memory
//                   that is in use

#pragma once

#include <cstdint>

#include "event/calls.h"
#include "event/unit.h"
#include "event/wire.h"
#include "runtime/thread.h"

namespace syndrome::rt {

using wire::Word;

struct HoldClock {
  /// Behind everything before it: it orders what synchronization that is not told of has ordered.
  [[nodiscard]] static Word now() {
    __asm__ volatile("lfence" ::: "memory");
    return read_counter();
  }
};
using HoldCalls = calls::Calls<HoldClock>;
extern HoldCalls hold_calls;
extern calls::Slot* hold_slots;  // kMaxSlots
extern Word hold_slots_used;
/// Everything is told: somebody does not hold, or the program has SYNDROME_ATOMIC_SET.
extern std::uint32_t hold_nothing;

// hold_roles.cc

/// What a function is to units of work, as trace::FunctionRole; a member also when it is not known.
enum class HoldRole : std::uint8_t { kLibrary, kNever, kAccessor, kMember, kDeclared };
struct HoldFunction {
  const unit::Function* function;
  const unit::Site* sites;
  std::uint32_t count;
  std::uint32_t base;  // number of its first site in the process, 0: not known
  HoldRole role;
  bool stays;  // it is told even when nothing is in it
};
/// Found again when there are more units.
extern std::uint32_t hold_units;
[[nodiscard]] HoldFunction find_hold_function(const unit::Function* function);
/// Set in unit::Site::flags: the field may be one of a container of the library.
inline constexpr std::uint8_t kHoldContainer = 0x80;

// hold_cells.cc

inline constexpr unsigned kHoldChunkBits = 24;
inline constexpr std::size_t kHoldChunkCells = std::size_t{1} << (kHoldChunkBits - 3);
inline constexpr std::size_t kHoldChunkPages = std::size_t{1} << (kHoldChunkBits - 12);
inline constexpr unsigned kHoldPageBits = 9;  // 64 granules
inline constexpr Word kHoldPageBytes = Word{1} << kHoldPageBits;
inline constexpr std::size_t kHoldChunkSmall = std::size_t{1} << (kHoldChunkBits - kHoldPageBits);
[[nodiscard]] constexpr Word hold_bit(Word address) {
  return Word{1} << ((address >> 3) % 64);
}
inline constexpr unsigned kNearBits = 8;
inline constexpr std::size_t kHoldChunkNear = std::size_t{1} << (kHoldChunkBits - kNearBits);
/// What belongs together is decided by the names of variables, and those come from the sites of
/// their first accesses, which may be in calls that are left out. So the names of a granule
/// (HoldChunk::names) say which site was the first at its lower and at its upper four bytes:
/// site:27 from:2 container:1 in each half of the word, 0: none. Of a container of the library
/// (kHoldContainer), the upper half is the call by which the program came to it, which tells whose
/// member it is.
struct HoldName {
  static constexpr Word kSite = (Word{1} << 27) - 1;
  static constexpr unsigned kFromShift = 27;  // of the first byte, in its half
  static constexpr Word kContainer = Word{1} << 29;
  static constexpr Word kNameless = kSite;  // the half has been accessed, by no site of its own
};
struct HoldChunk {
  calls::Cell cells[kHoldChunkCells];
  /// For containers, which are one location each: of 256 bytes from each multiple of 256, and of
  /// 128 and 256. Two bytes of one container are together in one of them at least.
  calls::Cell near[2][kHoldChunkNear];
  /// Of pages that are not shared (event/calls.h), in place of their cells; and whether they are.
  calls::Page pages[kHoldChunkSmall];
  std::uint8_t shared[kHoldChunkSmall];
  Word names[kHoldChunkCells];
  std::uint8_t told[kHoldChunkCells];  // whether the granule is in the ring
  std::uint8_t used[kHoldChunkPages];  // whether a cell of the page has been
};
extern HoldChunk** hold_chunks;
[[nodiscard]] bool make_hold_cells();
/// Null: there is no memory for it.
HoldChunk* make_hold_chunk(std::size_t index);
[[nodiscard]] inline HoldChunk* hold_chunk_at(Word address) {
  HoldChunk* const chunk =
      __atomic_load_n(&hold_chunks[address >> kHoldChunkBits], __ATOMIC_ACQUIRE);
  return __builtin_expect(static_cast<long>(chunk != nullptr), 1) != 0
             ? chunk
             : make_hold_chunk(address >> kHoldChunkBits);
}

// The thread.

struct HoldFrame {
  HoldFunction what;
  Word word;    // that entered it, as a kEnter
  Word mark;    // of its setjmp
  Word serial;  // the last one that it has had
  Word number;  // counts all of the thread's
  bool leaf;    // its kLeaf is in the buffer: it ends without a word
};

/// Words of the buffer that are not decided about: how many frames were open, what entered each of
/// them, their marks if there are any (kHoldMarks), then what happened.
inline constexpr Word kHoldMarks = Word{1} << 32;
struct HoldPart {
  Word begin;
  Word end;
  std::uint32_t count;  // of its sources, which are the next ones in Holder::sources
  bool certain;
};

/// What a loop accessed at one site, with one serial.
struct HoldRun {
  Word address;
  Word count;
  Word serial;
  Word site;
  Word intrusion;  // the last one before it

  [[nodiscard]] bool operator==(const HoldRun&) const = default;
};

struct Holder {
  static constexpr unsigned kRunBits = 12;  // the rows of a tile of a matrix
  static constexpr std::uint32_t kMaxDepth = 1u << 16;
  static constexpr std::uint32_t kMaxHandlers = 4;
  static constexpr std::uint32_t kFunctions = 1024;
  static constexpr Word kWords = Word{1} << 24;  // 128 MiB, of which is touched what is needed
  static constexpr Word kSpare = Word{1} << 18;  // for frames, and records of one step
  static constexpr std::uint32_t kParts = 1u << 15;
  static constexpr std::uint32_t kSources = kParts + calls::Call::kMostSources;
  static constexpr std::uint32_t kMaxHeld = 64;
  static constexpr std::uint32_t kMaxRounds = 64;
  static constexpr std::uint32_t kMaxPlaces = 64;
  static constexpr std::uint32_t kMaxMemory = 64;
  static constexpr std::uint32_t kNoCall = UINT32_MAX;

  alignas(256) Word lines[1 + kMaxHandlers][wire::kLineWords];  // the first is the thread's
  Word* done;                                                   // what is before has been settled
  std::uint32_t handlers;
  std::uint32_t depth;
  std::uint32_t lost_depth;  // frames that there was no room for
  std::uint32_t own;         // frames of the program's functions
  Word entered;              // functions so far
  std::uint32_t wide;        // upper bits of the next site
  std::uint32_t leaf;        // 1: the innermost frame ends after the next access
  std::uint32_t units;       // that `functions` was found with
  bool first_thread;
  Word now;        // when this settling began
  Word fill;       // words in the buffer
  Word populated;  // of the buffer, from the beginning
  // The call that is open, or the stretch outside of calls.
  calls::Call call;
  Word part_begin;
  std::uint32_t call_frame;  // the outermost function that is or may be a unit; kNoCall: none
  std::uint32_t declared;    // frames that are declared to be units, and scoped blocks
  std::uint32_t blocks;      // scoped blocks
  bool stays;                // it has what cannot be left out
  bool flows;                // its first words are told already
  bool released;             // the last word is a release
  Word settled_serial;       // frames with a smaller one need another
  std::uint32_t held;        // locks that it has taken …
  Word locks[kMaxHeld];
  // Where the call's function has come to hold one, and where it has been since
  // (check/atomic_sets/units.h); and if it has taken one again, how that would begin a part.
  std::uint32_t rounds;
  std::uint32_t round[kMaxRounds];
  std::uint32_t places;
  std::uint32_t place[kMaxPlaces];
  Word place_bits;     // those below 64
  std::uint32_t anew;  // where; 0: it has not
  std::uint32_t before;
  Word round_frame;  // that has taken the last one for it
  Word anew_at;      // in the buffer
  Word anew_serial;
  Word anew_time;
  std::uint32_t memory_count;  // records of memory that is told of
  Word memory[kMaxMemory];
  // What waits: from the beginning again when nothing does, so that little memory is touched.
  std::uint32_t first_part;
  std::uint32_t parts;
  std::uint32_t first_source;
  std::uint32_t last_source;
  HoldPart part[kParts];
  calls::Source sources[kSources];
  // What is told.
  Word told_time;
  // Names that were told in the same part: granules.
  static constexpr std::uint32_t kNamed = 1024;
  Word named[kNamed];
  std::uint32_t told_depth;
  Word told_frames[kMaxDepth + 64];
  Word told_marks[kMaxDepth + 64];
  // For finish_holding_for_all().
  Thread* its_thread;
  const ThreadWindow* its_window;
  HoldFunction functions[kFunctions];
  HoldRun runs[1u << kRunBits];
  HoldFrame frames[kMaxDepth];
  Word words[kWords];
};

// hold.cc

[[nodiscard]] Holder* holder_of(std::uint32_t slot);  // null: it has no thread
/// Around what is no word: settles, and makes room. False when nobody may any more.
[[nodiscard]] bool enter_settled(Holder*& self);
inline void leave() {
  --tls.busy;
}

// hold_parts.cc

inline void put(Holder& self, Word word) {
  self.words[self.fill++] = word;
  self.released = false;
}
/// What a part begins with.
void put_frames(Holder& self);
/// If none is open.
void begin_part(Holder& self);
void add_part(Holder& self, Word begin, Word end, bool certain);
void end_part(Holder& self);
/// Decides about those that were first, in their order.
void decide(Holder& self, bool all);
/// The system gives memory for more of the buffer: for many pages at once that takes a fraction of
/// the time that it takes for one after the other.
void populate(Holder& self);
/// The buffer is full: what waits is told, and so is what there is of the open part.
void flow(Holder& self);
inline void make_room(Holder& self) {
  if (self.fill > Holder::kWords - Holder::kSpare) flow(self);
}
/// What is outside of calls ends where no lock is held.
inline void end_outside(Holder& self) {
  if (self.call_frame == Holder::kNoCall && self.held == 0 && self.blocks == 0) end_part(self);
}

// hold_words.cc

/// The serial of the function that runs.
void find_serial(Holder& self);
void pop(Holder& self);
/// The function that runs, or the one that the library works for, accesses something.
void accessed(Holder& self);
/// Goes through words, of which there is room for a line.
void take_words(Holder& self, const Word* word, const Word* end);

// hold_sync.cc

/// The function of the call accesses something there, or calls a function.
void come_to(Holder& self, std::uint32_t place);
inline void forget_places(Holder& self) {
  self.places = 0;
  self.place_bits = 0;
}

// hold_names.cc

/// The first access to these bytes, if it is. `site`: its number in the process; 0: none.
void note_name(Holder& self, HoldChunk& chunk, Word granule, Word address, Word bytes,
               std::uint32_t site, bool container);
/// Tells of the names that bytes had before `site`, a number in the process, accesses them now.
void tell_names(Holder& self, Word address, Word bytes, std::uint32_t site);

// hold_tell.cc

/// Appends a record to the ring.
void tell_words(Holder& self, const Word* words, std::size_t count);

/// Begins to tell what the buffer has from `begin` on (HoldPart), up to `end`.
void tell_part(Holder& self, Word begin, Word end);
/// More of the same.
void tell_more(Holder& self, Word begin, Word end);
/// It is over.
void tell_end(Holder& self);
/// Length in words of the record that begins with this word.
[[nodiscard]] inline std::size_t record_words(Word word) {
  if (!wire::is_control(word)) return 1;
  switch (wire::kind_of(word)) {
    // How a part would have begun: it is not told.
    case wire::Control::kPad: return 1 + wire::top_of(word);
    case wire::Control::kSync: return 1 + wire::operands_of(word);
    case wire::Control::kRange:
    case wire::Control::kLocals: return 3;
    case wire::Control::kRun: return wire::run_words(wire::top_of(word) & 0xf);
    default: return 1;
  }
}

}  // namespace syndrome::rt
