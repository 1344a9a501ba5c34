#include "check/samples/random_trace.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace syndrome::check {
namespace {

/// SplitMix64: the same traces on every platform, unlike the distributions of <random>.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(next() % n); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
  bool percent(std::uint32_t p) { return below(100) < p; }

 private:
  std::uint64_t state_;
};

struct Shape {
  std::uint32_t length;
  std::uint32_t threads;
  std::uint32_t variables;
  std::uint32_t locks;
  std::uint32_t others;      // barriers, semaphores, conditions: so many of each
  std::uint32_t stay;        // percent: the same thread goes on
  std::uint32_t forked;      // percent of the threads that appear only when forked
  bool disciplined;          // a variable is only accessed under its lock
  bool closes;               // blocks and locks are closed at the end
  std::uint32_t atomic = 0;  // percent of the variables whose accesses are mostly atomic
  std::uint32_t own = 0;     // percent of the accesses that are to the thread's own variable
  std::uint32_t nest = 15;   // percent of the blocks in blocks that are taken
  std::array<std::uint32_t, kEventKindCount> weights{};

  std::uint32_t& weight(EventKind kind) { return weights[static_cast<std::size_t>(kind)]; }
};

Shape draw_shape(Rng& rng) {
  Shape shape{};
  shape.length = rng.percent(3)    ? rng.between(100, 200)
                 : rng.percent(30) ? rng.between(5, 15)
                                   : rng.between(12, 60);
  shape.threads = rng.percent(20) ? rng.between(5, 10) : rng.between(2, 4);
  shape.variables = rng.percent(25) ? rng.between(5, 10) : rng.between(1, 4);
  shape.locks = rng.percent(30) ? 0 : rng.between(1, 3);
  shape.others = rng.percent(75) ? 0 : rng.between(1, 2);
  shape.stay = rng.percent(50) ? rng.between(75, 95) : rng.below(75);
  shape.forked = rng.percent(40) ? rng.between(50, 100) : rng.below(20);
  shape.disciplined = shape.locks > 0 && rng.percent(50);
  shape.closes = rng.percent(60);

  shape.weight(EventKind::kRead) = rng.between(5, 50);
  shape.weight(EventKind::kWrite) = rng.between(3, 30);
  shape.weight(EventKind::kRmw) = rng.percent(20) ? 8 : 0;
  const std::uint32_t blocks = rng.percent(15) ? 1 : rng.between(3, 20);
  shape.weight(EventKind::kBegin) = blocks;
  shape.weight(EventKind::kEnd) = 1 + rng.below(blocks + 4);
  if (shape.locks > 0) {
    const std::uint32_t locking = rng.between(10, 40);
    shape.weight(EventKind::kAcquire) = locking;
    shape.weight(EventKind::kRelease) = locking;
    if (rng.percent(30)) {
      shape.weight(EventKind::kAcquireShared) = locking;
      shape.weight(EventKind::kReleaseShared) = locking;
    }
  }
  if (shape.forked > 0) {
    shape.weight(EventKind::kFork) = rng.between(2, 10);
    shape.weight(EventKind::kJoin) = rng.percent(70) ? rng.between(1, 4) : 0;
  }
  if (shape.others > 0) {
    for (const EventKind kind :
         {EventKind::kBarrierArrive, EventKind::kBarrierLeave, EventKind::kPost, EventKind::kWait,
          EventKind::kCondWait, EventKind::kCondSignal, EventKind::kCondBroadcast,
          EventKind::kHappensBefore, EventKind::kHappensAfter}) {
      shape.weight(kind) = rng.below(8);
    }
  }
  if (rng.percent(15)) {
    for (const EventKind kind :
         {EventKind::kThreadStart, EventKind::kThreadStop, EventKind::kAlloc, EventKind::kFree,
          EventKind::kEnter, EventKind::kExit, EventKind::kFence}) {
      shape.weight(kind) = 1;
    }
  }
  return shape;
}

