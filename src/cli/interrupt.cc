#include "cli/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <initializer_list>

namespace syndrome::cli {
namespace {

// A signal handler has nowhere else to leave word. When it has come, in nanoseconds; 0: not yet.
std::atomic<std::int64_t> g_asked{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
std::int64_t g_grace = 0;

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

extern "C" void on_interrupt(int) {
  std::int64_t none = 0;
  g_asked.compare_exchange_strong(none, now());
}

void catch_first(int signal) {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  // The default comes back at the first signal, so that the second ends the program. A read that
  // waits goes on waiting: whoever feeds a pipe gets the same Ctrl-C and closes it.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupt() {
  catch_first(SIGINT);
}

void catch_ending(std::chrono::milliseconds grace) {
  g_grace = std::chrono::nanoseconds(grace).count();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) catch_first(signal);
}

void end_soon() {
  on_interrupt(0);
}

bool interrupted() {
  const std::int64_t asked = g_asked.load(std::memory_order_relaxed);
  return asked != 0 && (g_grace == 0 || now() - asked >= g_grace);
}

}  // namespace syndrome::cli
