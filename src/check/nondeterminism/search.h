// Decides one witness: is there a correct reordering with these events, those not, in this order?
//
// A question fixes what has to be in the reordering (a prefix of each thread, closed under the
// clocks of order.h), what must not be in it (a limit for each thread) and some more edges. The
// search keeps to the trace's own order wherever it can:
//
//   1. Without an edge that points backwards in the trace, the trace's order is a correct
//      reordering, unless a scope that the prefix leaves open is followed by another of its lock.
//   2. Otherwise the events from the first one that has to wait are replayed, those that are
//      free to go in the order of the trace. An acquire waits for the holder of its lock, and a
//      write for the reads of the write that it replaces. If all get through, that is the
//      reordering.
//   3. If not, every event that waits is a choice that was made in the wrong way, or too early:
//      between two scopes of one lock, or for a write between before the write and after the
//      read of a couple. One of the two orders has to hold. If one closes a cycle, or takes in what
//      must not be, the other is forced; if both do, the question is answered; if none does, first
//      the one that was not tried and then the other becomes an edge (a choice edge, as those of
//      the paper), and the search goes back to 1.
//
// Only choices that matter are met, so most questions are answered without any. Edges are kept as
// clocks over the clocks of the trace: for k edges and t threads, a new one costs k * t.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "check/nondeterminism/order.h"

namespace syndrome::check {

enum class Answer : std::uint8_t { kNo, kYes, kUndecided };

struct Question {
  /// How many events of each thread have to be there; not necessarily closed.
  std::vector<std::uint32_t> wanted;
  /// How many may be; of a thread that ends with the read, as many as come before it.
  std::vector<std::uint32_t> limit;
  struct Edge {
    Index from = kNoIndex;
    Index to = kNoIndex;
  };
  /// Where `to` is in the reordering, `from` is too and comes before it.
  std::vector<Edge> edges;
  /// Where it is not kNoIndex: every other write to its location comes before it.
  Index last_write = kNoIndex;
};

/// How the search went, over all questions.
struct SearchCounts {
  std::uint64_t questions = 0;
  std::uint64_t graphs = 0;        // that were looked at: one, and one for each choice edge tried
  std::uint64_t replays = 0;       // of them had edges that point backwards
  std::uint64_t replayed = 0;      // events
  std::uint64_t with_choices = 0;  // questions

  void add(const SearchCounts& other) {
    questions += other.questions;
    graphs += other.graphs;
    replays += other.replays;
    replayed += other.replayed;
    with_choices += other.with_choices;
  }
};

/// For one thread of ours. Keeps its memory from question to question.
class Search {
 public:
  /// `effort`: events that one question may look at.
  Search(const Order& order, std::uint64_t effort);

  [[nodiscard]] Answer ask(const Question& question);

  /// After kYes: the events of the reordering in order.
  [[nodiscard]] std::vector<Index> schedule() const;
  /// After kYes: how many events of each thread are in it.
  [[nodiscard]] std::span<const std::uint32_t> prefix() const { return state().prefix; }
  /// After kYes: the last write to a location in it; kNoIndex when there is none.
  [[nodiscard]] Index last_write(std::uint32_t location) const;
  /// Whether the last question came to a choice.
  [[nodiscard]] bool had_choices() const { return had_choices_; }

  [[nodiscard]] const SearchCounts& counts() const { return counts_; }

 private:
  using Edge = Question::Edge;
  struct State {
    std::vector<std::uint32_t> prefix;
    std::vector<Edge> edges;
    std::vector<std::uint32_t> clocks;  // of each edge's `from`, one after another
  };
  /// Two orders of which one must hold; `first` is tried first. Ends that are kNoIndex cannot be.
  struct Choice {
    Edge first;
    Edge second;
  };
  struct LockState {
    std::uint64_t stamp = 0;
    std::uint32_t exclusive = 0;
    std::uint32_t shared = 0;
  };
  struct Written {
    std::uint64_t stamp = 0;
    Index last = kNoIndex;
  };

  [[nodiscard]] const State& state() const { return states_[depth_]; }
  [[nodiscard]] bool in(const State& state, Index e) const {
    return state.prefix[order_.thread(e)] > order_.position(e);
  }
  bool grow(State& state, Index e);
  bool settle(State& state);
  void clock_of(const State& state, Index e, std::vector<std::uint32_t>& into) const;
  bool reaches(const State& state, Index a, Index b);
  bool add(State& state, const Edge& edge);
  bool possible(const State& state, const Edge& edge);
  bool open_choices(const State& state);
  [[nodiscard]] Index first_to_wait(const State& state) const;
  Answer explore(std::size_t depth);
  Answer force(State& state);

  // The replay.
  bool replay(const State& state);
  void start_replay(const State& state);
  [[nodiscard]] bool is_done(Index e) const { return done_[order_.thread(e)] > order_.position(e); }
  bool step(const State& state, Index e);
  [[nodiscard]] bool in_order(const State& state, Index e) const;
  void catch_up(const State& state, Index until);
  [[nodiscard]] LockState& lock(std::uint32_t id);
  [[nodiscard]] Index& written(const State& state, std::uint32_t location);
  [[nodiscard]] Index written_before(const State& state, std::uint32_t location, Index end) const;
  [[nodiscard]] Index pending_reader(const State& state, Index write, std::uint32_t location,
                                     Index besides) const;
  void blocked_choices(const State& state);

  const Order& order_;
  std::uint64_t effort_;
  std::uint64_t left_ = 0;
  const Question* question_ = nullptr;
  SearchCounts counts_;
  bool had_choices_ = false;

  std::vector<State> states_;  // one for each open choice; used up to depth_
  std::size_t depth_ = 0;
  std::vector<Choice> choices_;
  std::vector<std::uint32_t> scratch_;
  std::vector<std::uint32_t> scratch2_;

  Index start_ = kNoIndex;  // of the replay; none: the order is that of the trace
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> done_;           // of each thread
  std::vector<std::uint8_t> waits_for_edge_;  // by event: is the `to` of an edge
  std::vector<LockState> locks_;
  std::vector<Written> written_;
  std::vector<std::uint32_t> late_;    // threads that wait
  std::vector<std::uint8_t> is_late_;  // by thread
  std::vector<Index> replayed_;
};

}  // namespace syndrome::check
