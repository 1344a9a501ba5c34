// Where events go: the writers of trace files.

#pragma once

#include <memory>
#include <string>

#include "event/event.h"
#include "event/names.h"
#include "event/result.h"

namespace syndrome::trace {

class Sink {
 public:
  virtual ~Sink() = default;
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Appends events whose names are in `names`. Across calls, `names` only grows.
  [[nodiscard]] virtual Status append(std::span<const Event> events, const Names& names) = 0;

  /// What has been appended can be read from the file now.
  [[nodiscard]] virtual Status flush() = 0;

  /// Flushes and closes; a sink that is destroyed without this leaves a file that reads as cut off.
  [[nodiscard]] virtual Status close() = 0;
};

}  // namespace syndrome::trace
