#include "check/races/detector.h"

#include <algorithm>

namespace syndrome::check {

void RaceDetector::grow(std::size_t variable) {
  variables_.resize(std::max(variable + 1, variables_.size() + variables_.size() / 2));
}

EventNumber RaceDetector::unordered(Epoch accesses, const clock::VectorClock& clock) const {
  if ((accesses & kMany) == 0) [[likely]] {
    return clock[slot(accesses)] >= number(accesses) ? 0 : number(accesses);
  }
  const std::vector<EventNumber>& many = many_[accesses & ~kMany];
  for (std::size_t i = 0; i < many.size(); ++i) {
    if (clock[i] < many[i]) return many[i];
  }
  return 0;
}

void RaceDetector::include(Epoch& accesses, const clock::VectorClock& clock, std::size_t own,
                           EventNumber n) {
  if ((accesses & kMany) == 0) {
    if (clock[slot(accesses)] >= number(accesses)) [[likely]] {
      accesses = epoch(own, n);
      return;
    }
    ++counts_.many_readers;
    std::uint64_t index = many_.size();
    if (free_many_.empty()) {
      many_.emplace_back();
    } else {
      index = free_many_.back();
      free_many_.pop_back();
    }
    std::vector<EventNumber>& many = many_[index];
    many.assign(std::max(slots(), slot(accesses) + 1), 0);
    many[slot(accesses)] = number(accesses);
    accesses = kMany | index;
  }
  std::vector<EventNumber>& many = many_[accesses & ~kMany];
  if (own >= many.size()) many.resize(std::max(slots(), own + 1), 0);
  many[own] = n;
}

void RaceDetector::clear(Epoch& accesses) {
  if ((accesses & kMany) != 0) free_many_.push_back(accesses & ~kMany);
  accesses = 0;
}

EventNumber RaceDetector::look_plain(const Event& e, EventNumber n, Variable& variable,
                                     const clock::VectorClock& clock, std::size_t own) {
  if (variable.write == kRacy) return 0;
  const Epoch write = variable.write & ~kMany;
  Atomics* const atomics =
      (variable.write & kMany) != 0 ? &atomics_.find(e.target).value() : nullptr;
  EventNumber earlier = unordered(write, clock);
  if (earlier == 0 && atomics != nullptr) earlier = unordered(atomics->writes, clock);
  if (e.kind == EventKind::kRead) {
    if (earlier != 0) return earlier;
    include(variable.read, clock, own, n);
    return 0;
  }
  if (earlier == 0) earlier = unordered(variable.read, clock);
  if (earlier == 0 && atomics != nullptr) earlier = unordered(atomics->reads, clock);
  if (earlier != 0) return earlier;
  if ((variable.read & kMany) != 0) clear(variable.read);
  if (atomics != nullptr) {
    clear(atomics->reads);
    clear(atomics->writes);
    atomics_.erase(e.target);
  }
  variable.write = epoch(own, n);
  return 0;
}

EventNumber RaceDetector::look_atomic(const Event& e, EventNumber n, Variable& variable,
                                      const clock::VectorClock& clock, std::size_t own) {
  if (variable.write == kRacy) return 0;
  EventNumber earlier = unordered(variable.write & ~kMany, clock);
  const bool reads = e.kind == EventKind::kRead;
  if (earlier == 0 && !reads) earlier = unordered(variable.read, clock);
  if (earlier != 0) return earlier;
  const auto [at, added] = atomics_.try_emplace(e.target);
  counts_.atomic_variables += added ? 1 : 0;
  variable.write |= kMany;
  include(reads ? at.value().reads : at.value().writes, clock, own, n);
  return 0;
}

void RaceDetector::renew(std::uint32_t variable) {
  if (variable >= variables_.size()) return;
  Variable& old = variables_[variable];
  if ((old.read & kMany) != 0) clear(old.read);
  if (const auto at = atomics_.find(variable); at != atomics_.end()) {
    clear(at.value().reads);
    clear(at.value().writes);
    atomics_.erase(at);
  }
  old = {};
}

void RaceDetector::add(const Event& e, Race race) {
  first_races_.push_back(race);
  renew(e.target);
  variables_[e.target].write = kRacy;
  if (e.target >= racy_.size()) racy_.resize(variables_.size());
  if (racy_[e.target]) return;
  racy_[e.target] = true;
  ++racy_variables_;
}

}  // namespace syndrome::check
