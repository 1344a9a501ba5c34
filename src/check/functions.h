// What one run shows of its functions: how often each ran, in how many threads, and whether another
// thread was at the same data meanwhile. Who has never been disturbed has not shown that he can
// bear it.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "event/event.h"
#include "event/names.h"

namespace syndrome::check {

/// A function, or a block with a label.
struct FunctionUse {
  std::uint64_t calls = 0;
  /// Calls in which the function's thread and another one accessed the same variable while the call
  /// was open, one of the two by writing.
  std::uint64_t contended = 0;
  std::uint64_t threads = 0;
  /// It began a thread, or was called there by nothing but the library: in a thread other than the
  /// first one, no function of the program itself was open around it.
  bool entry = false;
  bool marked = false;  // the program says itself that it is a block (begin)
};

/// Takes the events as they stand in the trace (before spec/ turns functions into blocks). An exit
/// ends the innermost function of its thread, an end the innermost block. An access is compared
/// with those of the last kMostThreads other threads at the same variable.
class FunctionSurvey {
 public:
  static constexpr std::size_t kMostThreads = 16;

  void take(const Batch& batch, const Names& names);

  /// After the last batch, by name. Functions of the library are left out.
  [[nodiscard]] std::map<std::string, FunctionUse> result(const Names& names);

 private:
  struct Open {
    std::uint32_t label = 0;
    bool counts = false;     // a block that is its function once more does not
    EventNumber number = 0;  // where it was entered
  };
  struct Thread {
    std::vector<Open> functions;  // innermost last
    std::vector<Open> blocks;     // likewise
    std::uint32_t own = 0;        // open functions that are not the library's
    /// A call that was entered before this event has been contended.
    EventNumber disturbed = 0;
  };
  /// The last accesses of one thread to one variable.
  struct Access {
    ThreadId thread;
    EventNumber read = 0;
    EventNumber write = 0;
  };
  struct Label : FunctionUse {
    bool known = false;
    bool library = false;
    ThreadId last;  // thread that ran it
  };

  [[nodiscard]] Thread& thread(ThreadId id);
  [[nodiscard]] Label& label(std::uint32_t id, const Names& names);
  void open(const Event& event, EventNumber number, const Names& names);
  void close(Thread& thread, std::vector<Open>& stack);
  void access(const Event& event, EventNumber number);

  std::vector<Thread> threads_;
  std::vector<std::vector<Access>> variables_;  // most recent thread first
  std::vector<Label> labels_;
  std::unordered_set<std::uint64_t> ran_in_;  // label and thread
};

}  // namespace syndrome::check
