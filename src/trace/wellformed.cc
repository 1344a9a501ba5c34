#include "trace/wellformed.h"

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

namespace syndrome::trace {
namespace {

/// One byte for each thread: all that an access has to look at. Odd for all but running threads.
enum class Life : std::uint8_t {
  kRunning = 0,  // has had an event
  kUnseen = 1,
  kForked = 3,   // forked, without an event of its own so far
  kStopped = 5,  // its thread_stop has passed
  kJoined = 7,
};

struct Thread {
  std::uint64_t blocks = 0;     // open begins
  std::uint64_t functions = 0;  // open enters
  EventNumber forked = 0;       // by this event; 0: by none
  EventNumber first = 0;        // its own first event
  EventNumber ended = 0;        // its thread_stop, or the first join
};

/// Events that are looked at together: as many as a word has bits.
constexpr std::size_t kWindow = 64;

constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

/// Free, held exclusively (depth > 0) or shared (sharers > 0); never both.
struct Lock {
  std::uint64_t depth = 0;
  EventNumber since = 0;  // of the exclusive hold
  std::uint32_t sharers = 0;
  /// The exclusive holder. When shared: one that holds it, or kNobody when the one that we knew has
  /// let go while others have not.
  std::uint32_t holder = kNobody;
};

struct SharedHold {
  std::uint64_t depth = 0;
  EventNumber since = 0;
};

[[nodiscard]] constexpr std::uint64_t pair_key(std::uint32_t thing, ThreadId thread) {
  return std::uint64_t{thing} << 32U | thread.value;
}

/// Spreads keys made by pair_key, whose low bits are few threads; by Fibonacci hashing.
struct PairHash {
  std::size_t operator()(std::uint64_t key) const noexcept {
    key *= 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(key ^ key >> 32U);
  }
};

[[nodiscard]] constexpr bool is_access(EventKind kind) {
  static_assert(static_cast<int>(EventKind::kRead) == 0 && static_cast<int>(EventKind::kRmw) == 2,
                "the accesses are the first three kinds");
  return kind <= EventKind::kRmw;
}

}  // namespace

struct WellFormed::State {
  explicit State(OnFault handler) : on_fault(std::move(handler)) {}

  OnFault on_fault;
  std::vector<Life> lives = {Life::kUnseen};  // one more than `threads`, never seen
  std::vector<Thread> threads;
  std::vector<Lock> locks;
  tsl::robin_map<std::uint64_t, SharedHold, PairHash> shared_holds;  // by lock and thread
  tsl::robin_set<std::uint64_t, PairHash> arrived;                   // barrier and thread
  const Names* names = nullptr;                                      // during apply()
  std::string complaint;                                             // about the event judged last
  bool thread_ended = false;  // by an event since the flag was cleared

  void make_room(const Names& table) {
    need_threads(table.table(Space::kThread).size());
    need_locks(table.table(Space::kLock).size());
  }
  void need_threads(std::size_t count) {
    if (count <= threads.size()) return;
    lives.resize(count + 1, Life::kUnseen);
    threads.resize(count);
  }
  void need_locks(std::size_t count) {
    if (count > locks.size()) locks.resize(count);
  }

  [[nodiscard]] std::string_view name(Space space, std::uint32_t id) const {
    const StringTable& table = names->table(space);
    return id < table.size() ? table[id] : std::string_view("(unnamed)");
  }
  [[nodiscard]] std::string_view name(ThreadId id) const { return name(Space::kThread, id.value); }

  /// The events of a window that are more than an access of a running thread, as bits. Without a
  /// branch on the kind, which no predictor could guess (measured: 0.9 ns an access).
  [[nodiscard]] std::uint64_t to_judge(std::span<const Event> window) const {
    const Life* const life = lives.data();
    const std::size_t last = lives.size() - 1;
    std::uint64_t bits = 0;
    for (std::size_t i = window.size(); i-- > 0;) {
      const Event& event = window[i];
      const std::size_t thread = std::min(event.thread.index(), last);
      const unsigned not_running = static_cast<unsigned>(life[thread]) & 1U;
      bits = bits * 2 + (unsigned{!is_access(event.kind)} | not_running);
    }
    return bits;
  }

