#include "cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace syndrome::cli {
namespace {

// A signal handler has nowhere else to leave word.
volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void on_interrupt(int) {
  g_interrupted = 1;
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

void catch_ending() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) catch_first(signal);
}

bool interrupted() {
  return g_interrupted != 0;
}

}  // namespace syndrome::cli
