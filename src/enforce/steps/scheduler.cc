// State: all of it belongs to the one thread that runs, and goes with `go` from one to the next.

#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>

#include "enforce/steps/steps.h"

namespace syndrome::steps {

Mode mode = Mode::kOff;

namespace {

// Longer than what is explored runs; one that spins for another thread without waiting ends here.
constexpr std::uint64_t kMostSteps = 200'000;

enum class State : std::uint8_t { kNone, kReady, kWaiting, kEnded };

struct Thread {
  std::atomic<std::uint32_t> go{0};
  State state = State::kNone;
  Why why = Why::kWaits;
  bool timed_out = false;
  bool known = false;  // `handle` is that of this thread
  const void* object = nullptr;
  std::uint64_t until = kNever;
  std::uint64_t since = 0;
  pthread_t handle{};
};

Thread threads[kMostThreads];
std::uint32_t thread_count = 0;
std::uint64_t steps = 0;
std::uint64_t waits = 0;
std::uint64_t time_passed = 0;
Schedule* schedule = nullptr;

__attribute__((tls_model("initial-exec"))) thread_local Thread* self = nullptr;

/// Not the C library's, which may stand behind ours.
long system_call(long number, long a, long b, long c, long d = 0) {
  long result = 0;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return result;
}

[[noreturn]] void end_run(Verdict verdict) {
  schedule->verdict = verdict;
  while (true) system_call(SYS_exit_group, 2, 0, 0);
}

void sleep_until_told(Thread& thread) {
  while (thread.go.load(std::memory_order_acquire) == 0) {
    system_call(SYS_futex, reinterpret_cast<long>(&thread.go), FUTEX_WAIT_PRIVATE, 0);
  }
  thread.go.store(0, std::memory_order_relaxed);
}

void tell(Thread& thread) {
  thread.go.store(1, std::memory_order_release);
  system_call(SYS_futex, reinterpret_cast<long>(&thread.go), FUTEX_WAKE_PRIVATE, 1);
}

std::uint64_t ready_threads() {
  std::uint64_t ready = 0;
  for (std::uint32_t i = 0; i < thread_count; ++i) {
    if (threads[i].state == State::kReady) ready |= std::uint64_t{1} << i;
  }
  return ready;
}

/// The wait that ends first by time does.
bool pass_time() {
  Thread* first = nullptr;
  bool somebody_sleeps = false;  // and will go on whatever the others do
  for (std::uint32_t i = 0; i < thread_count; ++i) {
    Thread& thread = threads[i];
    if (thread.state != State::kWaiting || thread.until == kNever) continue;
    somebody_sleeps |= thread.why == Why::kSleeps;
    if (first == nullptr || thread.until < first->until) first = &thread;
  }
  if (first == nullptr) return false;
  if (!somebody_sleeps) ++schedule->stuck;
  if (time_passed < first->until) time_passed = first->until;
  first->state = State::kReady;
  first->timed_out = true;
  return true;
}

std::uint32_t choose(std::uint64_t ready, std::uint32_t current) {
  const bool free = (ready >> current & 1) == 0;
  if ((ready & (ready - 1)) == 0) return static_cast<std::uint32_t>(__builtin_ctzll(ready));
  const std::uint32_t at = schedule->decisions;
  if (at == kMostDecisions) end_run(Verdict::kEndless);
  Decision& decision = schedule->log[at];
  if (at < schedule->given) {
    // What is given for a replay says who, and nothing else.
    if ((decision.enabled != 0 && decision.enabled != ready) || (ready >> decision.chosen & 1) == 0)
      end_run(Verdict::kDiverged);
  } else {
    decision.chosen = static_cast<std::uint8_t>(
        free ? static_cast<std::uint32_t>(__builtin_ctzll(ready)) : current);
  }
  decision.enabled = ready;
  decision.current = static_cast<std::uint8_t>(current);
  decision.free = free;
  ++schedule->decisions;
  return decision.chosen;
}

/// Goes on when this thread is chosen; an ended one is not.
void decide() {
  std::uint64_t ready = ready_threads();
  while (ready == 0) {
    if (!pass_time()) end_run(Verdict::kDeadlock);
    ready = ready_threads();
  }
  Thread& next = threads[choose(ready, static_cast<std::uint32_t>(self - threads))];
  if (&next == self) return;
  const bool ended = self->state == State::kEnded;
  tell(next);
  if (!ended) sleep_until_told(*self);
}

}  // namespace

void start_scheduler(Schedule* given) {
  schedule = given;
  schedule->decisions = 0;
  schedule->stuck = 0;
  schedule->verdict = Verdict::kEnded;
  mode = Mode::kControlled;
  begin_thread(new_thread());
}

void point() {
  if (self == nullptr) return;
  if (++steps > kMostSteps) end_run(Verdict::kEndless);
  decide();
}

bool wait_on(const void* object, std::uint64_t nanoseconds, Why why) {
  if (self == nullptr) return false;
  if (++steps > kMostSteps) end_run(Verdict::kEndless);
  self->object = object;
  self->why = why;
  self->until = nanoseconds == kNever ? kNever : time_passed + nanoseconds;
  self->since = ++waits;
  self->timed_out = false;
  self->state = State::kWaiting;
  decide();
  return !self->timed_out;
}

void wake(const void* object, std::uint32_t most) {
  while (most-- > 0) {
    Thread* first = nullptr;
    for (std::uint32_t i = 0; i < thread_count; ++i) {
      Thread& thread = threads[i];
      if (thread.state != State::kWaiting || thread.object != object) continue;
      if (first == nullptr || thread.since < first->since) first = &thread;
    }
    if (first == nullptr) return;
    first->state = State::kReady;
  }
}

void give_way() {
  if (self == nullptr) return;
  // As if it waited for something that is there at once: who else goes on is no preemption.
  self->state = State::kWaiting;
  const std::uint64_t others = ready_threads();
  if (others != 0) {
    Thread& next = threads[choose(others, static_cast<std::uint32_t>(self - threads))];
    self->state = State::kReady;
    tell(next);
    sleep_until_told(*self);
  }
  self->state = State::kReady;
}

std::uint32_t new_thread() {
  if (thread_count == kMostThreads) end_run(Verdict::kEndless);
  threads[thread_count].state = State::kReady;
  return thread_count++;
}

void name_thread(std::uint32_t number, pthread_t handle) {
  threads[number].handle = handle;
  threads[number].known = true;
}

void forget_thread(std::uint32_t number) {
  threads[number].known = false;
}

void drop_thread(std::uint32_t number) {
  threads[number].state = State::kEnded;
}

void begin_thread(std::uint32_t number) {
  self = &threads[number];
  if (number != 0) sleep_until_told(*self);
}

void end_thread() {
  if (self == nullptr) return;
  self->state = State::kEnded;
  wake(self);
  decide();
  self = nullptr;
}

std::uint32_t find_thread(pthread_t handle) {
  for (std::uint32_t i = thread_count; i-- > 0;) {
    if (threads[i].known && pthread_equal(threads[i].handle, handle) != 0) return i;
  }
  return kMostThreads;
}

bool has_ended(std::uint32_t number) {
  return threads[number].state == State::kEnded;
}

const void* end_of(std::uint32_t number) {
  return &threads[number];
}

std::uint64_t virtual_time() {
  // A loop that looks at the clock comes to its end.
  return time_passed += 1000;
}

}  // namespace syndrome::steps
