// run --eager: a process that looks at the trace while it grows, and prints what is new.

#pragma once

#include <sys/types.h>

#include <string>

#include "cli/checker.h"

namespace syndrome::cli {

class Eager {
 public:
  /// Begins to look at `trace`, which need not be there yet.
  Eager(const CheckCall& call, const std::string& trace);
  /// Stops looking.
  ~Eager();
  Eager(const Eager&) = delete;
  Eager& operator=(const Eager&) = delete;

 private:
  pid_t pid_ = -1;
};

}  // namespace syndrome::cli
