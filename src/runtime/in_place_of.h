// What a thread that ends the process does for the others: their last words are still theirs.

#pragma once

#include <time.h>

#include "runtime/sys.h"
#include "runtime/thread.h"

namespace syndrome::rt {

inline void pause_briefly() {
  const timespec pause{0, 100'000};
  sys::call(SYS_nanosleep, sys::address_of(&pause), 0);
}

/// Calls work() in place of another thread, which does not write while this one is the last
/// settler. Not when that one stays in the middle of something: it may be stopped there, for good.
template <class Work>
void in_place_of(Thread& its, const ThreadWindow& its_window, const Work& work) {
  constexpr int kTries = 100;
  for (int i = 0; __atomic_load_n(&its.busy, __ATOMIC_ACQUIRE) != 0; ++i) {
    if (i == kTries) return;
    pause_briefly();
  }
  const Thread own = tls;
  const ThreadWindow window = __syndrome_thread;
  tls = its;
  tls.tid = own.tid;
  __syndrome_thread.cursor = __atomic_load_n(&its_window.cursor, __ATOMIC_RELAXED);
  work();
  // With a draft, its ring has been left alone, or written to where it is its own (draft.h).
  if (its.draft == nullptr) {
    its.exact = tls.exact;
    its.line = tls.line;
    its.limit = tls.limit;
  }
  tls = own;
  __syndrome_thread = window;
}

}  // namespace syndrome::rt