/// A shape that is drawn without memory orders gets them.
void add_orders(Rng& rng, Shape& shape) {
  shape.atomic = rng.percent(20) ? 0 : rng.between(20, 100);
  shape.disciplined = shape.disciplined && rng.percent(50);
  shape.weight(EventKind::kRmw) = rng.percent(60) ? rng.between(3, 20) : 0;
  shape.weight(EventKind::kFence) = rng.percent(60) ? rng.between(3, 25) : 0;
  shape.weight(EventKind::kBegin) = rng.percent(10) ? 2 : 0;
  shape.weight(EventKind::kEnd) = shape.weight(EventKind::kBegin);
  if (rng.percent(50)) {
    shape.others = rng.between(1, 2);
    for (const EventKind kind :
         {EventKind::kBarrierArrive, EventKind::kBarrierLeave, EventKind::kPost, EventKind::kWait,
          EventKind::kCondWait, EventKind::kCondSignal, EventKind::kHappensBefore,
          EventKind::kHappensAfter}) {
      shape.weight(kind) = rng.percent(50) ? rng.between(2, 12) : 0;
    }
  }
  if (rng.percent(15)) shape.weight(EventKind::kAlloc) = 2;
  if (rng.percent(15)) shape.weight(EventKind::kFree) = 2;
}

/// A shape gets threads that are forked inside of blocks.
void add_forks(Rng& rng, Shape& shape) {
  shape.forked = rng.between(60, 100);
  shape.own = rng.percent(60) ? rng.between(60, 100) : 0;
  shape.nest = rng.between(0, 60);
  if (shape.own != 0) shape.variables = std::max(shape.variables, shape.threads);
  if (rng.percent(60)) {
    shape.locks = 0;
    shape.disciplined = false;
    for (const EventKind kind : {EventKind::kAcquire, EventKind::kRelease,
                                 EventKind::kAcquireShared, EventKind::kReleaseShared}) {
      shape.weight(kind) = 0;
    }
  }
  const std::uint32_t blocks = rng.between(2, 12);
  shape.weight(EventKind::kBegin) = blocks;
  shape.weight(EventKind::kEnd) = 1 + rng.below(blocks);
  shape.weight(EventKind::kFork) = rng.between(8, 25);
  shape.weight(EventKind::kJoin) = rng.percent(80) ? rng.between(3, 15) : 0;
  shape.weight(EventKind::kThreadStop) = rng.percent(20) ? rng.between(1, 4) : 0;
  shape.atomic = rng.percent(25) ? rng.between(10, 60) : 0;
  if (rng.percent(50)) {
    shape.others = rng.between(1, 2);
    for (const EventKind kind :
         {EventKind::kBarrierArrive, EventKind::kBarrierLeave, EventKind::kPost, EventKind::kWait,
          EventKind::kHappensBefore, EventKind::kHappensAfter}) {
      shape.weight(kind) = rng.percent(60) ? rng.between(2, 15) : 0;
    }
  }
}

/// A shape gets so small that all orders of its traces can be tried.
void make_few(Rng& rng, Shape& shape) {
  shape.length = rng.percent(70) ? rng.between(6, 16) : rng.between(14, 26);
  shape.threads = rng.percent(70) ? rng.between(2, 3) : 4;
  shape.variables = rng.percent(20) ? rng.between(3, 5) : rng.between(1, 3);
  shape.locks = rng.percent(30) ? 0 : rng.between(1, 2);
  shape.disciplined = shape.locks > 0 && rng.percent(25);
  shape.weights = {};
  shape.weight(EventKind::kRead) = rng.between(15, 50);
  shape.weight(EventKind::kWrite) = rng.between(15, 50);
  shape.weight(EventKind::kRmw) = rng.percent(20) ? 10 : 0;
  if (shape.locks > 0) {
    const std::uint32_t locking = rng.between(15, 60);
    shape.weight(EventKind::kAcquire) = locking;
    shape.weight(EventKind::kRelease) = locking;
    if (rng.percent(30)) {
      shape.weight(EventKind::kAcquireShared) = locking;
      shape.weight(EventKind::kReleaseShared) = locking;
    }
  }
  if (shape.forked > 0) {
    shape.weight(EventKind::kFork) = rng.between(3, 15);
    shape.weight(EventKind::kJoin) = rng.percent(70) ? rng.between(1, 8) : 0;
  }
  shape.others = rng.percent(60) ? 0 : 1;
  if (shape.others > 0) {
    for (const EventKind kind :
         {EventKind::kBarrierArrive, EventKind::kBarrierLeave, EventKind::kPost, EventKind::kWait,
          EventKind::kCondWait, EventKind::kCondSignal, EventKind::kCondBroadcast,
          EventKind::kHappensBefore, EventKind::kHappensAfter}) {
      shape.weight(kind) = rng.percent(40) ? rng.between(3, 12) : 0;
    }
  }
  if (rng.percent(10)) {
    for (const EventKind kind : {EventKind::kThreadStart, EventKind::kThreadStop, EventKind::kAlloc,
                                 EventKind::kFree, EventKind::kBegin, EventKind::kEnd}) {
      shape.weight(kind) = 2;
    }
  }
}

