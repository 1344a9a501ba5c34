// Which accesses of a running program a check has to see.
//
// Most change nothing: what a thread does alone, or what synchronization orders anyway, decides no
// verdict. The sieve follows every access in shadow memory and tells of those that matter, so that
// the trace of what it told, and of all synchronization and blocks, has the same verdicts as the
// trace of everything:
//
//   atomicity, determinism, races     violated in one iff violated in the other
//
// Definition. The *position* of an access is the number of the last event of its thread in the
// told trace; nothing that others could notice lies between the two. Let a be an access to some
// bytes, and b the next one of another thread that conflicts with it. Both are told (a behind its
// position, late) when
//   - synchronization does not order a before b (HappensBefore): for checks of blocks that would be
//     an edge that nothing else implies, and for races it is one; or
//   - a is in a block that is still open, or b is in one that had begun before anything ordered a
//     before it: the edge is implied, but it is what a person wants to see of an interruption.
// "Next": what is older is implied, because accesses to the same bytes in between are ordered or
// told themselves; and so is a read that is ordered before another one. Of the accesses of one
// thread to the same bytes within one block (outside of blocks, and for races: behind one position)
// the first read and the first write count, unless another thread came in between.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "check/races/happens_before.h"
#include "clock/vector_clock.h"
#include "event/event.h"
#include "live/shadow.h"

namespace syndrome::live {

/// An access to bytes of one granule, for the trace.
struct Told {
  ThreadId thread;
  bool write = false;
  bool atomic = false;
  std::uint64_t address = 0;
  unsigned bytes = 0;
  std::uint32_t site = 0;  // 1 + its index, 0: unknown
};

/// Where the sieve tells: the trace.
class Listener {
 public:
  virtual ~Listener() = default;
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// It happened directly behind the event `position`, and behind those there of a lower `order`.
  virtual void late(EventNumber position, std::uint64_t order, const Told& access) = 0;
  /// It happens now. The listener hands the event to Sieve::event().
  virtual void now(const Told& access) = 0;
};

class Sieve {
 public:
  struct Options {
    /// Nothing but atomicity is checked: then what happens while no block is open does not matter,
    /// and of a block the first access counts, wherever synchronization cuts it.
    bool only_atomicity = false;
    /// Deterministic blocks are checked: that a lock orders two accesses is chance to them, also
    /// when their block is over.
    bool determinism = false;
  };

  Sieve(Options options, Listener& listener) : options_(options), listener_(&listener) {}

  class Thread {
    friend class Sieve;
    [[nodiscard]] std::size_t slot() const { return slot_bits_ >> Entry::kSlotShift; }

    ThreadId id_;
    std::uint64_t slot_bits_ = Entry::kSlotBits;  // in their place in an Entry
    std::uint64_t since_ = 0;  // entries from here on are of the same block or position
    std::uint64_t past_ = 0;   // entries before can be forgotten
    EventNumber position_ = 0;
    std::uint32_t order_ = 0;      // of the next entry behind it
    EventNumber begin_ = 0;        // of the open block; 0: none is
    clock::VectorClock at_begin_;  // what the thread knew then
  };

  /// An event of the told trace, whose number is `number`: of synchronization, blocks, functions,
  /// or an access that the sieve told of. Numbers grow.
  void event(const Event& event, EventNumber number);

  /// The last event was the begin of an outermost atomic block of its thread; this one ends.
  void begin_block(ThreadId thread);
  void end_block(ThreadId thread);

  /// Whether the thread has had an event. Until then it cannot access anything.
  [[nodiscard]] bool knows(ThreadId id) const {
    return id.index() < threads_.size() && threads_[id.index()].position_ != 0;
  }
  [[nodiscard]] Thread& thread(ThreadId id) { return threads_[id.index()]; }

  /// Whether accesses matter now at all.
  [[nodiscard]] bool listens() const { return !options_.only_atomicity || open_blocks_ != 0; }

  /// An access to bytes of one granule: (address & 7) + bytes <= 8.
  [[gnu::always_inline]] void access(Thread& thread, std::uint64_t address, unsigned bytes,
                                     bool write, std::uint32_t site) {
    if (!known(thread, address, bytes, write)) look(thread, address, bytes, write, site);
  }
  /// Whether an access would change nothing.
  [[gnu::always_inline]] bool known(const Thread& thread, std::uint64_t address, unsigned bytes,
                                    bool write) {
    const Cell& cell = shadow_.at(address);
    const std::uint64_t need = (((std::uint64_t{1} << bytes) - 1) << (address & 7)) | Entry::kCalm |
                               (write ? Entry::kWrite | Entry::kSole : 0);
    return covers(cell.a, thread, need) || covers(cell.b, thread, need);
  }

