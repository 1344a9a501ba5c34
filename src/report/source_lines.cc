#include "report/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace syndrome::report {
namespace {

/// Build and recording may fall into the same second, and clocks of file systems are coarse.
constexpr std::time_t kSlack = 2;

/// Where in the current directory a file of another checkout may be, longest name first.
std::vector<std::string> last_parts(const std::string& name) {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> parts;
  for (std::size_t slash = name.find('/'); slash != std::string::npos && parts.size() < kMost;
       slash = name.find('/', slash + 1)) {
    if (slash + 1 < name.size() && name[slash + 1] != '/') parts.push_back(name.substr(slash + 1));
  }
  return parts;
}

}  // namespace

const SourceLines::File* SourceLines::find(const std::string& name) {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second ? &*known->second : nullptr;
  std::vector<std::string> paths = {name};
  if (name.starts_with('/')) {
    std::ranges::move(last_parts(name), std::back_inserter(paths));
  } else if (!options_.folder.empty()) {
    paths.push_back(options_.folder + "/" + name);
  }
  std::optional<File> file;
  for (const std::string& path : paths) {
    file = read(path);
    if (file) break;
  }
  const auto& stored = files_.emplace(name, std::move(file)).first->second;
  return stored ? &*stored : nullptr;
}

std::optional<SourceLines::File> SourceLines::read(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) return std::nullopt;
  // Not blocking: the name is the trace's, and may be a pipe's.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  struct stat status{};
  std::string text;
  bool good = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
              status.st_size <= static_cast<off_t>(kMostBytes);
  if (good) {
    text.resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t got = ::read(descriptor, text.data() + done, text.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    good = done == text.size();
  }
  ::close(descriptor);
  if (!good) return std::nullopt;
  ++files_read_;
  File file;
  file.changed = options_.recorded != 0 && status.st_mtime > options_.recorded + kSlack;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string& line = file.lines.emplace_back(text, start, std::min(end - start, kMostColumns));
    if (line.ends_with('\r')) line.pop_back();
    start = end + 1;
  }
  return file;
}

std::time_t time_of(const std::string& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? status.st_mtime : 0;
}

std::string folder_of(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(file.substr(0, slash));
}

}  // namespace syndrome::report
