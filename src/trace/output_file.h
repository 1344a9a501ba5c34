// Where a text is written to piece by piece, and what every file that we write has in common:
// nobody else can make us write into a file of their choice.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "event/result.h"
#include "trace/bytes_raw.h"

namespace syndrome::trace {

/// An error when `path` is in a folder that all can write to and delete only their own from (/tmp),
/// and somebody else has put there what it leads to: a symbolic link or a file that belongs neither
/// to us nor to the owner of the folder. Linux has the same rule (fs.protected_symlinks,
/// fs.protected_regular), but it can be off, and does not hold for a rename.
[[nodiscard]] Status refuse_planted(const std::string& path);

/// A new file that nobody else has opened, beside the one that it is to become.
struct PartFile {
  Fd fd;
  std::string name;
};
/// With a name that cannot be guessed; never through a link, and never one that is there already.
[[nodiscard]] Result<PartFile> make_part(const std::string& path, mode_t mode = 0666);

/// What to do with a symbolic link that has the name of an output.
enum class Links : std::uint8_t {
  kFollow,   // the user gave the name: replace what the link points to
  kReplace,  // we made the name up: the link goes, what it points to stays
};

/// A file that takes its name at commit(), so that nobody sees half of it, an old one of that name
/// stays whole until then, and a trace can be converted onto itself.
class OutputFile {
 public:
  /// "-" is standard output. A file that is there keeps its mode; a new one gets `mode`, less the
  /// umask.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                                                  Links links = Links::kFollow,
                                                                  mode_t mode = 0666);

  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] Status write(std::span<const char> bytes);
  [[nodiscard]] Status commit();

 private:
  Fd fd_;
  std::string final_;
  std::string part_;
};

}  // namespace syndrome::trace
