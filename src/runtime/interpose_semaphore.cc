// POSIX semaphores. A named one (sem_open) is known by the address at which it is open,
// and is not new when it is opened: what was posted before counts.

#include <semaphore.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(sem_init);
SYNDROME_REAL(sem_destroy);
SYNDROME_REAL(sem_post);
SYNDROME_REAL(sem_wait);
SYNDROME_REAL(sem_trywait);
SYNDROME_REAL(sem_timedwait);
SYNDROME_REAL(sem_clockwait);

}  // namespace

SYNDROME_INTERPOSE int sem_init(sem_t* semaphore, int shared, unsigned value) noexcept {
  return note_before(Sync::kDestroy, semaphore,
                     [=] { return real_sem_init(semaphore, shared, value); });
}
SYNDROME_INTERPOSE int sem_destroy(sem_t* semaphore) noexcept {
  return note_after(Sync::kDestroy, semaphore, [=] { return real_sem_destroy(semaphore); });
}
SYNDROME_INTERPOSE int sem_post(sem_t* semaphore) noexcept {
  return note_before(Sync::kPost, semaphore, [=] { return real_sem_post(semaphore); });
}
SYNDROME_INTERPOSE int sem_wait(sem_t* semaphore) {
  return note_after(Sync::kWait, semaphore, [=] { return real_sem_wait(semaphore); });
}
SYNDROME_INTERPOSE int sem_trywait(sem_t* semaphore) noexcept {
  return note_after(Sync::kWait, semaphore, [=] { return real_sem_trywait(semaphore); });
}
SYNDROME_INTERPOSE int sem_timedwait(sem_t* semaphore, const timespec* until) {
  return note_after(Sync::kWait, semaphore, [=] { return real_sem_timedwait(semaphore, until); });
}
SYNDROME_INTERPOSE int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  return note_after(Sync::kWait, semaphore,
                    [=] { return real_sem_clockwait(semaphore, clock, until); });
}

}  // namespace syndrome::rt
