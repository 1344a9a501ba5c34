#include "live/differential.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "check/atomicity/oracle.h"
#include "check/determinism/oracle.h"
#include "check/races/oracle.h"
#include "check/samples/random_trace.h"
#include "check/samples/shrink.h"
#include "event/filter.h"
#include "event/sieve.h"
#include "live/sieve.h"

namespace syndrome::live {
namespace {

constexpr std::uint64_t kBase = 0x10000;

struct Place {
  std::uint64_t address;
  unsigned bytes;
};

Place place_of(std::uint32_t variable, Layout layout) {
  switch (layout) {
    case Layout::kGranules: return {kBase + 8ull * variable, 8};
    case Layout::kBytes: return {kBase + variable, 1};
    case Layout::kMixed: break;
  }
  constexpr std::array<Place, 6> kPlaces = {{{0, 8}, {4, 4}, {0, 2}, {6, 1}, {4, 2}, {3, 4}}};
  const Place place = kPlaces[variable % kPlaces.size()];
  return {kBase + 8ull * (variable / kPlaces.size()) + place.address, place.bytes};
}

bool is_access(const Event& event) {
  return event.flags == 0 && event.kind <= EventKind::kRmw;
}

/// What the program leaves out itself (event/filter.h), as runtime/filter.h does it.
class Filter {
 public:
  void new_segment(ThreadId thread) {
    Word& segment = segments_[thread];
    keys_[thread] = filter::key_of(thread.value, ++segment);
  }
  /// Whether the access is not worth a word.
  bool knows(ThreadId thread, const Place& place, bool write) {
    Word& entry = table_[filter::offset_of(place.address)];
    const Word needs = filter::needs(((Word{1} << place.bytes) - 1) << (place.address & 7), write);
    if (filter::knows(entry, place.address, keys_[thread], needs)) return true;
    if (filter::is_foreign(entry, place.address, keys_[thread])) new_segment(thread);
    entry = filter::after(entry, place.address, keys_[thread], needs);
    return false;
  }
  void touch(ThreadId thread, const Place& place, bool write) {
    Word& entry = table_[filter::offset_of(place.address)];
    entry = filter::touched(entry, place.address, keys_[thread], write);
  }

 private:
  using Word = filter::Word;
  std::map<Word, Word> table_;
  std::map<ThreadId, Word> segments_;
  std::map<ThreadId, Word> keys_;
};

/// The trace that the sieve tells: its late events are put in their places at the end.
class Telling final : public Listener {
 public:
  Telling(Way way, std::size_t /*threads*/)
      : way_(way), sieve_({way.only_atomicity, way.determinism}, *this) {}