Shape draw_shape(Rng& rng, const RandomOptions& options) {
  Shape shape = draw_shape(rng);
  if (options.orders) add_orders(rng, shape);
  if (options.forks) add_forks(rng, shape);
  if (options.few) make_few(rng, shape);
  return shape;
}

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomOptions& options)
      : rng_(seed),
        shape_(draw_shape(rng_, options)),
        orders_(options.orders || shape_.atomic != 0),
        sites_(options.sites) {
    for (std::uint32_t t = 1; t < shape_.threads; ++t) {
      if (rng_.percent(shape_.forked)) waits_for_fork_.insert(ThreadId(t));
    }
  }

  std::vector<Event> run() {
    // Most proposals are allowed; a trace in which nothing is any more just ends early.
    for (std::uint32_t tries = 0; events_.size() < shape_.length && tries < 40 * shape_.length;
         ++tries) {
      propose();
    }
    if (shape_.closes) close();
    return std::move(events_);
  }

 private:
  void propose() {
    if (!rng_.percent(shape_.stay)) thread_ = ThreadId(rng_.below(shape_.threads));
    if (waits_for_fork_.contains(thread_)) return;
    Event event;
    event.thread = thread_;
    event.kind = draw_kind();
    event.target = draw_target(event.kind);
    if (event.kind <= EventKind::kRmw && shape_.own != 0 && rng_.percent(shape_.own)) {
      event.target = thread_.value % shape_.variables;
    }
    if (orders_) event.order = draw_order(event);
    if (orders_ || sites_) event.site = SiteId(rng_.below(4));
    if (shape_.disciplined && event.kind <= EventKind::kRmw &&
        !state_.holds(thread_, event.target % shape_.locks)) {
      return;
    }
    // Deep nesting and deep re-entry say no more than two levels do.
    if (event.kind == EventKind::kBegin && state_.depth(thread_) >= 1 &&
        !rng_.percent(shape_.nest)) {
      return;
    }
    if ((event.kind == EventKind::kAcquire || event.kind == EventKind::kAcquireShared) &&
        state_.holds(thread_, event.target) && !rng_.percent(15)) {
      return;
    }
    if (event.kind == EventKind::kBarrierArrive && state_.at_barrier(thread_, event.target) &&
        !rng_.percent(10)) {
      return;
    }
    // Joining a thread ends it: rarely one that is in a block or was never heard of.
    if (event.kind == EventKind::kJoin && !rng_.percent(20) &&
        (state_.depth(event.child()) > 0 || !state_.seen(event.child()))) {
      return;
    }
    append(event);
  }

  EventKind draw_kind() {
    std::uint32_t total = 0;
    for (const std::uint32_t weight : shape_.weights) total += weight;
    std::uint32_t at = rng_.below(total);
    std::size_t kind = 0;
    while (at >= shape_.weights[kind]) at -= shape_.weights[kind++];
    return static_cast<EventKind>(kind);
  }

  std::uint32_t draw_target(EventKind kind) {
    const auto space = target_space(kind);
    if (!space) return 0;
    switch (*space) {
      case Space::kVariable: return rng_.below(shape_.variables);
      case Space::kLock: return rng_.below(shape_.locks);
      case Space::kThread: return rng_.below(shape_.threads);
      case Space::kLabel: return 0;
      default: return rng_.below(shape_.others);
    }
  }

  MemoryOrder draw_order(const Event& event) {
    const bool access = event.kind <= EventKind::kRmw;
    if (!access && event.kind != EventKind::kFence) return MemoryOrder::kPlain;
    if (access) {
      const bool mostly = event.target * 100 < shape_.atomic * shape_.variables;
      if (!rng_.percent(mostly ? 85 : 3)) return MemoryOrder::kPlain;
    }
    while (true) {
      const auto order = static_cast<MemoryOrder>(rng_.below(kMemoryOrderCount));
      if (order != MemoryOrder::kPlain && !word_of(event.kind, order).empty()) return order;
    }
  }

  void append(Event event) {
    if (!state_.allows(event)) return;
    state_.apply(event);
    if (event.kind == EventKind::kFork) waits_for_fork_.erase(event.child());
    events_.push_back(event);
  }

  void close() {
    for (std::uint32_t t = 0; t < shape_.threads; ++t) {
      const ThreadId thread(t);
      if (state_.gone(thread)) continue;
      for (std::uint32_t lock = 0; lock < shape_.locks; ++lock) {
        while (state_.holds(thread, lock)) {
          const std::size_t before = events_.size();
          append({.thread = thread, .target = lock, .site = {}, .kind = EventKind::kRelease});
          append({.thread = thread, .target = lock, .site = {}, .kind = EventKind::kReleaseShared});
          if (events_.size() == before) break;
        }
      }
      while (state_.depth(thread) > 0) {
        append({.thread = thread, .target = 0, .site = {}, .kind = EventKind::kEnd});
      }
    }
  }

  Rng rng_;
  Shape shape_;
  bool orders_;
  bool sites_;
  TraceState state_;
  ThreadId thread_;
  std::set<ThreadId> waits_for_fork_;
  std::vector<Event> events_;
};

