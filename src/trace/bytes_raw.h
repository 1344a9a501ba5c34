// The stored bytes of a file, readable from any offset: the part of bytes.h that knows file
// descriptors.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "event/result.h"

namespace syndrome::trace {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release();

 private:
  int fd_ = -1;
};

/// A new file without a name in $TMPDIR (or /tmp), open for reading and writing.
[[nodiscard]] Result<Fd> temporary_file();

/// Writes all of it, or says why not.
[[nodiscard]] Status write_all(int fd, std::span<const char> bytes);

class RawFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<RawFile>> open(const std::string& path);

  /// At least one byte, or 0 at the end of the file. `offset` is not beyond what was read before.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer,
                                            const std::stop_token& stop);

  [[nodiscard]] bool seekable() const { return seekable_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  [[nodiscard]] Result<std::size_t> read_pipe(std::span<char> buffer, const std::stop_token& stop);

  Fd fd_;
  bool seekable_ = false;
  std::uint64_t size_ = 0;
  // Of a pipe: everything that came out of it so far.
  Fd spool_;
  std::uint64_t spooled_ = 0;
  bool ended_ = false;
};

}  // namespace syndrome::trace
