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
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/ended.h"
#include "event/result.h"
#include "trace/input.h"
#include "trace/source.h"

namespace syndrome::trace {

/// What a function is to units of work (docs/atomic-sets.md) when nobody declares it to be one.
enum class FunctionRole : std::uint8_t {
  kLibrary,   // no unit, and no function of the program
  kNever,     // no unit
  kAccessor,  // a unit from its first access on, but for what a thread begins with
  kMember,    // the same, and also for what others access while it runs: objects of its class
  kDeclared,  // a unit or a block in any case, for all that is known
};
struct UnitRole {
  FunctionRole role = FunctionRole::kDeclared;
  std::string type;  // of a kMember, the class
};
/// By its name, demangled. Called by several threads together.
using FindUnitRole = std::function<UnitRole(std::string_view name)>;

/// What is left out for a reader that is interested in verdicts alone.
struct CaptureSelection {
  /// Accesses that no other thread's conflict with, those that repeat one, and functions without
  /// anything (trace/capture_shared.h, capture_reduce.h).
  bool only_shared = false;
  bool every_function = false;  // functions without anything stay
  bool reduce = true;           // false: event by event, which tests compare it with
  /// When set, nothing but atomic sets is looked for: only what is in calls that are in each
  /// other's way (trace/capture_sweep.h).
  FindUnitRole role;
  bool atomics = true;  // in those, atomic accesses count as others do
};

class CaptureReduced;

/// The first thing that a source does, before the first event, is to go through all words once.
[[nodiscard]] Result<std::unique_ptr<Source>> read_capture(const std::string& path,
                                                           const ReadOptions& options);
/// The same verdicts, other numbers of events. What goes through the words is kept in `reduced`:
/// who reads the file again, the same way, does without it.
[[nodiscard]] Result<std::unique_ptr<Source>> read_capture(
    const std::string& path, const ReadOptions& options, const CaptureSelection& selection,
    std::shared_ptr<const CaptureReduced>& reduced);

/// What a recording says of itself, without its events.
struct CaptureSummary {
  std::vector<std::string> command;
  std::uint32_t pid = 0;
  std::uint64_t realtime_ns = 0;       // when it began, since 1970; 0: unknown
  std::optional<std::uint64_t> noise;  // its seed
  std::optional<Ended> ended;
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
