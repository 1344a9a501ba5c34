// The program's own waiting, in front of the C library: whoever waits for another thread must not
// hold a lock of ours meanwhile (locks.h says which, and when).

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
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
  // Whoever holds a lock of the program meanwhile keeps others waiting, locks of ours or not.
  Aside() : thread_(self()), any_(thread_.held != 0 && set_aside(thread_) != 0) {
    enroll_self();
    thread_.waits_other.store(true, std::memory_order_relaxed);
  }
  ~Aside() {
    thread_.waits_other.store(false, std::memory_order_relaxed);
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

bool is_before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/// For a lock of the program that is not free: `wait` waits for as long as it takes (or as the
/// program says), `try_until` until a time by the clock, and gives back ETIMEDOUT then. `until` is
/// where the program gives up, or null.
template <typename Wait, typename TryUntil>
int wait_for(ProgramLock lock, clockid_t clock, const timespec* until, Wait wait,
             TryUntil try_until) {
  Thread& thread = self();
  enroll_self();
  thread.waits_program.store(lock, std::memory_order_relaxed);
  int result = 0;
  bool aside = false;
  if (thread.held == 0) {
    result = wait();
  } else {
    while (true) {
      const timespec slice = soon(clock);
      const bool last = until != nullptr && !is_before(slice, *until);
      result = try_until(last ? *until : slice);
      if (result != ETIMEDOUT || last) break;
      if (!aside && stuck_behind(lock, thread)) {
        aside = true;
        set_aside(thread);
      }
    }
  }
  thread.waits_program.store(0, std::memory_order_relaxed);
  if (aside) take_back(thread);
  return result;
}

/// What the program's call has come to.
int taken(int result) {
  if (result == 0) count_program_lock();
  return result;
}
int taken(int result, ProgramLock lock) {
  if (result == 0) {
    count_program_lock();
    has_taken(lock);
  }
  return result;
}

int c11(int result) {
  switch (result) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}
// As in glibc, whose C11 functions are those of POSIX.
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
pthread_mutex_t* posix(mtx_t* mutex) {
  return reinterpret_cast<pthread_mutex_t*>(mutex);
}
pthread_cond_t* posix(cnd_t* condition) {
  return reinterpret_cast<pthread_cond_t*>(condition);
}

}  // namespace

#define SYNDROME_EXPORT extern "C" __attribute__((visibility("default")))

// A wait of the program, with the same name and parameters.
#define SYNDROME_WAIT(name, parameters, arguments) \
  SYNDROME_EXPORT int name parameters {            \
    SYNDROME_NEXT(name);                           \
    const Aside aside;                             \
    return next_##name arguments;                  \
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
SYNDROME_WAIT(pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))
SYNDROME_WAIT(pthread_join, (pthread_t thread, void** value), (thread, value))
SYNDROME_WAIT(pthread_timedjoin_np, (pthread_t thread, void** value, const timespec* until),
              (thread, value, until))
SYNDROME_WAIT(pthread_clockjoin_np,
              (pthread_t thread, void** value, clockid_t clock, const timespec* until),
              (thread, value, clock, until))
SYNDROME_WAIT(thrd_join, (thrd_t thread, int* value), (thread, value))

// A semaphore that is free is taken without waiting for anybody.
SYNDROME_EXPORT int sem_wait(sem_t* semaphore) {
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
SYNDROME_WAIT(sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* until),
              (semaphore, clock, until))

// ---- descriptors: what is ready already is not waited for ----

SYNDROME_EXPORT int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  SYNDROME_NEXT(epoll_wait);
  if (self().held != 0) {
    const int ready = next_epoll_wait(epoll, events, most, 0);
    if (ready != 0 || timeout == 0) return ready;
  }
  const Aside aside;
  return next_epoll_wait(epoll, events, most, timeout);
}
SYNDROME_EXPORT int epoll_pwait(int epoll, epoll_event* events, int most, int timeout,
                                const sigset_t* signals) {
  SYNDROME_NEXT(epoll_pwait);
  if (self().held != 0) {
    const int ready = next_epoll_pwait(epoll, events, most, 0, signals);
    if (ready != 0 || timeout == 0) return ready;
  }
  const Aside aside;
  return next_epoll_pwait(epoll, events, most, timeout, signals);
}
SYNDROME_EXPORT int poll(pollfd* descriptors, nfds_t count, int timeout) {
  SYNDROME_NEXT(poll);
  if (self().held != 0) {
    const int ready = next_poll(descriptors, count, 0);
    if (ready != 0 || timeout == 0) return ready;
  }
  const Aside aside;
  return next_poll(descriptors, count, timeout);
}
SYNDROME_EXPORT int ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout,
                          const sigset_t* signals) {
  SYNDROME_NEXT(ppoll);
  if (self().held != 0) {
    constexpr timespec kNow{};
    const int ready = next_ppoll(descriptors, count, &kNow, signals);
    if (ready != 0) return ready;
  }
  const Aside aside;
  return next_ppoll(descriptors, count, timeout, signals);
}
namespace {

// A select changes the sets that it is given: it is tried with copies first.
struct Sets {
  fd_set* const given[3];
  fd_set copies[3];

