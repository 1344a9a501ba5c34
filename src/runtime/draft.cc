#include "runtime/draft.h"

#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/follow_cells.h"
#include "runtime/follower.h"
#include "runtime/in_place_of.h"
#include "runtime/sys.h"

namespace syndrome::rt {
namespace {

std::atomic<std::uint32_t> sending{0};  // the tid of who sends; 0: nobody

/// Of blocks: those whose first run was sent.
constexpr wire::Word kLabels = 4096;
std::atomic<std::uint64_t> sent_labels[kLabels / 64];

[[nodiscard]] std::uint32_t known_slots() {
  const std::uint32_t slots = slots_in_use();
  return slots < sieve::kKnown ? slots : sieve::kKnown;
}

/// False: whoever has it does not give it back in time, or this one has it, and a signal came.
[[nodiscard]] bool lock(std::atomic<std::uint32_t>& word, bool forever) {
  // A second: who sends may have to wait for a core, and for others who do.
  constexpr int kTries = 10000;
  for (int i = 0;; ++i) {
    std::uint32_t nobody = 0;
    if (word.compare_exchange_weak(nobody, tls.tid, std::memory_order_acquire)) return true;
    if (forever) {
      sys::yield();
    } else if (i == kTries || nobody == tls.tid) {
      return false;
    } else {
      pause_briefly();
    }
  }
}
void unlock(std::atomic<std::uint32_t>& word) {
  word.store(0, std::memory_order_release);
}

/// Of a draft: how many words the record has that begins there.
[[nodiscard]] unsigned length_of(Word word) {
  using wire::Control;
  if (!wire::is_control(word)) return 1;
  switch (wire::kind_of(word)) {
    case Control::kRange:
    case Control::kLocals: return 3;
    case Control::kLate: return wire::kLateWords;
    case Control::kLateLock: return wire::kLateLockWords;
    case Control::kSync: return 1 + wire::operands_of(word);
    default: return 1;
  }
}

/// The position of another slot that the record is behind, or 0; its slot is in the record's top.
[[nodiscard]] Word behind_of(const Word* record) {
  if (!wire::is_control(*record)) return 0;
  if (wire::kind_of(*record) == wire::Control::kBehind) return wire::position_of(*record);
  return wire::kind_of(*record) == wire::Control::kLate ? wire::value_of(record[4]) : 0;
}

/// The drafts of all threads, while nobody else sends or throws away.
class Drafts {
 public:
  explicit Drafts(bool forever) : count_(known_slots()) {
    advance_past();
    // Before the drafts are looked at: what is past then has been written there.
    for (std::uint32_t i = 0; i < count_; ++i) past_[i] = past_of(i);
    std::atomic_thread_fence(std::memory_order_acquire);
    mine_ = lock(sending, forever);
    for (std::uint32_t i = 0; i < count_; ++i) {
      Follower* const follower = follower_at(i);
      if (follower == nullptr) continue;
      Draft& draft = follower->draft;
      all_[i] = {&draft, nullptr, i, lock(draft.lock, forever), 0, 0};
      all_[i].end = __atomic_load_n(&draft.written, __ATOMIC_ACQUIRE);
      // Behind that: a thread that has written something has set it.
      all_[i].thread = follower->its_thread;
      all_[i].place = draft.sent_place;
    }
  }
  ~Drafts() {
    for (const Each& each : all_) {
      if (each.locked) unlock(each.draft->lock);
    }
    if (mine_) unlock(sending);
  }
  Drafts(const Drafts&) = delete;
  Drafts& operator=(const Drafts&) = delete;

