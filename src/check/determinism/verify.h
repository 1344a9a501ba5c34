// Accepts or rejects findings, knowing only the definitions and the trace, which it reads for
// itself. No finding is shown that it has not accepted.
//
// It has no clocks and no graph. Of a conflict in a block it follows, from the earlier operation to
// the later one, which threads come after the earlier one inside of the block: the later one must
// not be among them. Of a cycle it checks each edge, and that edges meet in one transaction.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/atomicity/conflict.h"
#include "check/determinism/blocks.h"
#include "check/finding.h"
#include "check/witnesses.h"

namespace syndrome::check::determinism {

inline constexpr std::string_view kConflictRule = "conflict-in-block";
inline constexpr std::string_view kCycleRule = "external-cycle";

class Verifier {
 public:
  /// `findings` with their two events or their cycle; `rule` says what begins a block.
  Verifier(const std::vector<Finding>& findings, BlockRule rule);

  void take(const Batch& batch, const Names& names);
  [[nodiscard]] bool satisfied() const { return witnesses_.satisfied() && open_.empty(); }

  /// Why the finding shows no violation of its block; none when it does.
  [[nodiscard]] std::optional<std::string> reject(const Finding& finding) const;

  void add_witnesses(Finding& finding) const;

 private:
  /// The blocks around an event, outermost first, with their begins.
  struct Around {
    std::vector<std::pair<EventNumber, Event>> blocks;
    std::uint64_t round = 0;  // of a barrier event

    [[nodiscard]] bool has(EventNumber block) const;
  };

  /// What comes after the earlier operation of a conflict, inside of the block.
  struct Followed {
    EventNumber block = 0;
    EventNumber later = 0;
    std::set<ThreadId> threads;
    std::set<EventNumber> posts;
    std::set<std::pair<std::uint32_t, std::uint64_t>> rounds;  // barrier, round
    std::set<std::uint32_t> home_made;
    bool over = false;
    bool ordered = false;  // the later one comes after the earlier one
  };
  using Key = std::pair<EventNumber, std::pair<EventNumber, EventNumber>>;
  static Key key_of(const Finding& finding) {
    return {finding.block, {finding.events[0], finding.events[1]}};
  }

  void follow(const Event& e, EventNumber n, std::uint64_t round, EventNumber post);
  static void step(Followed& followed, const Event& e, EventNumber n, std::uint64_t round,
                   EventNumber post);
  [[nodiscard]] Around around(ThreadId thread) const;
  [[nodiscard]] const Around* find(EventNumber number) const;
  [[nodiscard]] static EventNumber transaction(EventNumber number, const Around& around,
                                               const Around& of_block);
  [[nodiscard]] std::optional<std::string> reject_conflict(const Finding& finding) const;
  [[nodiscard]] std::optional<std::string> reject_cycle(const Finding& finding) const;

  Witnesses witnesses_;
  BlockRule rule_;
  Blocks blocks_;
  BarrierRounds rounds_;
  std::unordered_map<std::uint32_t, std::deque<EventNumber>> posts_;  // not taken, by semaphore
  std::unordered_map<EventNumber, Around> around_;                    // of the wanted events
  std::set<EventNumber> open_;                         // blocks of interest that are open
  std::unordered_map<EventNumber, EventNumber> ends_;  // of blocks of interest
  std::map<Key, Followed> followed_;
  std::multimap<EventNumber, Key> starts_;  // by the earlier operation
  std::vector<Followed*> active_;
};

}  // namespace syndrome::check::determinism
