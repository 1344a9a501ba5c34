#include "check/atomic_sets/set_graph.h"

namespace syndrome::check::atomic_sets {

void SetGraph::open(Node& node) {
  if (free_slots_.empty()) {
    node.slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(&node);
    return;
  }
  node.slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[node.slot] = &node;
}

bool SetGraph::add(const Node& from, Node& to) {
  if (from.slot != kNone) {
    reach_ = from.before;
    reach_.set(from.slot);
  } else {
    if (from.group == kNone) return false;
    const SmallBits& live = groups_[from.group].live;
    reach_ = live;
    live.for_each([this](std::uint32_t slot) { reach_.add(slots_[slot]->before); });
  }
  const bool closes = to.slot != kNone && reach_.test(to.slot);
  if (to.before.contains(reach_)) return closes;
  reach_.for_each([this](std::uint32_t slot) { slots_[slot]->leads = true; });
  to.before.add(reach_);
  if (to.leads) {
    for (Node* const node : slots_) {
      if (node != nullptr && node->before.test(to.slot)) node->before.add(reach_);
    }
  }
  return closes;
}

void SetGraph::close(Node& node, std::vector<Node*>& forgotten) {
  const std::uint32_t slot = node.slot;
  if (slot != kNone) {
    node.before.reset(slot);
    slots_[slot] = nullptr;
    free_slots_.push_back(slot);
    node.slot = kNone;
  }
  if (node.leads) {
    node.leads = false;
    for (Node* const other : slots_) {
      if (other != nullptr) other->before.reset(slot);
    }
    for (std::uint32_t i = 0; i < groups_.size(); ++i) {
      Group& group = groups_[i];
      if (!group.live.test(slot)) continue;
      group.live.reset(slot);
      group.live.add(node.before);
      if (!group.live.empty()) {
        merge(i);
        continue;
      }
      for (Node* const member : group.members) member->group = kNone;
      forgotten.insert(forgotten.end(), group.members.begin(), group.members.end());
      end_group(i);
    }
  }
  if (node.before.empty()) {
    forgotten.push_back(&node);
    return;
  }
  std::uint32_t group = find(node.before, kNone);
  if (group == kNone) {
    if (free_groups_.empty()) {
      free_groups_.push_back(static_cast<std::uint32_t>(groups_.size()));
      groups_.emplace_back();
    }
    group = free_groups_.back();
    free_groups_.pop_back();
    groups_[group].live = node.before;
  }
  node.group = group;
  groups_[group].members.push_back(&node);
  node.before.clear();
}

/// The group of these live units, other than `except`.
std::uint32_t SetGraph::find(const SmallBits& live, std::uint32_t except) const {
  std::size_t compared = 0;
  for (std::uint32_t i = 0; i < groups_.size() && compared < kMostCompared; ++i) {
    if (i == except || groups_[i].live.empty()) continue;
    if (groups_[i].live == live) return i;
    ++compared;
  }
  return kNone;
}

/// Makes the group one with another one of the same live units. The smaller one moves.
void SetGraph::merge(std::uint32_t group) {
  const std::uint32_t same = find(groups_[group].live, group);
  if (same == kNone) return;
  const bool moves = groups_[group].members.size() < groups_[same].members.size();
  const std::uint32_t from = moves ? group : same;
  const std::uint32_t to = moves ? same : group;
  for (Node* const member : groups_[from].members) {
    member->group = to;
    groups_[to].members.push_back(member);
  }
  end_group(from);
}

void SetGraph::end_group(std::uint32_t group) {
  groups_[group] = {};
  free_groups_.push_back(group);
}

void SetGraph::clear() {
  slots_.clear();
  free_slots_.clear();
  groups_.clear();
  free_groups_.clear();
}

}  // namespace syndrome::check::atomic_sets
