#include "runtime/log.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "runtime/draft.h"
#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/follow_quiet.h"
#include "runtime/in_place_of.h"
#include "runtime/live.h"
#include "runtime/shards.h"
#include "runtime/sys.h"
#include "runtime/thread.h"

namespace syndrome::rt {
namespace {

/// Where the first word of every thread goes: the last of a line, so that it calls full().
wire::Word first_line[wire::kLineWords] __attribute__((aligned(256)));

std::atomic<std::uint32_t> thread_count{0};

/// `time` 0: now.
void append_sync(wire::Sync kind, std::uintptr_t object, std::uint64_t version, wire::Word time,
                 unsigned extra, wire::Word operand, std::uint32_t site) {
  if (following()) before_sync(kind, object, operand, site);
  wire::Word* const at = room(4 + extra);
  if (at == nullptr) return;
  at[0] = wire::sync(kind, 3 + extra, site);
  at[1] = wire::operand(object);
  at[2] = wire::operand(version);
  at[3] = wire::operand(time != 0 ? time : read_counter());
  if (extra != 0) at[4] = wire::operand(operand);
  appended(4 + extra);
  new_segment();
  if (in_flight()) tls.taken = cursor();
  if (!following()) return;
  // Others wait for its version.
  if (version != 0) keep_draft();
  after_sync(kind, object, operand);
  if (tls.draft == nullptr || version == 0) return;
  ++tls.busy;
  send_drafts();
  --tls.busy;
}

/// A block that no other thread's events need an order with, and one that is part of what may be
/// thrown away.
[[nodiscard]] bool is_atomic_block(wire::Sync kind, wire::Word operand) {
  return (kind == wire::Sync::kBlockBegin || kind == wire::Sync::kBlockEnd) &&
         static_cast<wire::Block>(operand) == wire::Block::kAtomic;
}

/// Whether the event is one that only std::lock's end will show, or that nobody will see.
bool defer(wire::Sync kind, std::uintptr_t object) {
  if (kind == wire::Sync::kAcquire || kind == wire::Sync::kAcquireShared) {
    if (tls.deferred == sizeof(tls.locks) / sizeof(tls.locks[0])) return false;
    tls.locks[tls.deferred++] = {object, kind};
    return true;
  }
  if (kind != wire::Sync::kRelease && kind != wire::Sync::kReleaseShared) return false;
  for (std::uint32_t i = tls.deferred; i > 0; --i) {
    if (tls.locks[i - 1].object != object) continue;
    for (; i < tls.deferred; ++i) tls.locks[i - 1] = tls.locks[i];
    --tls.deferred;
    return true;
  }
  return false;
}

void append_range(const void* address, std::size_t length, bool write, std::uint32_t site,
                  bool site_is_call) {
  if (following()) return follow_range(address, length, write, site, site_is_call);
  // A function of the C library may have slept, for another process or for a thread at the other
  // end of a pipe: what comes now has a time of its own.
  const unsigned times = site_is_call ? 1 : 0;
  wire::Word* at = room(3 + times);
  if (at == nullptr) return;
  if (site_is_call) *at++ = wire::time(read_counter());
  const wire::Word flags = (write ? 16u : 0u) | (site_is_call ? 32u : 0u);
  at[0] = wire::control(wire::Control::kRange, flags, site);
  at[1] = wire::operand(reinterpret_cast<std::uintptr_t>(address));
  at[2] = wire::operand(length);
  appended(3 + times);
}

}  // namespace

extern "C" {
constinit thread_local ThreadWindow __syndrome_thread = {first_line + wire::kLineWords - 1, 0, 0,
                                                         nullptr};
}
constinit thread_local Thread tls __attribute__((tls_model("initial-exec"))) = {};
constinit thread_local wire::Word scratch[2 * wire::kLineWords]
    __attribute__((tls_model("initial-exec"), aligned(256)));

namespace {

/// Of a thread that has just become busy, or was: the settler waits for the end of what it is in
/// the middle of, and that is told as a whole.
[[nodiscard]] bool is_over_before_this() {
  return tls.busy == 1 && is_over();
}

}  // namespace

wire::Word* room(unsigned count) {
  release_exact();
  if (tls.state != ThreadState::kOn) return nullptr;
  if (Draft* const draft = tls.draft; draft != nullptr) {
    ++tls.busy;
    const bool over = is_over_before_this();
    if (draft->written + count > Draft::kWords && !over) send_drafts();
    if (tls.state == ThreadState::kOn && !over) return draft->words + draft->written;
    --tls.busy;
    return nullptr;
  }
  const auto used =
      (reinterpret_cast<std::uintptr_t>(cursor()) / sizeof(wire::Word)) % wire::kLineWords;
  if (used + count >= wire::kLineWords) {
    ++tls.busy;
    (void)next_line(true);
    --tls.busy;
    if (tls.state != ThreadState::kOn) return nullptr;
  }
  ++tls.busy;
  if (is_over_before_this()) {
    --tls.busy;
    return nullptr;
  }
  return cursor();
}

void appended(unsigned count) {
  if (Draft* const draft = tls.draft; draft != nullptr) {
    __atomic_store_n(&draft->written, draft->written + count, __ATOMIC_RELEASE);
  } else {
    cursor() += count;
  }
  --tls.busy;
}

void append(wire::Word word) {
  wire::Word* const at = room(1);
  if (at == nullptr) return;
  *at = word;
  appended(1);
}

bool recording() {
  if (__syndrome_thread.inside != 0) return false;
  if (tls.state == ThreadState::kOn) [[likely]]
    return true;
  if (tls.state != ThreadState::kNew) return false;
  const Inside inside;
  start_thread(0, false);
  return tls.state == ThreadState::kOn;
}

void sync(wire::Sync kind, std::uintptr_t object) {
  const Step step;
  if (step.is_over()) return;
  if (tls.deferring != 0 && defer(kind, object)) return;
  release_exact();
  if (following() && sync_quietly(kind, object, __syndrome_thread.call)) return;
  if (following() && lock_unheard(kind, object)) return;
  if (following() && tls.busy == 0 && lock_by_position(kind, object, __syndrome_thread.call)) {
    return;
  }
  // Which may tell of locks, with versions: they come before this one's.
  if (following()) {
    settle();
    order_by_signal(kind, object);
    order_by_position(kind, object);
  }
  hear_sync(kind, object, 0);
  append_sync(kind, object, next_version(wire::shard_of(kind, object)), 0, 0, 0,
              __syndrome_thread.call);
}

void sync(wire::Sync kind, std::uintptr_t object, wire::Word operand) {
  const Step step;
  if (step.is_over()) return;
  release_exact();
  if (following() && renew_quietly(kind, object, operand)) return;
  if (following()) settle();
  const bool ordered = tls.draft == nullptr || !is_atomic_block(kind, operand);
  hear_sync(kind, object, operand);
  append_sync(kind, object, ordered ? next_version(wire::shard_of(kind, object)) : 0, 0, 1, operand,
              __syndrome_thread.call);
}

void sync_at(wire::Sync kind, std::uintptr_t object, std::uint64_t version, wire::Word time,
             wire::Word operand, std::uint32_t site) {
  append_sync(kind, object, version, time, 1, operand, site);
}

void read_range(const void* address, std::size_t length) {
  if (length != 0) append_range(address, length, false, __syndrome_thread.call, true);
}
void write_range(const void* address, std::size_t length) {
  if (length != 0) append_range(address, length, true, __syndrome_thread.call, true);
}
void range_at(const void* address, std::size_t length, bool write, std::uint32_t site) {
  if (length != 0) append_range(address, length, write, site, false);
}

std::uint32_t new_thread_number() {
  return thread_count.fetch_add(1, std::memory_order_relaxed);
}
std::uint32_t thread_number() {
  return tls.number;
}

void turn_off() {
  // The ring stays as it is: the recorder, if there is one, takes what is in it.
  tls.state = ThreadState::kOff;
  stop_following();
  tls.exact = nullptr;
  tls.flight = nullptr;
  point_at_scratch();
}

void start_thread(std::uint32_t number, bool has_number) {
  if (too_early()) return;
  tls.state = ThreadState::kStarting;
  point_at_scratch();
  tls.tid = sys::gettid();
  if (!attach()) {
    tls.state = ThreadState::kOff;
    return;
  }
  tls.number = has_number ? number : new_thread_number();
  if (!claim_ring(tls.number)) {
    tls.state = ThreadState::kOff;
    return;
  }
  // A handler that came while it waits for a settler would be its first event.
  const NoHandlers none;
  tls.state = ThreadState::kOn;
  sync(wire::Sync::kThreadStart, tls.number);
}

void thread_begin(std::uint32_t number) {
  const Inside inside;
  if (tls.state == ThreadState::kNew) start_thread(number, true);
}

void thread_end() {
  if (tls.state == ThreadState::kOn) {
    sync(wire::Sync::kThreadStop, tls.number);
    if (tls.state == ThreadState::kOn) {
      ++tls.busy;
      if (in_flight()) {
        take_line(tls, cursor());
        engine_end(tls);
      }
      RingHeader* const ring = tls.ring;
      const wire::Word* const begin = tls.words + (tls.line & (process.ring_words - 1));
      ring->published.store(tls.line + static_cast<std::uint64_t>(cursor() - begin),
                            std::memory_order_release);
      turn_off();
      ring->state.store(RingState::kFinished, std::memory_order_release);
      release_ring();
      --tls.busy;
    }
  }
  tls.state = ThreadState::kEnded;
}

bool wait_for_room(Thread& its, std::uint64_t wanted) {
  RingHeader& ring = *its.ring;
  SessionHeader& session = *process.session;
  // A recorder in another namespace of pids that has not moved for ten seconds is dead.
  constexpr unsigned kSilence = 100;
  unsigned silent = 0;
  std::uint32_t beat = session.beat.load(std::memory_order_relaxed);
  for (;;) {
    if (session.stop.load(std::memory_order_relaxed) != 0) return false;
    session.doorbell.fetch_add(1, std::memory_order_seq_cst);
    if (session.sleeping.load(std::memory_order_seq_cst) != 0) {
      sys::call(SYS_futex, sys::address_of(&session.doorbell), FUTEX_WAKE, 1);
    }
    ring.waiting.store(1, std::memory_order_seq_cst);
    const std::uint64_t consumed = ring.consumed.load(std::memory_order_seq_cst);
    its.limit = consumed + process.ring_words;
    if (wanted <= its.limit) {
      ring.waiting.store(0, std::memory_order_relaxed);
      return true;
    }
    // A tenth of a second: then see whether the recorder is still alive.
    const timespec timeout{0, 100'000'000};
    const long result = sys::call(SYS_futex, sys::address_of(&ring.waiting), FUTEX_WAIT, 1,
                                  sys::address_of(&timeout));
    if (result != -ETIMEDOUT) continue;
    if (!process.foreign) {
      if (sys::call(SYS_kill, session.recorder, 0) == -ESRCH) return false;
      continue;
    }
    const std::uint32_t now = session.beat.load(std::memory_order_relaxed);
    silent = now == beat ? silent + 1 : 0;
    beat = now;
    if (silent == kSilence) return false;
  }
}

void signal_enter(SignalFrame& frame) {
  if (tls.handlers++ == 0) {
    tls.handlers_from = tls.frames;
    tls.handlers_held = tls.held;
  }
  if (tls.state == ThreadState::kOn && tls.busy != 0 && tls.exact == nullptr &&
      tls.whole == nullptr) {
    tls.whole = __syndrome_thread.cursor;
  }
  frame.window = __syndrome_thread;
  frame.held = tls.held;
  frame.recorded = tls.state == ThreadState::kOn && tls.busy == 0;
  frame.follows = false;
  // A thread begins where it gets the number that its creator knows, never with a handler.
  frame.unborn = tls.state == ThreadState::kNew;
  tls.held = 0;
  if (!frame.recorded) {
    ++__syndrome_thread.inside;
    if (frame.unborn) tls.state = ThreadState::kStarting;
    // The probe may have been on its way to full(), and never come there.
    if (tls.busy != 0 || tls.state != ThreadState::kOn) point_at_scratch();
    return;
  }
  __syndrome_thread.inside = 0;
  if (following()) {
    frame.follows = enter_handler();
    if (frame.follows || tls.state != ThreadState::kOn) return;
    frame.recorded = false;
    ++__syndrome_thread.inside;
    point_at_scratch();
    return;
  }
  if (tls.exact != nullptr) return;
  wire::Word*& at = __syndrome_thread.cursor;
  const auto used = (reinterpret_cast<std::uintptr_t>(at) / sizeof(wire::Word)) % wire::kLineWords;
  if (used == 0) {
    // The probe has filled its line and was on its way to full(): the next line is not begun. When
    // it gets there, it goes on to another one.
    ++tls.busy;
    (void)next_line(true);
    --tls.busy;
    return;
  }
  // The slot at the cursor may belong to a probe that was interrupted: leave it alone.
  if (*at == 0) *at = wire::control(wire::Control::kPad, 0, 0);
  ++at;
  if (used + 1 == wire::kLineWords) {
    ++tls.busy;
    (void)next_line(true);
    --tls.busy;
  }
}

void signal_leave(const SignalFrame& frame) {
  if (tls.handlers != 0) --tls.handlers;
  if (!frame.recorded) {
    if (tls.whole == frame.window.cursor) tls.whole = nullptr;
    __syndrome_thread = frame.window;
    tls.held = frame.held;
    if (frame.unborn) tls.state = ThreadState::kNew;
    return;
  }
  if (frame.follows && following()) {
    leave_handler(frame.window.cursor);
    tls.held = frame.held;
    __syndrome_thread.call = frame.window.call;
    __syndrome_thread.inside = frame.window.inside;
    return;
  }
  // The interrupted probe will add 8 to the cursor if it has not done so: the word that it passes
  // over then is this pad, in the middle of a line.
  if (tls.exact == nullptr && tls.state == ThreadState::kOn) {
    wire::Word* const at = room(2);
    if (at != nullptr) {
      at[0] = wire::control(wire::Control::kPad, 0, 0);
      appended(0);
    }
  }
  tls.held = frame.held;
  __syndrome_thread.call = frame.window.call;
  __syndrome_thread.inside = frame.window.inside;
}

namespace {

void go_on_behind_handlers() {
  tls.handlers = 0;
  __syndrome_thread.inside = 0;
  tls.held = 0;
  if (tls.handlers_held != 0 && tls.handlers_held != ~0u) unlock_shard(tls.handlers_held - 1);
  if (following()) drop_handlers();
  if (in_flight()) tls.ring->pending.store(0, std::memory_order_relaxed);
  wire::Word* const whole = tls.whole;
  tls.whole = nullptr;
  if (whole == nullptr || tls.state != ThreadState::kOn) return;
  // The record that was interrupted is written over. When it was the step to the next line that
  // was, that is done again, or its rest.
  wire::Word* const line = tls.words + (tls.line & (process.ring_words - 1));
  cursor() = whole;
  start_filter();
  if (whole == line + wire::kLineWords) {
    ++tls.busy;
    (void)next_line(true);
    --tls.busy;
  } else if (whole <= line || whole > line + wire::kLineWords) {
    line[0] = wire::time(read_counter());
    cursor() = line + 1;
  }
}

}  // namespace

void leave_handlers() {
  // The next handler may come at any time, and leaves alone what is not in order yet.
  tls.busy = 1;
  go_on_behind_handlers();
  tls.busy = 0;
  tls.steps = 0;
}

void fork_prepare() {
  release_exact();
}
void fork_parent() {}

void fork_child() {
  const Inside inside;
  const bool was_recorded = process.session != nullptr;
  turn_off();
  tls.state = ThreadState::kNew;
  tls.busy = 0;
  tls.steps = 0;
  tls.held = 0;
  tls.held_exact = 0;
  tls.handlers_held = 0;
  tls.whole = nullptr;
  thread_count.store(0, std::memory_order_relaxed);
  reset_shards();
  if (!was_recorded) {
    tls.state = ThreadState::kOff;
    return;
  }
  detach_child();
  start_thread(0, false);
}

}  // namespace syndrome::rt
