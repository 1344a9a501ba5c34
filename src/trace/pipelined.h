// A source that runs another one in a thread of its own, a few batches ahead of its reader.

#pragma once

#include <memory>
#include <stop_token>

#include "trace/source.h"

namespace syndrome::trace {

/// Runs `inner` beside the caller. The same batches, names, warnings and errors come out in the
/// same order. `stop` is requested when the result is destroyed: whatever `inner` may wait for
/// should give up then (bytes.h). When no thread can be had, `inner` itself is returned.
[[nodiscard]] std::unique_ptr<Source> pipelined(std::unique_ptr<Source> inner,
                                                std::stop_source stop = std::stop_source());

}  // namespace syndrome::trace
