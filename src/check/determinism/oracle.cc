#include "check/determinism/oracle.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "check/atomicity/conflict.h"
#include "check/determinism/conflicts.h"

namespace syndrome::check::determinism {
namespace {

using Bits = std::vector<bool>;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class Definition {
 public:
  explicit Definition(std::span<const Event> events) : events_(events) {
    find_members();
    number_rounds();
    match_semaphores();
    for (std::size_t e = 0; e < size(); ++e) {
      if (!dropped(e)) last_[events_[e].thread] = e;
    }
  }

  OracleResult run() {
    OracleResult result;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      find_conflicts(b, result);
      find_cycles(b, result);
    }
    std::sort(result.conflicts.begin(), result.conflicts.end());
    return result;
  }

 private:
  struct Block {
    std::size_t begin;
    std::size_t end = kNone;             // of the thread that began it
    std::vector<std::size_t> ancestors;  // blocks around it, outermost first
    std::vector<std::size_t> members;    // events, ascending
  };

  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] bool dropped(std::size_t e) const { return (events_[e].flags & kDropped) != 0; }
  [[nodiscard]] bool is_member(std::size_t e, std::size_t b) const {
    return std::find(chain_[e].begin(), chain_[e].end(), b) != chain_[e].end();
  }

  // --- which events are in which blocks

  void find_members() {
    chain_.resize(size());
    std::map<ThreadId, std::vector<std::size_t>> now;  // blocks around a thread, outermost first
    for (std::size_t e = 0; e < size(); ++e) {
      if (dropped(e)) continue;
      const Event& event = events_[e];
      std::vector<std::size_t>& around = now[event.thread];
      if (event.kind == EventKind::kBegin) {
        blocks_.push_back({e, kNone, around, {}});
        around.push_back(blocks_.size() - 1);
      }
      chain_[e] = around;
      for (const std::size_t b : around) blocks_[b].members.push_back(e);
      if (event.kind == EventKind::kEnd) {
        blocks_[around.back()].end = e;
        around.pop_back();
      }
      if (event.kind == EventKind::kFork) now[event.child()] = chain_[e];
    }
  }

  void number_rounds() {
    round_.assign(size(), 0);
    BarrierRounds rounds;
    for (std::size_t e = 0; e < size(); ++e) {
      if (dropped(e)) continue;
      if (events_[e].kind == EventKind::kBarrierArrive) {
        round_[e] = rounds.arrive(events_[e].thread, events_[e].barrier());
      } else if (events_[e].kind == EventKind::kBarrierLeave) {
        round_[e] = rounds.leave(events_[e].thread, events_[e].barrier());
      }
    }
  }

  /// Posts release waits in the order in which they come.
  void match_semaphores() {
    released_by_.assign(size(), kNone);
    std::map<std::uint32_t, std::deque<std::size_t>> posts;
    for (std::size_t e = 0; e < size(); ++e) {
      if (dropped(e)) continue;
      if (events_[e].kind == EventKind::kPost) posts[events_[e].target].push_back(e);
      if (events_[e].kind == EventKind::kWait && !posts[events_[e].target].empty()) {
        released_by_[e] = posts[events_[e].target].front();
        posts[events_[e].target].pop_front();
      }
    }
  }

  // --- conflict freedom

  /// Whether e comes before f inside of a block, by one step.
  [[nodiscard]] bool ordered_directly(std::size_t e, std::size_t f) const {
    const Event& a = events_[e];
    const Event& b = events_[f];
    if (a.thread == b.thread) return true;
    if (a.kind == EventKind::kFork && a.child() == b.thread) return true;
    if (b.kind == EventKind::kJoin && b.child() == a.thread) return true;
    // A thread that has no event ran all the same.
    if (a.kind == EventKind::kFork && b.kind == EventKind::kJoin && a.child() == b.child()) {
      return true;
    }
    if (a.kind == EventKind::kBarrierArrive && b.kind == EventKind::kBarrierLeave) {
      return a.target == b.target && round_[e] == round_[f];
    }
    if (b.kind == EventKind::kWait) return released_by_[f] == e;
    return a.kind == EventKind::kHappensBefore && b.kind == EventKind::kHappensAfter &&
           a.target == b.target;
  }