  /// What is behind something that is not written yet, as far as could be seen, stays for the next
  /// time; but all of `whole`.
  void cut(const Draft* whole) {
    for (Each& each : all_) {
      if (each.draft != nullptr) find_end(each, true);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (Each& each : all_) {
        if (each.draft == nullptr || each.draft->sent == each.end) continue;
        const Word end = each.end;
        find_end(each, each.draft == whole);
        changed |= each.end != end;
      }
      whole_ &= !changed;
    }
  }
  /// All that was past has been sent.
  void raise_clear() const {
    for (std::uint32_t i = 0; i < count_ && whole_; ++i) clear.raise(i, past_[i]);
  }
  /// False: recording has ended.
  [[nodiscard]] bool send() {
    bool good = true;
    for (Each& each : all_) {
      if (each.draft == nullptr || each.draft->sent == each.end) continue;
      good &= send(each);
    }
    return good;
  }

 private:
  struct Each {
    Draft* draft = nullptr;
    Thread* thread = nullptr;
    std::uint32_t slot = 0;
    bool locked = false;
    Word end = 0;
    Word place = 0;  // the last position that will be in the ring
  };

  [[nodiscard]] const Each* other(const Word* record) const {
    const std::uint32_t slot = wire::top_of(*record) & wire::kSlotMask;
    return slot < count_ && all_[slot].draft != nullptr ? &all_[slot] : nullptr;
  }

  void find_end(Each& each, bool whole) {
    Draft& draft = *each.draft;
    each.place = draft.sent_place;
    for (Word at = draft.sent; at < each.end;) {
      const Word* const record = draft.words + at;
      if (const Word position = whole ? 0 : behind_of(record); position != 0) {
        const Each* const its = other(record);
        if (its != nullptr && position > its->place) {
          each.end = at;
          return;
        }
      }
      if (wire::is_control(*record) && wire::kind_of(*record) == wire::Control::kPlace) {
        each.place = wire::position_of(*record);
      }
      at += length_of(*record);
    }
  }

  [[nodiscard]] bool send(Each& each) {
    Draft& draft = *each.draft;
    while (draft.sent < each.end) {
      Word* const record = draft.words + draft.sent;
      leave_out_clear(record, each.slot, draft.sent_place);
      const unsigned length = length_of(*record);
      if (!put(*each.thread, record, length)) return false;
      draft.sent += length;
      if (wire::is_control(*record) && wire::kind_of(*record) == wire::Control::kPlace) {
        __atomic_store_n(&draft.sent_place, wire::position_of(*record), __ATOMIC_RELAXED);
      }
    }
    return true;
  }

  /// An access of the thread of `slot` at `position`, or of another one before it.
  static void leave_out_clear(Word* record, std::uint32_t slot, Word position) {
    Word address = *record;
    Word bytes = 1;
    if (wire::is_control(*record)) {
      const wire::Control kind = wire::kind_of(*record);
      if (kind == wire::Control::kLate) {
        address = wire::value_of(record[1]);
        bytes = address >> 48;
        slot = wire::top_of(*record) & wire::kSlotMask;
        position = wire::position_of(*record);
      } else if (kind == wire::Control::kRange) {
        address = wire::value_of(record[1]);
        bytes = wire::value_of(record[2]);
      } else if (kind != wire::Control::kWide) {
        return;
      }
    }
    if (bytes == 0) return;
    // Before it is asked: who finds it clear after this sees that it is in the trace, or it is not.
    if (!wire::is_control(*record) || wire::kind_of(*record) != wire::Control::kWide) {
      stir(address & wire::kAddressMask);
    }
    if (position >= clear_of(slot)) return;
    if (wire::is_control(*record) && wire::kind_of(*record) == wire::Control::kLate) {
      record[1] = wire::operand(0);
      return;
    }
    for (unsigned i = length_of(*record); i-- > 0;) {
      record[i] = wire::control(wire::Control::kPad, 0, 0);
    }
  }

