// The second look at a trace with races: every pair of places that races, on the variables that
// have races.
//
// A racing pair (e1, e2) is two accesses that race (detector.h), where e1 is the last access before
// e2 by its thread, at its site, of its kind (r, w, rmw; atomic or plain) to that variable. If any
// access of that description races with e2, then the last one does: it comes after the others in
// its thread, so what it happens before, they happen before, too. Hence the sites of racing pairs
// are the sites of all pairs of accesses that race, in this run.
//
// Keeps for each of these variables the last access of each thread, site and kind.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "check/races/detector.h"
#include "check/races/happens_before.h"

namespace syndrome::check {

class RacingPairs : public HappensBefore {
 public:
  /// The sites belong to the race's events; 0: unknown.
  using OnPair = std::function<void(Race, SiteId earlier, SiteId later)>;

  /// Looks at the variables on which `detector` has found a race; that is all that it is asked.
  RacingPairs(const RaceDetector& detector, OnPair on_pair);

  void on_access(const Event& e, EventNumber n) {
    begin_access(e, n);
    if (e.target < history_of_.size() && history_of_[e.target] != kNone) look(e, n);
    end_access(e, n);
  }
  void on_alloc(const Event& e, EventNumber n) {
    HappensBefore::on_alloc(e, n);
    renew(e.target);
  }
  void on_free(const Event& e, EventNumber n) {
    HappensBefore::on_free(e, n);
    renew(e.target);
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  struct Access {
    EventNumber number = 0;
    ThreadId thread;
    SiteId site;
    std::uint32_t slot = 0;
    bool writes = false;
    bool reads = false;
    bool atomic = false;
  };

  void look(const Event& e, EventNumber n);
  void renew(std::uint32_t variable) {
    if (variable < history_of_.size() && history_of_[variable] != kNone) {
      histories_[history_of_[variable]].clear();
    }
  }

  OnPair on_pair_;
  std::vector<std::uint32_t> history_of_;  // by variable; kNone: has no race
  std::vector<std::vector<Access>> histories_;
};

}  // namespace syndrome::check