  void find_conflicts(std::size_t block, OracleResult& result) const {
    const std::vector<std::size_t>& members = blocks_[block].members;
    const std::size_t count = members.size();
    std::vector<Bits> before(count, Bits(count, false));  // [j][i]: i is before j in the block
    for (std::size_t j = 0; j < count; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (!ordered_directly(members[i], members[j])) continue;
        before[j][i] = true;
        for (std::size_t h = 0; h < i; ++h) {
          if (before[i][h]) before[j][h] = true;
        }
      }
      for (std::size_t i = j; i-- > 0;) {
        if (before[j][i] || !compete(events_[members[i]], events_[members[j]])) continue;
        result.conflicts.push_back({blocks_[block].begin + 1, members[i] + 1, members[j] + 1});
        break;
      }
    }
  }

  // --- external serializability

  [[nodiscard]] bool forks(std::size_t e, std::size_t f) const {
    return events_[e].kind == EventKind::kFork && events_[e].child() == events_[f].thread;
  }
  [[nodiscard]] bool joins(std::size_t e, std::size_t f) const {
    return events_[f].kind == EventKind::kJoin && events_[f].child() == events_[e].thread;
  }

  /// Whether a thread that was forked in the block is still there when the block ends.
  [[nodiscard]] bool lives_on(std::size_t block) const {
    const std::size_t end = blocks_[block].end;
    if (end == kNone) return false;
    for (const std::size_t fork : blocks_[block].members) {
      if (fork > end || events_[fork].kind != EventKind::kFork) continue;
      const ThreadId child = events_[fork].child();
      bool gone = false;
      for (std::size_t e = fork; e < end; ++e) {
        const Event& event = events_[e];
        if (dropped(e)) continue;
        gone |= event.kind == EventKind::kJoin && event.child() == child;
        gone |= event.kind == EventKind::kThreadStop && event.thread == child;
      }
      if (!gone) return true;
    }
    return false;
  }

  /// Whose doing each event is: all of a block is done by its thread, as far as others can tell;
  /// but from the end of a block that lives on, its thread counts as another one, forked there.
  using Line = std::pair<ThreadId, std::size_t>;
  [[nodiscard]] std::vector<Line> lines(const std::vector<bool>& is_transaction) const {
    std::vector<Line> line(size());
    for (std::size_t e = 0; e < size(); ++e) line[e] = {events_[e].thread, 0};
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (!is_transaction[b] || !lives_on(b)) continue;
      for (std::size_t e = blocks_[b].end + 1; e < size(); ++e) {
        if (events_[e].thread == events_[blocks_[b].begin].thread) ++line[e].second;
      }
    }
    std::vector<Line> result = line;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (!is_transaction[b]) continue;
      for (const std::size_t e : blocks_[b].members) result[e] = line[blocks_[b].begin];
    }
    return result;
  }

  /// Whether a conflict leaves the block at e, or enters it at f. Program order leaves it at its
  /// end only, a join leaves at the last event of the joined thread; a fork, and program order,
  /// enter a block before its begin. A join in the block that the joined thread ended in waits for
  /// nothing outside: what that thread did before, it brought in by program order.
  [[nodiscard]] bool leaves(std::size_t e, std::size_t f, std::size_t block,
                            const std::vector<Line>& line) const {
    if (line[e] == line[f]) return false;
    if (events_[e].thread == events_[f].thread) {
      return e == blocks_[block].end || conflicts(events_[e], events_[f], round_[e], round_[f]);
    }
    if (joins(e, f)) return e == last_.at(events_[e].thread);
    return true;
  }
  [[nodiscard]] bool enters(std::size_t e, std::size_t f, std::size_t block,
                            const std::vector<Line>& line) const {
    if (line[e] == line[f]) return false;
    if (events_[e].thread == events_[f].thread) {
      return conflicts(events_[e], events_[f], round_[e], round_[f]);
    }
    if (joins(e, f)) return !is_member(last_.at(events_[e].thread), block);
    return !forks(e, f);
  }

  void find_cycles(std::size_t block, OracleResult& result) const {
    // The transactions: this block, the outermost blocks that are not around it, and single events.
    const std::vector<std::size_t>& ancestors = blocks_[block].ancestors;
    std::vector<std::size_t> transaction(size(), kNone);  // a block's begin, or the event
    std::vector<bool> is_transaction(blocks_.size());
    for (std::size_t e = 0; e < size(); ++e) {
      if (dropped(e)) continue;
      transaction[e] = e;
      for (const std::size_t b : chain_[e]) {
        if (std::find(ancestors.begin(), ancestors.end(), b) != ancestors.end()) continue;
        transaction[e] = blocks_[b].begin;
        is_transaction[b] = true;
        break;
      }
    }
    const std::size_t self = blocks_[block].begin;
    const std::vector<Line> line = lines(is_transaction);

    std::vector<std::vector<std::size_t>> sources(size());     // conflicting events before an event
    std::vector<std::vector<std::size_t>> successors(size());  // of a transaction
    std::vector<Bits> happens_before(size(), Bits(size(), false));
    for (std::size_t f = 0; f < size(); ++f) {
      if (dropped(f)) continue;
      happens_before[f][f] = true;
      for (std::size_t e = 0; e < f; ++e) {
        if (dropped(e)) continue;
        const bool conflict = events_[e].thread == events_[f].thread ||
                              conflicts(events_[e], events_[f], round_[e], round_[f]);
        const bool together = transaction[e] == transaction[f];
        if (conflict && !together) {
          sources[f].push_back(e);
          successors[transaction[e]].push_back(transaction[f]);
        }
        if (!conflict && !together) continue;
        for (std::size_t d = 0; d <= e; ++d) {
          if (happens_before[e][d]) happens_before[f][d] = true;
        }
      }
    }

    bool wide = false;
    bool strict = false;
    for (const std::size_t e1 : blocks_[block].members) {
      std::vector<std::size_t> reached;  // to be visited
      for (std::size_t f = e1 + 1; f < size(); ++f) {
        if (std::find(sources[f].begin(), sources[f].end(), e1) != sources[f].end() &&
            leaves(e1, f, block, line)) {
          reached.push_back(transaction[f]);
        }
      }
      Bits seen(size(), false);
      while (!reached.empty()) {
        const std::size_t t = reached.back();
        reached.pop_back();
        if (t == self || seen[t]) continue;
        seen[t] = true;
        reached.insert(reached.end(), successors[t].begin(), successors[t].end());
      }
      for (const std::size_t e2 : blocks_[block].members) {
        if (e2 <= e1) continue;
        for (const std::size_t g : sources[e2]) {
          if (!enters(g, e2, block, line) || !seen[transaction[g]]) continue;
          wide = true;
          if (!happens_before[e1][g]) strict = true;
        }
      }
    }
    if (wide) result.wide.push_back(self + 1);
    if (strict) result.strict.push_back(self + 1);
  }

  std::span<const Event> events_;
  std::vector<Block> blocks_;
  std::vector<std::vector<std::size_t>> chain_;  // blocks around an event, outermost first
  std::vector<std::uint64_t> round_;
  std::vector<std::size_t> released_by_;  // of a wait: the post
  std::map<ThreadId, std::size_t> last_;  // event of a thread
};

}  // namespace

OracleResult oracle(std::span<const Event> events) {
  return Definition(events).run();
}

}  // namespace syndrome::check::determinism
