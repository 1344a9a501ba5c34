// Processes: fork and its relatives, exec, spawn, and becoming another user.
//
// A recorded program does not find SYNDROME_SESSION in its environment; what it starts does.
// Environments are copied into pages of their own: the caller may be between fork and exec, where
// the heap's locks can be held by threads that are gone.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/interpose.h"

extern "C" pid_t _Fork(void) noexcept;

namespace syndrome::rt {
namespace {

SYNDROME_REAL(fork);
SYNDROME_REAL(_Fork);
SYNDROME_REAL(execve);
SYNDROME_REAL(execvpe);
SYNDROME_REAL(execveat);
SYNDROME_REAL(fexecve);
SYNDROME_REAL(posix_spawn);
SYNDROME_REAL(posix_spawnp);
SYNDROME_REAL(system);
SYNDROME_REAL(popen);
SYNDROME_REAL(unsetenv);
SYNDROME_REAL_AS(abort, void() noexcept);
SYNDROME_REAL_AS(__assert_fail, void(const char*, const char*, unsigned int, const char*) noexcept);
SYNDROME_REAL_AS(_exit, void(int));
SYNDROME_REAL_AS(_Exit, void(int) noexcept);
SYNDROME_REAL(clone);
SYNDROME_REAL(syscall);
SYNDROME_REAL(setuid);
SYNDROME_REAL(seteuid);
SYNDROME_REAL(setreuid);
SYNDROME_REAL(setresuid);
SYNDROME_REAL(mmap);
SYNDROME_REAL(munmap);

constexpr char kVariable[] = "SYNDROME_SESSION=";

bool begins_with(const char* text, const char* beginning) {
  while (*beginning != 0) {
    if (*text++ != *beginning++) return false;
  }
  return true;
}

std::size_t length_of(const char* text) {
  const volatile char* at = text;
  while (*at != 0) ++at;
  return static_cast<std::size_t>(at - text);
}

/// An array of pointers and perhaps a text, in pages of its own.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    void* const got =
        real_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_ = got == MAP_FAILED ? nullptr : static_cast<char*>(got);
  }
  ~Pages() {
    const int kept = errno;
    if (memory_ != nullptr) real_munmap(memory_, bytes_);
    errno = kept;
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] char* memory() const { return memory_; }

 private:
  std::size_t bytes_;
  char* memory_;
};

// Calls `use` with the environment that a new program is to get.
template <typename Use>
auto with_session(char* const* environment, Use use) {
  static char* const kEmpty[] = {nullptr};
  char* const* const given = environment != nullptr ? environment : kEmpty;
  const char* const session = session_path();
  std::size_t count = 0;
  bool has_it = session == nullptr;
  for (; given[count] != nullptr; ++count) has_it = has_it || begins_with(given[count], kVariable);
  if (has_it) return use(environment);
  const std::size_t length = length_of(session);
  const Pages pages((count + 2) * sizeof(char*) + sizeof kVariable + length);
  if (pages.memory() == nullptr) return use(environment);
  auto* const pointers = reinterpret_cast<char**>(pages.memory());
  char* const text = reinterpret_cast<char*>(pointers + count + 2);
  char* at = text;
  for (const char* from = kVariable; *from != 0; ++from) *at++ = *from;
  for (const char* from = session; *from != 0; ++from) *at++ = *from;
  for (std::size_t i = 0; i < count; ++i) pointers[i] = given[i];
  pointers[count] = text;
  return use(static_cast<char* const*>(pointers));
}

// For functions that take the environment from `environ`. What another thread adds meanwhile is
// kept; what it has copied is cleaned up.
template <typename Use>
auto with_session_in_environ(Use use) {
  char** const before = environ;
  return with_session(before, [&](char* const* extended) {
    if (extended == before) return use();
    auto* const ours = const_cast<char**>(extended);
    environ = ours;
    const auto result = use();
    const int kept = errno;
    if (environ == ours) {
      environ = before;
    } else {
      real_unsetenv("SYNDROME_SESSION");
    }
    errno = kept;
    return result;
  });
}

// Not that of the handlers of signals: one may come in between and set another.
Spin* const* spins() {
  static Spin* all[4];
  all[0] = &threads_spin();
  all[1] = &modules_spin();
  all[2] = &openmp_spin();
  return all;
}
thread_local unsigned locked = 0;  // which of them this thread holds over its fork, as bits

void lock_tables() {
  locked = 0;
  for (unsigned i = 0; spins()[i] != nullptr; ++i) {
    if (spins()[i]->lock_soon()) locked |= 1u << i;
  }
}

// In a child, also those that threads hold which the child does not have.
void unlock_tables(bool all) {
  for (unsigned i = 0; spins()[i] != nullptr; ++i) {
    if (all || (locked & (1u << i)) != 0) spins()[i]->unlock();
  }
  locked = 0;
}

