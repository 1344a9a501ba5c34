#include "live/differential.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "check/atomicity/oracle.h"
#include "check/determinism/oracle.h"
#include "check/races/oracle.h"
#include "check/samples/random_trace.h"
#include "check/samples/shrink.h"
#include "live/following.h"
#include "live/sieve.h"

namespace syndrome::live {
namespace {

/// The trace that the sieve tells: its late events are put in their places at the end.
class Telling final : public Listener {
 public:
  Telling(Way way, std::span<const Event> /*events*/)
      : way_(way), sieve_({way.only_atomicity, way.determinism}, *this) {}

  void take(const Event& event) {
    if (!is_access(event)) {
      append(event);
      if (event.flags != 0) return;
      if (event.kind == EventKind::kBegin) sieve_.begin_block(event.thread);
      if (event.kind == EventKind::kEnd) sieve_.end_block(event.thread);
      return;
    }
    if (!begun_.contains(event.thread)) {
      append({event.thread, 0, SiteId(), EventKind::kEnter, 0, MemoryOrder::kPlain, 0});
    }
    const Place place = place_of(event.target, way_.layout);
    const bool write = event.kind != EventKind::kRead;
    if (check::is_atomic(event)) {
      atomic_ = event;
      now({event.thread, write, true, place.address, place.bytes, event.site.value});
    }
    if (!sieve_.listens()) return;
    Sieve::Thread& thread = sieve_.thread(event.thread);
    if (check::is_atomic(event)) {
      sieve_.atomic(thread, place.address, place.bytes, write, event.site.value);
    } else {
      sieve_.access(thread, place.address, place.bytes, write, event.site.value);
    }
  }

  void late(EventNumber position, std::uint64_t order, const Told& access) override {
    Event event = event_of(access);
    if (access.atomic) event.order = MemoryOrder::kRelaxed;
    late_.emplace(std::pair(position, order), event);
  }
  void now(const Told& access) override {
    Event event = event_of(access);
    if (access.atomic) {
      event.kind = atomic_.kind;
      event.order = atomic_.order;
    }
    append(event);
  }

  // It has an entry for each site.
  [[nodiscard]] static std::uint64_t left_out() { return 0; }
  [[nodiscard]] static std::uint64_t joined() { return 0; }
  [[nodiscard]] static std::uint64_t misplaced() { return 0; }
  [[nodiscard]] static std::uint64_t thrown() { return 0; }

  [[nodiscard]] std::optional<std::vector<Event>> trace() const {
    std::vector<Event> all;
    auto next = late_.begin();
    for (std::size_t i = 0; i <= told_.size(); ++i) {
      for (; next != late_.end() && next->first.first == i; ++next) all.push_back(next->second);
      if (i < told_.size()) all.push_back(told_[i]);
    }
    return all;
  }

 private:
  void append(const Event& event) {
    begun_.insert(event.thread);
    told_.push_back(event);
    sieve_.event(event, told_.size());
  }
  [[nodiscard]] Event event_of(const Told& access) {
    const auto key = std::pair(access.address, access.bytes);
    const auto [known, is_new] = variables_.try_emplace(key, fresh_);
    if (is_new) ++fresh_;
    return {access.thread,
            known->second,
            SiteId(access.site),
            access.write ? EventKind::kWrite : EventKind::kRead,
            0,
            MemoryOrder::kPlain,
            0};
  }

  Way way_;
  Sieve sieve_;
  Event atomic_;
  std::set<ThreadId> begun_;
  std::vector<Event> told_;
  std::multimap<std::pair<EventNumber, std::uint64_t>, Event> late_;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> variables_;
  std::uint32_t fresh_ = 0;
};

template <class Teller>
std::vector<Event> tell(std::span<const Event> events, Way way, SievedCounts& counts) {
  Teller teller(way, events);
  for (const Event& event : events) teller.take(event);
  counts.left_out += teller.left_out();
  counts.joined += teller.joined();
  counts.misplaced += teller.misplaced();
  counts.thrown += teller.thrown();
  std::optional<std::vector<Event>> told = teller.trace();
  if (!told) ++counts.stuck;
  if (!told) told.emplace();
  (void)check::set_flags(*told);
  return *told;
}

/// The trace as a program follows it that puts off half of what its blocks access, at most until
/// its thread does anything else than access memory. Here also at most until another thread comes
/// there with a conflict, which in a program is seen in another order: they race.
class PuttingOff {
 public:
  explicit PuttingOff(Layout layout) : layout_(layout) {}

