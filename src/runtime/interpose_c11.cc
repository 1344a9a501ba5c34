// C11's threads, mutexes and conditions. glibc builds them on its pthread functions, but inside, so
// each is recorded here; a thrd_t is a pthread_t and a mtx_t is a pthread_mutex_t.

#include <threads.h>

#include "runtime/interpose_condition.h"
#include "runtime/interpose_threads.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(thrd_create);
SYNDROME_REAL(thrd_join);
SYNDROME_REAL(mtx_init);
SYNDROME_REAL(mtx_destroy);
SYNDROME_REAL(mtx_lock);
SYNDROME_REAL(mtx_timedlock);
SYNDROME_REAL(mtx_trylock);
SYNDROME_REAL(mtx_unlock);
SYNDROME_REAL(cnd_init);
SYNDROME_REAL(cnd_destroy);
SYNDROME_REAL(cnd_wait);
SYNDROME_REAL(cnd_timedwait);
SYNDROME_REAL(cnd_signal);
SYNDROME_REAL(cnd_broadcast);

int run(void* argument) {
  const Known copy = begin_thread(static_cast<Known*>(argument), pthread_self());
  return copy.c11_routine(copy.argument);
}

}  // namespace

SYNDROME_INTERPOSE int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  if (!recording()) return real_thrd_create(thread, routine, argument);
  Known* const block = prepare_thread(nullptr);
  if (block == nullptr) return thrd_nomem;
  block->c11_routine = routine;
  block->argument = argument;
  const int result = real_thrd_create(thread, run, block);
  const bool created = result == thrd_success;
  thread_created(block, created ? *thread : thrd_t{}, created);
  return result;
}
SYNDROME_INTERPOSE int thrd_join(thrd_t thread, int* value) {
  if (!recording()) return real_thrd_join(thread, value);
  const Joining joining = before_join(thread);
  const int result = real_thrd_join(thread, value);
  after_join(joining, result == thrd_success);
  return result;
}

SYNDROME_INTERPOSE int mtx_init(mtx_t* mutex, int type) {
  return note_before(Sync::kDestroy, mutex, [=] { return real_mtx_init(mutex, type); });
}
SYNDROME_INTERPOSE void mtx_destroy(mtx_t* mutex) {
  note(Sync::kDestroy, mutex);
  real_mtx_destroy(mutex);
}
SYNDROME_INTERPOSE int mtx_lock(mtx_t* mutex) {
  return note_after(Sync::kAcquire, mutex, [=] { return real_mtx_lock(mutex); }, thrd_success);
}
SYNDROME_INTERPOSE int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  return note_after(
      Sync::kAcquire, mutex, [=] { return real_mtx_timedlock(mutex, until); }, thrd_success);
}
SYNDROME_INTERPOSE int mtx_trylock(mtx_t* mutex) {
  return note_after(Sync::kAcquire, mutex, [=] { return real_mtx_trylock(mutex); }, thrd_success);
}
SYNDROME_INTERPOSE int mtx_unlock(mtx_t* mutex) {
  if (recording() && may_unlock(mutex)) sync(Sync::kRelease, number_of(mutex));
  return real_mtx_unlock(mutex);
}

SYNDROME_INTERPOSE int cnd_init(cnd_t* condition) {
  return note_before(Sync::kDestroy, condition, [=] { return real_cnd_init(condition); });
}
SYNDROME_INTERPOSE void cnd_destroy(cnd_t* condition) {
  note(Sync::kDestroy, condition);
  real_cnd_destroy(condition);
}
SYNDROME_INTERPOSE int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return note_wait(condition, mutex, [=] { return real_cnd_wait(condition, mutex); });
}
SYNDROME_INTERPOSE int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return note_wait(condition, mutex, [=] { return real_cnd_timedwait(condition, mutex, until); });
}
SYNDROME_INTERPOSE int cnd_signal(cnd_t* condition) {
  return note_before(Sync::kCondSignal, condition, [=] { return real_cnd_signal(condition); });
}
SYNDROME_INTERPOSE int cnd_broadcast(cnd_t* condition) {
  return note_before(Sync::kCondBroadcast, condition,
                     [=] { return real_cnd_broadcast(condition); });
}

}  // namespace syndrome::rt
