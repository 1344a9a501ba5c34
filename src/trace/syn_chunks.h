// Goes through a .syn file from chunk to chunk and holds every header to what must be true of it:
// checksum, type, bounds, and that it goes on where the chunk of its kind before ended.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event/result.h"
#include "trace/syn_events.h"
#include "trace/syn_format.h"

namespace syndrome::trace {

struct Chunk {
  ChunkHeader header;
  std::vector<std::byte> payload;  // header.stored bytes, or more from an earlier use
  std::uint64_t offset = 0;        // of the header in the file
  // Of the file before this chunk; names count the ids that chunks so far have named.
  std::uint64_t events = 0;
  std::uint64_t chunks = 0;
  NameCounts names{};

  [[nodiscard]] Bytes bytes() const { return Bytes(payload).first(header.stored); }
  [[nodiscard]] std::uint64_t end() const { return offset + kChunkHeaderBytes + header.stored; }
};

class ChunkReader {
 public:
  /// Reads the file's header. An error when there is none, or of a version to come.
  [[nodiscard]] static Result<ChunkReader> open(const std::string& path);

  ChunkReader(ChunkReader&& other) noexcept;
  ChunkReader& operator=(ChunkReader&&) = delete;
  ~ChunkReader();

  enum class Outcome : std::uint8_t {
    kChunk,  // here it is; its payload is not verified yet
    kEnd,    // the file ended behind its end chunk
    kCut,    // the file ended before
  };
  /// After kEnd, kCut or an error there is nothing more. After kCut, `chunk` tells how much came
  /// before, and where the good part ends.
  [[nodiscard]] Result<Outcome> next(Chunk& chunk);
  /// The same without reading the payload, of which only `header` tells. Needs a regular file.
  [[nodiscard]] Result<Outcome> skip(Chunk& chunk);

  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }  // 0 when unknown
  [[nodiscard]] std::uint64_t position() const { return position_; }      // bytes read

 private:
  explicit ChunkReader(int fd) : fd_(fd) {}
  [[nodiscard]] Result<Outcome> take(Chunk& chunk, bool payload);
  [[nodiscard]] Result<bool> skip_payload(const Chunk& chunk);
  [[nodiscard]] Result<std::size_t> read(std::byte* to, std::size_t size);
  [[nodiscard]] Result<bool> read_payload(Chunk& chunk);
  [[nodiscard]] Status check(const Chunk& chunk) const;
  [[nodiscard]] Status check_recorded(const Chunk& chunk) const;
  [[nodiscard]] Status check_file_header();

  int fd_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t position_ = 0;
  bool ended_ = false;  // the end chunk has been read
  std::uint64_t events_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t meta_ = 0;  // bytes of metadata
  NameCounts names_{};
};

/// Whether the payload is as it was written, and for an end chunk, whether the file before it is
/// what it tells (then also in `totals`).
[[nodiscard]] Status verify(const Chunk& chunk, SynTotals* totals = nullptr);

/// "byte 123: what; 99 events before it are good".
[[nodiscard]] Error damage(const Chunk& chunk, std::uint64_t offset, const std::string& what);

/// What to tell the user about a file that has `bytes` bytes and was cut off.
[[nodiscard]] std::string describe_cut(const Chunk& chunk, std::uint64_t bytes);

}  // namespace syndrome::trace
