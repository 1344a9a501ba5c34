#include "record/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "record/session.h"

namespace syndrome::record {
namespace {

/// The process that has locked the file, from the kernel's table; 0: not to be found there.
int locker_of(ino_t inode) {
  // 12: FLOCK  ADVISORY  WRITE 4321 fe:00:1311245 0 EOF. The device is not compared: some file
  // systems have another one in stat().
  std::ifstream table("/proc/locks");
  const std::string wanted = fmt::format(":{}", inode);
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string advisory;
    std::string mode;
    std::string file;
    int pid = 0;
    if (words >> number >> kind >> advisory >> mode >> pid >> file && kind == "FLOCK" &&
        mode == "WRITE" && file.ends_with(wanted)) {
      return pid;
    }
  }
  return 0;
}

/// The process as a user knows it: its command line, or that it is gone.
std::string describe(int pid) {
  if (pid <= 0) return "another recording";
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string command{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (command.empty()) {
    return fmt::format("what `syndrome record` (process {}, which has ended) had started", pid);
  }
  if (command.back() == 0) command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  // Of the program's arguments the beginning is enough, and a terminal is no place for the rest.
  std::ranges::replace_if(
      command, [](unsigned char byte) { return byte < ' ' || byte == 0x7f; }, '?');
  constexpr std::size_t kEnough = 200;
  if (command.size() > kEnough) command = command.substr(0, kEnough) + "...";
  return fmt::format("process {} (`{}`)", pid, command);
}

}  // namespace

Result<Output> Output::claim(const std::string& path, trace::Links links) {
  const bool follow = links == trace::Links::kFollow;
  for (;;) {
    if (const Status planted = trace::refuse_planted(path); !planted) return planted.error();
    Output output;
    output.created_ = ::access(path.c_str(), F_OK) != 0;
    // Not blocking: nobody may read from a pipe that somebody has put there.
    const int more = follow ? 0 : O_NOFOLLOW | O_NONBLOCK;
    output.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | more, 0666);
    if (output.fd_ < 0 && errno == EINTR) continue;
    if (output.fd_ < 0 && errno == ELOOP && !follow) return Error{"is a symbolic link"};
    if (output.fd_ < 0) return Error{"cannot be written: " + system_text(errno)};
    struct stat info{};
    if (::fstat(output.fd_, &info) != 0) return output;
    if (!S_ISREG(info.st_mode)) {
      if (!follow) return Error{"is there already, and not a regular file"};
      return output;
    }
    if (::flock(output.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return output;
      Output taken;
      taken.other_ = describe(locker_of(info.st_ino));
      return taken;
    }
    // Whoever had it before may have removed it between our opening and our locking.
    if (output.is_at(path)) return output;
  }
}

Output::Output(Output&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      created_(other.created_),
      other_(std::move(other.other_)) {}

Output& Output::operator=(Output&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(created_, other.created_);
  std::swap(other_, other.other_);
  return *this;
}

Output::~Output() {
  if (fd_ >= 0) ::close(fd_);
}

bool Output::is_at(const std::string& path) const {
  struct stat ours{};
  struct stat there{};
  return fd_ >= 0 && ::fstat(fd_, &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int Output::duplicate() const {
  return ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
}

void Output::remove_unused(const std::string& path) const {
  struct stat info{};
  if (created_ && is_at(path) && ::fstat(fd_, &info) == 0 && info.st_size == 0) {
    ::unlink(path.c_str());
  }
}

}  // namespace syndrome::record
