// Waiting for a condition, for pthread_cond_t and cnd_t.
//
// A wait releases the mutex and takes it again, inside libc where nothing can be seen: the wrapper
// records both. The mutex is also taken again when the wait fails, and when the thread is cancelled
// in it, before its cleanup handlers run.

#pragma once

#include <errno.h>
#include <pthread.h>

#include "runtime/interpose.h"

namespace syndrome::rt {

/// The cleanup handler of a cancelled wait.
void mutex_taken_again(void* mutex);

/// Whatever goes wrong in a wait, but for a robust mutex that is lost for good, its caller holds
/// the mutex afterwards. (C11's error codes are none of these numbers.)
template <typename Call>
int note_wait(const void* condition, void* mutex, Call call) {
  if (!recording() || !may_unlock(mutex)) return call();
  sync(Sync::kRelease, number_of(mutex));
  int result = 0;
  pthread_cleanup_push(mutex_taken_again, mutex);
  result = call();
  pthread_cleanup_pop(0);
  if (recording()) {
    if (result == 0) sync(Sync::kCondWait, number_of(condition));
    if (result != ENOTRECOVERABLE) note_locked(mutex, result == EOWNERDEAD ? result : 0);
  }
  return result;
}

}  // namespace syndrome::rt
