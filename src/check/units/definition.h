// The definition of activations and steps, written out plainly: of an access, the whole stack of
// its thread as it was. What the detector keeps in a few words (activations.h, detector.h) is
// compared with this, and findings are verified by it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "event/event.h"
#include "event/names.h"

namespace syndrome::check::units {

/// A function that was running, by the event that entered it.
struct Running {
  EventNumber begin = 0;
  Event enter;
};

/// All that the definition asks of an access.
struct Snapshot {
  EventNumber number = 0;
  Event event;
  std::vector<Running> stack;          // functions of the program, outermost first
  std::vector<SiteId> steps;           // of each of them, the last being the access's own
  std::map<LockId, EventNumber> held;  // and since when
  std::uint32_t forks = 0;             // forks and joins of the thread before
  std::uint32_t waits = 0;
};

/// The innermost activation that has both, as an index into the stacks; none: there is none.
[[nodiscard]] std::optional<std::size_t> innermost_common(const Snapshot& a, const Snapshot& b);

class Stacks {
 public:
  /// Every event, in order. The access, if it is one.
  std::optional<Snapshot> take(const Event& event, EventNumber number, const Names& names);

  /// Where the activation ended that began there; 0: it is open.
  [[nodiscard]] EventNumber end_of(EventNumber begin) const {
    const auto found = ends_.find(begin);
    return found == ends_.end() ? 0 : found->second;
  }
  /// Whose ends are wanted.
  void watch(EventNumber begin) { ends_.try_emplace(begin, 0); }

 private:
  struct Open {
    Running function;
    bool library = false;
    bool transparent = false;  // a mark of ours
    bool called_back = false;
  };
  struct Thread {
    std::vector<Open> open;
    std::map<LockId, EventNumber> held;
    std::uint32_t forks = 0;
    std::uint32_t waits = 0;
  };
  std::vector<Thread> threads_;
  std::map<EventNumber, EventNumber> ends_;
};

}  // namespace syndrome::check::units