  /// Does judge()'s work in the usual case, or nothing and says false: an outermost operation on a
  /// lock or block by a running thread. A filter; judge() is right without it.
  [[nodiscard]] bool quick(const Event& event, EventNumber number) {
    if (event.thread.index() >= threads.size() || lives[event.thread.index()] != Life::kRunning) {
      return false;
    }
    if (event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease) {
      if (event.target >= locks.size()) return false;
      Lock& lock = locks[event.target];
      if (event.kind == EventKind::kAcquire) {
        if ((lock.depth | lock.sharers) != 0) return false;
        lock = {1, number, 0, event.thread.value};
        return true;
      }
      if (lock.depth != 1 || lock.holder != event.thread.value) return false;
      lock.depth = 0;
      return true;
    }
    std::uint64_t& blocks = threads[event.thread.index()].blocks;
    if (event.kind == EventKind::kBegin && blocks == 0) {
      blocks = 1;
      return true;
    }
    if (event.kind == EventKind::kEnd && blocks == 1) {
      blocks = 0;
      return true;
    }
    return false;
  }

  /// Whether the event is possible now. Then it has taken effect and has its flags; otherwise
  /// nothing has changed but `complaint`.
  [[nodiscard]] bool judge(Event& event, EventNumber number);

  // Each answers as judge() does, for its kind, of a thread that may act.
  [[nodiscard]] bool acquire(Event& event, EventNumber number);
  [[nodiscard]] bool release(Event& event);
  [[nodiscard]] bool acquire_shared(Event& event, EventNumber number);
  [[nodiscard]] bool release_shared(Event& event);
  [[nodiscard]] bool fork(const Event& event, EventNumber number);
  [[nodiscard]] bool join(const Event& event, EventNumber number);

