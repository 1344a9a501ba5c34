#include "runtime/hold.h"

#include <sys/mman.h>

#include "runtime/follow.h"
#include "runtime/holder.h"
#include "runtime/in_place_of.h"
#include "runtime/sys.h"

namespace syndrome::rt {

calls::Slot* hold_slots = nullptr;
Word hold_slots_used = 0;
std::uint32_t hold_nothing = 0;
constinit HoldCalls hold_calls(nullptr, nullptr);

namespace {

bool holds = false;
Holder* holders[calls::kMaxSlots];  // by slot
std::uint8_t has_thread[calls::kMaxSlots];

Holder* begin(std::uint32_t slot) {
  if (slot >= calls::kMaxSlots) return nullptr;
  if (holders[slot] == nullptr) {
    holders[slot] =
        static_cast<Holder*>(sys::map(sizeof(Holder), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  Holder* const self = holders[slot];
  if (self == nullptr) return nullptr;
  Word used = __atomic_load_n(&hold_slots_used, __ATOMIC_RELAXED);
  while (used <= slot && !__atomic_compare_exchange_n(&hold_slots_used, &used, Word{slot} + 1,
                                                      false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  self->call.slot = slot;
  return self;
}

}  // namespace

bool holds_calls() {
  return holds;
}

void make_holders() {
  holds = false;
  if (process.session->checked != sieve::Checked::kAtomicSets || process.pinned) return;
  if (hold_slots == nullptr) {
    hold_slots = static_cast<calls::Slot*>(
        sys::map(calls::kMaxSlots * sizeof(calls::Slot), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (hold_slots == nullptr) return;
    hold_calls = HoldCalls(hold_slots, &hold_slots_used);
  }
  for (Word i = 0; i < hold_slots_used; ++i) {
    hold_slots[i].first = hold_slots[i].out = 0;
    hold_slots[i].count = hold_slots[i].kept_count = 0;
  }
  for (std::uint32_t i = 0; i < calls::kMaxSlots; ++i) {
    has_thread[i] = 0;
    // In a forked child, its parent's: a signal handler that forked may return into a probe.
    holders[i] = nullptr;
  }
  hold_slots_used = 0;
  hold_nothing = 0;
  last_settler.store(0, std::memory_order_relaxed);
  all_settled.store(false, std::memory_order_relaxed);
  holds = make_hold_cells();
}

bool start_holding(std::uint32_t slot) {
  Holder* const self = begin(slot);
  if (self == nullptr) {
    __atomic_store_n(&hold_nothing, 1, __ATOMIC_RELAXED);
    return false;
  }
  self->units = 0;
  self->handlers = self->depth = self->lost_depth = self->own = self->wide = self->leaf = 0;
  self->first_thread = tls.number == 0;
  self->fill = self->part_begin = 0;
  self->call.first = 0;
  self->call.count = 0;
  self->call_frame = Holder::kNoCall;
  self->declared = self->blocks = self->held = self->rounds = self->memory_count = 0;
  self->stays = self->flows = self->released = false;
  self->first_part = self->parts = self->first_source = self->last_source = 0;
  self->told_time = 0;
  self->told_depth = 0;
  self->its_thread = &tls;
  self->its_window = &__syndrome_thread;
  self->done = self->lines[0];
  tls.exact = tls.words + 1;
  tls.holder = self;
  __syndrome_thread.cursor = self->lines[0];
  __syndrome_thread.filter = nullptr;
  __atomic_store_n(&has_thread[slot], 1, __ATOMIC_RELEASE);
  return true;
}

void stop_holding() {
  Holder* const self = tls.holder;
  if (self == nullptr) return;
  tls.holder = nullptr;
  calls::store(hold_slots[self->call.slot].first, 0);
  __atomic_store_n(&has_thread[self->call.slot], 0, __ATOMIC_RELEASE);
}

Holder* holder_of(std::uint32_t slot) {
  return __atomic_load_n(&has_thread[slot], __ATOMIC_ACQUIRE) != 0 ? holders[slot] : nullptr;
}

namespace {

/// False when nobody may go through words any more. Then leave().
[[nodiscard]] bool enter(Holder*& self) {
  self = tls.holder;
  return self != nullptr && tls.busy == 0 && become_busy();
}

/// Requires enter(). Whether there were any; then Holder::now is now.
bool settle_words(Holder& self) {
  Word* const end = __syndrome_thread.cursor;
  if (self.done == end) return false;
  self.now = HoldClock::now();
  if (const std::uint32_t units = __atomic_load_n(&hold_units, __ATOMIC_ACQUIRE);
      self.units != units) {
    self.units = units;
    for (HoldFunction& known : self.functions) known.function = nullptr;
  }
  if (self.fill >= self.populated) [[unlikely]]
    populate(self);
  // Others may have come in between.
  if (self.call.first != 0) {
    make_room(self);
    put(self, wire::time(self.now));
  }
  take_words(self, self.done, end);
  self.done = end;
  if (holding()) end_outside(self);
  return true;
}

}  // namespace

bool enter_settled(Holder*& self) {
  if (!enter(self)) return false;
  const bool any = settle_words(*self);
  if (!holding()) {
    --tls.busy;
    return false;
  }
  if (!any) self->now = HoldClock::now();
  make_room(*self);
  return true;
}
void hold_settle() {
  Holder* self = nullptr;
  if (!enter(self)) return;
  (void)settle_words(*self);
  leave();
}

void hold_line() {
  hold_settle();
  Holder* const self = tls.holder;
  if (self == nullptr) return;
  self->done = __syndrome_thread.cursor = self->lines[self->handlers];
}

void hold_word(wire::Word word) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  take_words(*self, &word, &word + 1);
  leave();
}

void hold_frame(std::uint64_t mark) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  if (self->depth != 0 && self->lost_depth == 0) {
    self->frames[self->depth - 1].mark = mark;
    if (self->call.first != 0) put(*self, wire::control(wire::Control::kFrame, mark << 4, 0));
  }
  leave();
}

void hold_resume(std::uint64_t mark) {
  Holder* self = nullptr;
  if (!enter_settled(self)) return;
  self->leaf = self->wide = self->lost_depth = 0;
  std::uint32_t at = self->depth;
  while (at > 0 && self->frames[at - 1].mark != mark) --at;
  while (at > 0 && self->depth > at) pop(*self);
  if (self->call.first != 0 && at > 0) {
    put(*self, wire::control(wire::Control::kResume, mark << 4, 0));
  }
  leave();
}

bool hold_enter_handler() {
  Holder& self = *tls.holder;
  if (self.handlers == Holder::kMaxHandlers) return false;
  hold_settle();
  if (tls.holder == nullptr) return false;
  ++self.handlers;
  self.done = __syndrome_thread.cursor = self.lines[self.handlers];
  return true;
}

void hold_leave_handler(wire::Word* cursor) {
  hold_settle();
  Holder* const self = tls.holder;
  if (self == nullptr) return;
  if (self->handlers != 0) --self->handlers;
  // What was there has been settled.
  self->done = __syndrome_thread.cursor = cursor;
}

void hold_drop_handlers() {
  Holder& self = *tls.holder;
  self.handlers = 0;
  self.done = __syndrome_thread.cursor = self.lines[0];
}

namespace {

/// Requires enter(). `all`: also about what waits.
void finish(Holder& self, bool all) {
  (void)settle_words(self);
  if (!holding()) return;
  self.stays |= self.declared != 0 || self.held != 0;
  end_part(self);
  decide(self, all);
  if (self.parts == 0) self.fill = 0;
}

/// A call that others wait for may have lost its core in the middle: threads that end give it some
/// time, all of them together a twentieth of a second.
std::atomic<std::int32_t> pauses{0};
constexpr std::int32_t kMostPauses = 500;

void finish_all() {
  Holder* self = nullptr;
  if (!enter(self)) return;
  finish(*self, true);
  leave();
}

/// The same, but an open call stays open: what comes of it may still be part of a violation.
void flow_all() {
  Holder* self = nullptr;
  if (!enter(self)) return;
  (void)settle_words(*self);
  if (holding()) flow(*self);
  leave();
}

}  // namespace

void finish_holding() {
  Holder* self = nullptr;
  // Who ends the process is the last to write.
  bool all = last_settler.load(std::memory_order_relaxed) != 0;
  while (enter(self)) {
    finish(*self, all);
    const bool waits = holding() && self->parts != 0;
    leave();
    if (!waits) return;
    all = pauses.fetch_add(1, std::memory_order_relaxed) >= kMostPauses;
    if (!all) pause_briefly();
  }
}

void finish_holding_for_all(bool may_go_on) {
  if (!holding() || tls.busy != 0) return;
  const auto count = [] { return hold_slots_used; };
  if (!settle_in_place(count, holder_of, tls.holder, may_go_on ? flow_all : finish_all)) return;
  if (may_go_on) return flow_all();
  finish_holding();
}

}  // namespace syndrome::rt
