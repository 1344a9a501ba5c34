#include "enforce/plan/joint.h"

#include <algorithm>

namespace syndrome::enforce {
namespace {

// Ways in which two locks may be held at one node that are told apart. More are summed up in two:
// what of the second is there in all of them, without the first, and with it.
constexpr std::size_t kMostPairs = 16;

constexpr Placement::StateId kFree = 0;
constexpr Placement::StateId kHeld = 1;  // of a lock of the program

}  // namespace

Joint::Joint(const Graph& graph, const Placement* first,
             const std::function<ProgramStep(NodeId)>& step, const Placement& second)
    : first_(first),
      second_(second),
      first_version_(first == nullptr ? 0 : first->version()),
      second_version_(second.version()),
      before_(graph.size()),
      summed_(graph.size()) {
  before_[0].emplace_back(kFree, kFree);
  std::vector<bool> visited(graph.size());
  Worklist work(graph);
  work.add(0);
  while (!work.empty()) {
    const NodeId node = work.take();
    visited[node] = true;
    const ProgramStep what = first == nullptr ? step(node) : ProgramStep::kNothing;
    const std::vector<Both> here = before_[node];
    for (const NodeId next : graph.next[node]) {
      bool grew = !visited[next];
      for (const Both& both : here) {
        Both left = acquire(both, node);
        if (what == ProgramStep::kGivesBack) left.first = kFree;
        if (what == ProgramStep::kTakes) left.first = kHeld;
        if (first != nullptr) left.first = first->arrive(left.first, next);
        left.second = second.arrive(left.second, next);
        grew |= add(next, left);
      }
      if (grew) work.add(next);
    }
  }
}

Joint::Both Joint::acquire(Both both, NodeId node) const {
  return {first_ == nullptr ? both.first : first_->acquire(both.first, node),
          second_.acquire(both.second, node)};
}

/// Into the one of the two that it belongs to.
bool Joint::merge(std::vector<Both>& list, Both both) const {
  for (Both& known : list) {
    if ((known.first == kFree) != (both.first == kFree)) continue;
    Both merged{first_ == nullptr ? known.first : first_->join(known.first, both.first),
                second_.meet(known.second, both.second)};
    const bool changed = merged != known;
    known = merged;
    return changed;
  }
  list.push_back(both);
  return true;
}

bool Joint::add(NodeId node, Both both) {
  std::vector<Both>& list = before_[node];
  if (summed_[node]) return merge(list, both);
  if (std::ranges::find(list, both) != list.end()) return false;
  list.push_back(both);
  if (list.size() > kMostPairs) {
    std::vector<Both> sum;
    for (const Both& each : list) merge(sum, each);
    list = std::move(sum);
    summed_[node] = true;
  }
  return true;
}

AtomicType Joint::exposed(NodeId node, AtomicType mode, bool during) const {
  AtomicType most = AtomicType::kNone;
  for (const Both& both : before_[node]) {
    const auto [first, second] = during ? acquire(both, node) : both;
    if (second_.mode(second) >= mode) continue;
    const AtomicType held = first_ != nullptr ? first_->mode(first)
                            : first == kHeld  ? AtomicType::kExclusive
                                              : AtomicType::kNone;
    most = std::max(most, held);
  }
  return most;
}

bool Joint::is_current() const {
  return (first_ == nullptr || first_->version() == first_version_) &&
         second_.version() == second_version_;
}

}  // namespace syndrome::enforce
