// What could explain that a program failed: values that the thread which ended it had read, and
// that were not what the thread could rely on.
//
//   dirty read   Another thread wrote the value in a function that had not finished: it is still
//                open at the end of the trace, or it wrote the variable again after the read.
//   stale read   Another thread has changed the variable since the read.
//
// What a thread finds that its creator (or who made that one, and so on) wrote before it began is
// its input, and not half done.
//
// It is no check: nothing here is certain to be wrong, and a run that ended well has no such list.
// failure/oracle.h has the definition, slow and obvious.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "event/ended.h"
#include "event/event.h"
#include "event/names.h"

namespace syndrome::check {

enum class ExplanationKind : std::uint8_t { kDirtyRead, kStaleRead };
[[nodiscard]] constexpr std::string_view name_of(ExplanationKind kind) {
  return kind == ExplanationKind::kDirtyRead ? "dirty-read" : "stale-read";
}

struct Explanation {
  ExplanationKind kind = ExplanationKind::kDirtyRead;
  EventNumber read = 0;
  EventNumber write = 0;  // dirty: what was read; stale: the first change after the read
  Event read_event;
  Event write_event;
  /// Of the writer. Dirty: the function that had not finished; stale: the one that wrote. 0: none.
  LabelId function;
  bool open = false;  // that function is open at the end
  /// The function is what its thread began with, and so open as long as the thread is.
  bool outermost = false;
  /// How many of the functions that are open in the failed thread at the end, from the innermost
  /// one, did not run yet at the read. 0: the same activation that failed.
  std::uint32_t level = 0;
  friend bool operator==(const Explanation&, const Explanation&) = default;
};

struct Failure {
  /// The thread that ended the program, when the trace has it.
  std::optional<ThreadId> thread;
  EventNumber last = 0;  // its last event that has a site; 0: none
  Event last_event;
  LabelId function;  // the innermost function that is open in it at the end; 0: none
  std::vector<Explanation> explanations;  // best first, at most kMostExplanations
};

inline constexpr std::size_t kMostExplanations = 5;
/// Only the variables that the thread has read most recently count, of those that others write.
inline constexpr std::size_t kMostVariables = 64;

/// An open function.
struct OpenFunction {
  LabelId function;
  EventNumber enter = 0;
  bool own = false;  // of the program: neither of the library nor a mark (event/names.h)
};

/// The functions that are open in a thread, innermost last. An exit closes its function and what is
/// open inside of it; without a name, the innermost one; one that was never entered does nothing.
class OpenFunctions {
 public:
  void enter(const OpenFunction& function) { stack_.push_back(function); }
  void exit(LabelId function);
  /// Whether none is open after this exit, and one is before it.
  [[nodiscard]] bool ends_with(LabelId function) const;

  /// The innermost own function that was entered before `number`; null: none.
  [[nodiscard]] const OpenFunction* around(EventNumber number) const;
  [[nodiscard]] bool is_outermost(const OpenFunction& function) const;
  [[nodiscard]] bool has(EventNumber enter) const;
  /// Own functions that were entered after `number`.
  [[nodiscard]] std::uint32_t entered_after(EventNumber number) const;
  [[nodiscard]] bool empty() const { return stack_.empty(); }

 private:
  std::vector<OpenFunction> stack_;
};

/// Whether the function is the program's own.
[[nodiscard]] bool is_own(std::string_view function);
/// Whether a thread of this name has this number in its recording: "main", "T3", "T3 \"worker\"".
[[nodiscard]] bool has_number(std::string_view thread, std::uint32_t number);
/// Best first: in the innermost function, then unfinished functions before changes, then the
/// nearest to the end.
void rank(std::vector<Explanation>& explanations);

/// One look at a whole trace, as it stands in its file.
class FailureAnalysis {
 public:
  /// `thread`: its number; none: unknown.
  explicit FailureAnalysis(std::optional<std::uint32_t> thread) : number_(thread) {}

  void take(const Batch& batch, const Names& names);
  [[nodiscard]] Failure result() const;

 private:
  /// The last write to a variable, and the failed thread's reads of it.
  struct Cell {
    EventNumber write = 0;
    ThreadId writer;
    SiteId site;
    std::uint32_t reads = 0;  // 1 + index in reads_
    EventKind kind = EventKind::kWrite;
    MemoryOrder order = MemoryOrder::kPlain;
    bool others = false;  // another thread has written it
  };
  struct Reads {
    std::uint32_t variable = 0;
    EventNumber last = 0;
    Event last_event;
    bool unchanged = false;           // since the last read
    std::optional<Explanation> past;  // of the last read that was changed by another thread
    EventNumber enter = 0;            // of past's function
  };
  struct Thread {
    EventNumber first = 0;
    std::optional<ThreadId> creator;
    OpenFunctions open;
    OpenFunctions ended_with;  // what was open when it last returned from everything
  };

  void find_thread(const Names& names);
  void enter(const Event& event, EventNumber number, const Names& names);
  void read(const Event& event, EventNumber number);
  void write(const Event& event, EventNumber number);
  void changed(Reads& reads, const Cell& before, const Event& event, EventNumber number);
  [[nodiscard]] bool half_done(const Cell& cell) const;
  [[nodiscard]] Thread& thread(ThreadId id);
  [[nodiscard]] std::optional<Explanation> explain(const Reads& reads) const;
  [[nodiscard]] Event write_of(const Cell& cell, std::uint32_t variable) const;

  std::optional<std::uint32_t> number_;
  std::optional<ThreadId> failed_;
  std::size_t looked_at_ = 0;  // names of threads
  std::vector<Thread> threads_;
  std::vector<std::uint8_t> own_;  // by label: 0 unknown, 1 no, 2 yes
  std::vector<Cell> cells_;
  std::vector<Reads> reads_;
  EventNumber last_ = 0;
  Event last_event_;
};

}  // namespace syndrome::check
