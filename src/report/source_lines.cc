#include "report/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
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

/// Without symbolic links; empty when there is no such file.
std::string real_path(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) return {};
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? std::string() : std::string(real.get());
}

bool regular(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

SourceLines::SourceLines(Options options) : options_(std::move(options)) {
  folders_.push_back(real_path("."));
  for (const std::string& folder : options_.allowed.folders) folders_.push_back(real_path(folder));
  std::erase_if(folders_, [](const std::string& f) { return f.empty() || f == "/"; });
}

const SourceLines::File* SourceLines::find(const std::string& name) {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second ? &*known->second : nullptr;
  std::optional<File> file;
  bool refused = false;
  for (const std::string& path : paths_of(name)) {
    const std::string real = real_path(path);
    if (real.empty() || !regular(real)) continue;
    if (allowed(name, real)) {
      file = read(real);
    } else {
      refused = true;
    }
    if (file) break;
  }
  if (!file && refused) left_out_.insert(name);
  const auto& stored = files_.emplace(name, std::move(file)).first->second;
  return stored ? &*stored : nullptr;
}

std::vector<std::string> SourceLines::paths_of(const std::string& name) {
  std::vector<std::string> paths = {name};
  if (name.starts_with('/')) {
    for (std::string& part : last_parts(name)) {
      for (const std::string& folder : options_.allowed.folders) {
        paths.push_back(folder + "/" + part);
      }
      paths.push_back(std::move(part));
    }
    return paths;
  }
  for (const std::string& folder : options_.allowed.folders) paths.push_back(folder + "/" + name);
  if (!options_.folder.empty()) paths.push_back(options_.folder + "/" + name);
  // The compiler was called from a folder that the name does not say.
  if (!regular(real_path(name))) {
    if (const auto found = program().find(name); found != program().end()) {
      paths.push_back(found->second);
    }
  }
  return paths;
}

bool SourceLines::allowed(const std::string& name, const std::string& real) {
  if (options_.allowed.any) return true;
  const auto is_below = [&real](const std::string& folder) {
    return real.size() > folder.size() && real.starts_with(folder) && real[folder.size()] == '/';
  };
  if (std::ranges::any_of(folders_, is_below)) return true;
  const auto found = program().find(name);
  return found != program().end() && real_path(found->second) == real;
}

const std::map<std::string, std::string>& SourceLines::program() {
  if (!program_) {
    program_.emplace();
    if (options_.allowed.program) *program_ = options_.allowed.program();
  }
  return *program_;
}

std::optional<SourceLines::File> SourceLines::read(const std::string& real) {
  // Not blocking: what is there may not be a regular file any more.
  const int descriptor =
      ::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
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
