// The file that a trace is written to, and the claim on it: two recordings that write to one file
// would spoil each other's.

#pragma once

#include <string>

#include "event/result.h"
#include "trace/output_file.h"

namespace syndrome::record {

/// An open file that no other recording writes to while this lives, or while a process lives that
/// was forked from this one and still has it. The claim is a lock of the file itself (flock), so
/// that nothing is left of it when its owner is killed. Devices and pipes are not claimed, nor are
/// files on a file system without locks.
class Output {
 public:
  Output() = default;
  /// Opens `path` and leaves its content as it is; a file that was not there is empty then. An
  /// error says why it cannot be written, without the path.
  /// With kReplace the name is one that we made up (FILE.PID): nothing but a regular file will do,
  /// and no link is followed.
  [[nodiscard]] static Result<Output> claim(const std::string& path,
                                            trace::Links links = trace::Links::kFollow);

  Output(Output&& other) noexcept;
  Output& operator=(Output&& other) noexcept;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  /// Empty, or who else is writing to the file: then it is not open here.
  [[nodiscard]] const std::string& other() const { return other_; }
  /// Whether `path` still is this file: it may have been removed or replaced since.
  [[nodiscard]] bool is_at(const std::string& path) const;
  /// The file, for whoever writes it; -1: an error. The claim lasts as long as either is open.
  [[nodiscard]] int duplicate() const;
  /// Removes the file if claim() made it and nothing has been written to it.
  void remove_unused(const std::string& path) const;

 private:
  int fd_ = -1;
  bool created_ = false;
  std::string other_;
};

}  // namespace syndrome::record
