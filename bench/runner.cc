#include "runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

namespace syndrome::bench {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  fmt::print(stderr, "bench: {}\n", message);
  std::exit(2);
}

std::string joined(const std::vector<std::string>& command) {
  return fmt::format("{}", fmt::join(command, " "));
}

}  // namespace

Run run(const std::vector<std::string>& command, double limit, const std::string& out) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const auto start = std::chrono::steady_clock::now();
  const int error = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) give_up(fmt::format("cannot start {}: {}", joined(command), strerror(error)));

  Run result;
  // Not pidfd_open(): in glibc 2.36 C++ cannot link it.
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (handle >= 0) {
    pollfd wanted{handle, POLLIN, 0};
    int ready = 0;
    do {
      ready = poll(&wanted, 1, static_cast<int>(limit * 1000));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
      result.timed_out = true;
      kill(child, SIGKILL);
    }
    close(handle);
  }  // else: a kernel without pidfd; then there is no limit
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) give_up(fmt::format("lost {}: {}", joined(command), strerror(errno)));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  result.cpu_seconds = in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
  result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

Run run_expecting(const std::vector<std::string>& command, double limit,
                  const std::vector<int>& codes, const std::string& out) {
  Run result = run(command, limit, out);
  if (!result.timed_out && std::find(codes.begin(), codes.end(), result.code) == codes.end()) {
    give_up(fmt::format("{} ended with {}, expected {}", joined(command), result.code,
                        fmt::join(codes, " or ")));
  }
  return result;
}

void compile_program(std::vector<std::string> compiler, const std::string& source,
                     const std::string& output) {
  constexpr double kLimit = 600;  // seconds
  for (const char* flag : {"-std=c++20", "-O2", "-g", "-pthread"}) compiler.emplace_back(flag);
  for (const std::string& word : {source, std::string("-o"), output}) compiler.push_back(word);
  (void)run_expecting(compiler, kLimit, {0});
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

TemporaryDirectory::TemporaryDirectory() {
  const char* parent = std::getenv("TMPDIR");
  path_ = fmt::format("{}/syndrome-bench-XXXXXX",
                      parent != nullptr && *parent != '\0' ? parent : "/tmp");
  if (mkdtemp(path_.data()) == nullptr) {
    give_up(fmt::format("cannot make a directory {}: {}", path_, strerror(errno)));
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string machine() {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      processor = line.substr(colon + 2);
      break;
    }
  }
  utsname system{};
  uname(&system);
  return fmt::format("{} x {}, {} {}", std::thread::hardware_concurrency(), processor,
                     system.sysname, system.release);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

double load() {
  double value = 0;
  return getloadavg(&value, 1) == 1 ? value : 0;
}

}  // namespace syndrome::bench
