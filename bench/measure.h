// What the table and the results have in common: traces made by bench_generate, and the commands
// that are measured on them.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner.h"

namespace syndrome::bench {

/// A run that takes longer is killed and counts as this long.
inline constexpr double kLimitSeconds = 120;

/// A trace on disk, twice: prefix.std and prefix.syn. Removed with this object.
struct TraceFiles {
  std::string prefix;
  std::uint64_t events = 0;
  std::uint64_t threads = 0;
  std::uint64_t locks = 0;
  std::uint64_t variables = 0;
  std::uint64_t blocks = 0;

  TraceFiles() = default;
  TraceFiles(TraceFiles&& other) noexcept;
  TraceFiles& operator=(TraceFiles&&) = delete;
  ~TraceFiles();

  [[nodiscard]] std::string path(std::string_view format) const {
    return prefix + "." + std::string(format);
  }
  [[nodiscard]] double bytes_per_event(std::string_view format) const;
};

enum class Violations : bool { kClean, kAsTheRowSays };

/// Our programs, and where traces may be put.
struct Tools {
  std::string bin;        // directory with syndrome and bench_*
  std::string directory;  // for traces

  [[nodiscard]] TraceFiles generate(std::string_view name, std::uint64_t events,
                                    Violations violations) const;
  [[nodiscard]] Run decode(const std::string& file) const;
  /// Only the verdict, as decide.cc gives it.
  [[nodiscard]] Run decide(std::string_view engine, const std::string& file) const;
  /// `check` of a trace whose verdict does not matter here.
  [[nodiscard]] Run check(std::string_view engine, const std::string& file, bool first) const;
};

/// Argument number `index` as a number that is not 0, or `otherwise` when there are fewer
/// arguments. Ends the program with `usage` when it is something else.
[[nodiscard]] std::uint64_t number_argument(int argc, char** argv, int index,
                                            std::uint64_t otherwise, std::string_view usage);

}  // namespace syndrome::bench