void before_fork() {
  if (!process_recorded()) return;
  lock_tables();
  fork_prepare();
}

void in_parent() {
  if (!process_recorded()) return;
  fork_parent();
  unlock_tables(false);
}

void in_child() {
  if (!process_recorded()) return;
  const int kept = errno;
  unlock_tables(true);
  signals_spin().unlock();
  fork_child();
  mutexes_after_fork();
  modules_after_fork();
  errno = kept;
}

/// Around a fork that runs no handlers.
template <typename Call>
auto forked(Call call) {
  before_fork();
  const auto child = call();
  const int kept = errno;
  if (child == 0) {
    in_child();
  } else {
    in_parent();
  }
  errno = kept;
  return child;
}

/// What a child of clone() runs, in memory of its own.
struct Cloned {
  int (*function)(void*);
  void* argument;
};
int begin_clone(void* cloned) {
  const Cloned copy = *static_cast<Cloned*>(cloned);
  in_child();
  return copy.function(copy.argument);
}

/// Whether this system call makes a process that goes on where its parent is.
bool forks(long number, unsigned long first, unsigned long second) {
  if (number == SYS_fork || number == SYS_vfork) return true;
  return number == SYS_clone && (first & CLONE_VM) == 0 && second == 0;
}

// Registered before the program's own, these handlers run last before a fork and first after it,
// in everything of libc that forks: fork, daemon, forkpty.
__attribute__((constructor(102))) void watch_forks() {
  pthread_atfork(before_fork, in_parent, in_child);
}

// Calls `use` with the arguments of execl and its relatives as an array; `list` is behind the first
// and is left behind the null that ends them.
template <typename Use>
int with_arguments(const char* first, va_list& list, Use use) {
  std::size_t count = 1;
  va_list counting;
  va_copy(counting, list);
  if (first != nullptr) {
    while (va_arg(counting, char*) != nullptr) ++count;
  }
  va_end(counting);
  const Pages pages((count + 1) * sizeof(char*));
  if (pages.memory() == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  auto** const arguments = reinterpret_cast<char**>(pages.memory());
  arguments[0] = const_cast<char*>(first);
  for (std::size_t i = 1; first != nullptr && i <= count; ++i) arguments[i] = va_arg(list, char*);
  return use(arguments);
}

/// Around a call that does not return, if it works.
template <typename Leave>
int leaving(Leave leave) {
  settle_before_exec();
  const int result = leave();
  go_on_settling();
  return result;
}

/// The calling thread ends the process. An end without an error needs no words.
void exiting(int code) {
  if ((code & 0xff) != 0) note_end(wire::EndHow::kExit, code & 0xff, wire::EndSaidBy::kProcess);
}
void exiting_by_handler(int code, void* /*unused*/) {
  exiting(code);
}

// exit() and the end of main come here, in the thread that ends the process.
__attribute__((constructor(103))) void watch_exit() {
  on_exit(exiting_by_handler, nullptr);
}

int execute(const char* path, char* const* arguments, char* const* environment) {
  return with_session(environment, [=](char* const* extended) {
    return leaving([=] { return real_execve(path, arguments, extended); });
  });
}

int search_and_execute(const char* file, char* const* arguments, char* const* environment) {
  return with_session(environment, [=](char* const* extended) {
    return leaving([=] { return real_execvpe(file, arguments, extended); });
  });
}

}  // namespace

// The child of a vfork runs in its parent's memory, and so would its probes in its parent's log: it
// gets memory of its own.
SYNDROME_INTERPOSE __attribute__((returns_twice)) pid_t vfork(void) noexcept {
  return real_fork();
}
SYNDROME_INTERPOSE pid_t _Fork(void) noexcept {
  return forked([] { return real__Fork(); });
}
// A child that shares its parent's memory is none of ours: it is in its parent's log.
SYNDROME_INTERPOSE int clone(int (*function)(void*), void* stack, int flags, void* argument,
                             ...) noexcept {
  va_list list;
  va_start(list, argument);
  void* more[3];
  for (void*& each : more) each = va_arg(list, void*);
  va_end(list);
  if ((flags & CLONE_VM) != 0 || function == nullptr || !process_recorded()) {
    return real_clone.pointer()(function, stack, flags, argument, more[0], more[1], more[2]);
  }
  Cloned cloned = {function, argument};
  return forked([&] {
    return real_clone.pointer()(begin_clone, stack, flags, &cloned, more[0], more[1], more[2]);
  });
}
SYNDROME_INTERPOSE long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  unsigned long a[6];
  for (unsigned long& argument : a) argument = va_arg(list, unsigned long);
  va_end(list);
  if (number == SYS_exit_group) {
    exiting(static_cast<int>(a[0]));
    settle_for_all();
  }
  if (!forks(number, a[0], a[1]) || !process_recorded()) {
    return real_syscall.pointer()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  const long actual = number == SYS_vfork ? long{SYS_fork} : number;
  return forked([&] { return real_syscall.pointer()(actual, a[0], a[1], a[2], a[3], a[4], a[5]); });
}