  void take(const Event& event) {
    if (!is_access(event)) {
      filter_.new_segment(event.thread);
      append(event);
      if (event.flags != 0) return;
      if (event.kind == EventKind::kBegin) sieve_.begin_block(event.thread);
      if (event.kind == EventKind::kEnd) sieve_.end_block(event.thread);
      return;
    }
    if (!begun_.contains(event.thread)) {
      filter_.new_segment(event.thread);
      append({event.thread, 0, SiteId(), EventKind::kEnter, 0, MemoryOrder::kPlain, 0});
    }
    const Place place = place_of(event.target, way_.layout);
    const bool write = event.kind != EventKind::kRead;
    if (check::is_atomic(event)) {
      filter_.touch(event.thread, place, write);
      filter_.new_segment(event.thread);
    } else if (way_.filter && filter_.knows(event.thread, place, write)) {
      ++left_out_;
      return;
    }
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

  void late(EventNumber position, std::uint32_t order, const Told& access) override {
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

  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  [[nodiscard]] std::vector<Event> trace() const {
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
  Filter filter_;
  Sieve sieve_;
  Event atomic_;
  std::set<ThreadId> begun_;
  std::vector<Event> told_;
  std::multimap<std::pair<EventNumber, std::uint32_t>, Event> late_;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> variables_;
  std::uint32_t fresh_ = 0;
  std::uint64_t left_out_ = 0;
};

/// What a program tells that follows its accesses itself, as runtime/sieve.cc does it.
class Following {
 public:
  Following(Way way, std::size_t threads) : way_(way), coming_(threads), nodes_(1) {}

  void take(const Event& event) {
    Thread& thread = begun(event);
    now_ = &thread;
    if (!is_access(event)) {
      filter_.new_segment(event.thread);
      append(event);
      if (event.flags == 0) follow(thread, event);
      return;
    }
    const Place place = place_of(event.target, way_.layout);
    sieve::Access access;
    access.granule = place.address & ~7ull;
    access.bytes = ((1u << place.bytes) - 1u) << (place.address & 7);
    access.write = event.kind != EventKind::kRead;
    access.atomic = check::is_atomic(event);
    access.site = event.site.value;
    if (access.atomic) {
      filter_.touch(event.thread, place, access.write);
      filter_.new_segment(event.thread);
    } else if (way_.filter && filter_.knows(event.thread, place, access.write)) {
      ++left_out_;
      return;
    }
    sieve::Cell& cell = cells_[access.granule][0];
    const sieve::Cell& second = more(cell);
    if (access.atomic ||
        !sieve::is_known(cell.a, cell.b, second.a, second.b, thread, access.bytes, access.write)) {
      const bool quiet = !access.atomic && event.target % 3 != 0 &&
                         sieve::update_quietly(*this, cell, cell.a, thread, access);
      cell.a &= ~sieve::Entry::kLock;
      if (!quiet) sieve::Update(*this, thread, cell).access(access);
    }
    if (!access.atomic) return;
    Event atomic = event;
    atomic.target = variable(place.address, place.bytes);
    append(atomic);
  }

  // Of a Host.
  [[nodiscard]] static sieve::Cell& more(const sieve::Cell& cell) {
    return const_cast<sieve::Cell*>(&cell)[1];
  }
  sieve::Node& node(std::uint32_t number) { return nodes_[number]; }
  std::uint32_t new_node() {
    if (nodes_.size() > kMostNodes) return 0;
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void free_node(std::uint32_t) {}
  [[nodiscard]] sieve::Word begin_of(std::uint32_t slot) const {
    for (const auto& [id, thread] : threads_) {
      if (thread.slot == slot && thread.position >= slots_[slot].position) return thread.begin;
    }
    return 0;
  }
  void late(sieve::Entry entry, std::uint64_t granule, unsigned from, unsigned count, bool write,
            std::uint32_t site) {
    const auto& places = slots_[entry.slot()].places;
    const auto [thread, behind] = places[entry.position()];
    const Event event{thread,
                      variable(granule + from, count),
                      SiteId(site),
                      write ? EventKind::kWrite : EventKind::kRead,
                      0,
                      entry.atomic() ? MemoryOrder::kRelaxed : MemoryOrder::kPlain,
                      0};
    late_.emplace(behind, event);
  }
  void after(sieve::Entry) {}
  [[nodiscard]] sieve::Word horizon(std::uint32_t slot) const { return horizon_.of(slot); }
  void now(const sieve::Access& access, unsigned from, unsigned count) {
    filter_.new_segment(id_);
    append({id_, variable(access.granule + from, count), SiteId(access.site),
            access.write ? EventKind::kWrite : EventKind::kRead, 0,
            access.atomic ? MemoryOrder::kRelaxed : MemoryOrder::kPlain, 0});
  }

  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] std::vector<Event> trace() const {
    std::vector<Event> all;
    auto next = late_.begin();
    for (std::size_t i = 0; i <= told_.size(); ++i) {
      for (; next != late_.end() && next->first == i; ++next) all.push_back(next->second);
      if (i < told_.size()) all.push_back(told_[i]);
    }
    return all;
  }

 private:
  using Thread = sieve::Thread;
  static constexpr std::size_t kMostNodes = 6;  // so that cells get hot, too
  struct Slot {
    std::vector<std::pair<ThreadId, std::size_t>> places = {{}, {}};  // by position
    sieve::Word position = 1;                                         // of its thread, or its last
    bool free = false;
  };

  Thread& begun(const Event& event) {
    id_ = event.thread;
    const auto known = threads_.find(id_);
    if (known != threads_.end()) return known->second;
    Thread& thread = threads_[id_];
    std::uint32_t slot = 0;
    while (slot < slots_.size() && !slots_[slot].free) ++slot;
    if (slot == slots_.size()) slots_.emplace_back();
    slots_[slot].free = false;
    thread.slot = slot;
    thread.only_atomicity = way_.only_atomicity;
    thread.first = thread.position = thread.since = slots_[slot].position;
    const auto forked = forks_.find(id_);
    if (forked != forks_.end()) thread.known = forked->second;
    now_ = &thread;
    filter_.new_segment(id_);
    append({id_, 0, SiteId(), EventKind::kEnter, 0, MemoryOrder::kPlain, 0});
    return thread;
  }

  void append(const Event& event) {
    told_.push_back(event);
    now_->told();
    Slot& slot = slots_[now_->slot];
    slot.position = now_->position;
    slot.places.resize(slot.position + 1);
    slot.places[slot.position] = {id_, told_.size()};
  }

  void follow(Thread& thread, const Event& event) {
    const auto slots = static_cast<std::uint32_t>(slots_.size());
    switch (event.kind) {
      case EventKind::kBegin: thread.begin_block(true, slots); break;
      case EventKind::kEnd: thread.end_block(); break;
      case EventKind::kAcquire:
        if (!way_.determinism) thread.known.join(locks_[event.target], slots);
        break;
      case EventKind::kRelease:
        if (!way_.determinism) thread.publish(locks_[event.target], slots);
        break;
      case EventKind::kFork: thread.publish(forks_[event.child()], slots); break;
      case EventKind::kJoin: {
        const auto child = threads_.find(event.child());
        if (child == threads_.end()) break;
        sieve::Known clock{};
        child->second.publish(clock, slots);
        thread.known.join(clock, slots);
        slots_[child->second.slot].free = true;
        ended_.insert(event.child());
        break;
      }
      case EventKind::kBarrierArrive: {
        sieve::Known clock{};
        thread.publish(clock, slots);
        rounds_[thread.slot] = barriers_[event.target].arrive(clock, slots);
        break;
      }
      case EventKind::kBarrierLeave:
        barriers_[event.target].leave(thread.known, rounds_[thread.slot], slots);
        break;
      default: break;
    }
    // A thread that is still to come may know nothing.
    if (threads_.size() != coming_) return;
    horizon_.begin();
    for (const auto& [id, each] : threads_) {
      if (!ended_.contains(id)) horizon_.see(each);
    }
    horizon_.end();
  }

  std::uint32_t variable(std::uint64_t address, unsigned bytes) {
    return variables_
        .try_emplace(std::pair(address, bytes), static_cast<std::uint32_t>(variables_.size()))
        .first->second;
  }

  Way way_;
  std::size_t coming_;  // threads in all
  Filter filter_;
  std::map<ThreadId, Thread> threads_;
  std::vector<Slot> slots_;
  std::map<ThreadId, sieve::Known> forks_;
  std::map<std::uint32_t, sieve::Known> locks_;
  std::map<std::uint32_t, sieve::Rounds> barriers_;
  std::map<std::uint32_t, std::uint32_t> rounds_;  // by slot
  sieve::Horizon horizon_;
  std::set<ThreadId> ended_;
  std::map<std::uint64_t, std::array<sieve::Cell, 2>> cells_;
  std::deque<sieve::Node> nodes_;
  Thread* now_ = nullptr;
  ThreadId id_;
  std::vector<Event> told_;
  std::multimap<std::size_t, Event> late_;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> variables_;
  std::uint64_t left_out_ = 0;
};

template <class Teller>
std::vector<Event> tell(std::span<const Event> events, Way way, std::uint64_t* left_out) {
  std::set<ThreadId> threads;
  for (const Event& event : events) threads.insert(event.thread);
  Teller teller(way, threads.size());
  for (const Event& event : events) teller.take(event);
  if (left_out != nullptr) *left_out += teller.left_out();
  std::vector<Event> told = teller.trace();
  (void)check::set_flags(told);
  return told;
}

/// Memory that is used again has another name in a trace; here it would have the same address.
void leave_out_memory(check::SmallTrace& trace) {
  std::erase_if(trace.events, [](const Event& event) {
    return event.kind == EventKind::kAlloc || event.kind == EventKind::kFree;
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

std::vector<Event> sieved(std::span<const Event> events, Way way, std::uint64_t* left_out) {
  return way.inside ? tell<Following>(events, way, left_out) : tell<Telling>(events, way, left_out);
}

std::string disagreement(std::span<const Event> events, Way way) {
  const std::vector<Event> stopping = with_stops(events);
  const std::vector<Event> all = bytes_of(stopping, way.layout);
  const std::vector<Event> told = sieved(stopping, way);
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
        check::random_trace(seed, {.orders = seed % 3 == 1, .forks = seed % 3 == 2});
    leave_out_memory(trace);
    Way way;
    way.layout = static_cast<Layout>(seed / 3 % (seed % 3 == 1 ? 2 : 3));
    way.only_atomicity = seed % 2 == 0;
    way.filter = seed / 2 % 2 == 0;
    way.inside = seed / 4 % 2 == 0;
    way.determinism = !way.only_atomicity && seed / 8 % 2 == 0;
    // An atomic that is accessed as a whole and in parts synchronizes by its parts: not followed.
    if (way.layout == Layout::kMixed) {
      for (Event& event : trace.events) {
        if (event.kind == EventKind::kRmw) event.kind = EventKind::kWrite;
      }
    }
    if (counts != nullptr) {
      counts->events += trace.events.size();
      counts->told += sieved(trace.events, way, &counts->left_out).size();
      counts->violated += check::oracle(trace.events).serializable ? 0 : 1;
    }
    if (disagreement(trace.events, way).empty()) continue;
    const check::SmallTrace small = check::shrink(
        trace, [&](std::span<const Event> events) { return !disagreement(events, way).empty(); });
    return fmt::format(
        "seed {}, layout {}, {}{}, shrunk: {}\n{}\n", seed, static_cast<int>(way.layout),
        way.only_atomicity ? "only atomicity" : (way.determinism ? "all checks" : "races"),
        way.inside ? (way.filter ? ", inside, filtered" : ", inside")
                   : (way.filter ? ", filtered" : ""),
        disagreement(small.events, way), check::to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::live
