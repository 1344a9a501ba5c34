#include "cli/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "event/clean.h"
#include "trace/output_file.h"
#include "trace/std_format.h"
#include "trace/syn_writer.h"

namespace syndrome::cli {
namespace {

Error cannot(std::string_view what) {
  return Error{fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

Status write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

bool has_suffix(std::string_view path, std::string_view suffix) {
  return path.size() > suffix.size() && path.ends_with(suffix);
}

}  // namespace

void complain(std::string_view message) {
  const std::string line = fmt::format("syndrome: {}\n", clean_lines(message));
  static_cast<void>(write_all(STDERR_FILENO, line));
}

void complain(std::string_view file, const Error& error) {
  complain(fmt::format("{}: {}", file == "-" ? "standard input" : file, error.message));
}

void warn(std::string_view file, std::string_view warning) {
  complain(fmt::format("{}: warning: {}", file == "-" ? "standard input" : file, warning));
}

bool wants_colour(std::string_view when, int descriptor) {
  if (when == "always") return true;
  if (when == "never") return false;
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(descriptor) == 1;
}

Status write_to(int stream, std::string_view text) {
  const Status status = write_all(stream, text);
  if (status) return status;
  return Error{fmt::format("standard {}: {}", stream == STDOUT_FILENO ? "output" : "error",
                           status.error().message)};
}

Status write_stdout(std::string_view text) {
  return write_to(STDOUT_FILENO, text);
}

Status print_lines(std::string_view text) {
  return write_stdout(clean_lines(text));
}

Status write_file(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") return write_stdout(text);
  const auto fail = [&path](const Error& error) {
    return Error{fmt::format("{}: {}", path, error.message)};
  };
  if (const Status planted = trace::refuse_planted(path); !planted) return fail(planted.error());
  struct stat old{};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  // A link is written through, so that it stays a link.
  struct stat link{};
  const bool is_link = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  const bool aside = !is_link && (!exists || S_ISREG(old.st_mode));
  std::string part = path;
  int descriptor = -1;
  if (aside) {
    Result<trace::PartFile> made = trace::make_part(path);
    if (!made) return fail(made.error());
    descriptor = made->fd.release();
    part = std::move(made->name);
  } else {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return fail(cannot("open the file for writing"));
  }
  Status status = write_all(descriptor, text);
  if (::close(descriptor) != 0 && status) status = cannot("write");
  if (aside && status && exists) static_cast<void>(::chmod(part.c_str(), old.st_mode & 0777U));
  if (aside && status && ::rename(part.c_str(), path.c_str()) != 0) {
    status = cannot("give the finished file its name");
  }
  if (status) return {};
  const Error error = status.error();
  if (aside) ::unlink(part.c_str());
  return fail(error);
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const bool standard = path == "-";
  const int descriptor = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot("open");
  std::string text;
  std::string buffer(std::size_t{1} << 16U, '\0');
  std::optional<Error> error;
  while (!error) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error = cannot("read");
    } else if (text.size() + static_cast<std::size_t>(got) > most) {
      error = Error{fmt::format("expected at most {} bytes, found more", most)};
    } else {
      text.append(buffer, 0, static_cast<std::size_t>(got));
    }
  }
  if (!standard) ::close(descriptor);
  if (error) return *error;
  return text;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first{};
  struct stat second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Result<std::unique_ptr<trace::Sink>> open_sink(const std::string& path, const std::string& to) {
  std::string format = to;
  if (format.empty())
    format = has_suffix(path, ".syn") ? "syn" : has_suffix(path, ".std") ? "std" : "";
  if (format.empty()) {
    return Error{fmt::format(
        "-o {}: cannot tell the format; name it .syn or .std, or say --to syn or --to std", path)};
  }
  if (format == "syn" && path == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return Error{"-o -: a .syn trace is binary; write it to a file or a pipe, or say --to std"};
  }
  auto sink = format == "syn" ? trace::write_syn(path) : trace::write_std(path);
  if (!sink) return Error{fmt::format("{}: {}", path, sink.error().message)};
  return sink;
}

std::uint64_t peak_memory() {
  struct rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace syndrome::cli
