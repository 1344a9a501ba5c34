// The end of the process: one thread, the last settler, reads what all others did, and they wait at
// their next step (thread.h) until it has.

#include <stdlib.h>

#include "runtime/draft.h"
#include "runtime/follow.h"
#include "runtime/in_place_of.h"

namespace syndrome::rt {

std::atomic<std::uint32_t> last_settler{0};
std::atomic<bool> all_settled{false};

bool wait_for_settler() {
  // The settler waits for who is busy.
  if (tls.busy != 0) return false;
  constexpr int kTries = 10'000;  // a second: it may have been killed
  for (int i = 0; is_over(); ++i) {
    if (i == kTries || all_settled.load(std::memory_order_acquire)) return false;
    pause_briefly();
  }
  return true;
}

namespace {

void settle_before(bool may_go_on) {
  // In a handler that came while the thread is being given what it follows with.
  if (tls.state != ThreadState::kOn) return;
  const NoHandlers none;
  if (!following()) return;
  // In a handler that came while a record is being written, which goes on if exec fails.
  if (tls.busy != 0 && may_go_on) return;
  if (tls.busy == 0) settle_others();
  send_last_drafts();
}

__attribute__((destructor)) void at_exit() {
  settle_for_all();
}

// Before the program's own, and so behind them when it ends: they may take locks of threads that
// are not recorded once all is settled.
__attribute__((constructor(101))) void settle_at_quick_exit() {
  (void)at_quick_exit(settle_for_all);
}

}  // namespace

void settle_before_exec() {
  settle_before(true);
}

void settle_for_all() {
  settle_before(false);
  const std::uint32_t settler = last_settler.load(std::memory_order_relaxed);
  if (settler != 0 && settler == tls.tid) {
    all_settled.store(true, std::memory_order_release);
  }
}

void go_on_settling() {
  std::uint32_t own = tls.tid;
  last_settler.compare_exchange_strong(own, 0);
}

}  // namespace syndrome::rt
