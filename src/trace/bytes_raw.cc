#include "trace/bytes_raw.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace syndrome::trace {
namespace {

// How long a read that waits for a pipe may overlook that it should stop.
constexpr int kStopCheckMilliseconds = 20;

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (valid()) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (valid()) ::close(fd_);
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

Result<Fd> temporary_file() {
  const std::string folder = temporary_folder();
  Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid()) {
    // Not every file system has O_TMPFILE.
    std::string name = folder + "/syndrome-XXXXXX";
    file = Fd(::mkostemp(name.data(), O_CLOEXEC));
    if (file.valid()) ::unlink(name.c_str());
  }
  if (!file.valid()) {
    return Error{fmt::format(
        "cannot make a temporary file in {}: {}; set TMPDIR to a folder that can be written",
        folder, std::strerror(errno))};
  }
  return file;
}

Status write_all(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return Error{std::strerror(errno)};
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::unique_ptr<RawFile>> RawFile::open(const std::string& path) {
  auto file = std::make_unique<RawFile>();
  const bool standard_input = path == "-";
  file->fd_ = Fd(standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status{};
  if (!file->fd_.valid() || ::fstat(file->fd_.get(), &status) != 0) {
    return Error{fmt::format("cannot open {}: {}", standard_input ? "standard input" : "the file",
                             std::strerror(errno))};
  }
  if (S_ISDIR(status.st_mode)) {
    return Error{"is a folder; expected a trace file, or - for standard input"};
  }
  // Standard input may be a file of which somebody has read a part already.
  file->seekable_ =
      S_ISREG(status.st_mode) && (!standard_input || ::lseek(file->fd_.get(), 0, SEEK_CUR) == 0);
  if (file->seekable_) file->size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

Result<std::size_t> RawFile::read_at(std::uint64_t offset, std::span<char> buffer,
                                     const std::stop_token& stop) {
  int fd = fd_.get();
  if (!seekable_) {
    assert(offset <= spooled_);
    if (offset == spooled_) return read_pipe(buffer, stop);
    fd = spool_.get();
    buffer = buffer.first(std::min<std::uint64_t>(buffer.size(), spooled_ - offset));
  }
  while (true) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) {
      return Error{fmt::format("cannot read at byte {}: {}", offset, std::strerror(errno))};
    }
  }
}

Result<std::size_t> RawFile::read_pipe(std::span<char> buffer, const std::stop_token& stop) {
  if (ended_) return std::size_t{0};
  if (!spool_.valid()) {
    Result<Fd> spool = temporary_file();
    if (!spool) return spool.error();
    spool_ = std::move(*spool);
  }
  while (stop.stop_possible()) {
    if (stop.stop_requested()) return Error{"reading was stopped"};
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kStopCheckMilliseconds) != 0) break;
  }
  ssize_t count = 0;
  do {
    count = ::read(fd_.get(), buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return Error{fmt::format("cannot read at byte {}: {}", spooled_, std::strerror(errno))};
  }
  if (count == 0) ended_ = true;
  const auto bytes = buffer.first(static_cast<std::size_t>(count));
  if (const Status kept = write_all(spool_.get(), bytes); !kept.ok()) {
    return Error{fmt::format(
        "cannot keep a copy of the input in {} for a second pass: {}; set TMPDIR to a folder with "
        "more room, or give a file instead of a pipe",
        temporary_folder(), kept.error().message)};
  }
  spooled_ += bytes.size();
  return bytes.size();
}

}  // namespace syndrome::trace
