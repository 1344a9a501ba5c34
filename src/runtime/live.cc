#include "runtime/live.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "runtime/sys.h"

namespace syndrome::rt {
namespace {

/// Of this process, or of one that it was forked from: there are annotations.
std::atomic<bool> annotated{false};

[[nodiscard]] ProcessSlot& slot() {
  return process.session->slots[process.slot];
}

// Loops that the compiler would make calls of memset and memcpy of, which use vector registers.
void clear(wire::Word* words, std::size_t count) {
  const wire::Word zero = 0;
  __asm__ volatile("rep stosq" : "+D"(words), "+c"(count) : "a"(zero) : "memory");
}
void copy(wire::OpenWords& to, const wire::OpenWords& from) {
  static_assert(sizeof(to) % sizeof(wire::Word) == 0);
  void* target = &to;
  const void* source = &from;
  std::size_t count = sizeof(to) / sizeof(wire::Word);
  __asm__ volatile("rep movsq" : "+D"(target), "+S"(source), "+c"(count) : : "memory");
}

[[nodiscard]] wire::Word* line_at(const Thread& its, std::uint64_t words) {
  return its.words + (words & (process.ring_words - 1));
}

/// The line that begins behind `next` words is empty, and known as the beginning of its part.
void begin_line(Thread& its, std::uint64_t next) {
  clear(line_at(its, next), wire::kLineWords);
  const std::uint64_t part = part_words(process.ring_words);
  if (next % part == 0) {
    FlightPages::Part& begun = its.flight->parts[(next / part) % kParts];
    begun.begin = next;
    copy(begun.open, its.flight->open);
  }
  its.ring->published.store(next, std::memory_order_release);
  its.line = next;
}

}  // namespace

Mode begin_mode() {
  const bool flies = process.session->flight != 0 && !annotated.load(std::memory_order_relaxed);
  return flies ? Mode::kFlight : Mode::kRecord;
}

bool go_round() {
  Mode mode = slot().mode.load(std::memory_order_relaxed);
  if (mode == Mode::kFlight &&
      slot().mode.compare_exchange_strong(mode, Mode::kWrapped, std::memory_order_relaxed)) {
    return true;
  }
  return mode == Mode::kWrapped;
}

void begin_flight(bool reused) {
  if (slot().mode.load(std::memory_order_relaxed) == Mode::kRecord) return;
  tls.flight = reinterpret_cast<FlightPages*>(tls.words + process.ring_words);
  tls.flight->open.begin(tls.ring->thread);
  tls.ring->pending.store(0, std::memory_order_relaxed);
  std::uint64_t line = 0;
  if (reused) {
    const std::uint64_t published = tls.ring->published.load(std::memory_order_relaxed);
    line = (published + wire::kLineWords - 1) / wire::kLineWords * wire::kLineWords;
    for (std::uint64_t i = published; i < line; ++i) {
      *line_at(tls, i) = wire::control(wire::Control::kPad, 0, 0);
    }
  }
  begin_line(tls, line);
  engine_begin(tls);
}

bool fly_on(Thread& its, std::uint64_t next) {
  const wire::Word* const line = line_at(its, its.line);
  take_line(its, line + wire::kLineWords);
  its.flight->open.take(line, line + wire::kLineWords);
  const Mode mode = slot().mode.load(std::memory_order_relaxed);
  const bool stays =
      next + wire::kLineWords <= process.ring_words ? mode != Mode::kRecord : go_round();
  if (!stays) {
    its.flight = nullptr;
    return false;
  }
  begin_line(its, next);
  wire::Word* const begun = line_at(its, next);
  begun[0] = wire::time(read_counter());
  its.taken = begun + 1;
  return true;
}

bool wants_window(const Thread& its) {
  const std::uint64_t every = process.session->window_every;
  if (__builtin_expect(static_cast<long>(every == 0), 1) != 0) return false;
  return (its.line / wire::kLineWords + 1) % every == 0;
}

void request_window() {
  if (!in_flight()) return;
  // Nobody answers: the recorder was killed.
  static std::atomic<bool> alone{false};
  if (alone.load(std::memory_order_relaxed)) return;
  SessionHeader& session = *process.session;
  const std::uint32_t own = slot().windows_asked.fetch_add(1, std::memory_order_seq_cst) + 1;
  session.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (session.sleeping.load(std::memory_order_seq_cst) != 0) {
    sys::call(SYS_futex, sys::address_of(&session.doorbell), FUTEX_WAKE, 1);
  }
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t taken = slot().windows_taken.load(std::memory_order_seq_cst);
    if (static_cast<std::int32_t>(taken - own) >= 0) return;
    const timespec timeout{0, 10'000'000};
    sys::call(SYS_futex, sys::address_of(&slot().windows_taken), FUTEX_WAIT, taken,
              sys::address_of(&timeout));
  }
  const bool dead = !process.foreign && sys::call(SYS_kill, session.recorder, 0) == -ESRCH;
  if (dead) alone.store(true, std::memory_order_relaxed);
}

void leave_flight() {
  if (process.session == nullptr || annotated.load(std::memory_order_relaxed)) return;
  annotated.store(true, std::memory_order_relaxed);
  Mode mode = Mode::kFlight;
  slot().mode.compare_exchange_strong(mode, Mode::kRecord, std::memory_order_relaxed);
}

}  // namespace syndrome::rt
