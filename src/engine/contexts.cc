#include "engine/contexts.h"

namespace syndrome::engine {

bool Contexts::start(const Host& host, const Limits& limits) {
  most_nodes_ = limits.nodes < 2 ? 2 : limits.nodes;
  most_ways_ = limits.ways;
  std::uint32_t size = 16;
  while (size < 2 * most_nodes_) size *= 2;
  table_mask_ = size - 1;
  nodes_ = static_cast<Node*>(host.map(host.context, sizeof(Node) * most_nodes_));
  table_ = static_cast<std::atomic<std::uint32_t>*>(
      host.map(host.context, sizeof(std::atomic<std::uint32_t>) * size));
  if (nodes_ == nullptr || table_ == nullptr) return false;
  count_.store(1, std::memory_order_release);  // the root: no function, no way
  return true;
}

std::uint32_t Contexts::hash(const Node* parent, const unit::Function* function,
                             std::uint32_t call) const {
  std::uint64_t mixed = static_cast<std::uint64_t>(parent - nodes_) * 0x9E3779B97F4A7C15u;
  mixed ^= reinterpret_cast<std::uintptr_t>(function) >> 4;
  mixed = (mixed ^ (std::uint64_t{call} << 40)) * 0x9E3779B97F4A7C15u;
  return static_cast<std::uint32_t>(mixed >> 32) & table_mask_;
}

const Node* Contexts::search(const Node* parent, const unit::Function* function,
                             std::uint32_t call) const {
  for (std::uint32_t at = hash(parent, function, call);; at = (at + 1) & table_mask_) {
    const std::uint32_t index = table_[at].load(std::memory_order_acquire);
    if (index == 0) return nullptr;
    const Node& node = nodes_[index - 1];
    if (node.parent == parent && node.function == function && node.call == call) return &node;
  }
}

const Node* Contexts::find(const Units& units, const Node* parent, const unit::Function* function,
                           std::uint32_t call) {
  const bool deep = parent->depth >= kDeepest;
  const Node* node = deep ? nullptr : search(parent, function, call);
  if (node == nullptr) {
    const Locked locked(spin_);
    if (!deep) node = search(parent, function, call);
    // The last quarter of the numbers is for functions without their calls.
    if (node == nullptr && !deep) {
      node = add(units, parent, function, call, most_ways_ - most_ways_ / 4);
    }
    if (node == nullptr) node = search(root(), function, 0);
    if (node == nullptr) node = add(units, root(), function, 0, most_ways_);
    if (node == nullptr) return root();
  }
  parent->last_child.store(node, std::memory_order_release);
  return node;
}

const Node* Contexts::add(const Units& units, const Node* parent, const unit::Function* function,
                          std::uint32_t call, std::uint32_t ways) {
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  const UnitInfo* const unit = units.of(function);
  const bool known = unit != nullptr && function->first <= unit->header->sites &&
                     function->sites <= unit->header->sites - function->first;
  const std::uint32_t sites = known ? function->sites : 0;
  if (sites + 1 > ways || next_way_ > ways - (sites + 1)) return nullptr;
  // As with the numbers; the root is one of them.
  if (count >= (parent == root() ? most_nodes_ : most_nodes_ - most_nodes_ / 4)) return nullptr;
  Node& node = nodes_[count];
  node.parent = parent;
  node.function = function;
  node.unit = known ? unit : nullptr;
  node.sites = known ? unit->sites + function->first : nullptr;
  node.count = sites;
  node.base = next_way_;
  node.call = call;
  node.depth = static_cast<std::uint16_t>(parent->depth + 1);
  node.matters = known && matters(*unit, *function);
  const bool reaches = parent->has_site(call, SiteInfo::kReaches);
  const bool source = parent->has_site(call, SiteInfo::kSource);
  node.source_of_results = source || (reaches && parent->source_of_results);
  node.source = source || parent->source;
  node.connected = parent->has_site(call, SiteInfo::kConnected) || parent->connected;
  next_way_ += sites + 1;
  count_.store(count + 1, std::memory_order_release);
  std::uint32_t at = hash(parent, function, call);
  while (table_[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & table_mask_;
  table_[at].store(count + 1, std::memory_order_release);
  return &node;
}

Step Contexts::step_of(std::uint32_t way) const {
  if (way == 0) return {};
  std::uint32_t low = 1;
  std::uint32_t high = count_.load(std::memory_order_acquire);
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (nodes_[middle].base <= way) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 1) return {};
  const Node& node = nodes_[low - 1];
  if (way - node.base > node.count) return {};
  return {&node, way - node.base};
}

}  // namespace syndrome::engine
