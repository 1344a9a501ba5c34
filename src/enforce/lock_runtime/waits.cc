// The program's own waiting, in front of the C library: whoever waits for another thread must not
// hold a lock of ours meanwhile (locks.h says which, and when).

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "enforce/lock_runtime/locks.h"
#include "enforce/lock_runtime/next.h"

using namespace syndrome::locks;

namespace {

/// From before a wait to its end. (Of a thread that is cancelled in it nothing is left to take
/// back.)
class Aside {
 public:
  Aside() : thread_(self()), any_(thread_.held != 0 && set_aside(thread_) != 0) {
    if (thread_.registered) thread_.waits_other.store(true, std::memory_order_relaxed);
  }
  ~Aside() {
    if (thread_.registered) thread_.waits_other.store(false, std::memory_order_relaxed);
    if (any_) take_back(thread_);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  Thread& thread_;
  bool any_;
};

constexpr long kSliceNanoseconds = 2'000'000;

timespec soon(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  time.tv_nsec += kSliceNanoseconds;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

}  // namespace

// A wait of the program, with the same name and parameters.
#define SYNDROME_WAIT(name, parameters, arguments)                        \
  extern "C" __attribute__((visibility("default"))) int name parameters { \
    SYNDROME_NEXT(name);                                                  \
    const Aside aside;                                                    \
    return next_##name arguments;                                         \
  }

SYNDROME_WAIT(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* mutex),
              (condition, mutex))
SYNDROME_WAIT(pthread_cond_timedwait,
              (pthread_cond_t * condition, pthread_mutex_t* mutex, const timespec* until),
              (condition, mutex, until))
SYNDROME_WAIT(pthread_cond_clockwait,
              (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock,
               const timespec* until),
              (condition, mutex, clock, until))
SYNDROME_WAIT(cnd_wait, (cnd_t * condition, mtx_t* mutex), (condition, mutex))
SYNDROME_WAIT(cnd_timedwait, (cnd_t * condition, mtx_t* mutex, const timespec* until),
              (condition, mutex, until))
SYNDROME_WAIT(pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))
SYNDROME_WAIT(pthread_join, (pthread_t thread, void** value), (thread, value))
SYNDROME_WAIT(thrd_join, (thrd_t thread, int* value), (thread, value))

// A semaphore that is free is taken without waiting for anybody.
extern "C" __attribute__((visibility("default"))) int sem_wait(sem_t* semaphore) {
  SYNDROME_NEXT(sem_wait);
  if (self().held != 0) {
    const int kept = errno;
    if (sem_trywait(semaphore) == 0) return 0;
    errno = kept;
  }
  const Aside aside;
  return next_sem_wait(semaphore);
}
SYNDROME_WAIT(sem_timedwait, (sem_t * semaphore, const timespec* until), (semaphore, until))

extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) {
  SYNDROME_NEXT(pthread_mutex_lock);
  Thread& thread = self();
  if (__builtin_expect(thread.held == 0, 1)) return next_pthread_mutex_lock(mutex);
  const int first = pthread_mutex_trylock(mutex);
  if (first != EBUSY) return first;
  thread.waits_mutex.store(mutex, std::memory_order_relaxed);
  bool aside = false;
  int result = 0;
  while (true) {
    const timespec until = soon(CLOCK_REALTIME);
    result = pthread_mutex_timedlock(mutex, &until);
    if (result != ETIMEDOUT) break;
    if (!aside && stuck_behind(mutex, thread)) {
      aside = true;
      set_aside(thread);
    }
  }
  thread.waits_mutex.store(nullptr, std::memory_order_relaxed);
  if (aside) take_back(thread);
  return result;
}
