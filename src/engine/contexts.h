// Ways: by which calls, and at which site of the last function, an access is made, as one number.
//
// A node is a function with the calls that led to it: its parent's node, and the site of the call
// there. There are as many as the text of the program makes, not its run. Each has a range of
// numbers, one for each of its sites; so an entry's way gives the node, and all functions around.
//
// Nodes are never removed. A child that is known is found without a lock; one is added under one.
// When numbers or nodes run out, a function is known without its calls, and then not at all.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/host.h"
#include "engine/spin.h"
#include "engine/units.h"

namespace syndrome::engine {

struct Node {
  const Node* parent = nullptr;
  const unit::Function* function = nullptr;
  const UnitInfo* unit = nullptr;
  const SiteInfo* sites = nullptr;  // of the function; number n is sites[n - 1]
  std::uint32_t count = 0;          // of them
  std::uint32_t base = 0;           // way of site n: base + n; 0: none
  std::uint32_t call = 0;           // number of the site in the parent's function
  std::uint16_t depth = 0;          // the root has 0
  bool matters = false;             // the function has connected steps
  // Of the calls around: whether a flow begins at one, for a value that comes up to there and for
  // any; whether one begins or ends there.
  bool source_of_results = false;
  bool source = false;
  bool connected = false;
  mutable std::atomic<const Node*> last_child{nullptr};

  [[nodiscard]] const SiteInfo* site(std::uint32_t number) const {
    return number - 1 < count ? &sites[number - 1] : nullptr;
  }
  [[nodiscard]] bool has_site(std::uint32_t number, SiteInfo::Flag flag) const {
    const SiteInfo* const info = site(number);
    return info != nullptr && info->has(flag);
  }
};

/// A site of a function that is on the way.
struct Step {
  const Node* node = nullptr;  // whose function
  std::uint32_t site = 0;
};

class Contexts {
 public:
  /// Behind so many calls a function is known without them.
  static constexpr std::uint32_t kDeepest = 256;

  [[nodiscard]] bool start(const Host& host, const Limits& limits);
  [[nodiscard]] const Node* root() const { return nodes_; }
  /// Of a function that the node's function calls there.
  [[nodiscard]] const Node* child(const Units& units, const Node* parent,
                                  const unit::Function* function, std::uint32_t call) {
    const Node* const last = parent->last_child.load(std::memory_order_acquire);
    if (last != nullptr && last->function == function && last->call == call) return last;
    return find(units, parent, function, call);
  }
  /// Null: the way is 0 or no one's.
  [[nodiscard]] Step step_of(std::uint32_t way) const;
  [[nodiscard]] std::uint32_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] const Node* find(const Units& units, const Node* parent,
                                 const unit::Function* function, std::uint32_t call);
  [[nodiscard]] const Node* search(const Node* parent, const unit::Function* function,
                                   std::uint32_t call) const;
  /// Null: there is no room.
  [[nodiscard]] const Node* add(const Units& units, const Node* parent,
                                const unit::Function* function, std::uint32_t call,
                                std::uint32_t ways);
  [[nodiscard]] std::uint32_t hash(const Node* parent, const unit::Function* function,
                                   std::uint32_t call) const;

  Spin spin_;
  Node* nodes_ = nullptr;                        // ascending by base
  std::atomic<std::uint32_t>* table_ = nullptr;  // 1 + index; open addressing, twice the nodes
  std::atomic<std::uint32_t> count_{0};
  std::uint32_t next_way_ = 1;
  std::uint32_t most_nodes_ = 0;
  std::uint32_t most_ways_ = 0;
  std::uint32_t table_mask_ = 0;
};

}  // namespace syndrome::engine
