// What the engine needs of whoever it runs in, and what it says to them.
//
// It has no allocator, no lock of the system and no clock of its own: inside other people's
// programs the runtime gives it memory and takes its reports; in tests the test does. All functions
// may be called from any thread that calls the engine. Depends on event/ alone.

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/unit.h"

namespace syndrome::engine {

struct Thread;

/// An access as the engine knows it. Of an earlier one: what its entry in the cell says.
struct Place {
  std::uint64_t address = 0;                 // the first byte that both accesses have
  const unit::Function* function = nullptr;  // null: not known any more
  std::uint32_t site = 0;                    // number of the site in the function, 0: unknown
  std::uint32_t slot = 0;
  std::uint32_t epoch = 0;
  std::uint32_t way = 0;   // context and site in one number (contexts.h)
  std::uint8_t bytes = 0;  // mask, in its granule of 8 bytes
  bool write = false;
  bool atomic = false;
};

enum class Question : std::uint8_t {
  kOneLocation,   // e1 and now are accesses of one granule, and another thread came in between
  kTwoLocations,  // another thread came to e1's location after e1 and to now's before now
};

/// Accesses that the rule of units (check/units/rule.h) should look at. It may refute them.
struct Candidate {
  Question question = Question::kOneLocation;
  std::uint64_t key = 0;  // of the steps; Engine::retire(key) asks for no more of them
  /// The innermost function that makes both accesses, or has them made, and its steps.
  const unit::Function* function = nullptr;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Place first;  // e1
  Place other;  // of the other thread: between e1 and now, or at now's location
  Place now;
  bool by_hold = false;  // a lock is held over both; otherwise the program's text connects them
};

struct Host {
  void* context = nullptr;
  /// Zeroed memory that stays, page-aligned; null when there is none.
  void* (*map)(void* context, std::size_t bytes) = nullptr;
  /// All cells become 0. Nobody accesses any meanwhile.
  void (*clear_cells)(void* context) = nullptr;
  /// Somebody else has to go on first.
  void (*pause)(void* context) = nullptr;
  void (*on_race)(void* context, Thread& thread, const Place& earlier, const Place& now) = nullptr;
  void (*on_candidate)(void* context, Thread& thread, const Candidate& candidate) = nullptr;
};

/// Where the cells are: the cell of an address is at base + ((address & mask) / 8) * 32. Several
/// addresses may share one when the mask is small; then accesses seem to meet that do not.
struct Cells {
  std::uint64_t* base = nullptr;
  std::uint64_t mask = 0;  // of address bits; the low three are ignored
};

/// For tests, which make them small; the defaults are what an entry has room for.
struct Limits {
  std::uint32_t slots = 255;
  std::uint32_t epochs = (1u << 23) - 2;
  std::uint32_t ways = (1u << 22) - 1;
  std::uint32_t nodes = 1u << 18;
  std::uint32_t objects = 1u << 20;  // of synchronization
  /// Of clocks of objects, in entries of 4 bytes.
  std::uint64_t clock_entries = 1u << 26;
  /// Every race and every candidate is reported, and not only as often as it is of use.
  bool report_all = false;
};

/// How often what happened; for --stats.
struct Counters {
  std::uint64_t accesses = 0;
  std::uint64_t known = 0;       // nothing to do
  std::uint64_t slow = 0;        // the cell had entries of other threads
  std::uint64_t dropped = 0;     // entries that were still wanted and had no room
  std::uint64_t races = 0;       // all, not only those reported
  std::uint64_t noted = 0;       // accesses to what an open unit of another thread has accessed
  std::uint64_t candidates = 0;  // all
  std::uint64_t reported = 0;    // candidates that went to the host
  std::uint64_t boundaries = 0;  // epochs that begin with an activation or a lock
  std::uint64_t switches = 0;    // of slots
  std::uint64_t odd = 0;         // words that make no sense

  void add(const Counters& other) {
    accesses += other.accesses;
    known += other.known;
    slow += other.slow;
    dropped += other.dropped;
    races += other.races;
    noted += other.noted;
    candidates += other.candidates;
    reported += other.reported;
    boundaries += other.boundaries;
    switches += other.switches;
    odd += other.odd;
  }
};

}  // namespace syndrome::engine