  [[nodiscard]] std::vector<Event> of(std::span<const Event> events, SievedCounts& counts) {
    for (const Event& event : events) take(event);
    for (auto& [thread, accesses] : put_off_) give(accesses);
    counts.put_off += count_;
    return std::move(all_);
  }

 private:
  using Accesses = std::vector<std::pair<Event, std::size_t>>;  // and how many events came before

  void take(const Event& event) {
    Accesses& own = put_off_[event.thread];
    for (auto& [thread, accesses] : put_off_) {
      if (thread == event.thread || !is_access(event)) continue;
      if (std::ranges::any_of(accesses,
                              [&](const auto& each) { return conflict(each.first, event); }))
        give(accesses);
    }
    if (!is_access(event) || check::is_atomic(event)) {
      give(own);
      int& depth = depths_[event.thread];
      if (event.flags == 0 && event.kind == EventKind::kBegin) ++depth;
      if (event.flags == 0 && event.kind == EventKind::kEnd) --depth;
      all_.push_back(event);
      return;
    }
    if (depths_[event.thread] > 0 && (all_.size() + own.size()) % 2 == 0) {
      own.emplace_back(event, all_.size());
    } else {
      all_.push_back(event);
    }
  }
  void give(Accesses& accesses) {
    for (const auto& [event, before] : accesses) {
      count_ += before < all_.size() ? 1 : 0;
      all_.push_back(event);
    }
    accesses.clear();
  }
  [[nodiscard]] bool conflict(const Event& a, const Event& b) const {
    if (a.kind == EventKind::kRead && b.kind == EventKind::kRead) return false;
    const Place one = place_of(a.target, layout_);
    const Place other = place_of(b.target, layout_);
    return one.address < other.address + other.bytes && other.address < one.address + one.bytes;
  }