// The program may have a handler for SIGABRT, and where that was sent from, it is not told.
SYNDROME_INTERPOSE void abort() noexcept {
  note_end(wire::EndHow::kSignal, SIGABRT, wire::EndSaidBy::kHandler);
  real_abort();
  __builtin_unreachable();
}
SYNDROME_INTERPOSE void __assert_fail(const char* assertion, const char* file, unsigned int line,
                                      const char* function) noexcept {
  note_end(wire::EndHow::kSignal, SIGABRT, wire::EndSaidBy::kHandler);
  real___assert_fail(assertion, file, line, function);
  __builtin_unreachable();
}

SYNDROME_INTERPOSE void _exit(int code) {
  exiting(code);
  settle_for_all();
  real__exit(code);
  __builtin_unreachable();
}
SYNDROME_INTERPOSE void _Exit(int code) noexcept {
  exiting(code);
  settle_for_all();
  real__Exit(code);
  __builtin_unreachable();
}

SYNDROME_INTERPOSE int setuid(uid_t user) noexcept {
  share_session(user);
  return real_setuid(user);
}
SYNDROME_INTERPOSE int seteuid(uid_t user) noexcept {
  share_session(user);
  return real_seteuid(user);
}
SYNDROME_INTERPOSE int setreuid(uid_t real, uid_t effective) noexcept {
  share_session(effective);
  return real_setreuid(real, effective);
}
SYNDROME_INTERPOSE int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  share_session(effective);
  return real_setresuid(real, effective, saved);
}

SYNDROME_INTERPOSE int execve(const char* path, char* const* arguments,
                              char* const* environment) noexcept {
  return execute(path, arguments, environment);
}
SYNDROME_INTERPOSE int execv(const char* path, char* const* arguments) noexcept {
  return execute(path, arguments, environ);
}
SYNDROME_INTERPOSE int execvpe(const char* file, char* const* arguments,
                               char* const* environment) noexcept {
  return search_and_execute(file, arguments, environment);
}
SYNDROME_INTERPOSE int execvp(const char* file, char* const* arguments) noexcept {
  return search_and_execute(file, arguments, environ);
}
SYNDROME_INTERPOSE int fexecve(int file, char* const* arguments,
                               char* const* environment) noexcept {
  return with_session(environment, [=](char* const* extended) {
    return leaving([=] { return real_fexecve(file, arguments, extended); });
  });
}
SYNDROME_INTERPOSE int execveat(int folder, const char* path, char* const* arguments,
                                char* const* environment, int flags) noexcept {
  return with_session(environment, [=](char* const* extended) {
    return leaving([=] { return real_execveat(folder, path, arguments, extended, flags); });
  });
}
SYNDROME_INTERPOSE int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = with_arguments(
      first, list, [=](char** arguments) { return execute(path, arguments, environ); });
  va_end(list);
  return result;
}
SYNDROME_INTERPOSE int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = with_arguments(
      first, list, [=](char** arguments) { return search_and_execute(file, arguments, environ); });
  va_end(list);
  return result;
}
SYNDROME_INTERPOSE int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = with_arguments(first, list, [&](char** arguments) {
    return execute(path, arguments, va_arg(list, char**));
  });
  va_end(list);
  return result;
}

SYNDROME_INTERPOSE int posix_spawn(pid_t* child, const char* path,
                                   const posix_spawn_file_actions_t* actions,
                                   const posix_spawnattr_t* attributes, char* const* arguments,
                                   char* const* environment) {
  return with_session(environment, [=](char* const* extended) {
    return real_posix_spawn(child, path, actions, attributes, arguments, extended);
  });
}
SYNDROME_INTERPOSE int posix_spawnp(pid_t* child, const char* file,
                                    const posix_spawn_file_actions_t* actions,
                                    const posix_spawnattr_t* attributes, char* const* arguments,
                                    char* const* environment) {
  return with_session(environment, [=](char* const* extended) {
    return real_posix_spawnp(child, file, actions, attributes, arguments, extended);
  });
}
SYNDROME_INTERPOSE int system(const char* command) {
  return with_session_in_environ([=] { return real_system(command); });
}
SYNDROME_INTERPOSE FILE* popen(const char* command, const char* mode) {
  return with_session_in_environ([=] { return real_popen(command, mode); });
}

}  // namespace syndrome::rt
