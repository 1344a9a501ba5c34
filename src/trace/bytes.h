// The bytes of a file that the user named, whatever holds them: a plain file, a gzip or zstd file
// (known by its first bytes, decompressed while it is read), a pipe, or "-" for standard input.
//
// What cannot be read twice (a pipe) is copied to an unlinked temporary file in $TMPDIR while it is
// read for the first time. Then every pass starts at the first byte again, even when the pass
// before stopped half-way: it reads the copy first and goes on with the pipe.
//
// Plain files are read, not mapped: a file that is cut while it is read would kill a program that
// has it mapped. The kernel's copy was 15% of the time in a profile of parsing STD.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "event/result.h"
#include "trace/source.h"

namespace syndrome::trace {

/// One pass over the decompressed bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Writes at least one byte to `buffer` (which is not empty) and returns how many; 0 at the end.
  /// After an error there is nothing more to read.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> buffer) = 0;

  /// In bytes as stored.
  [[nodiscard]] virtual Progress progress() const = 0;
};

class ByteFile {
 public:
  /// Opens, and looks at the first bytes for compression. May block on a pipe that has no writer.
  [[nodiscard]] static Result<ByteFile> open(const std::string& path);

  ByteFile(ByteFile&&) noexcept;
  ByteFile& operator=(ByteFile&&) noexcept;
  ~ByteFile();

  /// A pass from the first byte. At most one pass is in use at a time. When `stop` is requested, a
  /// read that waits for a pipe gives up with an error.
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> read(std::stop_token stop = {}) const;

  /// A path by which the decompressed bytes can be opened as a seekable file, as long as this
  /// object lives. For compressed files and pipes that is an unlinked temporary copy.
  [[nodiscard]] Result<std::string> seekable_path();

  [[nodiscard]] std::uint64_t size() const;  // as stored; 0 when unknown

 private:
  struct State;
  explicit ByteFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace syndrome::trace
