// Runs shell commands as a user would, for tests of the built program.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace syndrome::test {

struct Outcome {
  int code = 0;  // as a shell shows it: 128 + signal for a process that was killed
  std::string out;
  std::string err;
};

/// A directory of its own, removed at the end, that looks enough like a clone after `make build`:
/// `examples/` and `build/bin/` are there, and `syndrome` is on the PATH.
class Shell {
 public:
  Shell();
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// Runs `script` with sh in the directory, without a terminal and with nothing on standard input.
  [[nodiscard]] Outcome run(std::string_view script) const;

  void write(std::string_view name, std::string_view content) const;
  /// Empty when there is no such file.
  [[nodiscard]] std::string read(std::string_view name) const;
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

/// Where the project is.
[[nodiscard]] std::filesystem::path source_directory();

[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace syndrome::test
