// Decides all witnesses of a read, or of a final value, in families.
//
// For a read r that read w, a challenger c is another write to the location, or the initial value.
// The triple (w, r, c) is feasible iff a correct reordering that ends in r has c in it, and w
// either not (case A: the paper's c -> r -> w, and c -> r without w) or before c (case B: w -> c ->
// r).
//
//   A  is monotone: with a later write of a thread the reordering has all earlier ones, too. So for
//      each thread there is a last feasible one. The clocks bound it, one question for all threads
//      together settles most reads, and bisection the rest.
//   B  What the clocks put before w, or after r, is out. Of the other writes of a thread, one
//      question asks for all of them behind w at once, first for all threads, then for each; if the
//      answer is no, the range is cut at both ends (how far can a thread go at all; which writes
//      can be kept from coming before w: both monotone) and then halved.
//
// So the cost follows the reads and their families, not the triples.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "check/nondeterminism/order.h"
#include "check/nondeterminism/search.h"

namespace syndrome::check {

/// What was decided about one read.
struct ReadVerdict {
  Index read = kNoIndex;
  /// Feasible challengers: ranges of places in Order::writes(); none of them is w or r itself.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> feasible;
  bool initial = false;    // so is the initial value
  bool undecided = false;  // there may be more
  bool seen_initial = false;
  Index seen =
      kNoIndex;  // a challenger that r reads in a reordering that was found; or the initial

  [[nodiscard]] bool nondeterministic() const { return initial || !feasible.empty(); }
};

/// How the triples were decided. Each stands for three witnesses of the paper.
struct DecisionCounts {
  std::uint64_t reads = 0;
  std::uint64_t triples = 0;
  std::uint64_t refuted_by_order = 0;  // by clocks alone
  std::uint64_t feasible = 0;
  std::uint64_t choices = 0;  // triples whose question came to a choice
  std::uint64_t undecided_reads = 0;

  void add(const DecisionCounts& other);
};

class Decider {
 public:
  Decider(const Order& order, std::uint64_t effort) : order_(order), search_(order, effort) {}

  [[nodiscard]] ReadVerdict decide(Index read);

  /// Whether a correct reordering ends in `read` with `challenger` as what it reads; kNoIndex is
  /// the initial value.
  [[nodiscard]] Answer reads_from(Index read, Index challenger);

  /// Whether `challenger` is the last write to its location in a complete reordering. Requires that
  /// it is the last one of its thread.
  [[nodiscard]] Answer ends_with(Index challenger);

  /// After kYes: the reordering, without the read that ends it.
  [[nodiscard]] std::vector<Index> schedule() const { return search_.schedule(); }

  /// After kYes: how many events it has.
  [[nodiscard]] std::uint64_t length() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t count : search_.prefix()) sum += count;
    return sum;
  }

  [[nodiscard]] const SearchCounts& search_counts() const { return search_.counts(); }
  [[nodiscard]] const DecisionCounts& counts() const { return counts_; }

 private:
  struct Family {
    OfThread group;
    std::uint32_t from = 0;  // places
    std::uint32_t to = 0;
  };

  void without_writer();
  void after_writer();
  void last_of(const Family& family);
  void behind(Family family);
  void halve(const Family& family);
  Answer ask_without(std::span<const Family> families);
  Answer ask_behind(std::span<const Family> families);
  Answer ask();
  void restart(const std::vector<std::uint32_t>& wanted);
  void want(Index e);
  void prove(const Family& family);
  void question(const Family& family);
  void conclude();
  void saw();
  [[nodiscard]] Index at(std::uint32_t place) const { return order_.writes().at(place); }

  const Order& order_;
  Search search_;
  Question question_;
  DecisionCounts counts_;

  // Of the read in hand.
  Index read_ = kNoIndex;
  Index writer_ = kNoIndex;
  ReadVerdict verdict_;
  std::span<const OfThread> groups_;
  std::uint32_t first_place_ = 0;
  // By place, from first_place_; all 0 between reads.
  std::vector<std::uint8_t> proven_;
  std::vector<std::uint8_t> in_question_;  // not refuted by the clocks
  std::vector<std::uint8_t> chosen_;       // its question came to a choice
  std::vector<std::uint32_t> base_;        // what must come before the read
  std::vector<std::uint32_t> with_writer_;
  std::vector<Family> families_;
  std::vector<Family> touched_;  // places that may not be 0, one for each group at most
};

}  // namespace syndrome::check
