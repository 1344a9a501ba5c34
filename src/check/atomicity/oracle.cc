#include "check/atomicity/oracle.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "check/atomicity/conflict.h"

namespace syndrome::check {
namespace {

using Bits = std::vector<bool>;

constexpr std::size_t kNoTransaction = static_cast<std::size_t>(-1);

class Graph {
 public:
  explicit Graph(std::span<const Event> events) : events_(events) {
    number_transactions();
    number_rounds();
    link_events();
  }

  /// Index of the first event that closes a cycle, or the number of events.
  [[nodiscard]] std::size_t first_cycle() const {
    std::vector<std::vector<std::size_t>> successors(transactions_);
    for (std::size_t f = 0; f < events_.size(); ++f) {
      const std::size_t b = transaction_[f];
      for (const std::size_t e : before_[f]) {
        const std::size_t a = transaction_[e];
        if (a == b) continue;
        successors[a].push_back(b);
        if (reachable(successors, {b}, kNoTransaction)[a]) return f;
      }
    }
    return events_.size();
  }

  /// Fills the two senses of a violating block, for the whole trace.
  void violating_blocks(OracleResult& result) const {
    std::vector<std::vector<std::size_t>> successors(transactions_);
    for (std::size_t f = 0; f < events_.size(); ++f) {
      for (const std::size_t e : before_[f]) {
        if (transaction_[e] != transaction_[f]) {
          successors[transaction_[e]].push_back(transaction_[f]);
        }
      }
    }
    const std::vector<Bits> happens_before = closure();
    for (std::size_t b = 0; b < transactions_; ++b) {
      if (members_[b].size() < 2) continue;
      const auto [wide, strict] = blame(b, successors, happens_before);
      if (wide) result.wide.push_back(members_[b].front() + 1);
      if (strict) result.strict.push_back(members_[b].front() + 1);
    }
  }

 private:
  [[nodiscard]] bool dropped(std::size_t e) const { return (events_[e].flags & kDropped) != 0; }

  void number_transactions() {
    transaction_.assign(events_.size(), kNoTransaction);
    std::unordered_map<ThreadId, std::size_t> open;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (dropped(e)) continue;
      const Event& event = events_[e];
      const bool outermost = event.flags == 0;
      const auto block = open.find(event.thread);
      if (block != open.end()) {
        transaction_[e] = block->second;
        if (outermost && event.kind == EventKind::kEnd) open.erase(block);
      } else {
        transaction_[e] = transactions_++;
        if (outermost && event.kind == EventKind::kBegin) open[event.thread] = transaction_[e];
      }
    }
    members_.resize(transactions_);
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (!dropped(e)) members_[transaction_[e]].push_back(e);
    }
  }

  void number_rounds() {
    round_.assign(events_.size(), 0);
    BarrierRounds rounds;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      const Event& event = events_[e];
      if (dropped(e)) continue;
      if (event.kind == EventKind::kBarrierArrive) {
        round_[e] = rounds.arrive(event.thread, event.barrier());
      } else if (event.kind == EventKind::kBarrierLeave) {
        round_[e] = rounds.leave(event.thread, event.barrier());
      }
    }
  }

  void link_events() {
    before_.resize(events_.size());
    for (std::size_t f = 0; f < events_.size(); ++f) {
      if (dropped(f)) continue;
      for (std::size_t e = 0; e < f; ++e) {
        if (dropped(e)) continue;
        if (events_[e].thread == events_[f].thread ||
            conflicts(events_[e], events_[f], round_[e], round_[f])) {
          before_[f].push_back(e);
        }
      }
    }
  }

  /// [f][e]: e happens before f, or is f.
  [[nodiscard]] std::vector<Bits> closure() const {
    std::vector<Bits> result(events_.size(), Bits(events_.size(), false));
    for (std::size_t f = 0; f < events_.size(); ++f) {
      result[f][f] = true;
      for (const std::size_t e : before_[f]) {
        if (result[f][e]) continue;
        for (std::size_t d = 0; d <= e; ++d) {
          if (result[e][d]) result[f][d] = true;
        }
      }
    }
    return result;
  }

  /// What `from` reaches, itself included, without passing through `without`.
  [[nodiscard]] static Bits reachable(const std::vector<std::vector<std::size_t>>& successors,
                                      std::vector<std::size_t> from, std::size_t without) {
    Bits seen(successors.size(), false);
    while (!from.empty()) {
      const std::size_t a = from.back();
      from.pop_back();
      if (seen[a] || a == without) continue;
      seen[a] = true;
      from.insert(from.end(), successors[a].begin(), successors[a].end());
    }
    return seen;
  }

  /// Whether a conflict leaves (`e` is in the block) or enters (`f` is) a block at that very event.
  /// A fork enters the child's first event only; a join leaves the child's last event only. A child
  /// may join the thread that forked it: then the one event both forks and is joined.
  [[nodiscard]] bool leaves(std::size_t e, std::size_t f) const {
    return events_[e].thread != events_[f].thread && (!joins(e, f) || forks(e, f));
  }
  [[nodiscard]] bool enters(std::size_t e, std::size_t f) const {
    return events_[e].thread != events_[f].thread && (!forks(e, f) || joins(e, f));
  }
  [[nodiscard]] bool forks(std::size_t e, std::size_t f) const {
    return events_[e].kind == EventKind::kFork && events_[e].child() == events_[f].thread;
  }
  [[nodiscard]] bool joins(std::size_t e, std::size_t f) const {
    return events_[f].kind == EventKind::kJoin && events_[f].child() == events_[e].thread;
  }

  struct Blame {
    bool wide = false;
    bool strict = false;
  };

  [[nodiscard]] Blame blame(std::size_t b, const std::vector<std::vector<std::size_t>>& successors,
                            const std::vector<Bits>& happens_before) const {
    Blame result;
    for (const std::size_t e1 : members_[b]) {
      std::vector<std::size_t> targets;
      for (std::size_t f = e1 + 1; f < events_.size(); ++f) {
        if (std::find(before_[f].begin(), before_[f].end(), e1) != before_[f].end() &&
            leaves(e1, f)) {
          targets.push_back(transaction_[f]);
        }
      }
      if (targets.empty()) continue;
      const Bits reached = reachable(successors, targets, b);
      for (const std::size_t e2 : members_[b]) {
        if (e2 <= e1) continue;
        for (const std::size_t g : before_[e2]) {
          if (!enters(g, e2) || !reached[transaction_[g]]) continue;
          result.wide = true;
          if (!happens_before[e1][g]) result.strict = true;
        }
      }
    }
    return result;
  }

  std::span<const Event> events_;
  std::size_t transactions_ = 0;
  std::vector<std::size_t> transaction_;           // of each event
  std::vector<std::vector<std::size_t>> members_;  // the events of each transaction
  std::vector<std::uint64_t> round_;               // of each barrier event
  std::vector<std::vector<std::size_t>> before_;   // the earlier events that each conflicts with
};

}  // namespace

OracleResult oracle(std::span<const Event> events) {
  OracleResult result;
  const Graph graph(events);
  const std::size_t at = graph.first_cycle();
  if (at == events.size()) return result;
  result.serializable = false;
  result.first_violation = at + 1;
  graph.violating_blocks(result);
  return result;
}

}  // namespace syndrome::check