  template <class... Args>
  [[nodiscard, gnu::cold, gnu::noinline]] bool complain(fmt::format_string<Args...> text,
                                                        Args&&... args) {
    complaint = fmt::format(text, std::forward<Args>(args)...);
    return false;
  }
  [[nodiscard]] std::string shared_holders(LockId id, const Lock& lock) const;
  [[nodiscard]] std::string not_held(const Event& event, const Lock& lock) const;
};

/// "T2 holds shared since event 40", or "2 threads hold shared".
std::string WellFormed::State::shared_holders(LockId id, const Lock& lock) const {
  if (lock.holder == kNobody) return fmt::format("{} threads hold shared", lock.sharers);
  const ThreadId holder(lock.holder);
  return fmt::format("{} holds shared since event {}", name(holder),
                     shared_holds.at(pair_key(id.value, holder)).since);
}

/// The end of a complaint about a release: " (held by T1 since event 17)" or nothing.
std::string WellFormed::State::not_held(const Event& event, const Lock& lock) const {
  if (lock.depth > 0) {
    return fmt::format(" (held by {} since event {})", name(ThreadId(lock.holder)), lock.since);
  }
  if (lock.sharers > 0) return fmt::format(" ({})", shared_holders(event.lock(), lock));
  return {};
}

bool WellFormed::State::acquire(Event& event, EventNumber number) {
  Lock& lock = locks[event.target];
  if (lock.depth > 0) {
    if (lock.holder != event.thread.value) {
      return complain("thread {} acquires lock {}, which {} holds since event {}",
                      name(event.thread), name(Space::kLock, event.target),
                      name(ThreadId(lock.holder)), lock.since);
    }
    ++lock.depth;
    event.flags = kNested;
    return true;
  }
  if (lock.sharers > 0) {
    const auto own = shared_holds.find(pair_key(event.target, event.thread));
    if (own != shared_holds.end()) {
      return complain("thread {} acquires lock {}, which it holds shared since event {}",
                      name(event.thread), name(Space::kLock, event.target), own->second.since);
    }
    return complain("thread {} acquires lock {}, which {}", name(event.thread),
                    name(Space::kLock, event.target), shared_holders(event.lock(), lock));
  }
  lock.depth = 1;
  lock.since = number;
  lock.holder = event.thread.value;
  return true;
}

bool WellFormed::State::release(Event& event) {
  Lock& lock = locks[event.target];
  if (lock.depth == 0 || lock.holder != event.thread.value) {
    const auto own = shared_holds.find(pair_key(event.target, event.thread));
    if (own != shared_holds.end()) {
      return complain(
          "thread {} releases lock {}, which it holds shared since event {}: expected {}",
          name(event.thread), name(Space::kLock, event.target), own->second.since,
          name_of(EventKind::kReleaseShared));
    }
    return complain("thread {} releases lock {}, which it does not hold{}", name(event.thread),
                    name(Space::kLock, event.target), not_held(event, lock));
  }
  --lock.depth;
  if (lock.depth > 0) event.flags = kNested;
  return true;
}

bool WellFormed::State::acquire_shared(Event& event, EventNumber number) {
  Lock& lock = locks[event.target];
  if (lock.depth > 0) {
    const bool own = lock.holder == event.thread.value;
    return complain("thread {} acquires lock {} shared, which {} holds exclusively since event {}",
                    name(event.thread), name(Space::kLock, event.target),
                    own ? "it" : name(ThreadId(lock.holder)), lock.since);
  }
  SharedHold& hold = shared_holds[pair_key(event.target, event.thread)];
  ++hold.depth;
  if (hold.depth > 1) {
    event.flags = kNested;
    return true;
  }
  hold.since = number;
  if (lock.sharers == 0 || lock.holder == kNobody) lock.holder = event.thread.value;
  ++lock.sharers;
  return true;
}

bool WellFormed::State::release_shared(Event& event) {
  Lock& lock = locks[event.target];
  const auto own = shared_holds.find(pair_key(event.target, event.thread));
  if (own == shared_holds.end()) {
    if (lock.depth > 0 && lock.holder == event.thread.value) {
      return complain(
          "thread {} releases lock {} shared, which it holds exclusively since event {}: expected "
          "{}",
          name(event.thread), name(Space::kLock, event.target), lock.since,
          name_of(EventKind::kRelease));
    }
    return complain("thread {} releases lock {} shared, which it does not hold shared{}",
                    name(event.thread), name(Space::kLock, event.target), not_held(event, lock));
  }
  if (--own.value().depth > 0) {
    event.flags = kNested;
    return true;
  }
  shared_holds.erase(own);
  --lock.sharers;
  if (lock.holder == event.thread.value) lock.holder = kNobody;
  return true;
}

bool WellFormed::State::fork(const Event& event, EventNumber number) {
  const ThreadId child = event.child();
  if (child == event.thread) return complain("thread {} forks itself", name(event.thread));
  need_threads(child.index() + 1);
  Thread& other = threads[child.index()];
  if (other.forked != 0) {
    return complain("thread {} forks thread {}, which event {} forked already", name(event.thread),
                    name(child), other.forked);
  }
  if (other.first != 0) {
    return complain("thread {} forks thread {}, which has had events since event {}",
                    name(event.thread), name(child), other.first);
  }
  if (lives[child.index()] == Life::kJoined) {
    return complain("thread {} forks thread {}, which event {} joined already", name(event.thread),
                    name(child), other.ended);
  }
  other.forked = number;
  lives[child.index()] = Life::kForked;
  return true;
}

bool WellFormed::State::join(const Event& event, EventNumber number) {
  const ThreadId child = event.child();
  if (child == event.thread) return complain("thread {} joins itself", name(event.thread));
  need_threads(child.index() + 1);
  Life& life = lives[child.index()];
  if (life != Life::kJoined) {
    if (life != Life::kStopped) threads[child.index()].ended = number;
    life = Life::kJoined;
    thread_ended = true;
  }
  return true;
}

bool WellFormed::State::judge(Event& event, EventNumber number) {
  need_threads(event.thread.index() + 1);
  const Life life = lives[event.thread.index()];
  const Thread& self = threads[event.thread.index()];
  if (life == Life::kJoined) {
    return complain("event of thread {} after event {} joined it", name(event.thread), self.ended);
  }
  if (life == Life::kStopped) {
    return complain("event of thread {} after it stopped at event {}", name(event.thread),
                    self.ended);
  }

  bool possible = true;
  switch (event.kind) {
    case EventKind::kAcquire:
    case EventKind::kRelease:
    case EventKind::kAcquireShared:
    case EventKind::kReleaseShared:
      need_locks(std::size_t{event.target} + 1);
      switch (event.kind) {
        case EventKind::kAcquire: possible = acquire(event, number); break;
        case EventKind::kRelease: possible = release(event); break;
        case EventKind::kAcquireShared: possible = acquire_shared(event, number); break;
        default: possible = release_shared(event); break;
      }
      break;
    case EventKind::kFork: possible = fork(event, number); break;
    case EventKind::kJoin: possible = join(event, number); break;
    case EventKind::kBegin:
      if (threads[event.thread.index()].blocks++ > 0) event.flags = kNested;
      break;
    case EventKind::kEnd:
      if (self.blocks == 0) {
        return complain("end of block in thread {}, which is in no block", name(event.thread));
      }
      if (--threads[event.thread.index()].blocks > 0) event.flags = kNested;
      break;
    case EventKind::kEnter: ++threads[event.thread.index()].functions; break;
    case EventKind::kExit:
      if (self.functions == 0) {
        return complain("exit of function {} in thread {}, which is in no function",
                        name(Space::kLabel, event.target), name(event.thread));
      }
      --threads[event.thread.index()].functions;
      break;
    case EventKind::kBarrierArrive: arrived.insert(pair_key(event.target, event.thread)); break;
    case EventKind::kBarrierLeave:
      if (arrived.erase(pair_key(event.target, event.thread)) == 0) {
        return complain("thread {} leaves barrier {}, at which it has not arrived",
                        name(event.thread), name(Space::kBarrier, event.target));
      }
      break;
    case EventKind::kThreadStart:
      if (life == Life::kRunning) {
        return complain("thread {} starts, but has had events since event {}", name(event.thread),
                        self.first);
      }
      break;
    default: break;
  }
  if (!possible) return false;

  // fork() and join() may have moved the vectors; they never name the acting thread itself.
  if (life != Life::kRunning) {
    lives[event.thread.index()] = Life::kRunning;
    threads[event.thread.index()].first = number;
  }
  if (event.kind == EventKind::kThreadStop) {
    lives[event.thread.index()] = Life::kStopped;
    thread_ended = true;
    threads[event.thread.index()].ended = number;
  }
  return true;
}

WellFormed::WellFormed(OnFault on_fault) : state_(std::make_unique<State>(std::move(on_fault))) {}
WellFormed::~WellFormed() = default;
WellFormed::WellFormed(WellFormed&&) noexcept = default;
WellFormed& WellFormed::operator=(WellFormed&&) noexcept = default;

bool WellFormed::apply(Batch& batch, const Names& names) {
  State& state = *state_;
  state.names = &names;
  state.make_room(names);
  const std::span<Event> events = batch.events;
  for (std::size_t start = 0; start < events.size(); start += kWindow) {
    const std::span<Event> window = events.subspan(start, std::min(kWindow, events.size() - start));
    std::uint64_t to_judge = state.to_judge(window);
    while (to_judge != 0) {
      const auto at = static_cast<unsigned>(std::countr_zero(to_judge));
      to_judge &= to_judge - 1;
      Event& event = window[at];
      if ((event.flags & kDropped) != 0) continue;
      const EventNumber number = batch.first + start + at;
      if (state.quick(event, number)) continue;
      if (!state.judge(event, number)) [[unlikely]] {
        if (!state.on_fault(Fault{number, std::move(state.complaint)})) {
          batch.events = events.first(start + at);
          return false;
        }
        event.flags = kDropped;
      }
      if (state.thread_ended) [[unlikely]] {
        // Accesses that were in order a moment ago may not be any more.
        state.thread_ended = false;
        to_judge = at + 1 < kWindow ? state.to_judge(window) >> (at + 1) << (at + 1) : 0;
      }
    }
  }
  return true;
}

}  // namespace syndrome::trace
