#include "trace/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace syndrome::trace {
namespace {

Error cannot(const char* what) {
  return Error{fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path) {
  auto file = std::make_unique<OutputFile>();
  if (path == "-") {
    file->fd_ = Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!file->fd_.valid()) return cannot("write to standard output");
    return file;
  }
  struct stat old{};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    return Error{"is a folder; expected a file to write to, or - for standard output"};
  }
  if (!exists || S_ISREG(old.st_mode)) {
    // Through a symbolic link, replace what it points to.
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    file->final_ = real != nullptr ? real.get() : path;
    file->part_ = fmt::format("{}.{}.part", file->final_, ::getpid());
    file->fd_ = Fd(::open(file->part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file->fd_.valid()) {
      if (exists) static_cast<void>(::fchmod(file->fd_.get(), old.st_mode & 07777U));
      return file;
    }
    file->part_.clear();
  }
  // A device, a pipe, or a file in a folder that takes no new ones.
  file->fd_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file->fd_.valid()) return cannot("open the file for writing");
  return file;
}

OutputFile::~OutputFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

Status OutputFile::write(std::span<const char> bytes) {
  if (const Status status = write_all(fd_.get(), bytes); !status.ok()) {
    return Error{fmt::format("cannot write: {}", status.error().message)};
  }
  return {};
}

Status OutputFile::commit() {
  // Network file systems tell only here that the disk is full.
  if (::close(fd_.release()) != 0) return cannot("write");
  if (part_.empty()) return {};
  if (::rename(part_.c_str(), final_.c_str()) != 0) return cannot("name the finished file");
  part_.clear();
  return {};
}

}  // namespace syndrome::trace
