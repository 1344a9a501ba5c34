#include "check/held.h"

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "check/atomic_sets_role.h"
#include "event/calls.h"

namespace syndrome::check::atomic_sets {
namespace {

using calls::Verdict;
using calls::Word;
using trace::FunctionRole;

struct Clock {
  static inline Word time = 1;
  static Word now() { return time; }
  static void advance(bool far) { time += far ? calls::kWhile : 1; }
};

class Held {
 public:
  Held(std::span<const Event> events, const Names& names, std::uint64_t seed)
      : events_(events), names_(&names), seed_(seed), random_(seed), stays_(events.size(), true) {}

  std::vector<Event> run() {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      Clock::advance(seed_ % 2 == 0);
      step(i);
      if (random_() % 3 == 0) {
        for (Thread& thread : threads_) decide(thread, false);
      }
    }
    for (Thread& thread : threads_) {
      end_part(thread);
      decide(thread, true);
    }
    std::vector<Event> left;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const bool first = is_first(events_[i]);
      if (stays_[i]) left.push_back(events_[i]);
      if (stays_[i] || !first) continue;
      // What it is called by says what belongs together.
      left.push_back(events_[i]);
      left.back().kind = EventKind::kRead;
      left.back().order = MemoryOrder::kRelaxed;
    }
    return left;
  }

 private:
  static constexpr std::size_t kNoCall = SIZE_MAX;
  static constexpr std::size_t kThreads = 16;
  static constexpr std::size_t kPages = 24;

  struct Page {
    calls::Page page{};
    bool shared = false;
  };

  struct Frame {
    FunctionRole role = FunctionRole::kDeclared;
    Word serial = 0;
  };
  struct Part {
    std::vector<std::size_t> accesses;
    bool certain = false;
    std::vector<calls::Source> sources;
  };
  struct Thread {
    bool first = false;
    std::vector<Frame> frames;
    std::size_t own = 0;
    std::size_t call_frame = kNoCall;
    std::size_t held = 0;
    Word settled = 0;
    calls::Call call{};
    std::vector<std::size_t> accesses;
    std::deque<Part> waiting;
  };

  Thread& of(ThreadId id) {
    if (id.index() >= threads_.size()) {
      threads_.resize(id.index() + 1);
      used_ = threads_.size();
      for (std::size_t i = 0; i < threads_.size(); ++i) threads_[i].call.slot = i;
      threads_[0].first = true;
    }
    return threads_[id.index()];
  }

  /// Whether it is the first access to its variable.
  bool is_first(const Event& event) {
    return target_space(event.kind) == Space::kVariable && named_.insert(event.target).second;
  }

  void begin_part(Thread& thread) {
    if (thread.call.first != 0) return;
    rule_.begin(thread.call, Clock::now());
    thread.settled = thread.call.first;
    find_serial(thread);
  }
  void end_part(Thread& thread) {
    if (thread.call.first == 0) return;
    rule_.end(thread.call, Clock::now());
    thread.waiting.push_back({std::move(thread.accesses),
                              thread.call.certain,
                              {thread.call.sources, thread.call.sources + thread.call.count}});
    thread.accesses.clear();
  }
  void end_outside(Thread& thread) {
    if (thread.call_frame == kNoCall && thread.held == 0) end_part(thread);
  }
  void decide(Thread& thread, bool all) {
    while (!thread.waiting.empty()) {
      const Part& part = thread.waiting.front();
      const Verdict verdict = rule_.verdict(part.certain, part.sources.data(),
                                            static_cast<unsigned>(part.sources.size()));
      if (verdict == Verdict::kWait && !all) return;
      if (verdict == Verdict::kDrop) {
        for (const std::size_t access : part.accesses) stays_[access] = false;
      }
      thread.waiting.pop_front();
    }
  }

  void find_serial(Thread& thread) {
    if (thread.frames.empty()) return thread.call.next_serial();
    Frame& frame = thread.frames.back();
    if (frame.serial < thread.settled) frame.serial = ++thread.call.serial;
    thread.call.set_serial(frame.serial);
  }