  explicit Sets(fd_set* reads, fd_set* writes, fd_set* others) : given{reads, writes, others} {
    for (int i = 0; i < 3; ++i) {
      if (given[i] != nullptr) copies[i] = *given[i];
    }
  }
  fd_set* copy(int i) { return given[i] == nullptr ? nullptr : &copies[i]; }
  void give_back() const {
    for (int i = 0; i < 3; ++i) {
      if (given[i] != nullptr) *given[i] = copies[i];
    }
  }
};
/// Without descriptors it is a sleep; more than a set has room for are not tried first.
bool is_tried(int count) {
  return self().held != 0 && count > 0 && count <= FD_SETSIZE;
}

}  // namespace

SYNDROME_EXPORT int select(int count, fd_set* reads, fd_set* writes, fd_set* others,
                           timeval* timeout) {
  SYNDROME_NEXT(select);
  if (is_tried(count)) {
    Sets sets(reads, writes, others);
    timeval now{};
    const int ready = next_select(count, sets.copy(0), sets.copy(1), sets.copy(2), &now);
    if (ready > 0) sets.give_back();
    if (ready != 0) return ready;
  }
  if (count == 0) return next_select(count, reads, writes, others, timeout);
  const Aside aside;
  return next_select(count, reads, writes, others, timeout);
}
SYNDROME_EXPORT int pselect(int count, fd_set* reads, fd_set* writes, fd_set* others,
                            const timespec* timeout, const sigset_t* signals) {
  SYNDROME_NEXT(pselect);
  if (is_tried(count)) {
    Sets sets(reads, writes, others);
    constexpr timespec kNow{};
    const int ready = next_pselect(count, sets.copy(0), sets.copy(1), sets.copy(2), &kNow, signals);
    if (ready > 0) sets.give_back();
    if (ready != 0) return ready;
  }
  if (count == 0) return next_pselect(count, reads, writes, others, timeout, signals);
  const Aside aside;
  return next_pselect(count, reads, writes, others, timeout, signals);
}

// ---- mutexes ----

SYNDROME_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  SYNDROME_NEXT(pthread_mutex_trylock);
  return taken(next_pthread_mutex_trylock(mutex));
}

SYNDROME_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  SYNDROME_NEXT(pthread_mutex_trylock);
  const int first = next_pthread_mutex_trylock(mutex);
  if (__builtin_expect(static_cast<long>(first != EBUSY), 1) != 0) return taken(first);
  SYNDROME_NEXT(pthread_mutex_lock);
  SYNDROME_NEXT(pthread_mutex_timedlock);
  return taken(wait_for(
      as_mutex(mutex), CLOCK_REALTIME, nullptr, [&] { return next_pthread_mutex_lock(mutex); },
      [&](const timespec& slice) { return next_pthread_mutex_timedlock(mutex, &slice); }));
}

SYNDROME_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  SYNDROME_NEXT(pthread_mutex_timedlock);
  return taken(wait_for(
      as_mutex(mutex), CLOCK_REALTIME, until,
      [&] { return next_pthread_mutex_timedlock(mutex, until); },
      [&](const timespec& slice) { return next_pthread_mutex_timedlock(mutex, &slice); }));
}

SYNDROME_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                            const timespec* until) {
  SYNDROME_NEXT(pthread_mutex_clocklock);
  return taken(wait_for(
      as_mutex(mutex), clock, until,
      [&] { return next_pthread_mutex_clocklock(mutex, clock, until); },
      [&](const timespec& slice) { return next_pthread_mutex_clocklock(mutex, clock, &slice); }));
}

// ---- C11: by way of those of POSIX, so that whoever stands behind us knows them ----

SYNDROME_EXPORT int mtx_lock(mtx_t* mutex) {
  return c11(pthread_mutex_lock(posix(mutex)));
}
SYNDROME_EXPORT int mtx_trylock(mtx_t* mutex) {
  return c11(pthread_mutex_trylock(posix(mutex)));
}
SYNDROME_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  return c11(pthread_mutex_timedlock(posix(mutex), until));
}
SYNDROME_EXPORT int mtx_unlock(mtx_t* mutex) {
  return c11(pthread_mutex_unlock(posix(mutex)));
}
SYNDROME_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return c11(pthread_cond_wait(posix(condition), posix(mutex)));
}
SYNDROME_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return c11(pthread_cond_timedwait(posix(condition), posix(mutex), until));
}
SYNDROME_EXPORT int cnd_signal(cnd_t* condition) {
  return c11(pthread_cond_signal(posix(condition)));
}
SYNDROME_EXPORT int cnd_broadcast(cnd_t* condition) {
  return c11(pthread_cond_broadcast(posix(condition)));
}

