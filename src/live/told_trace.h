// What the sieve told of a run, as a trace on disk: the events in order (a .syn file), and beside
// it, in FILE.late, those that were told late, with the names of everything. Both are read as one
// trace. They live as long as `syndrome run` and are its own: nobody else's files come here.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/ended.h"
#include "event/event.h"
#include "event/names.h"
#include "event/result.h"
#include "trace/input.h"
#include "trace/sink.h"
#include "trace/source.h"

namespace syndrome::live {

class ToldTraceWriter {
 public:
  [[nodiscard]] static Result<ToldTraceWriter> create(const std::string& path);

  /// The number of the event.
  EventNumber append(const Event& event) {
    events_.push_back(event);
    return ++count_;
  }
  /// An event that comes behind the one of this number, and there behind those of a lower order.
  void late(EventNumber position, std::uint64_t order, const Event& event) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    late_.push_back({position, static_cast<std::uint32_t>(std::min(order, kMost)), ++told_, event});
  }
  [[nodiscard]] EventNumber count() const { return count_; }
  /// The run has noise of this seed (trace::Source::noise).
  void noise(std::uint64_t seed) { noise_ = seed; }
  /// trace::Source::ended
  void ended(const Ended& how) { ended_ = how; }
  /// trace::Source::left_out_blocks
  void left_out(std::uint64_t blocks) { left_out_blocks_ = blocks; }

  /// Writes what has been appended when it is enough to be worth it. `names` has all names so far.
  [[nodiscard]] Status flush(const Names& names) {
    return events_.size() < kWorthwhile ? Status() : write(names);
  }
  /// The trace so far can be read now. Not for each event: the late ones are written anew.
  [[nodiscard]] Status snapshot(const Names& names);
  /// The end. Bytes that were written.
  [[nodiscard]] Result<std::uint64_t> close(const Names& names);

 private:
  struct Late {
    EventNumber position;
    std::uint32_t order;
    std::uint32_t told;  // as which of them
    Event event;
  };
  static_assert(sizeof(Late) == 32, "a run may have millions, and they stay until its end");
  static constexpr std::size_t kWorthwhile = 1 << 14;

  ToldTraceWriter(std::string path, std::unique_ptr<trace::Sink> sink)
      : path_(std::move(path)), sink_(std::move(sink)) {}
  [[nodiscard]] Status write(const Names& names);
  [[nodiscard]] Status write_late(const Names& names);

  std::string path_;
  std::unique_ptr<trace::Sink> sink_;
  std::vector<Event> events_;  // not yet written
  std::deque<Late> late_;
  std::uint32_t told_ = 0;  // late ones
  EventNumber count_ = 0;
  std::optional<std::uint64_t> noise_;
  std::optional<Ended> ended_;
  std::uint64_t left_out_blocks_ = 0;
};

/// The whole of it, as of its last snapshot.
[[nodiscard]] Result<std::unique_ptr<trace::Source>> read_told_trace(
    const std::string& path, const trace::ReadOptions& options);

}  // namespace syndrome::live
