// Writes .syn files (docs/trace-format.md).

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "event/result.h"
#include "trace/bytes_raw.h"
#include "trace/sink.h"

namespace syndrome::trace {

struct SynWriteOptions {
  /// zstd's. On generated traces 3 is within 1% of 1 in size and no quicker; -1 is 10 to 30% larger
  /// and up to a quarter quicker to read. 0: nothing is compressed.
  int level = 1;
  /// At most kMaxChunkEvents. What a crash can cost is less than this many events.
  std::uint32_t chunk_events = 65536;
};

/// "-" is standard output. Each chunk is written at once when it is full: a file that was cut off
/// by a crash or a full disk has all chunks before. Flags of events are not kept.
[[nodiscard]] Result<std::unique_ptr<Sink>> write_syn(const std::string& path,
                                                      SynWriteOptions options = {});

/// Likewise, into a file that is open and empty.
[[nodiscard]] Result<std::unique_ptr<Sink>> write_syn(Fd file, SynWriteOptions options = {});

}  // namespace syndrome::trace
