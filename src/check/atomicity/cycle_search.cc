#include "check/atomicity/cycle_search.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "check/atomicity/conflict.h"

namespace syndrome::check {

CycleSearch::CycleSearch(const Component& component, bool lines)
    : component_(component),
      lines_(lines),
      label_(component.size()),
      back_(component.size()),
      visited_(component) {}

EventNumber CycleSearch::bound(Hop back, TransactionIndex block, Sense sense) const {
  return sense == Sense::kWide ? component_.number(back.to)
                               : component_.happens_before_from(back.from, block);
}

void CycleSearch::find_ways_back(TransactionIndex block, Sense sense, std::uint64_t& budget) {
  latest_bound_ = 0;
  const Component::ThreadIndex own = component_.thread_of_transaction(block);
  const auto add = [&](EventIndex from, EventIndex to) {
    const EventNumber until = bound({from, to}, block, sense);
    WayBack& way = back_[component_.transaction_of(from)];
    if (way.search == search_ && way.bound >= until) return;
    way = {search_, {from, to}, until};
    latest_bound_ = std::max(latest_bound_, until);
  };
  for (const EventIndex e : component_.ways_in(block)) {
    if (budget == 0) return;
    component_.for_each_before(e, budget, [&](EventIndex f) { add(f, e); });
    if (component_.event(e).kind != EventKind::kJoin) continue;
    if (const auto child = component_.child_of(e); child && *child != own) {
      add(component_.events_of(component_.transactions_of(*child).back()).back(), e);
    }
  }
}

template <class Relax>
void CycleSearch::expand(TransactionIndex t, EventNumber left, TransactionIndex block,
                         std::uint64_t& budget, Relax relax) {
  visited_.begin(search_, left);
  for (const EventIndex e : component_.ways_out(t)) {
    if (budget == 0) return;
    component_.for_each_after(e, block, budget, [&](EventIndex f) { relax(Hop{e, f}); }, &visited_);
    if (component_.event(e).kind != EventKind::kFork) continue;
    const auto child = component_.child_of(e);
    if (!child) continue;
    const std::vector<TransactionIndex>& of_child = component_.transactions_of(*child);
    const std::size_t first = of_child.front() == block ? 1 : 0;
    if (first < of_child.size()) relax(Hop{e, component_.events_of(of_child[first]).front()});
  }
  // Thread order, over the block if it comes next, and if that is the last, to those who join.
  const Component::ThreadIndex thread = component_.thread_of_transaction(t);
  const std::vector<TransactionIndex>& siblings = component_.transactions_of(thread);
  std::size_t next = component_.place_in_thread(t) + 1;
  const bool over = next < siblings.size() && siblings[next] == block;
  if (over) ++next;
  const EventIndex from = in_thread_order(t);
  if (next < siblings.size()) {
    relax(Hop{from, component_.events_of(siblings[next]).front()});
    return;
  }
  for (const EventIndex join : component_.joins_of(thread)) {
    if (component_.transaction_of(join) != block) relax(Hop{from, join});
  }
  if (!over) return;
  for (const EventIndex e : component_.ways_out(block)) {
    const Event& event = component_.event(e);
    if (event.kind != EventKind::kHappensBefore || event.order != kLastOfThread) continue;
    component_.for_each_after(e, block, budget, [&](EventIndex f) { relax(Hop{from, f}); });
  }
}

// Leaves the block at each of its events, in order: the earlier, the more ways back count.
template <class Relax>
void CycleSearch::leave(TransactionIndex block, std::uint64_t& budget, Relax relax) const {
  const Component::ThreadIndex own = component_.thread_of_transaction(block);
  for (const EventIndex e : component_.ways_out(block)) {
    if (budget == 0) return;
    component_.for_each_after(e, block, budget, [&](EventIndex f) { relax(Hop{e, f}); });
    if (component_.event(e).kind != EventKind::kFork) continue;
    if (const auto child = component_.child_of(e); child && *child != own) {
      relax(Hop{e, component_.events_of(component_.transactions_of(*child).front()).front()});
    }
  }
}

std::optional<Cycle> CycleSearch::find(std::uint32_t block, Sense sense, std::uint64_t& budget) {
  if (!component_.transaction(block).block) return std::nullopt;
  ++search_;
  find_ways_back(block, sense, budget);
  if (latest_bound_ == 0) return std::nullopt;

  std::deque<std::pair<TransactionIndex, EventNumber>> queue;
  std::optional<TransactionIndex> hit;
  const auto reach = [&](EventNumber left, Hop hop) {
    if (hit || left >= latest_bound_) return;
    const TransactionIndex t = component_.transaction_of(hop.to);
    Label& label = label_[t];
    if (label.search == search_ && label.left <= left) return;
    label = {search_, left, hop};
    if (back_[t].search == search_ && left < back_[t].bound) {
      hit = t;
      return;
    }
    queue.emplace_back(t, left);
  };

  leave(block, budget, [&](Hop hop) { reach(component_.number(hop.from), hop); });
  while (!hit && !queue.empty() && budget > 0) {
    const auto [t, left] = queue.front();
    queue.pop_front();
    if (label_[t].left < left) continue;  // a better way came in between
    expand(t, left, block, budget, [&, from = left](Hop hop) { reach(from, hop); });
  }
  if (!hit) return std::nullopt;
  return minimal(block, *hit, sense);
}

// A conflict from a to b that is acceptable, preferably one that a reader understands: a write that
// the other sees, else an access, else a lock. None for two transactions of one thread, which are
// in thread order anyway.
template <class Accept>
CycleSearch::Hop CycleSearch::direct(TransactionIndex a, TransactionIndex b, Accept accept) const {
  // Two long blocks have too many pairs to look at; then the conflict that was found has to do.
  constexpr std::size_t kMostPairs = 1U << 14U;
  Hop best;
  const std::span<const EventIndex> from = component_.events_of(a);
  const std::span<const EventIndex> to = component_.events_of(b);
  if (component_.thread_of_transaction(a) == component_.thread_of_transaction(b)) return best;
  if (from.size() * to.size() > kMostPairs) return best;
  for (const EventIndex e : from) {
    for (const EventIndex f : to) {
      if (f < e || !component_.conflict(e, f) || !accept(Hop{e, f})) continue;
      if (is_write(component_.event(e).kind)) return {e, f};
      if (best.from != kNone && is_access(component_.event(best.from).kind)) continue;
      if (best.from == kNone || is_access(component_.event(e).kind)) best = {e, f};
    }
  }
  return best;
}

Cycle CycleSearch::minimal(TransactionIndex block, TransactionIndex last, Sense sense) const {
  // From the last transaction back to the block, then turned round: hops[i] goes from path[i] to
  // path[i + 1], and the block is both ends.
  std::vector<Hop> hops = {back_[last].hop};
  std::vector<TransactionIndex> path = {block, last};
  for (TransactionIndex t = last; t != block; t = path.back()) {
    hops.push_back(label_[t].hop);
    path.push_back(component_.transaction_of(label_[t].hop.from));
  }
  std::reverse(path.begin(), path.end());
  std::reverse(hops.begin(), hops.end());

  // The cycle has to leave the block before the way back counts.
  const auto leaves_in_time = [&](Hop leave, Hop back) {
    return component_.number(leave.from) < bound(back, block, sense);
  };
  // A direct conflict that jumps over transactions leaves them out; one that jumps over none may
  // still be easier to understand.
  const auto jump = [&](std::size_t i, std::size_t j) {
    return direct(path[i], path[j], [&](Hop hop) {
      if (i == 0) return leaves_in_time(hop, hops.back());
      return j + 1 < path.size() || leaves_in_time(hops.front(), hop);
    });
  };
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    // The block itself is no place to jump to from the block.
    for (std::size_t j = path.size() - (i == 0 ? 2 : 1); j > i; --j) {
      const Hop hop = jump(i, j);
      if (hop.from == kNone) continue;
      const auto at = [](auto& list, std::size_t k) {
        return list.begin() + static_cast<std::ptrdiff_t>(k);
      };
      hops.erase(at(hops, i + 1), at(hops, j));
      path.erase(at(path, i + 1), at(path, j));
      hops[i] = hop;
      break;
    }
  }

  Cycle cycle;
  cycle.block = component_.transaction(block).first;
  cycle.sense = sense;
  const auto add_site = [&](EventIndex e) {
    const SiteId site = component_.event(e).site;
    cycle.sites.push_back(site.value != 0 ? site.value
                                          : component_.number(e) | (std::uint64_t{1} << 63U));
  };
  add_site(component_.events_of(block).front());
  for (const Hop hop : hops) {
    cycle.edges.push_back({component_.number(hop.from), component_.number(hop.to)});
    add_site(hop.from);
    add_site(hop.to);
  }
  return cycle;
}

}  // namespace syndrome::check
