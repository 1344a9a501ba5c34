#include "trace/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace syndrome::trace {
namespace {

Error cannot(const char* what) {
  return Error{fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

/// The folder that the last part of `path` is in.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Status refuse_planted(const std::string& path) {
  struct stat folder{};
  if (::stat(folder_of(path).c_str(), &folder) != 0) return {};  // opening says why
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  if ((folder.st_mode & kShared) != kShared) return {};
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (found.st_uid == ::geteuid() || found.st_uid == folder.st_uid) return {};
  const bool link = S_ISLNK(found.st_mode);
  if (!link && !S_ISREG(found.st_mode) && !S_ISFIFO(found.st_mode)) return {};
  return Error{fmt::format(
      "is a {} of user {} in a folder that all can write to: not written to; remove it, or give "
      "another name",
      link ? "symbolic link" : "file", found.st_uid)};
}

Result<PartFile> make_part(const std::string& path, mode_t mode) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return cannot("get a random name");
    PartFile part;
    part.name = fmt::format("{}.{:016x}.part", path, number);
    part.fd =
        Fd(::open(part.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (part.fd.valid()) return part;
    if (errno != EEXIST && errno != EINTR) break;
  }
  return cannot("open the file for writing");
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path, Links links,
                                                       mode_t mode) {
  auto file = std::make_unique<OutputFile>();
  if (path == "-") {
    file->fd_ = Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!file->fd_.valid()) return cannot("write to standard output");
    return file;
  }
  const bool follow = links == Links::kFollow;
  if (follow) {
    if (const Status planted = refuse_planted(path); !planted) return planted.error();
  }
  struct stat old{};
  const bool exists = (follow ? ::stat(path.c_str(), &old) : ::lstat(path.c_str(), &old)) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    return Error{"is a folder; expected a file to write to, or - for standard output"};
  }
  if (!follow || !exists || S_ISREG(old.st_mode)) {
    // Through a symbolic link, replace what it points to.
    const std::unique_ptr<char, void (*)(void*)> real(
        follow ? ::realpath(path.c_str(), nullptr) : nullptr, std::free);
    file->final_ = real != nullptr ? real.get() : path;
    if (const Status planted = refuse_planted(file->final_); follow && !planted) {
      return planted.error();
    }
    Result<PartFile> part = make_part(file->final_, mode);
    if (part) {
      file->fd_ = std::move(part->fd);
      file->part_ = std::move(part->name);
      if (exists && follow) static_cast<void>(::fchmod(file->fd_.get(), old.st_mode & 0777U));
      return file;
    }
    if (!follow) return part.error();
  }
  // A device, a pipe, or a file in a folder that takes no new ones.
  file->fd_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
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
