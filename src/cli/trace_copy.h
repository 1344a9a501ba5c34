// From a source into a trace file: what `convert` and `generate` have in common.

#pragma once

#include <string>

#include "trace/source.h"

namespace syndrome::cli {

/// Copies every event and gives the exit code. `from` is the source's name in messages. After an
/// error or Ctrl-C the file does not look whole: a .syn reads as cut off, a .std is not there.
[[nodiscard]] int copy_trace(trace::Source& source, const std::string& from,
                             const std::string& path, const std::string& to);

}  // namespace syndrome::cli
