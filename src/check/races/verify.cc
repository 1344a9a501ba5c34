#include "check/races/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "check/races/happens_before.h"

namespace syndrome::check {
namespace {

std::vector<EventNumber> events_of(const std::vector<Race>& races) {
  std::vector<EventNumber> numbers;
  for (const Race& race : races) {
    numbers.push_back(race.earlier);
    numbers.push_back(race.later);
  }
  return numbers;
}

template <class Value>
Value& at(std::vector<Value>& table, std::size_t index) {
  if (index >= table.size()) table.resize(index + 1);
  return table[index];
}

}  // namespace

RaceVerifier::RaceVerifier(std::vector<Race> races)
    : by_later_(std::move(races)), witnesses_(events_of(by_later_)) {
  for (const Race& race : by_later_) earlier_.push_back(race.earlier);
  std::ranges::sort(earlier_);
  const auto rest = std::ranges::unique(earlier_);
  earlier_.erase(rest.begin(), rest.end());
  std::ranges::sort(by_later_, {},
                    [](const Race& race) { return std::pair(race.later, race.earlier); });
}

void RaceVerifier::merge(Reached& into, const Reached& from) {
  if (from == nullptr || into == from) return;
  if (into == nullptr) {
    into = from;
    return;
  }
  bool more = false;  // in `from`
  bool less = false;
  for (std::size_t i = 0; i < into->size(); ++i) {
    more |= ((*from)[i] & ~(*into)[i]) != 0;
    less |= ((*into)[i] & ~(*from)[i]) != 0;
  }
  if (!more) return;
  if (!less) {
    into = from;
    return;
  }
  Bits both = *into;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] |= (*from)[i];
  into = std::make_shared<const Bits>(std::move(both));
}

bool RaceVerifier::reaches(const Reached& reached, std::size_t index) const {
  return reached != nullptr && ((*reached)[index / 64] >> (index % 64) & 1U) != 0;
}

RaceVerifier::Thread& RaceVerifier::thread(ThreadId id) {
  return at(threads_, id.index());
}

void RaceVerifier::take(const Batch& batch) {
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    if (satisfied()) return;
    if ((event.flags & kDropped) == 0) {
      (void)witnesses_.take(event, number);
      (void)at(threads_, target_space(event.kind) == Space::kThread
                             ? std::max(event.child().index(), event.thread.index())
                             : event.thread.index());
      Thread& self = thread(event.thread);
      if ((event.flags & kNested) == 0) acquire(event, self);
      end(number, event, self);
      start(number, self);
      if ((event.flags & kNested) == 0) release(event, self);
      if (event.kind == EventKind::kAlloc || event.kind == EventKind::kFree) {
        renewed_[event.target] = number;
        written_.erase(event.target);
      }
    }
    ++number;
  }
}

void RaceVerifier::acquire(const Event& event, Thread& self) {
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kRmw: {
      if (!is_atomic(event)) return;
      const auto written = written_.find(event.target);
      if (written == written_.end()) return;
      merge(acquires(order_of(event)) ? self.reached : self.fence_pending, written->second);
      return;
    }
    case EventKind::kFence:
      if (acquires(order_of(event))) merge(self.reached, self.fence_pending);
      return;
    case EventKind::kAcquire: {
      const Lock& lock = at(locks_, event.target);
      merge(self.reached, lock.exclusive);
      merge(self.reached, lock.shared);
      return;
    }
    case EventKind::kAcquireShared: merge(self.reached, at(locks_, event.target).exclusive); return;
    case EventKind::kJoin: merge(self.reached, thread(event.child()).reached); return;
    case EventKind::kWait: merge(self.reached, at(semaphores_, event.target)); return;
    case EventKind::kHappensAfter: merge(self.reached, at(objects_, event.target)); return;
    case EventKind::kBarrierLeave: {
      const std::uint64_t round = rounds_.leave(event.thread, event.barrier());
      const auto arrived = arrived_.find({event.target, round});
      if (arrived == arrived_.end()) return;
      merge(self.reached, arrived->second.reached);
      if (--arrived->second.inside == 0) arrived_.erase(arrived);  // it takes no more arrivals
      return;
    }
    default: return;
  }
}

