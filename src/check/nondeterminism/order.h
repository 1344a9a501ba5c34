// What every correct reordering of a trace (definition.h) has in common, shared by all witnesses:
// the events, who reads whom, the lock scopes, and for each event a clock of what must come before
// it.
//
// An event is spoken of by its index in the trace, from 0, without those that are kDropped. A clock
// has an entry for each thread: how many of its events are known. Clocks are shared: an event has a
// row of its own only where it learns something from another thread.
//
// The clock of e has every event that is in, and before e in, every correct reordering that has e
// in it and in which e (if it reads) reads as in the trace. It is the least one with
//   - program order, fork, join, signals, barriers, memory (published.h, too): the fixed order
//   - read-couples: a read comes after the write that it read
//   - induced edges: if e is in a scope of a lock and knows an event in an earlier scope of that
//     lock by another thread, it knows that scope's release, too.
// It is complete for the first two. For the third it leaves out what only follows for the acquire
// of e's scope: whether that is in a reordering together with e's own knowledge depends on how far
// the reordering goes, and so it belongs to the search (search.h).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "check/nondeterminism/published.h"
#include "event/event.h"

namespace syndrome::check {

using Index = std::uint32_t;
inline constexpr Index kNoIndex = std::numeric_limits<Index>::max();

/// From an acquire to its release. Of a re-entrant lock only the outermost pair counts.
struct Scope {
  Index acquire = kNoIndex;
  Index release = kNoIndex;  // none: open at the end of the trace
  std::uint32_t lock = 0;
  bool shared = false;
};
[[nodiscard]] constexpr bool exclude(const Scope& a, const Scope& b) {
  return !a.shared || !b.shared;
}

/// Lists of numbers, one for each key, in one array.
template <class Value>
class Lists {
 public:
  /// Pairs of key and value, each key's in the order of its list; keys are below `keys`.
  void fill(std::size_t keys, const std::vector<std::pair<std::uint32_t, Value>>& pairs) {
    begins_.assign(keys + 1, 0);
    for (const auto& pair : pairs) ++begins_[pair.first + 1];
    for (std::size_t key = 0; key < keys; ++key) begins_[key + 1] += begins_[key];
    std::vector<std::size_t> at(begins_.begin(), begins_.end() - 1);
    values_.resize(pairs.size());
    for (const auto& pair : pairs) values_[at[pair.first]++] = pair.second;
  }
  [[nodiscard]] std::span<const Value> operator[](std::size_t key) const {
    return std::span(values_).subspan(begins_[key], begins_[key + 1] - begins_[key]);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<Value> values_;
};

/// Some of one thread's events: a range of an array, ascending.
struct OfThread {
  std::uint32_t thread = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Events by key and thread.
class ByThread {
 public:
  /// Ascending by index within each key.
  void fill(std::size_t keys, std::vector<std::pair<std::uint32_t, Index>> pairs,
            std::span<const std::uint32_t> thread_of);
  [[nodiscard]] std::span<const OfThread> threads(std::size_t key) const { return groups_[key]; }
  [[nodiscard]] std::span<const Index> events(const OfThread& group) const {
    return std::span(events_).subspan(group.begin, group.end - group.begin);
  }
  /// Where the groups of a key stand, one behind another: from the first one's begin.
  [[nodiscard]] Index at(std::uint32_t place) const { return events_[place]; }

 private:
  Lists<OfThread> groups_;
  std::vector<Index> events_;
};

class Order {
 public:
  /// Of a well-formed trace with its flags set. Requires fits(events.size()).
  explicit Order(std::span<const Event> events, std::span<const Precedence> precedences = {});

  /// Bytes that clocks may take; a trace whose threads learn from each other too often is refused.
  static constexpr std::size_t kMostClockBytes = std::size_t{2} << 30U;
  [[nodiscard]] bool complete() const { return complete_; }

  [[nodiscard]] std::size_t size() const { return thread_.size(); }
  [[nodiscard]] std::size_t threads() const { return of_thread_.size(); }
  [[nodiscard]] std::size_t locks() const { return scopes_of_.size(); }
  [[nodiscard]] std::size_t locations() const { return location_count_; }

