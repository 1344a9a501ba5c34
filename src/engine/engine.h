// The live engine: accesses and synchronization in, races and candidates out, while a program runs
// (docs/internals/engine.md).
//
// All state is in an Engine and in its Threads, whose memory the host gives, so that a test can
// play several threads from one. A Thread is used by one thread of the system at a time. Calls for
// different Threads may run at the same time. The host makes them in the order of the program's own
// synchronization: an acquire after the real one, a release before it, and what a thread has
// accessed before its release.
//
// On the path of an access there is no allocation, no lock and no system call.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/cell.h"
#include "engine/clocks.h"
#include "engine/contexts.h"
#include "engine/host.h"
#include "engine/pairs.h"
#include "engine/slots.h"
#include "engine/spin.h"
#include "engine/thread.h"
#include "engine/tries.h"
#include "engine/units.h"
#include "event/unit.h"
#include "event/wire.h"

namespace syndrome::engine {

/// The numbers of C's memory_order.
enum class Order : std::uint8_t { kRelaxed = 0, kConsume, kAcquire, kRelease, kAcqRel, kSeqCst };
enum class Atomic : std::uint8_t { kLoad, kStore, kRmw };

class Engine {
 public:
  constexpr Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Before anything else. The cells are 0. False: the host has no memory.
  [[nodiscard]] bool start(const Host& host, const Cells& cells, const Limits& limits = {});
  /// Before code of the unit runs.
  void announce(const unit::Header* header) { units_.announce(host_, header); }

  // Threads, by a number that no other has had.
  /// The parent, before the child starts.
  void fork(Thread& parent, std::uint64_t child);
  void start(Thread& thread, std::uint64_t number);
  /// The last call for a thread. `open` means that the thread has never started.
  void stop(Thread& thread);
  /// After the child has stopped.
  void join(Thread& thread, std::uint64_t child);

  // Functions. `call`: the number of the site in the function that runs, 0: unknown.
  void enter(Thread& thread, const unit::Function* function, std::uint32_t call, bool leaf = false);
  void exit(Thread& thread, const unit::Function* function);
  void frame(Thread& thread, std::uint64_t mark);
  void resume(Thread& thread, std::uint64_t mark);

  // Accesses, at a site of the function that runs (0: unknown).
  /// Of a site that says itself what it does (unit::Site).
  void access(Thread& thread, std::uint64_t address, std::uint32_t site);
  /// `bytes` at `address`; not necessarily in one granule.
  void range(Thread& thread, std::uint64_t address, std::uint64_t bytes, bool write, bool atomic,
             std::uint32_t site);
  /// `rounds` accesses of the site, the next one `stride` bytes further each time.
  void run(Thread& thread, std::uint64_t address, std::int64_t stride, std::uint64_t rounds,
           std::uint32_t site);
  void atomic(Thread& thread, Atomic what, std::uint64_t address, std::uint64_t bytes, Order order,
              std::uint32_t site);

  // Synchronization.
  void acquire(Thread& thread, std::uint64_t lock, bool shared);
  void release(Thread& thread, std::uint64_t lock, bool shared);
  void arrive(Thread& thread, std::uint64_t barrier);
  void leave(Thread& thread, std::uint64_t barrier);
  void post(Thread& thread, std::uint64_t semaphore);
  void wait(Thread& thread, std::uint64_t semaphore);
  /// A wait for a condition has returned. Its mutex is another matter.
  void waited(Thread& thread);
  void fence(Thread& thread, Order order);
  void happens_before(Thread& thread, std::uint64_t object);
  void happens_after(Thread& thread, std::uint64_t object);
  void destroy(std::uint64_t object);

  // Memory. Nobody else accesses it meanwhile, in a program without races.
  /// A new life of these bytes begins: memory that was allocated, the stack of a new thread,
  /// locals.
  void reset(Thread& thread, std::uint64_t address, std::uint64_t bytes);
  /// It ends, which is like a write to all of them.
  void free(Thread& thread, std::uint64_t address, std::uint64_t bytes, std::uint32_t site);

  /// Words as the runtime writes them (event/wire.h): a line, or a part of one. No record crosses
  /// its end.
  void take(Thread& thread, const wire::Word* begin, const wire::Word* end);

  /// No more candidates of this key.
  void retire(std::uint64_t key) { tries_.retire(key); }
  /// What the counters of a thread have to be added to.
  [[nodiscard]] std::uint64_t resets() const { return resets_.load(std::memory_order_relaxed); }
  [[nodiscard]] const Contexts& contexts() const { return contexts_; }

 private:
  static constexpr unsigned kMostTries = 10;

  /// While one exists, no era begins (renew_all).
  class Inside {
   public:
    Inside(Engine& engine, Thread& thread) : thread_(thread) {
      if (thread.entering++ == 0) engine.go_in(thread);
    }
    ~Inside() {
      if (--thread_.entering == 0) thread_.inside.store(0, std::memory_order_release);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Thread& thread_;
  };
  void go_in(Thread& thread) {
    for (;;) {
      thread.inside.store(1, std::memory_order_seq_cst);
      const bool waits = renewing_.load(std::memory_order_seq_cst);
      if (!waits && !thread.wants_slot) [[likely]]
        break;
      thread.inside.store(0, std::memory_order_release);
      if (waits) {
        host_.pause(host_.context);
      } else {
        change_slot(thread);
      }
    }
    // Somebody has interrupted the thread: what it has accessed since then has to be looked at,
    // even if the cell knows it.
    const std::uint32_t times = slots_[thread.slot].times.load(std::memory_order_relaxed);
    if (times != thread.times_seen) [[unlikely]] {
      thread.times_seen = times;
      boundary(thread);
    }
  }

