// What a program calls to synchronize, in front of the C library. With noise each is a point at
// which its thread may pause. Under a schedule none of them waits in the C library: who would,
// waits in the scheduler until the object may have become free, and tries again.

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "enforce/lock_runtime/next.h"
#include "enforce/steps/steps.h"

using namespace syndrome::steps;

#define SYNDROME_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

bool controlled() {
  if (__builtin_expect(static_cast<long>(mode == Mode::kOff), 1) != 0) return false;
  if (mode == Mode::kNoise) {
    make_noise();
    return false;
  }
  point();
  return true;
}

constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// From now, by the clock that the program sees, to `until`.
std::uint64_t left_until(clockid_t clock, const timespec* until) {
  if (until == nullptr) return kNever;
  timespec now{};
  clock_gettime(clock, &now);
  const std::uint64_t from = nanoseconds(now);
  const std::uint64_t to = nanoseconds(*until);
  return to > from ? to - from : 0;
}

/// Tries until it is not busy, waiting for the object in between.
template <typename Attempt>
int retry(const void* object, std::uint64_t left, Attempt attempt) {
  const std::uint64_t end = left == kNever ? kNever : virtual_time() + left;
  while (true) {
    const int result = attempt();
    if (result != EBUSY && result != EAGAIN) return result;
    std::uint64_t rest = kNever;
    if (end != kNever) {
      const std::uint64_t now = virtual_time();
      rest = end > now ? end - now : 0;
    }
    if (!wait_on(object, rest)) return ETIMEDOUT;
  }
}

struct Barrier {
  const void* object = nullptr;
  unsigned count = 0;
  unsigned arrived = 0;
};
Barrier barriers[64];

Barrier* find_barrier(const void* object, bool make) {
  for (Barrier& barrier : barriers) {
    if (barrier.object == object) return &barrier;
  }
  if (!make) return nullptr;
  for (Barrier& barrier : barriers) {
    if (barrier.object != nullptr) continue;
    barrier.object = object;
    return &barrier;
  }
  return nullptr;
}

pthread_key_t ending;
constexpr int kLastRound = 3;

// Destructors of other keys come first: a thread that ends gives its locks back in one.
void at_end(void* rounds) {
  const auto round = reinterpret_cast<std::size_t>(rounds);
  if (round < kLastRound) {
    pthread_setspecific(ending, reinterpret_cast<void*>(round + 1));
    return;
  }
  end_thread();
}

__attribute__((constructor(101))) void make_key() {
  pthread_key_create(&ending, at_end);
}

struct Start {
  void* (*function)(void*);
  void* argument;
  std::uint32_t number;
};
Start starts[kMostThreads];

void* begin(void* pointer) {
  const Start start = *static_cast<Start*>(pointer);
  begin_thread(start.number);
  pthread_setspecific(ending, reinterpret_cast<void*>(std::size_t{1}));
  return start.function(start.argument);
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, std::uint64_t left) {
  SYNDROME_NEXT(pthread_mutex_unlock);
  SYNDROME_NEXT(pthread_mutex_trylock);
  next_pthread_mutex_unlock(mutex);
  wake(mutex);
  const bool told = wait_on(condition, left, Why::kSleeps);
  const int result = retry(mutex, kNever, [&] { return next_pthread_mutex_trylock(mutex); });
  return result != 0 ? result : (told ? 0 : ETIMEDOUT);
}

}  // namespace

/// What the compiler pass puts in; `locks`: before a lock of the plan, which the plain program has
/// not, and so makes no noise.
SYNDROME_EXPORT void __syndrome_step(std::uint32_t locks) {
  if (mode == Mode::kControlled) {
    point();
  } else if (mode == Mode::kNoise && locks == 0) {
    make_noise();
  }
}

// ---- threads ----

SYNDROME_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                   void* (*function)(void*), void* argument) {
  SYNDROME_NEXT(pthread_create);
  if (mode != Mode::kControlled) {
    return next_pthread_create(thread, attributes, function, argument);
  }
  const std::uint32_t number = new_thread();
  starts[number] = {function, argument, number};
  const int result = next_pthread_create(thread, attributes, begin, &starts[number]);
  if (result != 0) {
    drop_thread(number);
    return result;
  }
  name_thread(number, *thread);
  point();
  return 0;
}

SYNDROME_EXPORT int pthread_join(pthread_t thread, void** value) {
  SYNDROME_NEXT(pthread_join);
  if (mode == Mode::kControlled) {
    const std::uint32_t number = find_thread(thread);
    if (number != kMostThreads) {
      while (!has_ended(number)) (void)wait_on(end_of(number), kNever);
      forget_thread(number);
    }
  }
  return next_pthread_join(thread, value);
}

// ---- mutexes ----