  /// Into the ring of a thread that does not write there itself.
  [[nodiscard]] static bool put(Thread& its, const Word* record, unsigned count) {
    const auto used =
        (reinterpret_cast<std::uintptr_t>(its.exact) / sizeof(Word)) % wire::kLineWords;
    if (used + count >= wire::kLineWords && turn_line(its, its.exact, true) != Turned::kDone) {
      return false;
    }
    for (unsigned i = 0; i < count; ++i) its.exact[i] = record[i];
    its.exact += count;
    return true;
  }

  std::uint32_t count_;
  bool mine_ = false;
  bool whole_ = true;  // nothing was cut
  Word past_[sieve::kKnown];
  Each all_[sieve::kKnown];
};

/// It begins anew, with nothing in it.
void empty(Draft& draft) {
  __atomic_store_n(&draft.written, 0, __ATOMIC_RELEASE);
  draft.sent = draft.from = draft.prefix = 0;
}

[[nodiscard]] Word behind(std::uint32_t slot, Word position) {
  return wire::control(wire::Control::kBehind, position << 4, slot);
}
[[nodiscard]] Word place_of(const sieve::Thread& thread) {
  return wire::control(wire::Control::kPlace, thread.position << 4, thread.slot);
}

/// What follows may be thrown away.
void begin_region(Follower& self) {
  Draft& draft = self.draft;
  draft.slots = slots_in_use();
  draft.from = draft.written;
  draft.clean = draft.slots <= sieve::kKnown && draft.first() <= Draft::kWords;
  if (!draft.clean) return;
  draft.words[draft.from] = place_of(self.thread);
  for (std::uint32_t i = 0; i < draft.slots; ++i) {
    draft.words[draft.from + 1 + i] = wire::control(wire::Control::kPad, 0, 0);
  }
  __atomic_store_n(&draft.written, draft.first(), __ATOMIC_RELEASE);
  draft.behind_before.copy(draft.behind, draft.slots);
  draft.prefix = 0;
  draft.base = self.told_depth;
  draft.low = self.depth;
  draft.blocks = 0;
}

/// Threads that have been interrupted do not look themselves.
void clear_others(std::uint32_t own, std::uint32_t slots) {
  for (std::uint32_t i = 0; i < slots; ++i) {
    Follower* const other = i != own ? follower_at(i) : nullptr;
    if (other == nullptr) continue;
    std::uint32_t nobody = 0;
    if (!other->draft.lock.compare_exchange_strong(nobody, tls.tid, std::memory_order_acquire)) {
      continue;
    }
    (void)other->draft.unclear.settle(clear, i);
    unlock(other->draft.lock);
  }
}

/// Slots that have come since may have been met.
[[nodiscard]] bool is_throwable(const Draft& draft) {
  return draft.clean && draft.sent <= draft.from && draft.low >= draft.base &&
         draft.slots == slots_in_use();
}

void say_behind(Follower& self, std::uint32_t slot, Word position) {
  append(behind(slot, position));
  if (tls.draft != nullptr) return;
  // Nobody else sends what the ring now waits for.
  const Follower* const other = follower_at(slot);
  if (other != nullptr && __atomic_load_n(&other->draft.sent_place, __ATOMIC_RELAXED) < position) {
    self.draft.waits = true;
  }
}

/// All since the last clean point is past. Under the draft's lock.
void throw_away(Follower& self) {
  Draft& draft = self.draft;
  const std::uint32_t low = draft.low < self.told_depth ? draft.low : self.told_depth;
  const Word open = low - draft.base;
  if (open < draft.prefix) draft.prefix = open;
  std::atomic<std::uint64_t>& count = tls.ring->thrown_blocks;
  count.store(count.load(std::memory_order_relaxed) + draft.blocks, std::memory_order_relaxed);
  draft.blocks = 0;
  draft.low = self.depth;
  ++draft.throws;
  draft.words[draft.from] = place_of(self.thread);
  for (std::uint32_t i = 0; i < draft.slots; ++i) {
    const Word position = draft.behind.at[i];
    if (position <= draft.behind_before.at[i]) continue;
    draft.words[draft.from + 1 + i] = behind(i, position);
  }
  __atomic_store_n(&draft.written, draft.first() + draft.prefix, __ATOMIC_RELEASE);
  self.told_depth = draft.base + static_cast<std::uint32_t>(draft.prefix);
}

}  // namespace

void begin_draft(Follower& self) {
  Draft& draft = self.draft;
  tls.draft = nullptr;
  // Nothing in it waits to be sent.
  __atomic_store_n(&draft.sent_place, ~Word{0}, __ATOMIC_RELAXED);
  if (!self.thread.only_atomicity || slots_in_use() > sieve::kKnown) return;
  empty(draft);
  __atomic_store_n(&draft.sent_place, self.thread.position, __ATOMIC_RELAXED);
  draft.locks = draft.sends = draft.throws = draft.held_back = 0;
  draft.unclear.forget();
  draft.leaves = draft.waits = false;
  draft.behind = {};
  begin_region(self);
  tls.draft = &draft;
}

void leave_draft(Follower& self) {
  send_drafts();
  tls.draft = nullptr;
  __atomic_store_n(&self.draft.sent_place, ~Word{0}, __ATOMIC_RELAXED);
}

void settle_draft(Follower& self) {
  Draft& draft = self.draft;
  if (!draft.leaves && !draft.waits) return;
  // What is written in place of others is sent at the end (settle_for_all()).
  if (last_settler.load(std::memory_order_relaxed) == tls.tid) return;
  ++tls.busy;
  if (draft.leaves && tls.draft != nullptr) leave_draft(self);
  if (draft.waits && tls.draft == nullptr && tls.follower != nullptr) {
    Drafts drafts(true);
    drafts.cut(nullptr);
    (void)drafts.send();
  }
  draft.leaves = draft.waits = false;
  --tls.busy;
}

void keep_draft() {
  if (tls.draft != nullptr) tls.draft->clean = false;
}

void send_first(const unit::Function* function) {
  if (tls.draft == nullptr || (function->flags & unit::kLiveSent) != 0) return;
  keep_draft();
  // Like the other flags of live checking, in the program's own copy of the unit.
  auto* const mine = const_cast<unit::Function*>(function);
  __atomic_fetch_or(&mine->flags, std::uint32_t{unit::kLiveSent}, __ATOMIC_RELAXED);
}

void send_first(wire::Word label) {
  constexpr std::size_t kBits = 64;
  if (tls.draft == nullptr) return;
  if (label >= kLabels) return keep_draft();
  std::atomic<std::uint64_t>& sent = sent_labels[label / kBits];
  const std::uint64_t bit = std::uint64_t{1} << (label % kBits);
  if ((sent.load(std::memory_order_relaxed) & bit) != 0) return;
  keep_draft();
  sent.fetch_or(bit, std::memory_order_relaxed);
}

void pass_draft(Follower& self) {
  Draft& draft = self.draft;
  if (self.blocks != 0 || self.scopes != 0) return;
  const std::uint32_t slots = known_slots();
  const std::uint32_t slot = self.thread.slot;
  (void)lock(draft.lock, true);
  const bool all = !self.thread.after_unknown &&
                   draft.unclear.over(clear, slot, self.thread.position, self.thread.before, slots);
  self.mine.clear = clear_of(slot) << sieve::kPositionShift;
  constexpr std::uint32_t kPatience = 16;
  if (!all && ++draft.held_back % kPatience == 0) clear_others(slot, slots);
  if (draft.locks != 0) return unlock(draft.lock);
  if (!all) {
    if (!draft.clean) begin_region(self);
    return unlock(draft.lock);
  }
  if (draft.sent == draft.written) {
    empty(draft);
    begin_region(self);
  } else if (is_throwable(draft)) {
    throw_away(self);
  } else {
    begin_region(self);
  }
  unlock(draft.lock);
}

void come_behind(Follower& self, std::uint32_t slot, wire::Word position) {
  const std::uint32_t slots = known_slots();
  const Follower* const other = follower_at(slot);
  for (std::uint32_t i = 0; i < slots && other != nullptr; ++i) {
    if (i == self.thread.slot) continue;
    const Word its = __atomic_load_n(&other->draft.behind.at[i], __ATOMIC_RELAXED);
    const Word last = i == slot && position > its ? position : its;
    if (self.draft.comes_behind(i, last)) say_behind(self, i, last);
  }
}

void come_behind(Follower& self, const SyncClock& clock) {
  const std::uint32_t slots = known_slots();
  if (clock.met_unknown) self.thread.after_unknown = true;
  for (std::uint32_t i = 0; i < slots; ++i) {
    if (i == self.thread.slot) continue;
    const Word met = clock.met.at[i];
    self.thread.comes_after(i, met);
    const Word last = clock.order.at[i] > met ? clock.order.at[i] : met;
    if (self.draft.comes_behind(i, last)) say_behind(self, i, last);
  }
}

void come_behind_all() {
  if (tls.draft == nullptr) return;
  ++tls.busy;
  send_drafts();
  for (std::uint32_t i = 0; i < known_slots() && tls.draft != nullptr; ++i) {
    const Follower* const other = follower_at(i);
    if (other == nullptr || other == tls.follower) continue;
    Word place = __atomic_load_n(&other->draft.sent_place, __ATOMIC_RELAXED);
    // It has no draft: what it has told is in its ring.
    if (place == ~Word{0}) place = __atomic_load_n(&other->thread.told_at, __ATOMIC_ACQUIRE);
    if (tls.draft->comes_behind(i, place)) append(behind(i, place));
  }
  --tls.busy;
}

void make_draft_room() {
  Draft* const draft = tls.draft;
  if (draft == nullptr) return;
  const std::uint32_t slots = known_slots();
  const Word most = slots * Draft::kWords > Draft::kAll ? Draft::kAll / slots : Draft::kWords;
  if (draft->written + Draft::kSpare <= most || is_over()) return;
  ++tls.busy;
  send_drafts();
  --tls.busy;
}

void send_drafts() {
  Draft& own = *tls.draft;
  bool good = true;
  {
    Drafts drafts(true);
    // Who has no room cannot wait for others: they may wait for a cell that it has.
    drafts.cut(&own);
    good = drafts.send();
    empty(own);
    own.clean = false;
    drafts.raise_clear();
  }
  if (!good) return turn_off();
  // Nearly all of it is sent: then rather at once.
  constexpr std::uint32_t kOften = 64;
  if (++own.sends % kOften == 0) {
    own.leaves |= own.throws < kOften;
    own.throws = 0;
  }
}

void send_last_drafts() {
  // Its thread may have left its own.
  if (tls.follower == nullptr || !tls.follower->thread.only_atomicity) return;
  Drafts drafts(false);
  (void)drafts.send();
}

void forget_drafts() {
  for (std::atomic<std::uint64_t>& sent : sent_labels) sent.store(0, std::memory_order_relaxed);
  sending.store(0, std::memory_order_relaxed);
}

void drop_draft_locks(Follower& self) {
  for (std::uint32_t i = 0; i < slots_in_use(); ++i) {
    Follower* const other = follower_at(i);
    if (other == nullptr) continue;
    if (other->draft.lock.load(std::memory_order_relaxed) != tls.tid) continue;
    // A part of a record may be in its ring, and have been read.
    if (other->draft.sent != other->draft.written && other->its_thread != &tls) {
      (void)turn_line(*other->its_thread, other->its_thread->exact, true);
    }
    unlock(other->draft.lock);
  }
  if (sending.load(std::memory_order_relaxed) == tls.tid) unlock(sending);
  if (&self.draft == tls.draft) keep_draft();
}

}  // namespace syndrome::rt