  void enter(Thread& thread, FunctionRole role) {
    const bool own = role != FunctionRole::kLibrary;
    if (own && thread.own == 0 && !thread.first && role != FunctionRole::kDeclared) {
      role = FunctionRole::kNever;
    }
    if (role >= FunctionRole::kMember && thread.call_frame == kNoCall) {
      thread.call_frame = thread.frames.size();
      begin_part(thread);
    }
    const bool apart = own || thread.frames.empty();
    thread.frames.push_back({role, apart ? ++thread.call.serial : thread.frames.back().serial});
    thread.own += own ? 1 : 0;
    find_serial(thread);
  }
  void exit(Thread& thread) {
    if (thread.frames.empty()) return;
    thread.own -= thread.frames.back().role != FunctionRole::kLibrary ? 1 : 0;
    thread.frames.pop_back();
    if (thread.call_frame == thread.frames.size()) {
      thread.call_frame = kNoCall;
      end_outside(thread);
    }
    find_serial(thread);
  }

  /// As that of runtime/hold_access.h. Pages are of one variable up to all of them.
  bool access_cell(Thread& thread, calls::Cell& cell, std::uint32_t variable, Word kinds) {
    const Word key = variable + 1;
    // Every third run does without.
    if (seed_ % 3 != 0 && rule_.is_known(thread.call, key, kinds, 1)) return true;
    const Word pages = 1 + seed_ % kPages;
    Page& page = pages_[variable % pages];
    const Word bit = Word{1} << (variable / pages % 64);
    if (!page.shared && rule_.access_page(thread.call, page.page, kinds, bit)) {
      return rule_.access_again(thread.call, key, kinds, 1);
    }
    page.shared = true;
    if (rule_.is_own(thread.call, cell, kinds)) {
      return rule_.access_own(thread.call, cell, key, kinds, 1);
    }
    rule_.come_behind_page(thread.call, page.page, kinds, bit);
    return rule_.access(thread.call, cell, key, kinds, 1);
  }
  void access(Thread& thread, std::size_t i, Word kinds) {
    if (thread.call_frame == kNoCall) {
      std::size_t at = thread.frames.size();
      while (at > 0 && thread.frames[at - 1].role == FunctionRole::kLibrary) --at;
      if (at != 0 && thread.frames[at - 1].role == FunctionRole::kAccessor) {
        thread.call_frame = at - 1;
      }
    }
    begin_part(thread);
    std::unique_ptr<calls::Cell>& cell = cells_[events_[i].target];
    if (cell == nullptr) cell = std::make_unique<calls::Cell>();
    if (access_cell(thread, *cell, events_[i].target, kinds)) {
      stays_[i] = false;
    } else {
      thread.accesses.push_back(i);
    }
    // What is in one line is in one part, with the call that follows.
    if (seed_ % 4 < 2 || random_() % 2 == 0) end_outside(thread);
  }

  void step(std::size_t i) {
    const Event& event = events_[i];
    Thread& thread = of(event.thread);
    switch (event.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
        if (event.order != MemoryOrder::kPlain) break;
        return access(thread, i, event.kind == EventKind::kRead ? calls::kRead : calls::kWrite);
      case EventKind::kEnter:
        return enter(thread, role_of(names_->of(Space::kLabel, event.target)).role);
      case EventKind::kExit: return exit(thread);
      case EventKind::kAcquire:
        end_outside(thread);
        begin_part(thread);
        ++thread.held;
        break;
      case EventKind::kRelease:
        end_outside(thread);
        if (thread.held != 0) --thread.held;
        end_outside(thread);
        break;
      default: end_outside(thread); break;
    }
    thread.settled = ++thread.call.serial;
    find_serial(thread);
  }

  std::span<const Event> events_;
  const Names* names_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<bool> stays_;
  std::vector<Thread> threads_;
  std::unordered_set<std::uint32_t> named_;
  std::unique_ptr<calls::Slot[]> slots_ = std::make_unique<calls::Slot[]>(kThreads);
  Word used_ = 0;
  calls::Calls<Clock> rule_{slots_.get(), &used_};
  std::unordered_map<std::uint32_t, std::unique_ptr<calls::Cell>> cells_;
  std::array<Page, kPages> pages_;
};

}  // namespace

std::vector<Event> held_events(std::span<const Event> events, const Names& names,
                               std::uint64_t seed) {
  return Held(events, names, seed).run();
}

}  // namespace syndrome::check::atomic_sets
