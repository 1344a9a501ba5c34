#include "check/atomicity/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/atomicity/components.h"
#include "check/atomicity/transaction_edges.h"

namespace syndrome::check {

Evidence::Evidence(const Options& options, OnCycle on_cycle)
    : options_(options), on_cycle_(std::move(on_cycle)), next_settle_(options.window) {}

Evidence::ThreadState& Evidence::state(ThreadId thread) {
  if (thread.index() >= threads_.size()) threads_.resize(thread.index() + 1);
  return threads_[thread.index()];
}

void Evidence::append(const Event& e, EventNumber n, std::uint64_t round) {
  if (log_.size() >= next_settle_) settle(false);
  ThreadState& thread = state(e.thread);
  thread.passed = 0;
  NodeIndex node = thread.open;
  if (node == kNone) {
    node = static_cast<NodeIndex>(nodes_.size());
    nodes_.push_back({{e.thread, n, n, false}, false});
  }
  nodes_[node].last = n;
  log_.push_back({n, e, node, static_cast<std::uint32_t>(round)});
}

void Evidence::pass_by(const Event& e, EventNumber n) {
  ThreadState& thread = state(e.thread);
  thread.passed = n;
  thread.passed_event = e;
  thread.passed_in = thread.open;
  if (thread.open != kNone) nodes_[thread.open].last = n;
}

void Evidence::on_join(const Event& e, EventNumber n) {
  // The last event of the child is what the join comes after, whatever it is.
  if (ThreadState& child = state(e.child()); child.passed != 0) {
    if (child.passed_in == kNone) {
      child.passed_in = static_cast<NodeIndex>(nodes_.size());
      nodes_.push_back({{e.child(), child.passed, child.passed, false}, false});
    }
    log_.push_back({child.passed, child.passed_event, child.passed_in, 0});
    child.passed = 0;
  }
  append(e, n);
}

void Evidence::on_begin(const Event& e, EventNumber n) {
  const auto node = static_cast<NodeIndex>(nodes_.size());
  nodes_.push_back({{e.thread, n, n, true}, true});
  state(e.thread).open = node;
  append(e, n);
}

void Evidence::on_end(const Event& e, EventNumber n) {
  pass_by(e, n);
  ThreadState& thread = state(e.thread);
  if (thread.open != kNone) nodes_[thread.open].open = false;
  thread.open = kNone;
}

void Evidence::finish() {
  settle(true);
}

void Evidence::settle(bool everything) {
  const Graph graph = build_graph();
  std::vector<bool> alive =
      everything ? std::vector<bool>(nodes_.size(), false) : reachable_from_open(graph);
  search_components(graph, alive);
  keep(alive);
  if (everything) return;
  if (log_.size() > options_.most / 2) {
    // Blocks stay open for too long. What is a cycle now is reported now; a cycle that needs both
    // these events and later ones will be missing.
    incomplete_ = fmt::format(
        "blocks stayed open over more than {} million events: cycles longer than that, and blocks "
        "that are on such cycles only, are not listed",
        options_.most >> 20U);
    const Graph rest = build_graph();
    search_components(rest, std::vector<bool>(nodes_.size(), false));
    std::vector<bool> open(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) open[i] = nodes_[i].open;
    keep(open);
    // Of the open blocks themselves, only the begin stays.
    std::erase_if(log_, [](const ComponentEvent& e) { return e.event.kind != EventKind::kBegin; });
  }
  next_settle_ = std::max(options_.window, 2 * log_.size());
}

Evidence::Graph Evidence::build_graph() const {
  std::vector<std::pair<NodeIndex, NodeIndex>> edges;
  edges.reserve(log_.size());
  TransactionEdges between([&](NodeIndex from, NodeIndex to) { edges.emplace_back(from, to); });
  for (const ComponentEvent& e : log_) between.add(e);

  Graph graph;
  graph.begin.assign(nodes_.size() + 1, 0);
  for (const auto& [from, to] : edges) ++graph.begin[from + 1];
  for (std::size_t i = 0; i < nodes_.size(); ++i) graph.begin[i + 1] += graph.begin[i];
  graph.targets.resize(edges.size());
  std::vector<std::size_t> fill(graph.begin.begin(), graph.begin.end() - 1);
  for (const auto& [from, to] : edges) graph.targets[fill[from]++] = to;
  return graph;
}

std::vector<bool> Evidence::reachable_from_open(const Graph& graph) const {
  std::vector<bool> reached(nodes_.size());
  std::vector<NodeIndex> stack;
  const auto visit = [&](NodeIndex n) {
    if (reached[n]) return;
    reached[n] = true;
    stack.push_back(n);
  };
  for (NodeIndex n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].open) visit(n);
  }
  while (!stack.empty()) {
    const NodeIndex n = stack.back();
    stack.pop_back();
    for (std::size_t i = graph.begin[n]; i < graph.begin[n + 1]; ++i) visit(graph.targets[i]);
  }
  return reached;
}

