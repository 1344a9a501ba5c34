// The lines of source files, for reports to show. A trace may come from another machine or another
// checkout: a file that is not there is no error, it is just not shown. And it may come from
// somebody who wants to see another file: only what is allowed is read (AllowedSources).

#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace syndrome::report {

/// Which files a trace may name. What is below the current directory always is; a directory that is
/// the root of all others allows nothing.
struct AllowedSources {
  /// All of them: the program has just run here, and its trace is ours.
  bool any = false;
  /// Likewise what is below these, where names are looked for, too.
  std::vector<std::string> folders = {};
  /// Files of the traced program by the names that its sites use (report/program_sources.h). Asked
  /// when a file is not below the folders, at most once.
  std::function<std::map<std::string, std::string>()> program = {};
};

class SourceLines {
 public:
  struct Options {
    /// Where relative names are looked for beside the current directory: the trace's own folder.
    /// It is not allowed for that alone.
    std::string folder;
    /// When the trace was recorded; a file that is newer has changed. 0: not known.
    std::time_t recorded = 0;
    AllowedSources allowed = {};
  };

  explicit SourceLines(Options options);

  struct File {
    bool changed = false;
    std::vector<std::string> lines;
  };

  /// The file that a site calls `name`: under that name; in the allowed folders and that of the
  /// trace; and, when the name is absolute, under its last parts in the current directory and the
  /// allowed folders ("src/bank.cc" for "/home/ann/bank/src/bank.cc"), so that another checkout
  /// will do. Null when there is none that is allowed, where symbolic links end, and a regular file
  /// of at most kMostBytes. Each file is read once.
  [[nodiscard]] const File* find(const std::string& name);

  /// Names of regular files that are there and not allowed.
  [[nodiscard]] const std::set<std::string>& left_out() const { return left_out_; }

  [[nodiscard]] std::size_t files_read() const { return files_read_; }

  static constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
  static constexpr std::size_t kMostColumns = 400;  // bytes of a line that are kept

 private:
  [[nodiscard]] std::vector<std::string> paths_of(const std::string& name);
  [[nodiscard]] bool allowed(const std::string& name, const std::string& real);
  [[nodiscard]] std::optional<File> read(const std::string& real);
  [[nodiscard]] const std::map<std::string, std::string>& program();

  Options options_;
  std::vector<std::string> folders_;  // allowed ones, without symbolic links
  std::optional<std::map<std::string, std::string>> program_;
  std::set<std::string> left_out_;
  std::map<std::string, std::optional<File>, std::less<>> files_;
  std::size_t files_read_ = 0;
};

/// When the file was last written; 0 when that is not known.
[[nodiscard]] std::time_t time_of(const std::string& file);

/// The folder that a file is in: "" for the current one.
[[nodiscard]] std::string folder_of(std::string_view file);

}  // namespace syndrome::report
