// Mutexes of every kind, and spin locks.
//
// A failed unlock releases nothing, so whether it will fail is looked up first, in the mutex: only
// kinds that know their owner can fail. A robust mutex whose owner died is acquired (EOWNERDEAD);
// its owner recorded the release when it ended.

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(pthread_mutex_init);
SYNDROME_REAL(pthread_mutex_destroy);
SYNDROME_REAL(pthread_mutex_lock);
SYNDROME_REAL(pthread_mutex_trylock);
SYNDROME_REAL(pthread_mutex_timedlock);
SYNDROME_REAL(pthread_mutex_clocklock);
SYNDROME_REAL(pthread_mutex_unlock);
SYNDROME_REAL(pthread_spin_init);
SYNDROME_REAL(pthread_spin_destroy);
SYNDROME_REAL(pthread_spin_lock);
SYNDROME_REAL(pthread_spin_trylock);
SYNDROME_REAL(pthread_spin_unlock);

// The bits of __kind, as in the types that pthread_mutexattr_settype takes, and robustness.
constexpr int kKnowsOwner = PTHREAD_MUTEX_RECURSIVE | PTHREAD_MUTEX_ERRORCHECK;
constexpr int kTypeMask = 3;
constexpr int kRobust = 16;

thread_local pid_t own_id = 0;

template <typename Call>
int lock(const pthread_mutex_t* mutex, Call call) {
  noise();
  const int result = call();
  if (recording()) note_locked(mutex, result);
  return result;
}

}  // namespace

int thread_id() {
  if (own_id == 0) own_id = gettid();
  return own_id;
}

bool may_unlock(const void* pthread_mutex) {
  const auto& inner = static_cast<const pthread_mutex_t*>(pthread_mutex)->__data;
  const int kind = __atomic_load_n(&inner.__kind, __ATOMIC_RELAXED);
  const int type = kind & kTypeMask;
  const bool checked =
      (type != PTHREAD_MUTEX_ADAPTIVE_NP && (type & kKnowsOwner) != 0) || (kind & kRobust) != 0;
  if (!checked) return true;
  // glibc keeps the highest int and its neighbours as owners of a mutex whose owner has died.
  const int owner = __atomic_load_n(&inner.__owner, __ATOMIC_RELAXED);
  const int word = __atomic_load_n(&inner.__lock, __ATOMIC_RELAXED);
  constexpr int kThreadMask = 0x3fffffff;
  return owner == thread_id() || ((kind & kRobust) != 0 && (word & kThreadMask) == thread_id());
}

void note_locked(const void* mutex, int result) {
  if (result == 0 || result == EOWNERDEAD) sync(Sync::kAcquire, number_of(mutex));
}

void note_robust_released() {
  robust_list_head* head = nullptr;
  std::size_t bytes = 0;
  if (syscall(SYS_get_robust_list, 0, &head, &bytes) != 0 || head == nullptr) return;
  constexpr std::uintptr_t kPriorityBit = 1;  // the list marks mutexes with priority inheritance
  constexpr std::size_t kOffset = offsetof(pthread_mutex_t, __data.__list.__next);
  const robust_list* at = head->list.next;
  // Longer than any list that is not a ring by mistake.
  constexpr int kMost = 1 << 20;
  for (int i = 0; i < kMost && at != &head->list; ++i) {
    const std::uintptr_t entry = number_of(at) & ~kPriorityBit;
    const auto* const mutex = reinterpret_cast<const pthread_mutex_t*>(entry - kOffset);
    const unsigned levels = mutex->__data.__count > 0 ? mutex->__data.__count : 1;
    for (unsigned level = 0; level < levels; ++level) sync(Sync::kRelease, number_of(mutex));
    at = reinterpret_cast<const robust_list*>(entry)->next;
  }
}

void mutexes_after_fork() {
  own_id = 0;
}

SYNDROME_INTERPOSE int pthread_mutex_init(pthread_mutex_t* mutex,
                                          const pthread_mutexattr_t* attributes) noexcept {
  return note_before(Sync::kDestroy, mutex,
                     [=] { return real_pthread_mutex_init(mutex, attributes); });
}
SYNDROME_INTERPOSE int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept {
  return note_after(Sync::kDestroy, mutex, [=] { return real_pthread_mutex_destroy(mutex); });
}
SYNDROME_INTERPOSE int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return lock(mutex, [=] { return real_pthread_mutex_lock(mutex); });
}
SYNDROME_INTERPOSE int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return lock(mutex, [=] { return real_pthread_mutex_trylock(mutex); });
}
SYNDROME_INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                               const timespec* until) noexcept {
  return lock(mutex, [=] { return real_pthread_mutex_timedlock(mutex, until); });
}
SYNDROME_INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                               const timespec* until) noexcept {
  return lock(mutex, [=] { return real_pthread_mutex_clocklock(mutex, clock, until); });
}
SYNDROME_INTERPOSE int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (recording() && may_unlock(mutex)) sync(Sync::kRelease, number_of(mutex));
  const int result = real_pthread_mutex_unlock(mutex);
  noise();
  return result;
}

SYNDROME_INTERPOSE int pthread_spin_init(pthread_spinlock_t* spin, int shared) noexcept {
  return note_before(Sync::kDestroy, spin, [=] { return real_pthread_spin_init(spin, shared); });
}
SYNDROME_INTERPOSE int pthread_spin_destroy(pthread_spinlock_t* spin) noexcept {
  return note_after(Sync::kDestroy, spin, [=] { return real_pthread_spin_destroy(spin); });
}
SYNDROME_INTERPOSE int pthread_spin_lock(pthread_spinlock_t* spin) noexcept {
  return note_after(Sync::kAcquire, spin, [=] { return real_pthread_spin_lock(spin); });
}
SYNDROME_INTERPOSE int pthread_spin_trylock(pthread_spinlock_t* spin) noexcept {
  return note_after(Sync::kAcquire, spin, [=] { return real_pthread_spin_trylock(spin); });
}
SYNDROME_INTERPOSE int pthread_spin_unlock(pthread_spinlock_t* spin) noexcept {
  return note_before(Sync::kRelease, spin, [=] { return real_pthread_spin_unlock(spin); });
}

}  // namespace syndrome::rt
