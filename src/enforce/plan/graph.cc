#include "enforce/plan/graph.h"

#include <algorithm>
#include <functional>

namespace syndrome::enforce {

Graph::Graph(const Function& function)
    : next(function.nodes.size()), previous(function.nodes.size()), calls(function.nodes.size()) {
  for (NodeId node = 0; node < function.nodes.size(); ++node) {
    calls[node] = function.nodes[node].kind == Node::Kind::kCall;
    for (const NodeId to : function.nodes[node].next) {
      next[node].push_back(to);
      previous[to].push_back(node);
    }
  }
  // Postorder, without recursion: functions may be long.
  position.assign(size(), 0);
  std::vector<bool> seen(size());
  std::vector<std::pair<NodeId, std::size_t>> path;
  auto last = static_cast<std::uint32_t>(size());
  for (NodeId start = 0; start < size(); ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [node, done] = path.back();
      if (done == next[node].size()) {
        position[node] = --last;
        path.pop_back();
        continue;
      }
      const NodeId to = next[node][done++];
      if (seen[to]) continue;
      seen[to] = true;
      path.emplace_back(to, 0);
    }
  }
}

void Worklist::add(NodeId node) {
  if (waiting_[node]) return;
  waiting_[node] = true;
  heap_.emplace_back(graph_.position[node], node);
  std::ranges::push_heap(heap_, std::greater<>());
}

NodeId Worklist::take() {
  std::ranges::pop_heap(heap_, std::greater<>());
  const NodeId node = heap_.back().second;
  heap_.pop_back();
  waiting_[node] = false;
  return node;
}

std::vector<bool> Graph::reach(NodeId from, NodeId stop, bool backwards,
                               const std::vector<bool>& through) const {
  const auto& edges = backwards ? previous : next;
  std::vector<bool> seen(size());
  std::vector<NodeId> work = {from};
  while (!work.empty()) {
    const NodeId at = work.back();
    work.pop_back();
    for (const NodeId to : edges[at]) {
      if (seen[to] || (!through.empty() && !through[to])) continue;
      seen[to] = true;
      if (to != stop) work.push_back(to);
    }
  }
  return seen;
}

void Graph::set_waits(std::vector<Waits> waits) {
  waits_ = std::move(waits);
  if (std::ranges::count(waits_, Waits::kNever) == std::ssize(waits_)) waits_.clear();
  loops_.clear();
  for (NodeId node = 0; !waits_.empty() && node < size(); ++node) {
    for (const NodeId to : next[node]) {
      if (position[to] > position[node]) continue;
      Loop loop{node, to, {}};
      // All that leads to the edge without entering the loop again.
      if (node == to) {
        loop.body.resize(size());
      } else {
        loop.body = reach(node, to, true);
      }
      loop.body[node] = loop.body[to] = true;
      loops_.push_back(std::move(loop));
    }
  }
}

/// By at least one edge, without going around those loops.
bool Graph::reaches(NodeId from, NodeId to, const std::vector<const Loop*>& once) const {
  std::vector<bool> seen(size());
  std::vector<NodeId> work = {from};
  while (!work.empty() && !seen[to]) {
    const NodeId node = work.back();
    work.pop_back();
    for (const NodeId after : next[node]) {
      const bool around = std::ranges::any_of(
          once, [&](const Loop* loop) { return loop->from == node && loop->to == after; });
      if (seen[after] || around) continue;
      seen[after] = true;
      work.push_back(after);
    }
  }
  return seen[to];
}

std::vector<bool> Graph::waits_between(NodeId from, NodeId to) const {
  std::vector<bool> found(waits_.size());
  for (NodeId node = 0; node < found.size(); ++node) {
    if (waits_[node] == Waits::kNever) continue;
    std::vector<const Loop*> both;
    bool one = false;
    for (const Loop& loop : loops_) {
      if (!loop.body[node]) continue;
      one |= loop.body[from] != loop.body[to];
      if (loop.body[from] && loop.body[to]) both.push_back(&loop);
    }
    const bool between = (node == from || reaches(from, node, both)) &&
                         (node == to ? from != to : reaches(node, to, both));
    found[node] = one || (!both.empty() && !between) ||
                  (waits_[node] == Waits::kSurely && node != from && node != to);
  }
  return found;
}

}  // namespace syndrome::enforce
