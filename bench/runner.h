// Runs programs and measures them from outside: wall time, peak memory.
//
// Keep the process that uses this small: Linux counts the memory of a process before its exec
// towards its peak, and that is the memory of the process that spawned it. So traces are generated
// by a program of their own (generate.cc).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syndrome::bench {

struct Run {
  double seconds = 0;      // by the clock
  double cpu_seconds = 0;  // of all its threads: what others do on the machine matters less
  std::uint64_t peak_bytes = 0;
  int code = 0;  // 128 + signal for a process that was killed
  bool timed_out = false;
};

/// Runs `command` (its first word is a path) with standard output into the file `out`. Kills it
/// after `limit` seconds. Ends this program with a message when it cannot be started.
[[nodiscard]] Run run(const std::vector<std::string>& command, double limit,
                      const std::string& out = "/dev/null");

/// The same, for a command that must give one of `codes`; otherwise this program ends with a
/// message. A run that timed out is returned.
[[nodiscard]] Run run_expecting(const std::vector<std::string>& command, double limit,
                                const std::vector<int>& codes,
                                const std::string& out = "/dev/null");

/// Compiles the one source of a benchmark program into `output`, as they all are, with a compiler
/// and what it needs beside. Ends this program with a message when that fails.
void compile_program(std::vector<std::string> compiler, const std::string& source,
                     const std::string& output);

/// The middle of `values`, which are not empty; the mean of the two in the middle.
[[nodiscard]] double median(std::vector<double> values);
/// Of values that are positive and not none.
[[nodiscard]] double geometric_mean(const std::vector<double>& values);

/// A directory of its own under $TMPDIR or /tmp, removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// "2 x Intel(R) Xeon(R) …, Linux 6.1": where the figures come from.
[[nodiscard]] std::string machine();
/// "2024-05-01".
[[nodiscard]] std::string today();
/// How many other processes wanted a core during the last minute, as Linux counts them.
[[nodiscard]] double load();

}  // namespace syndrome::bench
