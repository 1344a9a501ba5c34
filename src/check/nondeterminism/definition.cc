#include "check/nondeterminism/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "clock/barrier_rounds.h"

namespace syndrome::check {

/// Goes through the trace once and notes for each event what it needs.
class Reorderings::Builder {
 public:
  explicit Builder(Reorderings& into) : into_(into) {}

  void run() {
    into_.entries_.resize(into_.events_.size());
    for (EventNumber number = 1; number <= into_.events_.size(); ++number) {
      const Event& event = into_.event(number);
      if ((event.flags & kDropped) != 0) continue;
      ++into_.counted_;
      place(event, number);
      if ((event.flags & kNested) == 0) take(event, number);
    }
    for (auto& [variable, life] : lives_) {
      if (life.location != kNone) into_.finals_[life.location] = life.last;
    }
  }

 private:
  struct Life {
    std::uint32_t location = kNone;  // none before the first access
    std::uint32_t accesses = kNone;  // the object that accesses signal
    std::uint32_t renewal = kNone;   // the object of the alloc or free with which it began
    EventNumber last = 0;            // write
  };

  Entry& entry(EventNumber number) { return into_.entries_[number - 1]; }

  std::uint32_t new_object() {
    into_.signals_.emplace_back();
    return static_cast<std::uint32_t>(into_.signals_.size() - 1);
  }
  void signal(std::uint32_t object, EventNumber number) {
    into_.signals_[object].push_back(number);
  }
  void need(EventNumber number, std::uint32_t object) {
    if (object == kNone || into_.signals_[object].empty()) return;
    Need* const needs = entry(number).needs;
    Need& free = needs[0].object == kNone ? needs[0] : needs[1];
    free = {object, static_cast<std::uint32_t>(into_.signals_[object].size())};
  }

  std::uint32_t object_of(EventKind family, std::uint32_t target) {
    const auto [at, is_new] = objects_.try_emplace({family, target}, kNone);
    if (is_new) at->second = new_object();
    return at->second;
  }

  void place(const Event& event, EventNumber number) {
    const std::size_t child =
        target_space(event.kind) == Space::kThread ? event.child().index() : 0;
    if (into_.of_thread_.size() <= std::max(event.thread.index(), child)) {
      into_.of_thread_.resize(std::max(event.thread.index(), child) + 1);
    }
    std::vector<EventNumber>& own = into_.of_thread_[event.thread.index()];
    entry(number).position = static_cast<std::uint32_t>(own.size());
    if (own.empty()) {
      if (const auto fork = forks_.find(event.thread); fork != forks_.end()) {
        need(number, fork->second);
      }
    }
    own.push_back(number);
  }

  void take(const Event& event, EventNumber number) {
    switch (event.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
      case EventKind::kRmw: return access(event, number);
      case EventKind::kAlloc:
      case EventKind::kFree: return renew(event, number);
      case EventKind::kAcquire:
      case EventKind::kRelease:
      case EventKind::kAcquireShared:
      case EventKind::kReleaseShared:
        into_.locks_ = std::max<std::size_t>(into_.locks_, event.target + 1);
        return;
      case EventKind::kFork: {
        const std::uint32_t object = new_object();
        forks_[event.child()] = object;
        return signal(object, number);
      }
      case EventKind::kJoin:
        if (const auto fork = forks_.find(event.child()); fork != forks_.end()) {
          need(number, fork->second);
        }
        return;
      case EventKind::kPost:
      case EventKind::kHappensBefore: return signal(object_of(event.kind, event.target), number);
      case EventKind::kCondSignal:
      case EventKind::kCondBroadcast:
        return signal(object_of(EventKind::kCondSignal, event.target), number);
      case EventKind::kWait: return need(number, object_of(EventKind::kPost, event.target));
      case EventKind::kHappensAfter:
        return need(number, object_of(EventKind::kHappensBefore, event.target));
      case EventKind::kCondWait:
        return need(number, object_of(EventKind::kCondSignal, event.target));
      case EventKind::kBarrierArrive: {
        const std::uint64_t round = rounds_.arrive(event.thread, event.barrier());
        const auto before = barriers_.find({event.target, round - 1});
        if (before != barriers_.end()) need(number, before->second);
        const auto [at, is_new] = barriers_.try_emplace({event.target, round}, kNone);
        if (is_new) at->second = new_object();
        return signal(at->second, number);
      }
      case EventKind::kBarrierLeave: {
        const auto at =
            barriers_.find({event.target, rounds_.leave(event.thread, event.barrier())});
        if (at != barriers_.end()) need(number, at->second);
        return;
      }
      default: return;
    }
  }

  void access(const Event& event, EventNumber number) {
    Life& life = lives_[event.target];
    if (life.location == kNone) {
      life.location = static_cast<std::uint32_t>(into_.locations_++);
      into_.finals_.push_back(0);
      life.accesses = new_object();
    }
    Entry& own = entry(number);
    own.location = life.location;
    own.writer = life.last;
    need(number, life.renewal);
    signal(life.accesses, number);
    if (writes(event.kind)) life.last = number;
  }

  void renew(const Event& event, EventNumber number) {
    Life& life = lives_[event.target];
    need(number, life.accesses != kNone ? life.accesses : life.renewal);
    life = {};
    life.renewal = new_object();
    signal(life.renewal, number);
  }

