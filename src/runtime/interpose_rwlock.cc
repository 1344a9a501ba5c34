// Read-write locks. Which way an unlock goes is in the lock: glibc keeps the writer's thread id.

#include <pthread.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(pthread_rwlock_init);
SYNDROME_REAL(pthread_rwlock_destroy);
SYNDROME_REAL(pthread_rwlock_rdlock);
SYNDROME_REAL(pthread_rwlock_tryrdlock);
SYNDROME_REAL(pthread_rwlock_timedrdlock);
SYNDROME_REAL(pthread_rwlock_clockrdlock);
SYNDROME_REAL(pthread_rwlock_wrlock);
SYNDROME_REAL(pthread_rwlock_trywrlock);
SYNDROME_REAL(pthread_rwlock_timedwrlock);
SYNDROME_REAL(pthread_rwlock_clockwrlock);
SYNDROME_REAL(pthread_rwlock_unlock);

constexpr Sync kReader = Sync::kAcquireShared;
constexpr Sync kWriter = Sync::kAcquire;

}  // namespace

SYNDROME_INTERPOSE int pthread_rwlock_init(pthread_rwlock_t* lock,
                                           const pthread_rwlockattr_t* attributes) noexcept {
  return note_before(Sync::kDestroy, lock,
                     [=] { return real_pthread_rwlock_init(lock, attributes); });
}
SYNDROME_INTERPOSE int pthread_rwlock_destroy(pthread_rwlock_t* lock) noexcept {
  return note_after(Sync::kDestroy, lock, [=] { return real_pthread_rwlock_destroy(lock); });
}
SYNDROME_INTERPOSE int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return note_after(kReader, lock, [=] { return real_pthread_rwlock_rdlock(lock); });
}
SYNDROME_INTERPOSE int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  return note_after(kReader, lock, [=] { return real_pthread_rwlock_tryrdlock(lock); });
}
SYNDROME_INTERPOSE int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                                  const timespec* until) noexcept {
  return note_after(kReader, lock, [=] { return real_pthread_rwlock_timedrdlock(lock, until); });
}
SYNDROME_INTERPOSE int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                                  const timespec* until) noexcept {
  return note_after(kReader, lock,
                    [=] { return real_pthread_rwlock_clockrdlock(lock, clock, until); });
}
SYNDROME_INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return note_after(kWriter, lock, [=] { return real_pthread_rwlock_wrlock(lock); });
}
SYNDROME_INTERPOSE int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  return note_after(kWriter, lock, [=] { return real_pthread_rwlock_trywrlock(lock); });
}
SYNDROME_INTERPOSE int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                                  const timespec* until) noexcept {
  return note_after(kWriter, lock, [=] { return real_pthread_rwlock_timedwrlock(lock, until); });
}
SYNDROME_INTERPOSE int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                                  const timespec* until) noexcept {
  return note_after(kWriter, lock,
                    [=] { return real_pthread_rwlock_clockwrlock(lock, clock, until); });
}
SYNDROME_INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  if (recording()) {
    const int writer = __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED);
    sync(writer == thread_id() ? Sync::kRelease : Sync::kReleaseShared, number_of(lock));
  }
  const int result = real_pthread_rwlock_unlock(lock);
  noise();
  return result;
}

}  // namespace syndrome::rt