  /// The same as access(), when it is not known.
  void look(Thread& thread, std::uint64_t address, unsigned bytes, bool write, std::uint32_t site);
  /// A read and then a write of the same bytes, when it is not known.
  void look_twice(Thread& thread, std::uint64_t address, unsigned bytes, std::uint32_t site);

  /// Whether accesses to `bytes` bytes at address, address + stride, … (`rounds` of them) have
  /// nothing that has to be told of. In a block, they have been followed as far as that was so.
  [[nodiscard]] bool known_run(Thread& thread, std::uint64_t address, std::int64_t stride,
                               std::uint64_t rounds, unsigned bytes, bool reads, bool writes,
                               std::uint32_t site);

  /// An atomic access, to bytes of one granule, which is the thread's last event.
  void atomic(Thread& thread, std::uint64_t address, unsigned bytes, bool write,
              std::uint32_t site);

  /// These bytes are another variable from here on.
  void renew(std::uint64_t address, std::uint64_t bytes) { shadow_.clear(address, bytes); }

  [[nodiscard]] Shadow& shadow() { return shadow_; }

 private:
  struct Owner {
    EventNumber from;
    ThreadId thread;
  };

  /// Whether an entry is of this thread, of the same block or position, and has all of `need`.
  [[gnu::always_inline]] static bool covers(Entry entry, const Thread& thread, std::uint64_t need) {
    const std::uint64_t bits = entry.bits();
    return ((bits ^ thread.slot_bits_) & Entry::kSlotBits) == 0 && bits >= thread.since_ &&
           (need & ~bits) == 0;
  }

  [[nodiscard]] static bool update_own_two(Thread& thread, Cell& cell, unsigned mask, bool write,
                                           std::uint32_t site);
  [[nodiscard]] bool update_two(Thread& thread, Cell& cell, unsigned mask, bool write,
                                std::uint32_t site);
  [[nodiscard]] bool update_quietly(Thread& thread, std::uint64_t address, Cell& cell,
                                    unsigned mask, bool write, std::uint32_t site);
  [[nodiscard]] bool read_again(Thread& thread, Cell& cell, std::uint64_t address, unsigned mask,
                                std::uint32_t site);
  void update(Thread& thread, std::uint64_t granule, unsigned mask, bool write, std::uint32_t site);
  /// Which bytes an access was told of, and whether as one access to all of them.
  struct Conflicts {
    unsigned told = 0;
    bool whole = false;
  };
  Conflicts tell_conflicts(const Thread& thread, std::uint64_t granule, unsigned mask,
                           const Told& access);
  [[nodiscard]] bool matters(const Thread& thread, Entry earlier) const;
  [[nodiscard]] ThreadId owner(Entry entry) const;
  void tell_late(SitedEntry& earlier, std::uint64_t granule, unsigned mask);
  void tell_now(Told access, std::uint64_t granule, unsigned mask);
  void place(Thread& thread);
  void find_calm();
  [[nodiscard]] static Where next_place(Thread& thread, std::uint32_t site);

  Options options_;
  Listener* listener_;
  check::HappensBefore before_;
  Shadow shadow_;
  std::deque<Thread> threads_;              // by id; they stay where they are
  std::vector<std::vector<Owner>> owners_;  // by slot: its threads, one after another
  std::uint32_t open_blocks_ = 0;
  std::vector<SitedEntry> entries_;

  /// Loops that only read, and changed nothing when they ran last: the same again, with the same
  /// versions of the memory around, changes nothing again.
  struct Run {
    std::uint64_t address = 0;
    std::int64_t stride = 0;
    std::uint64_t rounds = 0;
    std::uint64_t since = 0;
    std::uint64_t version = 0;
    std::uint32_t thread = 0;
    std::uint32_t bytes = 0;
  };
  static constexpr std::size_t kRuns = std::size_t{1} << 14;
  std::vector<Run> runs_ = std::vector<Run>(kRuns);
};

}  // namespace syndrome::live
