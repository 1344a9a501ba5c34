// A trace as a timeline in Chrome's JSON trace format, which the Perfetto viewer opens: a track for
// each thread with its functions and blocks as slices and everything else as instants, a track for
// each lock with who held it, and findings as flows from event to event. A trace has an order and
// no times: event n is shown at n microseconds.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/names.h"
#include "report/report.h"

namespace syndrome::report {

class Timeline {
 public:
  explicit Timeline(std::span<const Report> findings);

  // Each appends to `out`: begin() once, take() for every batch, end() once.
  void begin(std::string& out);
  void take(const Batch& batch, const Names& names, std::string& out);
  void end(std::string& out);

 private:
  /// What a finding says of an event.
  struct Mark {
    std::size_t finding = 0;  // from 1
    bool leaves = false;      // the flow begins here
    std::uint64_t flow = 0;
  };
  struct ThreadState {
    bool named = false;
    std::size_t depth = 0;  // open slices
    EventNumber last = 0;   // its last event
    std::string name;
  };
  struct LockState {
    bool named = false;
    bool open = false;         // has a slice
    std::uint32_t holder = 0;  // or the last one
    EventNumber released = 0;
    std::string name;
  };

  void one(EventNumber number, const Event& event, const Names& names, std::string& out);
  void take_lock(EventNumber number, const Event& event, const ThreadState& thread,
                 const Names& names, std::string& out);
  void release_lock(EventNumber number, const Event& event, std::string& out);
  void mark(EventNumber number, const Event& event, const std::string& words, std::string& out);
  void put(std::string& out, const std::string& object);

  std::multimap<EventNumber, Mark> marks_;
  std::vector<ThreadState> threads_;
  std::vector<LockState> locks_;
  bool first_ = true;
  EventNumber last_ = 0;
};

}  // namespace syndrome::report
