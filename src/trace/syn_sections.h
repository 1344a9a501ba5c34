// A payload is a row of sections: four bytes of length, then the bytes, compressed where that
// helps.
//
// A column of events is split into planes (all low bytes, then all second bytes, …) and each plane
// is a section of its own, because zstd gives one set of codes to all that it compresses together,
// and low and high bytes have little in common.

#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/syn_format.h"

namespace syndrome::trace {

/// In a section's length: the bytes are a zstd frame.
inline constexpr std::uint32_t kCompressed = 1u << 31;

class SectionWriter {
 public:
  /// zstd's level; 0: nothing is compressed.
  explicit SectionWriter(int level);

  /// Appends one section to `payload`.
  void add(Bytes raw, std::vector<std::byte>& payload);
  void add_uncompressed(Bytes raw, std::vector<std::byte>& payload);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  bool compresses_;
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

class SectionReader {
 public:
  SectionReader();

  /// The next section of `payload`, which must have `size` bytes when unpacked; then `payload` is
  /// what follows it. They are in `room`, which must hold `size` bytes, or still in the payload.
  /// Null when there is no such section.
  [[nodiscard]] const std::byte* next(Bytes& payload, std::size_t size, std::byte* room);

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
};

}  // namespace syndrome::trace
