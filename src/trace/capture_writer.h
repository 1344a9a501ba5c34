// Writes a recording: the words of a program's threads (event/wire.h) and what they speak of, in
// chunks of a .syn file (docs/trace-format.md). Knows nothing of what the words mean.
//
// Fast rather than small: it runs beside the program that is recorded.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/result.h"
#include "trace/syn_format.h"
#include "trace/syn_sections.h"
#include "trace/word_codec.h"

namespace syndrome::trace {

/// Packs words into whole chunks. Threads that pack beside each other have one each.
class WordPacker {
 public:
  /// The words of a thread from its word number `first` on, at most kMaxChunkWords of them. Good
  /// until the next call.
  [[nodiscard]] Bytes pack(std::uint32_t thread, std::uint64_t first,
                           std::span<const std::uint64_t> words);

 private:
  WordEncoder encoder_;
};

class CaptureWriter {
 public:
  /// zstd's level for metadata; words are packed by their own codec alone.
  static constexpr int kDefaultLevel = 1;

  /// Creates the file, or empties it. An error that says why not (without the path).
  [[nodiscard]] static Result<CaptureWriter> create(const std::string& path,
                                                    int level = kDefaultLevel);
  /// The same on a file that is open for writing, which is emptied and closed in the end.
  [[nodiscard]] static Result<CaptureWriter> adopt(int fd, int level = kDefaultLevel);

  CaptureWriter(CaptureWriter&& other) noexcept;
  CaptureWriter& operator=(CaptureWriter&& other) noexcept;
  /// Without close() the file has no end chunk and reads as cut off.
  ~CaptureWriter();

  /// The words of a thread from its word number `first` on, which should go on where its words
  /// before ended. One call is one chunk (several when there are more than kMaxChunkWords): a few
  /// thousand words a call are cheapest. When it returns, the chunk is with the system: it outlives
  /// the death of this process.
  [[nodiscard]] Status words(std::uint32_t thread, std::uint64_t first,
                             std::span<const std::uint64_t> words);
  /// A chunk that a WordPacker has made.
  [[nodiscard]] Status packed(Bytes chunk);
  /// The next bytes of the metadata, cut wherever the caller likes.
  [[nodiscard]] Status meta(std::span<const std::byte> bytes);
  /// Writes the end chunk. Nothing may follow.
  [[nodiscard]] Status close();

  /// Of the file so far, whole chunks only.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  // After an error (a full disk) the file ends behind its last whole chunk, and every call gives
  // the same error again.

 private:
  CaptureWriter(int fd, int level) : fd_(fd), sections_(level) {}
  void start_chunk();
  /// Of a chunk with its payload behind room for the header.
  [[nodiscard]] Status finish_chunk(ChunkHeader header, std::span<std::byte> chunk);
  [[nodiscard]] Status write_all(Bytes bytes);
  [[nodiscard]] Status fail_writing(int error);

  int fd_ = -1;
  bool closed_ = false;
  std::optional<Error> failure_;
  std::uint64_t bytes_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t meta_bytes_ = 0;
  SectionWriter sections_;
  WordPacker packer_;
  std::vector<std::byte> chunk_;
};

}  // namespace syndrome::trace