  // slots.cc
  void change_slot(Thread& thread);
  void find_slot(Thread& thread);
  [[nodiscard]] bool take_slot(Thread& thread);
  void give_slot(Thread& thread);
  void renew_all(Thread& caller);
  static void rebase(Thread& thread);
  void advance(Thread& thread) {
    if (thread.epoch >= limits_.epochs) [[unlikely]] {
      thread.wants_slot = thread.slot != 0;
      return;
    }
    thread.prefix = prefix_of(thread.slot, ++thread.epoch);
  }
  /// What comes from here on has another epoch than what was before.
  void boundary(Thread& thread) {
    if (thread.stored != thread.prefix) return;
    ++thread.counters.boundaries;
    advance(thread);
  }
  /// Behind a change of what the floor depends on.
  void set_floor(Thread& thread);

  // sync.cc
  void learn(Thread& thread, const Clock& clock);
  void learn_all(Thread& thread);
  template <class Learn>
  void learn_from(Thread& thread, Kind kind, std::uint64_t address, const Learn& learn);
  void learn_object(Thread& thread, Kind kind, std::uint64_t address);
  /// The epoch that others come to know; what the thread does from here on is later.
  [[nodiscard]] std::uint32_t published(Thread& thread, bool& whole);
  void publish(Thread& thread, Clock& into, bool merge);
  void publish_to(Thread& thread, Kind kind, std::uint64_t address);
  void put(const std::uint32_t* entries, std::uint32_t count, Clock& into, bool merge);

  // access.cc
  struct Way {
    Entry entry = 0;  // way, source, kind; no bytes
    bool loose = false;
  };
  [[nodiscard]] static Way way(const Thread& thread, std::uint32_t site, bool write, bool atomic);
  [[nodiscard]] Entry* cell_of(std::uint64_t address) const {
    return cells_.base + ((address & cells_.mask) >> 3) * kLanes;
  }
  /// In one granule.
  void one(Thread& thread, const Way& how, std::uint64_t address, unsigned bytes) {
    ++thread.counters.accesses;
    const unsigned offset = static_cast<unsigned>(address & 7);
    look(thread, cell_of(address), thread.prefix | how.entry | (((1u << bytes) - 1) << offset),
         how.loose, address - offset);
  }
  void look(Thread& thread, Entry* cell, Entry now, bool loose, std::uint64_t granule) {
    if (is_known(cell, now) || (loose && is_known_loosely(cell, now))) {
      ++thread.counters.known;
      return;
    }
    add(thread, cell, now, granule);
  }
  void several(Thread& thread, const Way& how, std::uint64_t address, std::uint64_t bytes);
  void add(Thread& thread, Entry* cell, Entry now, std::uint64_t granule);
  void meet(Thread& thread, const Entry* lanes, unsigned at, Entry now, std::uint64_t granule);
  [[nodiscard]] bool is_over(const Thread& thread, Entry foreign) const;
  void store_cell(Thread& thread, Entry* cell, const Entry* old, Entry now, std::uint64_t granule);

  // candidates.cc
  [[nodiscard]] bool is_open(const Thread& thread, Pairs::Answer answer, std::uint32_t first_way,
                             std::uint32_t second_way, std::uint32_t epoch) const;
  /// The access of the thread itself in `first` came before the other's; lanes are those newer than
  /// the other's.
  void ask_one(Thread& thread, Entry first, Entry other, Entry now, const Entry* lanes,
               unsigned newer, std::uint64_t granule);
  void ask_evicted(Thread& thread, Entry other, Entry now, const Entry* lanes, unsigned newer,
                   std::uint64_t granule);
  void ask_noted(Thread& thread, Entry other, Entry now, const Entry* lanes, unsigned newer,
                 std::uint64_t granule);
  /// Also of x++ and of atomics, which are entries of writes.
  [[nodiscard]] bool reads(Entry entry) {
    return (entry & kReadBit) != 0 ||
           (pairs_.of(contexts_, way_of(entry), way_of(entry)) & Pairs::kFirstAlsoReads) != 0;
  }
  void ask_two(Thread& thread, const Note& note, Entry other, Entry now, std::uint64_t granule);
  static void evict(Thread& thread, Entry entry, std::uint64_t granule);
  void note(Thread& thread, Entry theirs, Entry now, std::uint64_t granule);
  /// For a write: what the thread has read there since others did, and is noted for that.
  void note_again(Thread& thread, Entry now, std::uint64_t granule);
  void race(Thread& thread, Entry earlier, Entry now, std::uint64_t granule);
  void report(Thread& thread, Question question, Entry first, std::uint64_t first_granule,
              Entry other, Entry now, std::uint64_t granule, bool by_hold);
  [[nodiscard]] Place place(Entry entry, Entry with, std::uint64_t granule) const;

  // functions.cc
  void pop_to(Thread& thread, std::uint32_t depth);

  // take.cc
  void take_access(Thread& thread, std::uint64_t address, std::uint32_t site);
  void take_sync(Thread& thread, const wire::Word* record, unsigned operands);
  void take_run(Thread& thread, const wire::Word* record);

  Host host_;
  Cells cells_;
  Limits limits_;
  Units units_;
  Contexts contexts_;
  Objects objects_;
  Pairs pairs_;
  Tries tries_;  // of candidates and races
  Slot* slots_ = nullptr;
  Notes* notes_ = nullptr;  // by slot
  /// The slots below it have been used in this era.
  std::atomic<std::uint32_t> used_{1};
  std::atomic<std::uint64_t> resets_{0};
  std::atomic<bool> renewing_{false};
  Spin spin_;  // of slots and live threads
  Thread* live_ = nullptr;
};

}  // namespace syndrome::engine