SYNDROME_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  SYNDROME_NEXT(pthread_mutex_lock);
  if (!controlled()) return next_pthread_mutex_lock(mutex);
  SYNDROME_NEXT(pthread_mutex_trylock);
  return retry(mutex, kNever, [&] { return next_pthread_mutex_trylock(mutex); });
}
SYNDROME_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  SYNDROME_NEXT(pthread_mutex_trylock);
  (void)controlled();
  return next_pthread_mutex_trylock(mutex);
}
SYNDROME_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  SYNDROME_NEXT(pthread_mutex_timedlock);
  if (!controlled()) return next_pthread_mutex_timedlock(mutex, until);
  SYNDROME_NEXT(pthread_mutex_trylock);
  return retry(mutex, left_until(CLOCK_REALTIME, until),
               [&] { return next_pthread_mutex_trylock(mutex); });
}
SYNDROME_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                            const timespec* until) {
  SYNDROME_NEXT(pthread_mutex_clocklock);
  if (!controlled()) return next_pthread_mutex_clocklock(mutex, clock, until);
  SYNDROME_NEXT(pthread_mutex_trylock);
  return retry(mutex, left_until(clock, until), [&] { return next_pthread_mutex_trylock(mutex); });
}
SYNDROME_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  SYNDROME_NEXT(pthread_mutex_unlock);
  const bool ours = controlled();
  const int result = next_pthread_mutex_unlock(mutex);
  if (ours) wake(mutex);
  return result;
}

#define SYNDROME_LOCK(type, lock, try_lock)                                             \
  SYNDROME_EXPORT int try_lock(type* object) {                                          \
    SYNDROME_NEXT(try_lock);                                                            \
    (void)controlled();                                                                 \
    return next_##try_lock(object);                                                     \
  }                                                                                     \
  SYNDROME_EXPORT int lock(type* object) {                                              \
    SYNDROME_NEXT(lock);                                                                \
    if (!controlled()) return next_##lock(object);                                      \
    SYNDROME_NEXT(try_lock);                                                            \
    return retry((const void*)object, kNever, [&] { return next_##try_lock(object); }); \
  }
#define SYNDROME_TIMED(type, timed, clocked, try_lock)                                \
  SYNDROME_EXPORT int timed(type* object, const timespec* until) {                    \
    SYNDROME_NEXT(timed);                                                             \
    if (!controlled()) return next_##timed(object, until);                            \
    SYNDROME_NEXT(try_lock);                                                          \
    return retry((const void*)object, left_until(CLOCK_REALTIME, until),              \
                 [&] { return next_##try_lock(object); });                            \
  }                                                                                   \
  SYNDROME_EXPORT int clocked(type* object, clockid_t clock, const timespec* until) { \
    SYNDROME_NEXT(clocked);                                                           \
    if (!controlled()) return next_##clocked(object, clock, until);                   \
    SYNDROME_NEXT(try_lock);                                                          \
    return retry((const void*)object, left_until(clock, until),                       \
                 [&] { return next_##try_lock(object); });                            \
  }
#define SYNDROME_UNLOCK(type, unlock)         \
  SYNDROME_EXPORT int unlock(type* object) {  \
    SYNDROME_NEXT(unlock);                    \
    const bool ours = controlled();           \
    const int result = next_##unlock(object); \
    if (ours) wake((const void*)object);      \
    return result;                            \
  }

SYNDROME_LOCK(pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock)
SYNDROME_LOCK(pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_trywrlock)
SYNDROME_TIMED(pthread_rwlock_t, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
               pthread_rwlock_tryrdlock)
SYNDROME_TIMED(pthread_rwlock_t, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock,
               pthread_rwlock_trywrlock)
SYNDROME_UNLOCK(pthread_rwlock_t, pthread_rwlock_unlock)
SYNDROME_LOCK(pthread_spinlock_t, pthread_spin_lock, pthread_spin_trylock)
SYNDROME_UNLOCK(pthread_spinlock_t, pthread_spin_unlock)

// ---- conditions ----

SYNDROME_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  SYNDROME_NEXT(pthread_cond_wait);
  if (!controlled()) return next_pthread_cond_wait(condition, mutex);
  return wait_for_condition(condition, mutex, kNever);
}
SYNDROME_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                           const timespec* until) {
  SYNDROME_NEXT(pthread_cond_timedwait);
  if (!controlled()) return next_pthread_cond_timedwait(condition, mutex, until);
  return wait_for_condition(condition, mutex, left_until(CLOCK_REALTIME, until));
}
SYNDROME_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                           clockid_t clock, const timespec* until) {
  SYNDROME_NEXT(pthread_cond_clockwait);
  if (!controlled()) return next_pthread_cond_clockwait(condition, mutex, clock, until);
  return wait_for_condition(condition, mutex, left_until(clock, until));
}
SYNDROME_EXPORT int pthread_cond_signal(pthread_cond_t* condition) {
  SYNDROME_NEXT(pthread_cond_signal);
  if (!controlled()) return next_pthread_cond_signal(condition);
  wake(condition, 1);
  return 0;
}
SYNDROME_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) {
  SYNDROME_NEXT(pthread_cond_broadcast);
  if (!controlled()) return next_pthread_cond_broadcast(condition);
  wake(condition);
  return 0;
}

// ---- semaphores and barriers ----

SYNDROME_EXPORT int sem_wait(sem_t* semaphore) {
  SYNDROME_NEXT(sem_wait);
  if (!controlled()) return next_sem_wait(semaphore);
  SYNDROME_NEXT(sem_trywait);
  (void)retry(semaphore, kNever, [&] { return next_sem_trywait(semaphore) == 0 ? 0 : errno; });
  return 0;
}
SYNDROME_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  SYNDROME_NEXT(sem_timedwait);
  if (!controlled()) return next_sem_timedwait(semaphore, until);
  SYNDROME_NEXT(sem_trywait);
  const int result = retry(semaphore, left_until(CLOCK_REALTIME, until),
                           [&] { return next_sem_trywait(semaphore) == 0 ? 0 : errno; });
  if (result == 0) return 0;
  errno = result;
  return -1;
}
SYNDROME_EXPORT int sem_post(sem_t* semaphore) {
  SYNDROME_NEXT(sem_post);
  const bool ours = controlled();
  const int result = next_sem_post(semaphore);
  if (ours) wake(semaphore);
  return result;
}

SYNDROME_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier,
                                         const pthread_barrierattr_t* attributes, unsigned count) {
  SYNDROME_NEXT(pthread_barrier_init);
  if (Barrier* known = mode == Mode::kControlled ? find_barrier(barrier, true) : nullptr) {
    known->count = count;
    known->arrived = 0;
  }
  return next_pthread_barrier_init(barrier, attributes, count);
}
SYNDROME_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) {
  SYNDROME_NEXT(pthread_barrier_wait);
  const bool ours = controlled();
  Barrier* const known = ours ? find_barrier(barrier, false) : nullptr;
  if (known == nullptr) return next_pthread_barrier_wait(barrier);
  if (++known->arrived < known->count) {
    (void)wait_on(barrier, kNever);
    return 0;
  }
  known->arrived = 0;
  wake(barrier);
  return PTHREAD_BARRIER_SERIAL_THREAD;
}

