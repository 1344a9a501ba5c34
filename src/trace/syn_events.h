// A chunk of events as columns: who did what (a code for each pair of thread and kind; a kind with
// a memory order counts as another kind), to which target, at which site.
//
// Targets and sites are plain numbers, or steps from the one before: for a target, the thread's
// last in the same space; for a site, the thread's last, or its last of the same kind. Steps make
// straight code and walks through arrays small; plain numbers are smaller where targets are
// scattered, and quicker to read. The writer tries all of them from time to time.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/event.h"
#include "trace/syn_format.h"
#include "trace/syn_sections.h"

namespace syndrome::trace {

/// How many ids each space has: every id in an event must be below.
using NameCounts = std::array<std::uint64_t, kSpaceCount>;

/// What is wrong with the event, in words, if one of its ids or its kind is out of range.
[[nodiscard]] std::optional<std::string> fault_of(const Event& event, const NameCounts& names);

/// The index of the first event with a fault.
[[nodiscard]] std::optional<std::size_t> first_fault(std::span<const Event> events,
                                                     const NameCounts& names);

enum class Coding : std::uint8_t { kPlain, kSteps, kStepsOfKind };

class EventEncoder {
 public:
  explicit EventEncoder(int level) : sections_(level) {}

  /// Appends the payload and fills in `raw` and `count` of the header. The events must be without
  /// fault, at least 1 and at most kMaxChunkEvents.
  void encode(std::span<const Event> events, std::vector<std::byte>& payload, ChunkHeader& header);

 private:
  /// The codings of a column, which of them was best when all were tried, and its bytes.
  struct Column {
    std::vector<Coding> codings;
    Coding coding = Coding::kPlain;
    unsigned width = 0;
    std::vector<std::byte> sections;
  };
  void find_threads(std::span<const Event> events);
  void fill_codes(std::span<const Event> events);
  void fill_targets(std::span<const Event> events, Coding coding);
  void fill_sites(std::span<const Event> events, Coding coding);
  /// Appends values_ to `out`, plane by plane.
  void pack(unsigned width, std::vector<std::byte>& out);
  template <class Fill>
  void pack_best(Column& column, const Fill& fill);

  SectionWriter sections_;
  // By thread id, valid for the threads of the chunk: bits of the kinds and orders that it uses (0
  // for other threads, always), the code of its first pair, and its number in the chunk.
  std::vector<std::uint64_t> kinds_;
  std::vector<std::uint32_t> first_code_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> threads_;  // of the chunk, ascending
  std::uint32_t pairs_ = 0;
  std::vector<std::uint32_t> codes_;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> last_;
  Column target_{.codings = {Coding::kPlain, Coding::kSteps}, .sections = {}};
  Column site_{.codings = {Coding::kPlain, Coding::kSteps, Coding::kStepsOfKind}, .sections = {}};
  std::uint64_t chunks_ = 0;
  std::vector<std::byte> plane_;
};

class EventDecoder {
 public:
  /// Fills `out` with header.count events. Says what is wrong, in words, when the payload is not
  /// one that the writer makes.
  [[nodiscard]] std::optional<std::string> decode(const ChunkHeader& header, Bytes payload,
                                                  const NameCounts& names, std::span<Event> out);

 private:
  /// What a code stands for. `limit` is the first target that is out of range: 0 for codes that the
  /// chunk does not have, so that every event with such a code is out of range.
  struct Pair {
    std::uint32_t thread = 0;
    EventKind kind = EventKind::kRead;
    MemoryOrder order = MemoryOrder::kPlain;
    std::uint32_t limit = 0;
    std::uint32_t last_target = 0;  // index in last_target_
    std::uint32_t last_site = 0;    // index in last_site_
  };
  struct Columns;

  bool read_pairs(Bytes table, std::uint32_t threads, const NameCounts& names,
                  std::uint32_t max_pairs, Coding site_coding);
  template <bool kTargetSteps, bool kSiteSteps>
  bool combine(const Columns& columns, std::span<Event> out);

  SectionReader sections_;
  std::vector<std::byte> room_;
  std::vector<Pair> pairs_;  // by code
  std::vector<std::uint32_t> last_target_;
  std::vector<std::uint32_t> last_site_;
};

}  // namespace syndrome::trace
