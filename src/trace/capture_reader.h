// Reads recordings (docs/trace-format.md, "Recordings"): merges the words of the threads into one
// sequence of events.
//
// Order. Two things are certain and kept: each thread's words are in its program order, and the
// synchronization of a shard is in the order of its versions (event/wire.h). Among threads that
// both allow to go on, the one with the smallest time does, line by line. So an access is never
// before a synchronization that it must follow, and what is race-free is in its real order.
//
// Memory: one unpacked chunk for each thread that has begun and not ended (at most kUnpackedBytes
// in all; beyond that, those that wait give theirs back and read it again), the names, and what
// CaptureMemory holds.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event/result.h"
#include "trace/input.h"
#include "trace/source.h"

namespace syndrome::trace {

/// The first thing that it does, before the first event, is to go through all words once. With
/// `only_shared`, without accesses that no other thread's conflict with, and those that repeat one
/// (trace/capture_shared.h): the same verdicts, other numbers of events.
[[nodiscard]] Result<std::unique_ptr<Source>> read_capture(const std::string& path,
                                                           const ReadOptions& options,
                                                           bool only_shared = false);

/// What a recording says of itself, without its events.
struct CaptureSummary {
  std::vector<std::string> command;
  std::uint32_t pid = 0;
  std::uint64_t realtime_ns = 0;       // when it began, since 1970; 0: unknown
  std::optional<std::uint64_t> noise;  // its seed
  std::uint64_t threads = 0;
  std::uint64_t words = 0;
  std::uint64_t chunks = 0;
  bool complete = false;
  std::vector<std::string> instrumented;  // paths of modules
  std::vector<std::string> bare;          // of those whose code has no probes
};
[[nodiscard]] Result<CaptureSummary> read_capture_summary(const std::string& path);

/// Whether the .syn file is a recording: its first chunk has words or metadata.
[[nodiscard]] Result<bool> is_capture(const std::string& path);

}  // namespace syndrome::trace