constexpr std::array<std::string_view, kSpaceCount> kPrefixes = {"T", "x", "l", "b", "s",
                                                                 "c", "f", "",  ""};

/// Numbers every space anew in the order of first mention, as a reader does, and names the ids.
void name(SmallTrace& trace) {
  std::array<std::unordered_map<std::uint32_t, std::uint32_t>, kSpaceCount> ids;
  const auto id_of = [&](Space space, std::uint32_t old) {
    const auto s = static_cast<std::size_t>(space);
    const auto [entry, is_new] = ids[s].try_emplace(old, 0);
    if (is_new) {
      const std::size_t id = trace.names.table(space).size();
      entry->second =
          trace.names.table(space).append(std::string(kPrefixes[s]) + std::to_string(id));
    }
    return entry->second;
  };
  for (Event& event : trace.events) {
    event.thread = ThreadId(id_of(Space::kThread, event.thread.value));
    if (event.site.value != 0) event.site = SiteId(id_of(Space::kSite, event.site.value));
    const auto space = target_space(event.kind);
    if (!space) continue;
    const bool function = event.kind == EventKind::kEnter || event.kind == EventKind::kExit;
    // Blocks have no label; label 0 says so.
    if (*space != Space::kLabel || function) event.target = id_of(*space, event.target);
  }
}

/// The kind and the order whose word it is.
bool set_operation(Event& event, std::string_view word) {
  for (std::size_t i = 0; i < kEventKindCount * kMemoryOrderCount; ++i) {
    event.kind = static_cast<EventKind>(i / kMemoryOrderCount);
    event.order = static_cast<MemoryOrder>(i % kMemoryOrderCount);
    if (!word.empty() && word_of(event.kind, event.order) == word) return true;
  }
  return false;
}

}  // namespace

SmallTrace random_trace(std::uint64_t seed, const RandomOptions& options) {
  SmallTrace trace;
  trace.events = Generator(seed, options).run();
  name(trace);
  return trace;
}

std::string to_std(const SmallTrace& trace) {
  std::string text;
  for (const Event& event : trace.events) {
    text += trace.names.thread(event.thread);
    text += '|';
    text += word_of(event.kind, event.order);
    text += '(';
    if (const auto space = target_space(event.kind)) text += trace.names.of(*space, event.target);
    text += ")|";
    text += event.site.value == 0 ? "0" : trace.names.site(event.site);
    text += '\n';
  }
  return text;
}