// ---- read-write locks ----

#define SYNDROME_RWLOCK(kind)                                                                      \
  SYNDROME_EXPORT int pthread_rwlock_try##kind(pthread_rwlock_t* lock) {                           \
    SYNDROME_NEXT(pthread_rwlock_try##kind);                                                       \
    return taken(next_pthread_rwlock_try##kind(lock), as_owned(lock));                             \
  }                                                                                                \
  SYNDROME_EXPORT int pthread_rwlock_timed##kind(pthread_rwlock_t* lock, const timespec* until) {  \
    SYNDROME_NEXT(pthread_rwlock_timed##kind);                                                     \
    return taken(                                                                                  \
        wait_for(                                                                                  \
            as_owned(lock), CLOCK_REALTIME, until,                                                 \
            [&] { return next_pthread_rwlock_timed##kind(lock, until); },                          \
            [&](const timespec& slice) { return next_pthread_rwlock_timed##kind(lock, &slice); }), \
        as_owned(lock));                                                                           \
  }                                                                                                \
  SYNDROME_EXPORT int pthread_rwlock_clock##kind(pthread_rwlock_t* lock, clockid_t clock,          \
                                                 const timespec* until) {                          \
    SYNDROME_NEXT(pthread_rwlock_clock##kind);                                                     \
    return taken(wait_for(                                                                         \
                     as_owned(lock), clock, until,                                                 \
                     [&] { return next_pthread_rwlock_clock##kind(lock, clock, until); },          \
                     [&](const timespec& slice) {                                                  \
                       return next_pthread_rwlock_clock##kind(lock, clock, &slice);                \
                     }),                                                                           \
                 as_owned(lock));                                                                  \
  }                                                                                                \
  SYNDROME_EXPORT int pthread_rwlock_##kind(pthread_rwlock_t* lock) {                              \
    SYNDROME_NEXT(pthread_rwlock_try##kind);                                                       \
    const int first = next_pthread_rwlock_try##kind(lock);                                         \
    if (first == 0) return taken(0, as_owned(lock));                                               \
    SYNDROME_NEXT(pthread_rwlock_##kind);                                                          \
    SYNDROME_NEXT(pthread_rwlock_timed##kind);                                                     \
    return taken(                                                                                  \
        wait_for(                                                                                  \
            as_owned(lock), CLOCK_REALTIME, nullptr,                                               \
            [&] { return next_pthread_rwlock_##kind(lock); },                                      \
            [&](const timespec& slice) { return next_pthread_rwlock_timed##kind(lock, &slice); }), \
        as_owned(lock));                                                                           \
  }

SYNDROME_RWLOCK(rdlock)
SYNDROME_RWLOCK(wrlock)

SYNDROME_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  SYNDROME_NEXT(pthread_rwlock_unlock);
  gives_back(as_owned(lock));
  return next_pthread_rwlock_unlock(lock);
}

// ---- spin locks ----

SYNDROME_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) {
  SYNDROME_NEXT(pthread_spin_trylock);
  return taken(next_pthread_spin_trylock(lock), as_owned(lock));
}

SYNDROME_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) {
  SYNDROME_NEXT(pthread_spin_trylock);
  const auto attempt = [&] {
    // As long as a spin lock should be held.
    for (int i = 0; i < 16; ++i) {
      if (next_pthread_spin_trylock(lock) == 0) return true;
      __builtin_ia32_pause();
    }
    return false;
  };
  if (next_pthread_spin_trylock(lock) == 0) return taken(0, as_owned(lock));
  SYNDROME_NEXT(pthread_spin_lock);
  return taken(
      wait_for(
          as_owned(lock), CLOCK_MONOTONIC, nullptr, [&] { return next_pthread_spin_lock(lock); },
          [&](const timespec& slice) {
            constexpr timespec kShort{0, 50'000};
            timespec now{};
            do {
              if (attempt()) return 0;
              nanosleep(&kShort, nullptr);
              clock_gettime(CLOCK_MONOTONIC, &now);
            } while (is_before(now, slice));
            return ETIMEDOUT;
          }),
      as_owned(lock));
}

SYNDROME_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) {
  SYNDROME_NEXT(pthread_spin_unlock);
  gives_back(as_owned(lock));
  return next_pthread_spin_unlock(lock);
}
