// Signal handlers run between signal_enter() and signal_leave(): the code that they interrupt may
// be in the middle of writing a record.
//
// The kernel is given `handle` in place of the program's handler, with everything else as the
// program asked for; whoever asks for the handler is told the program's. `handle` takes three
// arguments whether or not SA_SIGINFO is set: the kernel always passes them on x86-64.
//
// State, and who may touch it:
//   settles, notes  written while the process attaches
//   informed      as handlers
//   handlers      written under `spin` with all signals blocked (but for sigset, which reads and
//                 changes the mask itself); read by `handle`, atomically

#include <errno.h>
#include <signal.h>

#include "runtime/interpose.h"
#include "runtime/sys.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // sigset

extern "C" {
__sighandler_t __sysv_signal(int signal, __sighandler_t handler) noexcept;
__sighandler_t bsd_signal(int signal, __sighandler_t handler) noexcept;
__sighandler_t ssignal(int signal, __sighandler_t handler) noexcept;
}

namespace syndrome::rt {
namespace {

SYNDROME_REAL(sigaction);
SYNDROME_REAL(signal);
SYNDROME_REAL(ssignal);
SYNDROME_REAL(bsd_signal);
SYNDROME_REAL(sysv_signal);
SYNDROME_REAL(__sysv_signal);
SYNDROME_REAL(sigset);

using Handler = __sighandler_t;
using LongHandler = void (*)(int, siginfo_t*, void*);

Spin spin;
LongHandler handlers[NSIG];

/// `die` was installed with SA_SIGINFO, by us: without it the kernel fills in nothing.
bool informed[NSIG];

/// The thread that the signal came to has brought it upon itself: by what it did, by raise() or by
/// abort(). A program that wants the default back does so in a handler, to die of it.
bool by_itself(int number, const siginfo_t& information) {
  if (!__atomic_load_n(&informed[number], __ATOMIC_RELAXED)) return true;
  if (information.si_code > 0) return true;
  return information.si_code == SI_TKILL &&
         information.si_pid == static_cast<pid_t>(sys::getpid());
}

void handle(int number, siginfo_t* information, void* context) {
  const LongHandler handler = __atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
  SignalFrame frame;
  signal_enter(frame);
  handler(number, information, context);
  signal_leave(frame);
}

// The same address as the other type.
Handler short_form(LongHandler handler) {
  return reinterpret_cast<Handler>(reinterpret_cast<void*>(handler));
}
LongHandler long_form(Handler handler) {
  return reinterpret_cast<LongHandler>(reinterpret_cast<void*>(handler));
}

// What kills a process unless it has a handler. One that follows its accesses has a few words left
// to settle before it dies: it gets `die` in place of the default, and does not know.
constexpr int kDeadly[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,    SIGFPE,  SIGUSR1,
                           SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGVTALRM, SIGPROF, SIGSYS};
bool settles = false;
// Of any recorded process: a thread dies of something that it has done itself. Whoever reads the
// recording wants to know which thread.
constexpr int kFaults[] = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTRAP};
bool notes = false;

template <std::size_t size>
bool is_among(const int (&numbers)[size], int number) {
  for (const int each : numbers) {
    if (each == number) return true;
  }
  return false;
}

/// Whether `die` takes the place of the default.
bool dies_here(int number) {
  return (settles && is_among(kDeadly, number)) || (notes && is_among(kFaults, number));
}

void die(int number, siginfo_t* information, void* /*context*/) {
  if (is_among(kFaults, number) && by_itself(number, *information)) {
    note_end(wire::EndHow::kSignal, number, wire::EndSaidBy::kProcess);
  }
  settle_for_all();
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  real_sigaction(number, &action, nullptr);
  // It comes when this handler has returned.
  sys::call(SYS_tgkill, sys::getpid(), sys::gettid(), number);
}

// SIG_DFL, SIG_IGN, SIG_ERR, SIG_HOLD are small numbers and -1.
bool is_function(Handler handler) {
  const auto number = reinterpret_cast<std::uintptr_t>(handler);
  return number > 2 && number != UINTPTR_MAX;
}

class AllBlocked {
 public:
  AllBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllBlocked(const AllBlocked&) = delete;
  AllBlocked& operator=(const AllBlocked&) = delete;

