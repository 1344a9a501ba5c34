// Accepts or rejects reported races, knowing only the definition (happens_before.h) and the trace,
// which it reads for itself. No finding is shown that it has not accepted.
//
// It has no clocks. For each earlier access of a race it follows what that event reaches: a set of
// such events for each thread, lock and so on, which only grows along the edges of happens-before.
// The later access must not be reached by its earlier one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/finding.h"
#include "check/races/detector.h"
#include "check/witnesses.h"
#include "clock/barrier_rounds.h"

namespace syndrome::check {

class RaceVerifier {
 public:
  explicit RaceVerifier(std::vector<Race> races);

  void take(const Batch& batch);
  [[nodiscard]] bool satisfied() const { return witnesses_.satisfied(); }

  /// Why these two are not a race; none when they are. Only of races that it was made for.
  [[nodiscard]] std::optional<std::string> reject(const Race& race) const;

  [[nodiscard]] const Witnesses& witnesses() const { return witnesses_; }

 private:
  /// Indices into earlier_; none when empty. Shared, because most are equal: a lock has what its
  /// last holder had.
  using Bits = std::vector<std::uint64_t>;
  using Reached = std::shared_ptr<const Bits>;

  struct Thread {
    Reached reached;
    Reached fence_released;  // at its last release fence
    Reached fence_pending;   // what its relaxed reads have read
  };
  struct Lock {
    Reached exclusive;
    Reached shared;
  };

  struct Round {
    Reached reached;
    std::size_t inside = 0;  // arrived and not left
  };

  static void merge(Reached& into, const Reached& from);
  [[nodiscard]] bool reaches(const Reached& reached, std::size_t index) const;
  [[nodiscard]] Thread& thread(ThreadId id);
  void acquire(const Event& event, Thread& thread);
  void release(const Event& event, Thread& thread);
  void start(EventNumber number, Thread& thread);
  void end(EventNumber number, const Event& event, const Thread& thread);

  std::vector<EventNumber> earlier_;  // ascending, each once
  std::vector<Race> by_later_;        // ascending by later
  std::size_t next_earlier_ = 0;
  std::size_t next_later_ = 0;
  std::map<Race, std::string> rejected_;  // and why

  Witnesses witnesses_;
  std::vector<Thread> threads_;
  std::vector<Lock> locks_;
  std::vector<Reached> semaphores_;
  std::vector<Reached> objects_;
  std::unordered_map<std::uint32_t, Reached> written_;  // by variable
  clock::BarrierRounds rounds_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Round> arrived_;  // by barrier and round
  /// By variable: its last alloc or free.
  std::unordered_map<std::uint32_t, EventNumber> renewed_;
};

}  // namespace syndrome::check