  Layout layout_;
  std::map<ThreadId, Accesses> put_off_;
  std::map<ThreadId, int> depths_;
  std::vector<Event> all_;
  std::uint64_t count_ = 0;
};

/// Memory that is used again has another name in a trace; here it would have the same address.
void leave_out_memory(check::SmallTrace& trace) {
  std::erase_if(trace.events, [](const Event& event) {
    return event.kind == EventKind::kAlloc || event.kind == EventKind::kFree;
  });
  (void)check::set_flags(trace.events);
}

void make_plain(check::SmallTrace& trace) {
  for (Event& event : trace.events) {
    if (!is_access(event)) continue;
    if (event.kind == EventKind::kRmw) event.kind = EventKind::kWrite;
    event.order = MemoryOrder::kPlain;
  }
}

/// Without what has a version: so that there is something in drafts.
void leave_out_versions(check::SmallTrace& trace) {
  make_plain(trace);
  std::erase_if(trace.events, [](const Event& event) {
    return !is_access(event) && event.kind > EventKind::kEnd;
  });
  (void)check::set_flags(trace.events);
}

/// A recorded thread says when it stops, so that its last event is never one that is left out. Here
/// a fence that orders nothing says so before each join.
std::vector<Event> with_stops(std::span<const Event> events) {
  std::vector<Event> all;
  std::set<ThreadId> begun;
  for (const Event& event : events) {
    // Once: a second join finds nothing new.
    if (event.kind == EventKind::kJoin && event.flags == 0 && begun.erase(event.child()) != 0) {
      all.push_back({event.child(), 0, SiteId(), EventKind::kFence, 0, MemoryOrder::kPlain, 0});
    }
    begun.insert(event.thread);
    all.push_back(event);
  }
  return all;
}

}  // namespace

std::vector<Event> bytes_of(std::span<const Event> events, Layout layout) {
  if (layout == Layout::kGranules) return {events.begin(), events.end()};
  std::vector<Event> all;
  for (const Event& event : events) {
    if (!is_access(event)) {
      all.push_back(event);
      continue;
    }
    const Place place = place_of(event.target, layout);
    for (unsigned i = 0; i < place.bytes; ++i) {
      Event byte = event;
      byte.target = static_cast<std::uint32_t>(place.address + i - kBase);
      all.push_back(byte);
    }
  }
  (void)check::set_flags(all);
  return all;
}

std::vector<Event> sieved(std::span<const Event> events, Way way, SievedCounts* counts) {
  SievedCounts none;
  SievedCounts& all = counts != nullptr ? *counts : none;
  if (!way.inside) return tell<Telling>(events, way, all);
  if (!way.puts_off) return tell<Following>(events, way, all);
  return tell<Following>(PuttingOff(way.layout).of(events, all), way, all);
}

std::string disagreement(std::span<const Event> events, Way way) {
  const std::vector<Event> stopping = with_stops(events);
  const std::vector<Event> all = bytes_of(stopping, way.layout);
  SievedCounts counts;
  const std::vector<Event> told = sieved(stopping, way, &counts);
  if (counts.misplaced != 0) return "bytes are told at another site";
  if (counts.stuck != 0) return "what is told waits for something that never comes";
  const check::OracleResult expected = check::oracle(all);
  const check::OracleResult found = check::oracle(told);
  // Taken apart into bytes, one access outside of blocks is several that others come between: what
  // seems clean so may be violated.
  const bool torn = way.layout == Layout::kMixed;
  const auto differ = [torn](bool clean, bool still) { return clean != still && !(clean && torn); };
  if (differ(expected.serializable, found.serializable)) {
    return fmt::format("{}, but {} when sieved",
                       expected.serializable ? "serializable" : "not serializable",
                       found.serializable ? "serializable" : "not");
  }
  if (way.only_atomicity) return {};
  const bool free_of_races = check::race_oracle(all).all.empty();
  if (free_of_races != check::race_oracle(told).all.empty()) {
    return free_of_races ? "there was no race" : "the race is lost";
  }
  if (!way.determinism) return {};
  const bool deterministic = check::determinism::oracle(all).clean();
  if (differ(deterministic, check::determinism::oracle(told).clean())) {
    return deterministic ? "was deterministic" : "seems deterministic";
  }
  return {};
}

std::optional<std::string> first_disagreement(std::uint64_t first, std::uint64_t count,
                                              DifferentialCounts* counts,
                                              const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < count; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const std::uint64_t seed = first + done;
    check::SmallTrace trace =
        check::random_trace(seed, {.orders = seed % 3 == 1, .forks = seed % 3 == 2, .sites = true});
    leave_out_memory(trace);
    Way way;
    way.layout = static_cast<Layout>(seed / 3 % (seed % 3 == 1 ? 2 : 3));
    way.only_atomicity = seed % 2 == 0;
    way.inside = seed / 4 % 2 == 0;
    // Only who follows its own accesses knows when something was told, and so needs another key.
    way.filter = way.inside && seed / 2 % 2 == 0;
    way.determinism = !way.only_atomicity && seed / 8 % 2 == 0;
    constexpr std::array<unsigned, 4> kPages = {0, 8, 16, 1u << 16};
    if (way.inside) way.page = kPages[seed / 16 % 4];
    way.drafts = way.inside && way.only_atomicity && seed / 64 % 4 != 0;
    way.puts_off = way.inside && seed / 64 % 2 == 0;
    // An atomic that is accessed as a whole and in parts synchronizes by its parts: not followed.
    if (way.layout == Layout::kMixed) make_plain(trace);
    if (way.drafts && seed / 16 % 8 != 0) leave_out_versions(trace);
    if (counts != nullptr) {
      counts->events += trace.events.size();
      counts->told += sieved(trace.events, way, &counts->sieved).size();
      counts->violated += check::oracle(trace.events).serializable ? 0 : 1;
    }
    if (disagreement(trace.events, way).empty()) continue;
    const check::SmallTrace small = check::shrink(
        trace, [&](std::span<const Event> events) { return !disagreement(events, way).empty(); });
    return fmt::format(
        "seed {}, layout {}, {}{}{}, shrunk: {}\n{}\n", seed, static_cast<int>(way.layout),
        way.only_atomicity ? "only atomicity" : (way.determinism ? "all checks" : "races"),
        way.inside ? (way.filter ? ", inside, filtered" : ", inside")
                   : (way.filter ? ", filtered" : ""),
        fmt::format("{}{}{}", way.page != 0 ? fmt::format(", pages of {}", way.page) : "",
                    way.puts_off ? ", put off" : "", way.drafts ? ", drafts" : ""),
        disagreement(small.events, way), check::to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::live
