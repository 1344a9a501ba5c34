// Plays a recording to the watch as if it ran now.

#pragma once

#include <cstdint>
#include <string>

#include "event/result.h"
#include "live/watch.h"

namespace syndrome::live {

/// What the watch makes of the recording `path`, into `output`. The threads' words come in pieces
/// of up to `piece` words, in turns.
[[nodiscard]] Status replay(const std::string& path, const WatchOptions& options,
                            const std::string& output, std::size_t piece);

}  // namespace syndrome::live
