// Follows a program while it runs: takes the words of its threads (record/taker.h), puts them in
// order as the reader of recordings does (trace/capture_order.h), and writes what the sieve finds
// worth telling.
//
// Order. Only what has come can be ordered: of plain accesses that race, that of a thread whose
// words come late may seem later than it was. Synchronization and atomics are in their true order.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "event/result.h"
#include "event/sieve.h"
#include "record/taker.h"
#include "spec/spec.h"

namespace syndrome::live {

struct WatchOptions {
  sieve::Checked kind = sieve::Checked::kRaces;  // what will be checked
  const spec::Spec* spec = nullptr;              // which functions are blocks; outlives the watch
  /// Blocks for other checks, by name; may be empty.
  std::function<bool(std::string_view)> other_blocks;
  bool atomic_blocks = true;  // something is checked that they matter to
  bool snapshots = false;     // the trace is read while it grows
};

/// Writes into the file `output` (live/told_trace.h).
[[nodiscard]] Result<std::unique_ptr<record::Taker>> watch(const WatchOptions& options,
                                                           const std::string& output);

}  // namespace syndrome::live
