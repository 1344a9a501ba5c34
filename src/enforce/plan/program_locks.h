// The program's own locks: who calls whom, which locks may be held where. What a function does to
// locks counts where it is called, so that a program may have its own functions for locking.
//
// A function that gives a lock back somewhere and does not surely return with it is believed to
// give it back on every path on which it has it. Which paths those are depends on values (whether a
// trylock succeeded, whether an item was found), which are not followed; without that belief, one
// trylock in a loop seems to hold its lock for as long as the program runs. Likewise a call through
// a pointer, which may lead to any function of its type, is believed to return with a lock only if
// each of them does. Where a belief is wrong, an order may be missed; then lock_runtime/ sees the
// cycle when it is there, and goes on without a lock of ours.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "enforce/plan/place.h"
#include "enforce/plan/program.h"

namespace syndrome::enforce {

using LockNumber = std::uint32_t;  // ours first, then the program's
using LockSet = std::set<LockNumber>;

class CallGraph {
 public:
  /// Calls through pointers lead to every function of the same type whose address is taken.
  explicit CallGraph(const Program& program);

  /// Functions that the node may call, and the nodes of a function that may call any.
  [[nodiscard]] const std::vector<std::uint32_t>& callees(std::uint32_t f, NodeId node) const {
    static const std::vector<std::uint32_t> kNobody;
    const auto found = callees_[f].find(node);
    return found == callees_[f].end() ? kNobody : found->second;
  }
  [[nodiscard]] const std::map<NodeId, std::vector<std::uint32_t>>& calls_of(
      std::uint32_t f) const {
    return callees_[f];
  }
  [[nodiscard]] const std::set<std::uint32_t>& callers(std::uint32_t f) const {
    return callers_[f];
  }

 private:
  std::vector<std::map<NodeId, std::vector<std::uint32_t>>> callees_;
  std::vector<std::set<std::uint32_t>> callers_;
};

class ProgramLocks {
 public:
  /// Numbers them from `first` on.
  ProgramLocks(const Program& program, const std::vector<Graph>& graphs, const CallGraph& calls,
               std::size_t first);

  /// What a node leaves behind: locks that may be held and those that surely are; those that surely
  /// are not, and those that may have been given back on the way.
  struct Effect {
    LockSet holds;
    LockSet surely_holds;
    LockSet releases;
    LockSet may_release;
    bool may_release_any = false;  // one that has no name
    friend bool operator==(const Effect&, const Effect&) = default;
  };
  [[nodiscard]] Effect effect_of(std::uint32_t f, NodeId node) const;

  /// Of a node that takes or gives back a lock.
  [[nodiscard]] LockNumber number_of(const Node& node) const {
    return merged_.has_value() ? *merged_ : numbers_.at(node.lock);
  }
  [[nodiscard]] const std::string& name_of(LockNumber lock) const { return names_[lock - first_]; }
  [[nodiscard]] std::size_t count() const { return names_.size(); }

  /// Locks that may be held when the node is reached, taken in this function.
  [[nodiscard]] const LockSet& before(std::uint32_t f, NodeId node) const {
    static const LockSet kNothing;
    return before_[f].empty() ? kNothing : before_[f][node];
  }
  /// Whether the function, or one that it calls, leaves locks otherwise than it found them, or
  /// takes any.
  [[nodiscard]] bool concerns(std::uint32_t f) const { return !before_[f].empty(); }

 private:
  void number();
  void follow_all();
  Effect follow(std::uint32_t f);

  const Program& program_;
  const std::vector<Graph>& graphs_;
  const CallGraph& calls_;
  std::size_t first_;
  std::map<std::string, LockNumber> numbers_;
  std::vector<std::string> names_;
  std::optional<LockNumber> merged_;
  [[nodiscard]] bool may_release(const Effect& effect, LockNumber lock) const {
    return effect.may_release_any || effect.may_release.contains(lock);
  }
  std::vector<Effect> effects_;               // by function
  std::vector<std::vector<LockSet>> before_;  // by function and node
};

}  // namespace syndrome::enforce
