// From the name of a trace to something that answers: its index, found or built, and its events.
//
// Single events can be read only from a .syn file with events. Of every other trace (a recording,
// text) the pass that builds the index also writes such a file, beside the index.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "event/result.h"
#include "explore/events.h"
#include "explore/index.h"
#include "trace/source.h"

namespace syndrome::explore {

struct OpenOptions {
  unsigned jobs = 0;  // as trace::ReadOptions
  /// While the index is built: how far that is.
  std::function<void(EventNumber events, trace::Progress bytes)> on_progress;
  /// Asked after each batch: whether to give up.
  std::function<bool()> interrupted;
};

struct Opened {
  Index index;
  std::unique_ptr<EventFile> events;
  bool built = false;              // not found: built now
  std::string kept;                // the index file; empty: it could not be kept
  std::vector<std::string> notes;  // what the user should know
};

[[nodiscard]] Result<Opened> open_trace(const std::string& path, const OpenOptions& options);

}  // namespace syndrome::explore
