// For a trace with functions and no blocks: which functions a spec could begin with.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/names.h"

namespace syndrome::check {

/// Functions of the program itself (not of the standard library, not main) in the order in which
/// they are worth a look: first those in which a call takes locks more than once, which is where
/// another thread can come in between; then those that several threads run; then the busiest. Never
/// those that a thread begins with, whose work is meant to be interleaved, nor those that take or
/// let go of a lock for their caller.
class Suggestions {
 public:
  static constexpr std::size_t kMost = 3;

  void take(const Batch& batch, const Names& names);
  /// At most kMost, without parameters, so that they can be put into a spec as they are.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct Open {
    std::uint32_t label = 0;
    std::uint32_t locks = 0;  // taken since it was entered
    std::int64_t held = 0;    // of them, and not let go
  };
  struct Function {
    std::string name;  // empty: of a library
    bool known = false;
    bool unfit = false;  // begins a thread, or locks or unlocks for its caller
    bool several_threads = false;
    bool locks_again = false;  // a call took locks more than once
    std::uint32_t thread = 0;
    std::uint64_t calls = 0;
  };

  void leave(std::vector<Open>& open);

  std::vector<std::vector<Open>> threads_;
  std::vector<Function> functions_;  // by label
};

}  // namespace syndrome::check