  // An event.
  enum class Op : std::uint8_t {
    kNothing,  // for locks and data
    kRead,
    kWrite,
    kRmw,
    kAcquire,
    kAcquireShared,
    kRelease,
    kReleaseShared,
  };
  [[nodiscard]] EventNumber number(Index e) const { return number_[e]; }
  [[nodiscard]] std::uint32_t thread(Index e) const { return thread_[e]; }
  [[nodiscard]] std::uint32_t position(Index e) const { return position_[e]; }
  [[nodiscard]] Op op(Index e) const { return op_[e]; }
  [[nodiscard]] SiteId site(Index e) const { return site_[e]; }
  /// The location of an access, the lock of a lock operation.
  [[nodiscard]] std::uint32_t object(Index e) const { return object_[e]; }
  /// Of a read: the write that it read, kNoIndex for the initial value.
  [[nodiscard]] Index writer(Index read) const { return partner_[read]; }
  /// Of an acquire or release that counts.
  [[nodiscard]] std::uint32_t scope_of(Index e) const { return partner_[e]; }
  /// What fixed order puts right before it, beside its thread's event before it.
  [[nodiscard]] std::span<const Index> waits_for(Index e) const {
    return has_waits_[e] ? waits_[e] : std::span<const Index>();
  }
  [[nodiscard]] static constexpr bool is_read(Op op) { return op == Op::kRead || op == Op::kRmw; }
  [[nodiscard]] static constexpr bool is_write(Op op) { return op == Op::kWrite || op == Op::kRmw; }

  // Threads, scopes, accesses.
  [[nodiscard]] const std::vector<Index>& of_thread(std::size_t thread) const {
    return of_thread_[thread];
  }
  [[nodiscard]] const Scope& scope(std::uint32_t id) const { return scopes_[id]; }
  /// Scopes that are open after the event.
  [[nodiscard]] std::span<const std::uint32_t> held(Index e) const {
    const Held& held = held_[held_of_[e]];
    return std::span(held_scopes_).subspan(held.begin, held.size);
  }
  /// The acquires of a lock.
  [[nodiscard]] const ByThread& acquires() const { return acquires_; }
  /// The writes to a location.
  [[nodiscard]] const ByThread& writes() const { return writes_; }
  /// The reads that read a write; those that read the initial value of a location are at
  /// size() + location.
  [[nodiscard]] const ByThread& readers() const { return readers_; }
  /// The writes to a location as in the trace.
  [[nodiscard]] std::span<const Index> all_writes(std::uint32_t location) const {
    return writes_in_order_[location];
  }
  /// All reads, ascending.
  [[nodiscard]] const std::vector<Index>& reads() const { return reads_; }
  /// Of each location: its last write, if it is there at the end; or kNoIndex.
  [[nodiscard]] const std::vector<Index>& finals() const { return finals_; }

  // Clocks.
  /// into := the greater of into and the clock of e, e included, entry by entry.
  void join(Index e, std::uint32_t* into) const {
    const std::uint32_t* const row = rows_.data() + std::size_t{row_of_[e]} * threads();
    for (std::size_t t = 0, n = threads(); t < n; ++t) into[t] = std::max(into[t], row[t]);
    into[thread_[e]] = std::max(into[thread_[e]], position_[e] + 1);
  }
  /// Whether a is b or must come before it.
  [[nodiscard]] bool before(Index a, Index b) const {
    if (thread_[a] == thread_[b]) return position_[a] <= position_[b];
    return rows_[std::size_t{row_of_[b]} * threads() + thread_[a]] > position_[a];
  }
  /// Joins all that must come before a read whatever it reads.
  void join_before(Index read, std::uint32_t* into) const;

 private:
  struct Held {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  class Builder;

  bool complete_ = true;
  std::size_t location_count_ = 0;
  std::vector<EventNumber> number_;
  std::vector<std::uint32_t> thread_;
  std::vector<std::uint32_t> position_;
  std::vector<Op> op_;
  std::vector<std::uint32_t> object_;
  std::vector<Index> partner_;
  std::vector<SiteId> site_;
  std::vector<bool> has_waits_;
  Lists<Index> waits_;
  std::vector<std::vector<Index>> of_thread_;
  std::vector<Scope> scopes_;
  std::vector<std::vector<std::uint32_t>> scopes_of_;  // of each lock, as in the trace
  std::vector<Held> held_;
  std::vector<std::uint32_t> held_scopes_;
  std::vector<std::uint32_t> held_of_;
  ByThread acquires_;
  ByThread writes_;
  ByThread readers_;
  Lists<Index> writes_in_order_;
  std::vector<Index> reads_;
  std::vector<Index> finals_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> row_of_;
};

}  // namespace syndrome::check
