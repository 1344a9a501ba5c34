// Reads .syn files (docs/trace-format.md).

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "event/event.h"
#include "event/ids.h"
#include "event/result.h"
#include "trace/input.h"
#include "trace/source.h"
#include "trace/syn_format.h"

namespace syndrome::trace {

/// Chunks are decoded by `options.jobs` threads in all, the caller's among them whenever it would
/// have to wait; with 1, by the caller alone. What is decoded ahead is bounded.
///
/// A file that was cut off gives the events of its whole chunks and then a warning. A damaged one
/// gives the events before the damage and then an error.
[[nodiscard]] Result<std::unique_ptr<Source>> read_syn(const std::string& path,
                                                       const ReadOptions& options);

/// Whether a file that begins so is a .syn trace; also when one or two of the eight bytes that tell
/// it are damaged, or when it was cut off inside of them.
[[nodiscard]] bool is_syn(std::span<const std::byte> head);

struct SynSummary {
  std::uint64_t events = 0;
  std::uint64_t threads = 0;
  std::uint64_t variables = 0;
  std::uint64_t locks = 0;
  std::uint64_t blocks = 0;                            // outermost begins
  std::array<std::uint64_t, kSpaceCount> names{};      // by Space; labels and sites with their id 0
  std::array<std::uint64_t, kEventKindCount> kinds{};  // by EventKind
  bool complete = false;                               // whether the file has its end
  std::uint64_t bytes = 0;                             // of the file
  std::uint64_t chunks = 0;                            // whole ones, the end among them
  std::uint64_t event_chunks = 0;
  std::uint64_t event_bytes = 0;  // of chunks of events, headers included
  std::uint64_t name_bytes = 0;   // of chunks of names, likewise
  std::string warning;            // empty when complete
};

/// Goes through the whole file and verifies every checksum; decodes events only if the file was cut
/// off and so has no totals at its end.
[[nodiscard]] Result<SynSummary> read_syn_summary(const std::string& path);

}  // namespace syndrome::trace
