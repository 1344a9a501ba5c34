// What a thread that ends the process does for the others: their last words are still theirs.

#pragma once

#include <signal.h>
#include <time.h>

#include "runtime/sys.h"
#include "runtime/thread.h"

namespace syndrome::rt {

inline void pause_briefly() {
  const timespec pause{0, 100'000};
  sys::call(SYS_nanosleep, sys::address_of(&pause), 0);
}

/// Whether another thread, which does not begin anything while this one is the last settler, has
/// ended what it was in the middle of. Not when it stays there: it may be stopped, for good.
[[nodiscard]] inline bool wait_until_idle(const Thread& its) {
  constexpr int kTries = 100;
  const auto is_at_it = [&its] {
    return __atomic_load_n(&its.busy, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&its.steps, __ATOMIC_ACQUIRE) != 0;
  };
  for (int i = 0; is_at_it(); ++i) {
    if (i == kTries) return false;
    pause_briefly();
  }
  return true;
}

/// No handler of this thread runs meanwhile. In the middle of settling it would write in another
/// thread's name, or wait for a lock that its own thread holds.
class NoHandlers {
 public:
  NoHandlers() {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    set(&kAll, &before_);
  }
  ~NoHandlers() { set(&before_, nullptr); }
  NoHandlers(const NoHandlers&) = delete;
  NoHandlers& operator=(const NoHandlers&) = delete;

 private:
  static void set(const std::uint64_t* mask, std::uint64_t* before) {
    sys::call(SYS_rt_sigprocmask, SIG_SETMASK, sys::address_of(mask), sys::address_of(before),
              sizeof *mask);
  }
  std::uint64_t before_ = 0;
};

/// Calls work() in place of another thread.
template <class Work>
void in_place_of(Thread& its, const ThreadWindow& its_window, const Work& work) {
  if (!wait_until_idle(its)) return;
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

/// Becomes the last settler, and calls work() in place of each other thread. `count` says how many
/// there may be, `at` what one of them keeps (null: it is none), `own` is this one's. False:
/// another thread is the settler, and this one has waited for it.
template <class Count, class At, class Kept, class Work>
[[nodiscard]] bool settle_in_place(const Count& count, const At& at, const Kept* own,
                                   const Work& work) {
  std::uint32_t none = 0;
  if (!last_settler.compare_exchange_strong(none, tls.tid)) {
    (void)wait_for_settler();
    return false;
  }
  const auto most = static_cast<std::uint32_t>(count());
  const auto for_others = [&](const auto& each) {
    bool any = false;
    for (std::uint32_t i = 0; i < most; ++i) {
      Kept* const other = at(i);
      if (other == nullptr || other == own) continue;
      any = true;
      each(*other);
    }
    return any;
  };
  if (!for_others([](const Kept&) {})) return true;
  // Time for stores to be seen: who has not seen ours by then is seen to be busy.
  pause_briefly();
  // What one of them does may be about another one.
  (void)for_others([](const Kept& other) { (void)wait_until_idle(*other.its_thread); });
  (void)for_others([&](Kept& other) { in_place_of(*other.its_thread, *other.its_window, work); });
  return true;
}

}  // namespace syndrome::rt
