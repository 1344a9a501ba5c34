// What the sieve leaves of a trace, compared with the trace, by the oracles of the checks.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/event.h"

namespace syndrome::live {

/// How the variables of a trace lie in memory.
enum class Layout : std::uint8_t {
  kGranules,  // each in a granule of its own
  kBytes,     // neighbours of one byte
  kMixed,     // overlapping ones of 1, 2, 4 and 8 bytes
};

/// How a trace is sieved.
struct Way {
  Layout layout = Layout::kGranules;
  bool only_atomicity = false;
  bool determinism = true;  // is one of the checks
  bool filter = false;      // and the program leaves out what it can (event/filter.h)
  bool inside = false;      // the program follows its accesses itself (event/sieve.h)
  bool drafts = false;      // and throws away what is past (runtime/draft.h)
  bool puts_off = false;    // and does so later, in blocks (instrument/stretches.h)
  unsigned page = 0;  // bytes of a page that is one thread's (event/pages.h); 0: there are none
};

/// The trace as if each access were one to bytes, one event for each byte.
[[nodiscard]] std::vector<Event> bytes_of(std::span<const Event> events, Layout layout);

/// How a trace was sieved.
struct SievedCounts {
  std::uint64_t left_out = 0;   // accesses, by the filter
  std::uint64_t joined = 0;     // that became one with another at another site
  std::uint64_t put_off = 0;    // accesses that came behind others of their thread
  std::uint64_t misplaced = 0;  // bytes told at a site where their thread never accessed them
  std::uint64_t thrown = 0;     // words of drafts
  std::uint64_t stuck = 0;      // traces that would never have been read to their end
};

/// What the sieve, or the program itself, tells of the trace, flags set. The counts grow.
[[nodiscard]] std::vector<Event> sieved(std::span<const Event> events, Way way,
                                        SievedCounts* counts = nullptr);

/// In what the verdicts on both differ, in words; empty if in nothing.
[[nodiscard]] std::string disagreement(std::span<const Event> events, Way way);

struct DifferentialCounts {
  std::uint64_t events = 0;  // before
  std::uint64_t told = 0;    // and after
  std::uint64_t violated = 0;
  SievedCounts sieved;
};

/// On random traces of `count` seeds from `first`. The first disagreement, with its seed, ends in
/// the shrunk trace as STD.
[[nodiscard]] std::optional<std::string> first_disagreement(
    std::uint64_t first, std::uint64_t count, DifferentialCounts* counts = nullptr,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::live
