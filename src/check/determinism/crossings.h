// Which inner blocks may not be externally serializable: a filter in front of the search.
//
// Each block in another one has a transaction graph of its own, in which the blocks around it are
// dissolved. To build them all would cost as many engines as there are blocks with blocks inside.
// But a block can only be on a cycle that leaves it and comes back later if some conflict leads
// out of it at an event, and some conflict leads into it at a later one. If no block has both,
// nothing is wrong with any. What has both is a candidate, and the blocks around it are listed for
// the search (flatten.h with `dissolved`).
//
// Exact in one direction only: what is no candidate is serializable, as far as the events that were
// shown tell. A conflict is looked for between an operation and the last ones of its object, which
// stand for all before.

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "check/determinism/blocks.h"
#include "event/event.h"
#include "event/names.h"

namespace syndrome::check::determinism {

class Crossings {
 public:
  struct Options {
    /// Also blocks that a conflict enters before another leaves them: they may be blamed for a
    /// cycle of conflicts that this filter does not see as such. For a trace that is known to have
    /// one.
    bool wide = false;
    std::size_t most = 64;  // blocks around candidates that are listed
  };

  Crossings(const Blocks& blocks, Options options) : blocks_(blocks), options_(options) {}

  /// Every event that can conflict, between Blocks::enter and Blocks::leave.
  void take(const Event& e, EventNumber n, const Names& names) {
    if (blocks_.nested() == 0) [[likely]]
      return;
    if (!started_) start(names);
    look(e, n);
  }

  /// In place of take() for an access that is not to be looked at: a join comes after it. Enough
  /// for the first of several in a row, because the earlier a way out, the more candidates.
  void pass(const Event& e, EventNumber n) {
    if (blocks_.nested() != 0) acts(e.thread, n);
  }

  /// For each block that a candidate is directly in: it and the blocks around it, outermost first;
  /// by its begin.
  [[nodiscard]] const std::map<EventNumber, std::vector<EventNumber>>& around_candidates() const {
    return around_;
  }
  [[nodiscard]] std::uint64_t candidates() const { return candidates_; }
  /// There were more than Options::most to list.
  [[nodiscard]] bool cut_off() const { return cut_off_; }

 private:
  struct Record {
    std::shared_ptr<Record> parent;
    EventNumber begin = 0;
    std::uint32_t depth = 0;
    EventNumber left = std::numeric_limits<EventNumber>::max();  // the first way out
    EventNumber entered = 0;                                     // the last way in
    bool candidate = false;
  };
  using Place = std::shared_ptr<Record>;  // innermost block; none outside of all
  struct Party {
    ThreadId thread;
    Place place;
    EventNumber number = 0;
  };
  struct Object {
    std::vector<Party> strong;  // whom every later party comes after
    std::vector<Party> weak;    // readers, shared releases
  };

  void start(const Names& names);
  void look(const Event& e, EventNumber n);
  /// Notes where the thread is now.
  Place acts(ThreadId thread, EventNumber n);
  [[nodiscard]] Place place_of(BlockIndex block);
  Object& object(Space space, std::uint32_t target);
  void cross(const Party& from, ThreadId thread, const Place& to, EventNumber n);
  void leaves(Record& record, EventNumber n);
  void enters(Record& record, EventNumber n);
  void judge(Record& record);
  void edges(const std::vector<Party>& parties, ThreadId thread, const Place& to, EventNumber n) {
    for (const Party& party : parties) cross(party, thread, to, n);
  }
  void record(std::vector<Party>& parties, ThreadId thread, const Place& place, EventNumber n);

  const Blocks& blocks_;
  Options options_;
  bool started_ = false;
  std::vector<std::size_t> known_;  // by space: names that were there before we looked
  std::vector<Place> places_;       // by block
  tsl::robin_map<std::uint64_t, Object> objects_;
  std::vector<Party> last_;  // by thread
  std::map<EventNumber, std::vector<EventNumber>> around_;
  std::uint64_t candidates_ = 0;
  bool cut_off_ = false;
};

}  // namespace syndrome::check::determinism