  Reorderings& into_;
  std::unordered_map<std::uint32_t, Life> lives_;  // by variable
  std::unordered_map<ThreadId, std::uint32_t> forks_;
  std::map<std::pair<EventKind, std::uint32_t>, std::uint32_t> objects_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> barriers_;  // and round
  clock::BarrierRounds rounds_;
};

Reorderings::Reorderings(std::span<const Event> events, std::span<const Precedence> precedences)
    : events_(events) {
  Builder(*this).run();
  for (const Precedence& each : precedences) published_[each.after].push_back(each.before);
}

Reorderings::State Reorderings::start() const {
  return {std::vector<std::uint32_t>(threads(), 0), std::vector<std::uint32_t>(signals_.size(), 0),
          std::vector<std::uint32_t>(locks_, 0), std::vector<std::uint32_t>(locks_, 0),
          std::vector<EventNumber>(locations_, 0)};
}

bool Reorderings::is_done(const State& state, EventNumber number) const {
  return at(number).position < state.done[event(number).thread.index()];
}

bool Reorderings::signalled(State& state, const Need& need) const {
  if (need.object == kNone) return true;
  const std::vector<EventNumber>& signals = signals_[need.object];
  std::uint32_t& leading = state.leading[need.object];
  while (leading < need.count && is_done(state, signals[leading])) ++leading;
  return leading >= need.count;
}

std::string_view Reorderings::refusal(State& state, EventNumber number) const {
  if (!exists(number)) return "there is no such event";
  const Event& next = event(number);
  const Entry& entry = at(number);
  const std::uint32_t done = state.done[next.thread.index()];
  if (entry.position < done) return "it comes twice";
  if (entry.position > done) return "an event of its thread that comes before it is missing";
  for (const Need& need : entry.needs) {
    if (!signalled(state, need)) return "it comes before what it has to wait for";
  }
  if (const auto at = published_.find(number); at != published_.end()) {
    for (const EventNumber before : at->second) {
      if (!is_done(state, before)) return "it uses memory that it cannot know of yet";
    }
  }
  if (next.kind == EventKind::kJoin &&
      state.done[next.child().index()] < of_thread_[next.child().index()].size()) {
    return "it joins a thread that has not ended";
  }
  if ((next.flags & kNested) != 0) return {};
  const bool acquires = next.kind == EventKind::kAcquire || next.kind == EventKind::kAcquireShared;
  if (acquires && (state.exclusive[next.target] != 0 ||
                   (next.kind == EventKind::kAcquire && state.shared[next.target] != 0))) {
    return "it acquires a lock that another thread holds";
  }
  return {};
}

void Reorderings::apply(State& state, EventNumber number) const {
  const Event& next = event(number);
  ++state.done[next.thread.index()];
  if ((next.flags & kNested) != 0) return;
  switch (next.kind) {
    case EventKind::kAcquire: state.exclusive[next.target] = next.thread.value + 1; return;
    case EventKind::kRelease: state.exclusive[next.target] = 0; return;
    case EventKind::kAcquireShared: ++state.shared[next.target]; return;
    case EventKind::kReleaseShared: --state.shared[next.target]; return;
    case EventKind::kWrite:
    case EventKind::kRmw: state.last[at(number).location] = number; return;
    default: return;
  }
}

std::optional<std::string> reject(const Reorderings& trace, const Claim& claim,
                                  std::span<const EventNumber> schedule) {
  if (claim.write == claim.challenger) return "the challenger is the write itself";
  for (const EventNumber write : {claim.write, claim.challenger}) {
    if (write != 0 && (!trace.exists(write) || !writes(trace.event(write).kind))) {
      return fmt::format("event {} is no write of the trace", write);
    }
  }
  if (claim.read != 0) {
    if (!trace.exists(claim.read) || !reads(trace.event(claim.read).kind)) {
      return fmt::format("event {} is no read of the trace", claim.read);
    }
    if (schedule.empty() || schedule.back() != claim.read) {
      return fmt::format("the schedule does not end in the read {}", claim.read);
    }
    if (trace.writer(claim.read) != claim.write) {
      return fmt::format("in the trace, {} reads {}, not {}", claim.read, trace.writer(claim.read),
                         claim.write);
    }
  } else if (claim.write == 0 || trace.finals()[trace.location(claim.write)] != claim.write) {
    return fmt::format("event {} is not the last write to its variable", claim.write);
  } else if (schedule.size() != trace.events()) {
    return fmt::format("the schedule has {} events of {}", schedule.size(), trace.events());
  }

  Reorderings::State state = trace.start();
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const EventNumber number = schedule[i];
    const std::string_view refusal = trace.refusal(state, number);
    if (!refusal.empty()) return fmt::format("step {}, event {}: {}", i + 1, number, refusal);
    const Event& event = trace.event(number);
    if (reads(event.kind)) {
      const EventNumber seen = state.last[trace.location(number)];
      const bool last = claim.read != 0 && i + 1 == schedule.size();
      const EventNumber wanted = last ? claim.challenger : trace.writer(number);
      if (seen != wanted) {
        return fmt::format("step {}, event {}: it reads {} instead of {}", i + 1, number, seen,
                           wanted);
      }
    }
    trace.apply(state, number);
  }
  if (claim.read == 0) {
    const EventNumber seen = state.last[trace.location(claim.write)];
    if (seen != claim.challenger) {
      return fmt::format("the last write of the schedule is {}, not {}", seen, claim.challenger);
    }
  }
  return std::nullopt;
}

}  // namespace syndrome::check
