// Which live units of a set lead to which other units, for one atomic set.
//
// The conflict graph of a set has a node for each unit of work and an edge u -> v where an access
// of u comes before a conflicting access of v. A unit that is over gets no more edges that lead to
// it. So a new edge x -> u, whose u is the unit that acts, closes a cycle if and only if u leads to
// x, and of each unit it is enough to know which *live* units lead to it:
//
//   of a live unit    all of them, over any path
//   of one that is    those from which a path leads to it through units that are over; what leads
//   over              to those in turn is looked up. Units with the same ones are one group.
//
// What no live unit leads to is in no cycle that is still to come, and is forgotten: close() says
// what that is. This is exact. Units that wait for the same live ones cost one entry together, so a
// unit that stays open while a million others come and go costs no more for each than one that
// does not.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace syndrome::check::atomic_sets {

/// A set of small numbers: one word while all are below 64.
class SmallBits {
 public:
  [[nodiscard]] bool test(std::uint32_t i) const {
    if (i < kWord) return (low_ >> i & 1U) != 0;
    const std::size_t at = i / kWord - 1;
    return at < high_.size() && (high_[at] >> i % kWord & 1U) != 0;
  }
  void set(std::uint32_t i) {
    if (i < kWord) {
      low_ |= std::uint64_t{1} << i;
      return;
    }
    const std::size_t at = i / kWord - 1;
    if (at >= high_.size()) high_.resize(at + 1, 0);
    high_[at] |= std::uint64_t{1} << i % kWord;
  }
  void reset(std::uint32_t i) {
    if (i < kWord) {
      low_ &= ~(std::uint64_t{1} << i);
      return;
    }
    const std::size_t at = i / kWord - 1;
    if (at >= high_.size()) return;
    high_[at] &= ~(std::uint64_t{1} << i % kWord);
    while (!high_.empty() && high_.back() == 0) high_.pop_back();
  }
  void clear() {
    low_ = 0;
    high_.clear();
  }
  [[nodiscard]] bool empty() const { return low_ == 0 && high_.empty(); }
  [[nodiscard]] bool contains(const SmallBits& other) const {
    if ((other.low_ & ~low_) != 0 || other.high_.size() > high_.size()) return false;
    for (std::size_t i = 0; i < other.high_.size(); ++i) {
      if ((other.high_[i] & ~high_[i]) != 0) return false;
    }
    return true;
  }
  void add(const SmallBits& other) {
    low_ |= other.low_;
    if (other.high_.empty()) return;
    if (other.high_.size() > high_.size()) high_.resize(other.high_.size(), 0);
    for (std::size_t i = 0; i < other.high_.size(); ++i) high_[i] |= other.high_[i];
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint64_t rest = low_; rest != 0; rest &= rest - 1) {
      visit(static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
    for (std::size_t i = 0; i < high_.size(); ++i) {
      for (std::uint64_t rest = high_[i]; rest != 0; rest &= rest - 1) {
        visit(static_cast<std::uint32_t>((i + 1) * kWord +
                                         static_cast<std::size_t>(std::countr_zero(rest))));
      }
    }
  }
  friend bool operator==(const SmallBits&, const SmallBits&) = default;

 private:
  static constexpr std::uint32_t kWord = 64;
  std::uint64_t low_ = 0;
  std::vector<std::uint64_t> high_;  // its last word is not 0
};

class SetGraph {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// A unit; it stays where it is. Made for each unit and given back by what forgets it.
  struct Node {
    std::uint64_t id = 0;         // of this use of the object; no other one has it
    std::uint32_t slot = kNone;   // of a live unit
    std::uint32_t group = kNone;  // of one that is over
    bool leads = false;           // a live unit that leads to another one
    SmallBits before;             // of a live unit: slots of those that lead to it
  };

  /// A unit that may have been forgotten since.
  struct Known {
    Node* unit = nullptr;
    std::uint64_t id = 0;
    [[nodiscard]] bool is(const Node& other) const { return unit == &other && id == other.id; }
    [[nodiscard]] bool is_there() const { return unit != nullptr && unit->id == id; }
  };

  /// The unit is live from here on. One that is not opened may be what an edge leads to, and then
  /// closed: a single access.
  void open(Node& node);

  /// An edge to the unit that acts. Whether it closes a cycle.
  [[nodiscard]] bool edge(const Node& from, Node& to) {
    // Whoever is over is forgotten when nobody leads to it, so there is always something to add.
    if (from.slot != kNone && from.before.empty() && to.before.test(from.slot)) return false;
    return add(from, to);
  }

  /// The unit is over. Adds what can be in no cycle any more to `forgotten`, itself perhaps among
  /// it.
  void close(Node& node, std::vector<Node*>& forgotten);

  /// Nobody is left.
  void clear();

  [[nodiscard]] std::size_t groups() const { return groups_.size() - free_groups_.size(); }

 private:
  struct Group {
    SmallBits live;  // slots; not empty, or else the group is free
    std::vector<Node*> members;
  };
  /// Groups that are compared with one that might be the same. More than this are hardly ever there
  /// together; when they are, two may be the same, which costs memory and nothing else.
  static constexpr std::size_t kMostCompared = 64;

  [[nodiscard]] bool add(const Node& from, Node& to);
  [[nodiscard]] std::uint32_t find(const SmallBits& live, std::uint32_t except) const;
  void merge(std::uint32_t group);
  void end_group(std::uint32_t group);

  std::vector<Node*> slots_;  // null: free
  std::vector<std::uint32_t> free_slots_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> free_groups_;
  SmallBits reach_;  // of one call
};

}  // namespace syndrome::check::atomic_sets