 private:
  sigset_t before_;
};

// Gives `call` the handler to install for `wanted` (null: none is installed) and a place for the
// handler that was there before; `call` says whether it has worked.
template <typename Call>
bool install_unlocked(int number, const Handler* wanted, Handler& before, Call call) {
  const LongHandler old = __atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
  Handler given = wanted != nullptr ? *wanted : SIG_DFL;
  if (is_function(given)) {
    __atomic_store_n(&handlers[number], long_form(given), __ATOMIC_RELAXED);
    given = short_form(handle);
  } else if (wanted != nullptr && given == SIG_DFL && dies_here(number)) {
    given = short_form(die);
  }
  const bool done = call(given);
  if (done && wanted != nullptr) __atomic_store_n(&informed[number], false, __ATOMIC_RELAXED);
  if (!done) __atomic_store_n(&handlers[number], old, __ATOMIC_RELAXED);
  if (before == short_form(handle)) before = short_form(old);
  if (before == short_form(die)) before = SIG_DFL;
  return done;
}

template <typename Call>
bool install(int number, const Handler* wanted, Handler& before, Call call) {
  const AllBlocked blocked;
  const Hold hold(spin);
  return install_unlocked(number, wanted, before, call);
}

bool takes_part(int number) {
  return number > 0 && number < NSIG && process_recorded();
}

template <typename Function>
Handler install_by(Function& real, int number, Handler handler, bool locked = true) {
  if (!takes_part(number)) return real(number, handler);
  Handler before = SIG_ERR;
  int error = errno;
  const auto call = [&](Handler given) {
    before = real(number, given);
    error = errno;
    return before != SIG_ERR;
  };
  if (locked) {
    install(number, &handler, before, call);
  } else {
    install_unlocked(number, &handler, before, call);
  }
  errno = error;
  return before;
}

/// `die` in place of the default; what the program or its parent has chosen stays.
void replace_default(int number) {
  struct sigaction found{};
  if (real_sigaction(number, nullptr, &found) != 0 || found.sa_handler != SIG_DFL) return;
  found.sa_handler = short_form(die);
  found.sa_flags |= SA_SIGINFO;
  if (real_sigaction(number, &found, nullptr) == 0) informed[number] = true;
}

}  // namespace

Spin& signals_spin() {
  return spin;
}

void settle_before_death() {
  if (settles) return;
  settles = true;
  for (const int number : kDeadly) replace_default(number);
}

void note_before_death() {
  if (notes) return;
  notes = true;
  for (const int number : kFaults) replace_default(number);
}

SYNDROME_INTERPOSE int sigaction(int number, const struct sigaction* wanted,
                                 struct sigaction* before) noexcept {
  if (!takes_part(number)) return real_sigaction(number, wanted, before);
  struct sigaction changed{};
  if (wanted != nullptr) changed = *wanted;
  struct sigaction found{};
  int error = errno;
  const Handler handler = changed.sa_handler;
  const bool ours = __atomic_load_n(&informed[number], __ATOMIC_RELAXED);
  const bool done =
      install(number, wanted != nullptr ? &handler : nullptr, found.sa_handler, [&](Handler given) {
        changed.sa_handler = given;
        const int result = real_sigaction(number, wanted != nullptr ? &changed : nullptr, &found);
        error = errno;
        return result == 0;
      });
  errno = error;
  if (ours) found.sa_flags &= ~SA_SIGINFO;
  if (done && before != nullptr) *before = found;
  return done ? 0 : -1;
}

SYNDROME_INTERPOSE Handler signal(int number, Handler handler) noexcept {
  return install_by(real_signal, number, handler);
}
SYNDROME_INTERPOSE Handler ssignal(int number, Handler handler) noexcept {
  return install_by(real_ssignal, number, handler);
}
SYNDROME_INTERPOSE Handler bsd_signal(int number, Handler handler) noexcept {
  return install_by(real_bsd_signal, number, handler);
}
SYNDROME_INTERPOSE Handler sysv_signal(int number, Handler handler) noexcept {
  return install_by(real_sysv_signal, number, handler);
}
SYNDROME_INTERPOSE Handler __sysv_signal(int number, Handler handler) noexcept {
  return install_by(real___sysv_signal, number, handler);
}
SYNDROME_INTERPOSE Handler sigset(int number, Handler handler) noexcept {
  return install_by(real_sigset, number, handler, false);
}

}  // namespace syndrome::rt
