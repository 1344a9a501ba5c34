// Answers questions about a trace, whatever its size: how much happened where, what is open or
// waits in a part of it, where something comes next.
//
// A question about few events is answered by looking at them, one about many by the index; either
// way the answer is exact. May be asked by several threads.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "event/event.h"
#include "event/result.h"
#include "explore/open.h"

namespace syndrome::explore {

/// Events that a question may look at one by one: some 50 ms.
inline constexpr std::uint64_t kMostWalked = std::uint64_t{2} << 20U;
/// For which single blocks and waits are told.
inline constexpr std::uint64_t kMostSpanned = 65536;

/// Events from … to - 1.
struct Range {
  EventNumber from = 1;
  EventNumber to = 1;
};

/// What one thread did, column by column.
struct Lane {
  ThreadId thread;
  std::vector<std::uint64_t> events;
  std::vector<std::uint64_t> writes;  // of those, writes and atomic updates
  std::vector<std::uint64_t> inside;  // of those, inside of a block
  std::vector<std::uint64_t> waited;  // positions at which it stood still for a lock
};

/// Column i is about the events first + i * width … first + (i + 1) * width - 1.
struct View {
  EventNumber first = 1;
  std::uint64_t width = 1;
  std::vector<std::uint64_t> events;  // of all threads
  std::vector<std::uint64_t> waited;
  std::vector<Lane> lanes;
};

struct BlockSpan {
  ThreadId thread;
  EventNumber begin = 0;
  EventNumber end = 0;  // 0: further on
  LabelId label;
  friend bool operator==(const BlockSpan&, const BlockSpan&) = default;
};

/// What is open, or waits, somewhere in a range.
struct Spans {
  std::vector<BlockSpan> blocks;
  std::vector<Wait> waits;
};

class Explorer {
 public:
  explicit Explorer(Opened opened);

  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] const Names& names() const { return file_->names(); }
  [[nodiscard]] EventNumber events() const { return index_.events; }

  /// The range in about `columns` columns, of which lanes for `threads` threads from `first` on.
  /// Columns are wider where the range is too large to look at single events.
  [[nodiscard]] Result<View> view(Range range, std::uint64_t columns, ThreadId first,
                                  std::size_t threads);

  /// Of at most kMostSpanned events.
  [[nodiscard]] Result<Spans> spans(Range range);

  /// How often each thread did what in the range, by key (explore/density.h), ascending.
  [[nodiscard]] Result<std::vector<std::pair<std::uint32_t, std::uint64_t>>> counts(Range range);

  struct Found {
    EventNumber event = 0;   // 0: not found
    EventNumber resume = 0;  // not found so far: ask again from here; 0: there is none
  };
  /// The next event that has to do with something, at `from` or behind it, or, backwards, before
  /// it. A thread: that it did. A label: where the function or block begins. Anything else: whose
  /// target or site it is. Looks at a bounded number of events at a time.
  [[nodiscard]] Result<Found> find(Space space, std::uint32_t id, EventNumber from, bool forwards);

  /// Leads single events past `take(number, event)`.
  template <class Take>
  [[nodiscard]] Status each(Range range, Take take) {
    return file_->each(range.from, range.to, take);
  }

 private:
  template <class Take, class OnWait>
  [[nodiscard]] Status walk(Range range, Take take, OnWait on_wait);
  [[nodiscard]] bool may_have(Space space, std::uint32_t id, std::uint64_t block) const;

  Index index_;
  std::unique_ptr<EventFile> file_;
  std::vector<Level> levels_;  // index_.base is levels_[0]
};

/// A name that holds `text`, whatever its case.
struct NameMatch {
  Space space = Space::kThread;
  std::uint32_t id = 0;
};
/// At most `most` of each space: what is called just that first, then what begins with it.
[[nodiscard]] std::vector<NameMatch> search_names(const Names& names, std::string_view text,
                                                  std::size_t most);

}  // namespace syndrome::explore