// ---- time, and what the lock runtime waits with ----

SYNDROME_EXPORT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  SYNDROME_NEXT(clock_gettime);
  if (mode != Mode::kControlled) return next_clock_gettime(clock, time);
  // Any day will do, as long as it is the same in every run.
  const std::uint64_t now = 1'000'000 * kSecond + virtual_time();
  *time = {static_cast<time_t>(now / kSecond), static_cast<long>(now % kSecond)};
  return 0;
}
SYNDROME_EXPORT int nanosleep(const timespec* time, timespec* left) {
  SYNDROME_NEXT(nanosleep);
  if (mode != Mode::kControlled) return next_nanosleep(time, left);
  (void)wait_on(nullptr, nanoseconds(*time), Why::kSleeps);
  return 0;
}
SYNDROME_EXPORT int usleep(useconds_t microseconds) {
  SYNDROME_NEXT(usleep);
  if (mode != Mode::kControlled) return next_usleep(microseconds);
  (void)wait_on(nullptr, std::uint64_t{microseconds} * 1000, Why::kSleeps);
  return 0;
}
SYNDROME_EXPORT unsigned sleep(unsigned seconds) {
  SYNDROME_NEXT(sleep);
  if (mode != Mode::kControlled) return next_sleep(seconds);
  (void)wait_on(nullptr, std::uint64_t{seconds} * kSecond, Why::kSleeps);
  return 0;
}
SYNDROME_EXPORT int sched_yield() noexcept {
  SYNDROME_NEXT(sched_yield);
  if (mode != Mode::kControlled) return next_sched_yield();
  give_way();
  return 0;
}

SYNDROME_EXPORT long syscall(long number, ...) noexcept {
  SYNDROME_NEXT(syscall);
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& each : a) each = va_arg(list, long);
  va_end(list);
  if (mode != Mode::kControlled || number != SYS_futex) {
    return next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  auto* const word = reinterpret_cast<std::uint32_t*>(a[0]);
  const long operation = a[1] & FUTEX_CMD_MASK;
  if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET) {
    wake(word, a[2] >= kMostThreads ? kMostThreads : static_cast<std::uint32_t>(a[2]));
    return 0;
  }
  if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) {
    return next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<std::uint32_t>(a[2])) {
    errno = EAGAIN;
    return -1;
  }
  const auto* const time = reinterpret_cast<const timespec*>(a[3]);
  std::uint64_t left = kNever;
  if (time != nullptr) {
    left = operation == FUTEX_WAIT
               ? nanoseconds(*time)
               : left_until((a[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                            time);
  }
  if (wait_on(word, left)) return 0;
  errno = ETIMEDOUT;
  return -1;
}
