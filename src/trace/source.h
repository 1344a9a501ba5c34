// Where events come from, whatever the format: a sequence of batches.
//
// A source is read once, from beginning to end, by one thread. A check that needs a second look
// opens the trace again (trace/input.h); ids are the same each time, because they are given in the
// order of first appearance.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/ended.h"
#include "event/event.h"
#include "event/names.h"
#include "event/result.h"

namespace syndrome::trace {

/// How far a source has come, in bytes of its file as stored.
struct Progress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // 0 when unknown (a pipe)
};

class Source {
 public:
  virtual ~Source() = default;
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// The next events, or an empty batch at the end. The batch is the caller's to change, and lives
  /// until the next call. After an error there is nothing more to read.
  [[nodiscard]] virtual Result<Batch> next() = 0;

  /// Names of every id in the batches so far. Stable between two calls of next().
  [[nodiscard]] virtual const Names& names() const = 0;

  [[nodiscard]] virtual Progress progress() const = 0;

  /// What the user should know although reading went on, complete after the last batch: "the file
  /// ends in the middle of a chunk at byte 1234; 99 events before it were read".
  [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;

  /// The seed of the noise that was made while the trace was recorded (runtime/noise.h); none: no
  /// noise. Known from the beginning.
  [[nodiscard]] virtual std::optional<std::uint64_t> noise() const { return std::nullopt; }

  /// How the recorded process ended; none when the trace does not say. Known from the beginning.
  [[nodiscard]] virtual std::optional<Ended> ended() const { return std::nullopt; }

  /// Blocks that ran and are not in the trace, because they are in no cycle (runtime/draft.h).
  /// Known from the beginning.
  [[nodiscard]] virtual std::uint64_t left_out_blocks() const { return 0; }
};

}  // namespace syndrome::trace
