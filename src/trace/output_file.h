// Where a text is written to piece by piece.

#pragma once

#include <memory>
#include <span>
#include <string>

#include "event/result.h"
#include "trace/bytes_raw.h"

namespace syndrome::trace {

/// A file that takes its name at commit(), so that nobody sees half of it, an old one of that name
/// stays whole until then, and a trace can be converted onto itself.
class OutputFile {
 public:
  /// "-" is standard output.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> create(const std::string& path);

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
