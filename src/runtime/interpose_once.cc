// What is done once: pthread_once (std::call_once too), C11's call_once, static local variables.
//
// Whoever ran the routine is before everyone who returns from the call. The routine reaches libc
// without an argument, so what the stand-in is to run waits in the thread.
//
// State, and who may touch it:
//   pending      this thread alone: set directly before libc's function, which runs the stand-in
//                before anything else, if at all

#include <pthread.h>
#include <sched.h>
#include <threads.h>

#include "runtime/interpose.h"

extern "C" {
int __cxa_guard_acquire(std::uint64_t* guard);
void __cxa_guard_release(std::uint64_t* guard) noexcept;
void __cxa_guard_abort(std::uint64_t* guard) noexcept;
}

namespace syndrome::rt {
namespace {

SYNDROME_REAL(pthread_once);
SYNDROME_REAL(call_once);
SYNDROME_REAL(__cxa_guard_acquire);
SYNDROME_REAL(__cxa_guard_release);
SYNDROME_REAL(__cxa_guard_abort);

struct Pending {
  const void* control;
  void (*routine)();
};
thread_local Pending pending;

void run_pending() {
  const Pending mine = pending;
  mine.routine();
  note(Sync::kHappensBefore, mine.control);
}

// The second byte of a guard, when no C++ library behind this one manages it: 0 free, 1 taken.
unsigned char* taken_byte(std::uint64_t* guard) {
  return reinterpret_cast<unsigned char*>(guard) + 1;
}
bool is_done(std::uint64_t* guard) {
  return __atomic_load_n(reinterpret_cast<unsigned char*>(guard), __ATOMIC_ACQUIRE) != 0;
}

int take_guard(std::uint64_t* guard) {
  while (!is_done(guard)) {
    if (__atomic_exchange_n(taken_byte(guard), 1, __ATOMIC_ACQUIRE) != 0) {
      sched_yield();
      continue;
    }
    if (!is_done(guard)) return 1;
    __atomic_store_n(taken_byte(guard), 0, __ATOMIC_RELEASE);
  }
  return 0;
}

}  // namespace

SYNDROME_INTERPOSE int pthread_once(pthread_once_t* control, void (*routine)()) {
  if (!recording()) return real_pthread_once(control, routine);
  pending = Pending{control, routine};
  const int result = real_pthread_once(control, run_pending);
  if (result == 0) note(Sync::kHappensAfter, control);
  return result;
}

SYNDROME_INTERPOSE void call_once(once_flag* flag, void (*routine)()) {
  if (!recording()) return real_call_once(flag, routine);
  pending = Pending{flag, routine};
  real_call_once(flag, run_pending);
  note(Sync::kHappensAfter, flag);
}

SYNDROME_INTERPOSE int __cxa_guard_acquire(std::uint64_t* guard) {
  const auto real = real___cxa_guard_acquire.pointer();
  const int first = real != nullptr ? real(guard) : take_guard(guard);
  if (first == 0) note(Sync::kHappensAfter, guard);
  return first;
}
SYNDROME_INTERPOSE void __cxa_guard_release(std::uint64_t* guard) noexcept {
  note(Sync::kHappensBefore, guard);
  if (const auto real = real___cxa_guard_release.pointer(); real != nullptr) return real(guard);
  __atomic_store_n(reinterpret_cast<unsigned char*>(guard), 1, __ATOMIC_RELEASE);
  __atomic_store_n(taken_byte(guard), 0, __ATOMIC_RELEASE);
}
SYNDROME_INTERPOSE void __cxa_guard_abort(std::uint64_t* guard) noexcept {
  if (const auto real = real___cxa_guard_abort.pointer(); real != nullptr) return real(guard);
  __atomic_store_n(taken_byte(guard), 0, __ATOMIC_RELEASE);
}

}  // namespace syndrome::rt