void RaceVerifier::release(const Event& event, Thread& self) {
  switch (event.kind) {
    case EventKind::kWrite:
    case EventKind::kRmw: {
      if (!is_atomic(event) || event.kind == EventKind::kWrite) written_.erase(event.target);
      if (!is_atomic(event)) return;
      const Reached& passed_on = releases(order_of(event)) ? self.reached : self.fence_released;
      if (passed_on != nullptr) merge(written_[event.target], passed_on);
      return;
    }
    case EventKind::kFence:
      if (releases(order_of(event))) self.fence_released = self.reached;
      return;
    case EventKind::kRelease: merge(at(locks_, event.target).exclusive, self.reached); return;
    case EventKind::kReleaseShared: merge(at(locks_, event.target).shared, self.reached); return;
    case EventKind::kFork: merge(thread(event.child()).reached, self.reached); return;
    case EventKind::kPost: merge(at(semaphores_, event.target), self.reached); return;
    case EventKind::kHappensBefore: merge(at(objects_, event.target), self.reached); return;
    case EventKind::kBarrierArrive: {
      const std::uint64_t round = rounds_.arrive(event.thread, event.barrier());
      Round& open = arrived_[{event.target, round}];
      merge(open.reached, self.reached);
      ++open.inside;
      return;
    }
    default: return;
  }
}

void RaceVerifier::start(EventNumber number, Thread& self) {
  if (next_earlier_ == earlier_.size() || earlier_[next_earlier_] != number) return;
  Bits bits = self.reached != nullptr ? *self.reached : Bits((earlier_.size() + 63) / 64, 0);
  bits[next_earlier_ / 64] |= std::uint64_t{1} << (next_earlier_ % 64);
  self.reached = std::make_shared<const Bits>(std::move(bits));
  ++next_earlier_;
}

void RaceVerifier::end(EventNumber number, const Event& event, const Thread& self) {
  for (; next_later_ < by_later_.size() && by_later_[next_later_].later == number; ++next_later_) {
    const Race& race = by_later_[next_later_];
    const auto index = static_cast<std::size_t>(std::ranges::lower_bound(earlier_, race.earlier) -
                                                earlier_.begin());
    const Witness* const earlier = witnesses_.find(race.earlier);
    const auto complain = [&](std::string why) { rejected_[race] = std::move(why); };
    if (earlier == nullptr || race.earlier >= race.later) {
      complain(fmt::format("{} does not come before {}", race.earlier, race.later));
      continue;
    }
    const Event& a = earlier->event;
    if (a.kind > EventKind::kRmw || event.kind > EventKind::kRmw || a.target != event.target) {
      complain(fmt::format("{} and {} are not accesses to one variable", race.earlier, race.later));
    } else if (a.thread == event.thread) {
      complain(fmt::format("{} and {} are of one thread", race.earlier, race.later));
    } else if (a.kind == EventKind::kRead && event.kind == EventKind::kRead) {
      complain(fmt::format("neither {} nor {} writes", race.earlier, race.later));
    } else if (is_atomic(a) && is_atomic(event)) {
      complain(fmt::format("{} and {} are both atomic", race.earlier, race.later));
    } else if (const auto renewed = renewed_.find(event.target);
               renewed != renewed_.end() && renewed->second > race.earlier) {
      complain(fmt::format("the variable is another one since event {}", renewed->second));
    } else if (reaches(self.reached, index)) {
      complain(fmt::format("{} happens before {}", race.earlier, race.later));
    }
  }
}

std::optional<std::string> RaceVerifier::reject(const Race& race) const {
  if (witnesses_.find(race.earlier) == nullptr || witnesses_.find(race.later) == nullptr) {
    return "an event is not in the trace";
  }
  const auto found = rejected_.find(race);
  if (found == rejected_.end()) return std::nullopt;
  return found->second;
}

}  // namespace syndrome::check
