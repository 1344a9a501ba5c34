// Condition variables and barriers.

#include "runtime/interpose_condition.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(pthread_cond_init);
SYNDROME_REAL(pthread_cond_destroy);
SYNDROME_REAL(pthread_cond_wait);
SYNDROME_REAL(pthread_cond_timedwait);
SYNDROME_REAL(pthread_cond_clockwait);
SYNDROME_REAL(pthread_cond_signal);
SYNDROME_REAL(pthread_cond_broadcast);
SYNDROME_REAL(pthread_barrier_init);
SYNDROME_REAL(pthread_barrier_destroy);
SYNDROME_REAL(pthread_barrier_wait);

}  // namespace

void mutex_taken_again(void* mutex) {
  if (recording()) note_locked(mutex, 0);
}

SYNDROME_INTERPOSE int pthread_cond_init(pthread_cond_t* condition,
                                         const pthread_condattr_t* attributes) noexcept {
  return note_before(Sync::kDestroy, condition,
                     [=] { return real_pthread_cond_init(condition, attributes); });
}
SYNDROME_INTERPOSE int pthread_cond_destroy(pthread_cond_t* condition) noexcept {
  return note_after(Sync::kDestroy, condition,
                    [=] { return real_pthread_cond_destroy(condition); });
}
SYNDROME_INTERPOSE int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return note_wait(condition, mutex, [=] { return real_pthread_cond_wait(condition, mutex); });
}
SYNDROME_INTERPOSE int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                              const timespec* until) {
  return note_wait(condition, mutex,
                   [=] { return real_pthread_cond_timedwait(condition, mutex, until); });
}
SYNDROME_INTERPOSE int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                              clockid_t clock, const timespec* until) {
  return note_wait(condition, mutex,
                   [=] { return real_pthread_cond_clockwait(condition, mutex, clock, until); });
}
SYNDROME_INTERPOSE int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  return note_before(Sync::kCondSignal, condition,
                     [=] { return real_pthread_cond_signal(condition); });
}
SYNDROME_INTERPOSE int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  return note_before(Sync::kCondBroadcast, condition,
                     [=] { return real_pthread_cond_broadcast(condition); });
}

SYNDROME_INTERPOSE int pthread_barrier_init(pthread_barrier_t* barrier,
                                            const pthread_barrierattr_t* attributes,
                                            unsigned count) noexcept {
  return note_before(Sync::kDestroy, barrier,
                     [=] { return real_pthread_barrier_init(barrier, attributes, count); });
}
SYNDROME_INTERPOSE int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  return note_after(Sync::kDestroy, barrier, [=] { return real_pthread_barrier_destroy(barrier); });
}
SYNDROME_INTERPOSE int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  noise();
  note(Sync::kBarrierArrive, barrier);
  const int result = real_pthread_barrier_wait(barrier);
  note(Sync::kBarrierLeave, barrier);
  return result;
}

}  // namespace syndrome::rt
