// The lines of source files, for reports to show. A trace may come from another machine or another
// checkout: a file that is not there is no error, it is just not shown.

#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syndrome::report {

class SourceLines {
 public:
  struct Options {
    /// Where relative names are looked for beside the current directory: the trace's own folder.
    std::string folder;
    /// When the trace was recorded; a file that is newer has changed. 0: not known.
    std::time_t recorded = 0;
  };

  explicit SourceLines(Options options) : options_(std::move(options)) {}

  struct File {
    bool changed = false;
    std::vector<std::string> lines;
  };

  /// The file that a site calls `name`: under that name; in the trace's folder; and, when the name
  /// is absolute, under its last parts in the current directory ("src/bank.cc" for
  /// "/home/ann/bank/src/bank.cc"), so that another checkout will do. Null when there is none that
  /// is a regular file of at most kMostBytes. Each file is read once.
  [[nodiscard]] const File* find(const std::string& name);

  [[nodiscard]] std::size_t files_read() const { return files_read_; }

  static constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
  static constexpr std::size_t kMostColumns = 400;  // bytes of a line that are kept

 private:
  [[nodiscard]] std::optional<File> read(const std::string& path);

  Options options_;
  std::map<std::string, std::optional<File>, std::less<>> files_;
  std::size_t files_read_ = 0;
};

/// When the file was last written; 0 when that is not known.
[[nodiscard]] std::time_t time_of(const std::string& file);

/// The folder that a file is in: "" for the current one.
[[nodiscard]] std::string folder_of(std::string_view file);

}  // namespace syndrome::report