void Evidence::search_components(const Graph& graph, const std::vector<bool>& alive) {
  // component[n] is kNone for nodes that are alive or on no cycle.
  const std::vector<std::uint32_t> component = strong_components(graph.begin, graph.targets, alive);
  std::uint32_t count = 0;
  for (const std::uint32_t c : component) {
    if (c != kNone) count = std::max(count, c + 1);
  }
  if (count == 0) return;

  std::vector<std::vector<ComponentEvent>> events(count);
  std::vector<std::vector<ComponentTransaction>> transactions(count);
  std::vector<std::uint32_t> local(nodes_.size());
  for (NodeIndex n = 0; n < nodes_.size(); ++n) {
    if (component[n] == kNone) continue;
    local[n] = static_cast<std::uint32_t>(transactions[component[n]].size());
    transactions[component[n]].push_back(nodes_[n]);
  }
  for (const ComponentEvent& e : log_) {
    if (component[e.transaction] == kNone) continue;
    ComponentEvent copy = e;
    copy.transaction = local[e.transaction];
    events[component[e.transaction]].push_back(copy);
  }
  for (std::uint32_t c = 0; c < count; ++c) {
    ++components_;
    const Component members(std::move(events[c]), std::move(transactions[c]));
    if (!members.order_is_whole()) {
      incomplete_ =
          "so many threads are on one cycle that a block may be listed although another is at "
          "fault";
    }
    if (options_.one_of) {
      if (!found_one_) search_one(members);
    } else {
      search(members);
    }
  }
  if (options_.budget == 0 && incomplete_.empty()) {
    incomplete_ =
        "so many blocks are on cycles that the search for each one's own was cut off: the list of "
        "violating blocks is not complete";
  }
}

void Evidence::search(const Component& members) {
  // A block that violates is often shown to do so by its neighbours, while one that does not is
  // searched to the end of the component. So each gets little at first, and those that it was not
  // enough for get more when all others have had their turn.
  constexpr std::uint64_t kFirstShare = 256;
  constexpr std::uint64_t kGrowth = 16;
  struct Wanted {
    std::uint32_t transaction;
    Sense sense;
  };
  std::vector<Wanted> wanted;
  for (std::uint32_t t = 0; t < members.size(); ++t) {
    if (members.transaction(t).block) wanted.push_back({t, Sense::kStrict});
  }
  CycleSearch search(members, options_.lines);
  for (std::uint64_t share = kFirstShare; !wanted.empty() && options_.budget > 0;
       share *= kGrowth) {
    std::vector<Wanted> unfinished;
    for (Wanted next : wanted) {
      for (;;) {
        const std::uint64_t given = std::min(share, options_.budget);
        std::uint64_t left = given;
        std::optional<Cycle> cycle = search.find(next.transaction, next.sense, left);
        options_.budget -= given - left;
        if (cycle) {
          on_cycle_(*std::move(cycle));
        } else if (left == 0) {
          unfinished.push_back(next);
        } else if (options_.wide && next.sense == Sense::kStrict) {
          next.sense = Sense::kWide;
          continue;
        }
        break;
      }
    }
    wanted = std::move(unfinished);
  }
}

// Any cycle will do: every one has a strict block (cycle_search.h).
void Evidence::search_one(const Component& members) {
  std::vector<Component::TransactionIndex> blocks;  // the likeliest last
  for (Component::TransactionIndex t = 0; t < members.size(); ++t) {
    if (members.transaction(t).block) blocks.push_back(t);
  }
  std::ranges::stable_partition(blocks, [&](Component::TransactionIndex t) {
    return members.transaction(t).thread != options_.one_of;
  });
  CycleSearch search(members, options_.lines);
  std::optional<Cycle> wide;
  while (!blocks.empty() && !wide) {
    wide = search.find(blocks.back(), Sense::kWide, options_.budget);
    blocks.pop_back();
  }
  if (!wide) return;
  const auto is_on_it = [&](Component::EventIndex e) {
    return std::ranges::any_of(wide->edges,
                               [&](const Edge& edge) { return edge.from == members.number(e); });
  };
  for (Component::TransactionIndex t = 0; t < members.size() && !found_one_; ++t) {
    if (!members.transaction(t).block || std::ranges::none_of(members.events_of(t), is_on_it)) {
      continue;
    }
    std::optional<Cycle> strict = search.find(t, Sense::kStrict, options_.budget);
    if (!strict) continue;
    on_cycle_(*std::move(strict));
    found_one_ = true;
  }
}

void Evidence::keep(const std::vector<bool>& alive) {
  std::vector<NodeIndex> moved(nodes_.size(), kNone);
  NodeIndex kept = 0;
  for (NodeIndex n = 0; n < nodes_.size(); ++n) {
    if (!alive[n]) continue;
    moved[n] = kept;
    nodes_[kept++] = nodes_[n];
  }
  nodes_.resize(kept);
  std::erase_if(log_, [&](const ComponentEvent& e) { return moved[e.transaction] == kNone; });
  for (ComponentEvent& e : log_) e.transaction = moved[e.transaction];
  for (ThreadState& thread : threads_) {
    if (thread.open != kNone) thread.open = moved[thread.open];
    if (thread.passed == 0 || thread.passed_in == kNone) continue;
    thread.passed_in = moved[thread.passed_in];
    if (thread.passed_in == kNone) thread.passed = 0;  // nothing to come leads to it
  }
}

}  // namespace syndrome::check