SmallTrace from_std(std::string_view text) {
  SmallTrace trace;
  std::array<std::unordered_map<std::string, std::uint32_t>, kSpaceCount> ids;
  const auto id_of = [&](Space space, std::string_view word) {
    if (space == Space::kLabel && word.empty()) return 0U;
    const auto [entry, is_new] =
        ids[static_cast<std::size_t>(space)].try_emplace(std::string(word), 0);
    if (is_new) entry->second = trace.names.table(space).append(word);
    return entry->second;
  };
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    const std::size_t bar = line.find('|');
    const std::size_t open = line.find('(', bar);
    const std::size_t close = line.substr(0, line.find('|', bar + 1)).rfind(')');
    if (close == std::string_view::npos || close < open)
      throw std::invalid_argument(std::string(line));
    const auto word = line.substr(bar + 1, open - bar - 1);
    Event event;
    if (!set_operation(event, word)) throw std::invalid_argument(std::string(line));
    event.thread = ThreadId(id_of(Space::kThread, line.substr(0, bar)));
    if (const auto space = target_space(event.kind)) {
      event.target = id_of(*space, line.substr(open + 1, close - open - 1));
    }
    if (const std::string_view rest = line.substr(close + 1); rest.size() > 1 && rest != "|0") {
      event.site = SiteId(id_of(Space::kSite, rest.substr(1)));
    }
    trace.events.push_back(event);
  }
  if (!set_flags(trace.events)) throw std::invalid_argument("not well-formed");
  return trace;
}

std::uint32_t TraceState::depth(ThreadId thread) const {
  const auto found = depth_.find(thread);
  return found == depth_.end() ? 0 : found->second;
}

bool TraceState::holds(ThreadId thread, std::uint32_t lock) const {
  const auto found = locks_.find(lock);
  return found != locks_.end() && found->second.holders.contains(thread);
}

bool TraceState::allows(const Event& event) const {
  if (gone_.contains(event.thread)) return false;
  const auto lock_it = locks_.find(event.target);
  const bool is_held = lock_it != locks_.end() && !lock_it->second.holders.empty();
  switch (event.kind) {
    case EventKind::kAcquire:
      return !is_held || (!lock_it->second.shared && holds(event.thread, event.target));
    case EventKind::kAcquireShared: return !is_held || lock_it->second.shared;
    case EventKind::kRelease: return holds(event.thread, event.target) && !lock_it->second.shared;
    case EventKind::kReleaseShared:
      return holds(event.thread, event.target) && lock_it->second.shared;
    case EventKind::kFork:
      return event.child() != event.thread && !seen_.contains(event.child()) &&
             !gone_.contains(event.child());
    case EventKind::kJoin: return event.child() != event.thread;
    case EventKind::kEnd: return depth(event.thread) > 0;
    case EventKind::kBarrierLeave: return arrived_.contains({event.thread, event.target});
    case EventKind::kThreadStart: return !acted_.contains(event.thread);
    case EventKind::kExit: {
      const auto found = functions_.find(event.thread);
      return found != functions_.end() && found->second > 0;
    }
    default: return true;
  }
}

void TraceState::apply(Event& event) {
  seen_.insert(event.thread);
  acted_.insert(event.thread);
  event.flags = 0;
  bool nested = false;
  switch (event.kind) {
    case EventKind::kAcquire:
    case EventKind::kAcquireShared: {
      Lock& lock = locks_[event.target];
      lock.shared = event.kind == EventKind::kAcquireShared;
      nested = lock.holders[event.thread]++ > 0;
      break;
    }
    case EventKind::kRelease:
    case EventKind::kReleaseShared: {
      const auto holder = locks_[event.target].holders.find(event.thread);
      nested = --holder->second > 0;
      if (!nested) locks_[event.target].holders.erase(holder);
      break;
    }
    case EventKind::kFork: seen_.insert(event.child()); break;
    case EventKind::kJoin: gone_.insert(event.child()); break;
    case EventKind::kThreadStop: gone_.insert(event.thread); break;
    case EventKind::kBegin: nested = depth_[event.thread]++ > 0; break;
    case EventKind::kEnd: nested = --depth_[event.thread] > 0; break;
    case EventKind::kEnter: ++functions_[event.thread]; break;
    case EventKind::kExit: --functions_[event.thread]; break;
    case EventKind::kBarrierArrive: arrived_.insert({event.thread, event.target}); break;
    case EventKind::kBarrierLeave: arrived_.erase({event.thread, event.target}); break;
    default: break;
  }
  if (nested) event.flags = kNested;
}

bool set_flags(std::span<Event> events) {
  TraceState state;
  for (Event& event : events) {
    if (!state.allows(event)) return false;
    state.apply(event);
  }
  return true;
}

}  // namespace syndrome::check
