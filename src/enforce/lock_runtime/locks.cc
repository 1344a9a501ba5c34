#include "enforce/lock_runtime/locks.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A recorder that knows ThreadSanitizer's annotations, when one is in the process.
extern "C" {
__attribute__((weak)) void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion);
__attribute__((weak)) int __tsan_mutex_pre_unlock(void* mutex, unsigned flags);
}

namespace syndrome::locks {

long patience_ms = 1000;

namespace {

constexpr std::uint32_t kWriter = 0x80000000u;

// A thread that holds a lock for a few accesses is done sooner than a system call.
constexpr int kSpins = 64;
// How often a waiting thread looks for a cycle: long beside what locks are held for, short beside
// what a person notices.
constexpr long kSliceNanoseconds = 2'000'000;

/// On a cache line of its own.
struct alignas(64) Lock {
  std::atomic<std::uint32_t> word{0};  // kWriter, or how many read
  std::atomic<std::uint32_t> waiters{0};
  std::atomic<std::uint32_t> upgrading{0};
};

Lock locks[kMostLocks];

enum Counter : unsigned {
  kCycles,
  kImpatient,
  kWaits,
  kUpgrades,
  kProgram,
  kTakenRead,
  kTakenExclusive,
  kCounters
};
std::atomic<std::uint64_t> counters[kCounters];

bool watchdog = false;
bool recorded = false;
bool told = false;  // either of them

pthread_key_t key;
std::atomic<int> registry_lock{0};
Thread* threads = nullptr;

__attribute__((tls_model("initial-exec"))) thread_local Thread state;

/// Holds the registry, with signals blocked: a handler may want it as well.
class Registry {
 public:
  Registry() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old_);
    while (registry_lock.exchange(1, std::memory_order_acquire) != 0) {
      while (registry_lock.load(std::memory_order_relaxed) != 0) __builtin_ia32_pause();
    }
  }
  ~Registry() {
    registry_lock.store(0, std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

 private:
  sigset_t old_;
};

/// A lock counts as taken after it is and as given back before it is: what is recorded in between
/// was done with it.
constexpr unsigned kReadLock = 1U << 3;  // as in sanitizer/tsan_interface.h
__attribute__((noinline)) void record_taken(Lock& lock, std::uint8_t mode) {
  if (recorded) __tsan_mutex_post_lock(&lock, mode == kRead ? kReadLock : 0, 0);
}
__attribute__((noinline)) void record_given_back(Lock& lock, std::uint8_t mode) {
  if (recorded) __tsan_mutex_pre_unlock(&lock, mode == kRead ? kReadLock : 0);
}
__attribute__((noinline)) void count_taken(Lock& lock, std::uint8_t mode) {
  counters[mode == kRead ? kTakenRead : kTakenExclusive].fetch_add(1, std::memory_order_relaxed);
  record_taken(lock, mode);
}
inline void tell_taken(Lock& lock, std::uint8_t mode) {
  if (told) [[unlikely]]
    count_taken(lock, mode);
}
inline void tell_given_back(Lock& lock, std::uint8_t mode) {
  if (told) [[unlikely]]
    record_given_back(lock, mode);
}

__attribute__((noinline)) void wake_waiters(Lock& lock) {
  syscall(SYS_futex, &lock.word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}
inline void wake(Lock& lock) {
  if (lock.waiters.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    wake_waiters(lock);
}

inline bool try_take(Lock& lock, std::uint8_t mode) {
  std::uint32_t word = lock.word.load(std::memory_order_relaxed);
  if (mode == kExclusive) {
    if (word != 0 || !lock.word.compare_exchange_strong(word, kWriter, std::memory_order_acquire,
                                                        std::memory_order_relaxed)) {
      return false;
    }
    tell_taken(lock, mode);
    return true;
  }
  while ((word & kWriter) == 0) {
    if (lock.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      tell_taken(lock, mode);
      return true;
    }
  }
  return false;
}

inline void let_go(Lock& lock, std::uint8_t mode) {
  tell_given_back(lock, mode);
  // Sequentially consistent: whoever announces itself as a waiter either is seen here or sees this.
  if (mode == kExclusive) {
    lock.word.store(0, std::memory_order_seq_cst);
    wake(lock);
  } else {
    const std::uint32_t before = lock.word.fetch_sub(1, std::memory_order_seq_cst);
    // With one reader left an upgrade may go on.
    if (before <= 2) wake(lock);
  }
}

std::uint64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

Thread* find_thread(pid_t tid) {
  for (Thread* thread = threads; thread != nullptr; thread = thread->next) {
    if (thread->tid == tid) return thread;
  }
  return nullptr;
}

// As deep as anybody waits for anybody; deeper is taken for no cycle, and patience ends it.
constexpr unsigned kMostSteps = 32;

enum class Chain : std::uint8_t { kMoves, kSelf, kOtherWait };

// And as many in all as one look may take.
constexpr unsigned kMostLooks = 4096;
unsigned looks_left = 0;  // under the registry's lock

Chain follow_program(ProgramLock lock, const Thread& me, unsigned depth);

/// What `thread` waits for in the end. Under the registry's lock.
Chain follow(const Thread& thread, const Thread& me, unsigned depth) {
  if (depth > kMostSteps || looks_left == 0) return Chain::kMoves;
  --looks_left;
  if (thread.waits_other.load(std::memory_order_relaxed)) return Chain::kOtherWait;
  if (const ProgramLock lock = thread.waits_program.load(std::memory_order_relaxed)) {
    return follow_program(lock, me, depth + 1);
  }
  const std::uint32_t lock = thread.waits_lock.load(std::memory_order_relaxed);
  if (lock == 0) return Chain::kMoves;
  const bool exclusive = thread.waits_exclusive.load(std::memory_order_relaxed);
  for (const Thread* owner = threads; owner != nullptr; owner = owner->next) {
    if (owner == &thread) continue;
    const Entry& entry = owner->entries[lock - 1];
    const std::uint8_t mode = entry.mode.load(std::memory_order_relaxed);
    if (mode == kFree || entry.aside != 0 || (mode == kRead && !exclusive)) continue;
    if (owner == &me) return Chain::kSelf;
    const Chain chain = follow(*owner, me, depth + 1);
    if (chain != Chain::kMoves) return chain;
  }
  return Chain::kMoves;
}

bool may_own(const Thread& thread, ProgramLock lock) {
  for (const std::atomic<ProgramLock>& owned : thread.owns) {
    if (owned.load(std::memory_order_relaxed) == lock) return true;
  }
  return false;
}

Chain follow_program(ProgramLock lock, const Thread& me, unsigned depth) {
  if ((lock & 1U) != 0) {
    // glibc keeps the owner of a mutex in it, whatever its kind.
    const auto* const mutex = reinterpret_cast<const pthread_mutex_t*>(lock & ~ProgramLock{1});
    const pid_t tid = __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
    if (tid == 0) return Chain::kMoves;
    if (tid == me.tid) return Chain::kSelf;
    const Thread* owner = find_thread(tid);
    return owner == nullptr ? Chain::kMoves : follow(*owner, me, depth + 1);
  }
  // Any of those who have it: a reader that stays keeps a writer waiting, and one who waits to
  // write may keep readers waiting.
  if (may_own(me, lock)) return Chain::kSelf;
  for (const Thread* owner = threads; owner != nullptr; owner = owner->next) {
    if (owner == &me) continue;
    if (!may_own(*owner, lock) && owner->owns_more.load(std::memory_order_relaxed) == 0) continue;
    const Chain chain = follow(*owner, me, depth + 1);
    if (chain != Chain::kMoves) return chain;
  }
  return Chain::kMoves;
}

void tell(const char* what, std::uint32_t lock) {
  if (!watchdog) return;
  char text[160];
  const int length = snprintf(text, sizeof text, "syndrome: thread %d: lock %u of the plan: %s\n",
                              static_cast<int>(self().tid), lock, what);
  if (length > 0) {
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  }
}

/// Whether the lock was taken; false when this thread shall go on without it.
__attribute__((noinline)) bool wait_for(std::uint32_t number, std::uint8_t mode, bool upgrade) {
  Lock& lock = locks[number];
  const auto attempt = [&lock, mode, upgrade] {
    if (!upgrade) return try_take(lock, mode);
    std::uint32_t one = 1;
    if (!lock.word.compare_exchange_strong(one, kWriter, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      return false;
    }
    tell_given_back(lock, kRead);
    tell_taken(lock, kExclusive);
    return true;
  };
  for (int i = 0; i < kSpins; ++i) {
    if (attempt()) return true;
    __builtin_ia32_pause();
  }
  const int kept = errno;
  Thread& me = self();
  me.waits_exclusive.store(mode == kExclusive, std::memory_order_relaxed);
  me.waits_lock.store(number + 1, std::memory_order_release);
  const std::uint64_t start = now_ms();
  bool taken = false;
  while (true) {
    lock.waiters.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = lock.word.load(std::memory_order_seq_cst);
    taken = attempt();
    if (!taken) {
      const timespec slice{0, kSliceNanoseconds};
      syscall(SYS_futex, &lock.word, FUTEX_WAIT_PRIVATE, seen, &slice, nullptr, 0);
    }
    lock.waiters.fetch_sub(1, std::memory_order_seq_cst);
    if (taken || (taken = attempt())) break;
    const std::uint64_t waited = now_ms() - start;
    if (waited * 1'000'000 < static_cast<std::uint64_t>(kSliceNanoseconds)) continue;
    bool cycle = false;
    {
      const Registry registry;
      looks_left = kMostLooks;
      cycle = follow(me, me, 0) == Chain::kSelf;
    }
    if (cycle) {
      counters[kCycles].fetch_add(1, std::memory_order_relaxed);
      tell("waited in a cycle; went on without it", number);
      break;
    }
    if (waited >= static_cast<std::uint64_t>(patience_ms)) {
      counters[kImpatient].fetch_add(1, std::memory_order_relaxed);
      tell("was not free for too long; went on without it", number);
      break;
    }
  }
  me.waits_lock.store(0, std::memory_order_relaxed);
  errno = kept;
  return taken;
}

void enroll(Thread& thread) {
  thread.tid = static_cast<pid_t>(syscall(SYS_gettid));
  {
    const Registry registry;
    // A signal handler may have come first.
    if (thread.registered) return;
    thread.next = threads;
    threads = &thread;
    thread.registered = true;
  }
  pthread_setspecific(key, &thread);
}

void release_all(Thread& thread, const void* below) {
  for (std::uint32_t i = 0; i < kMostLocks && thread.held != 0; ++i) {
    Entry& entry = thread.entries[i];
    const std::uint8_t mode = entry.mode.load(std::memory_order_relaxed);
    if (mode == kFree || (below != nullptr && entry.frame >= below)) continue;
    entry.busy = 1;
    if (entry.aside == 0) let_go(locks[i], mode);
    entry.aside = 0;
    entry.frame = nullptr;
    entry.mode.store(kFree, std::memory_order_relaxed);
    entry.busy = 0;
    --thread.held;
  }
}

void on_thread_exit(void* pointer) {
  auto& thread = *static_cast<Thread*>(pointer);
  release_all(thread, nullptr);
  const Registry registry;
  for (Thread** at = &threads; *at != nullptr; at = &(*at)->next) {
    if (*at != &thread) continue;
    *at = thread.next;
    break;
  }
  // Another destructor of the thread may still run hardened code, which enrolls it again.
  thread.registered = false;
}

/// In a forked child there is one thread, and the locks are as it holds them.
void on_fork_child() {
  registry_lock.store(0, std::memory_order_relaxed);
  Thread& thread = self();
  threads = thread.registered ? &thread : nullptr;
  thread.next = nullptr;
  thread.tid = static_cast<pid_t>(syscall(SYS_gettid));
  for (std::uint32_t i = 0; i < kMostLocks; ++i) {
    const Entry& entry = thread.entries[i];
    const std::uint8_t mode = entry.mode.load(std::memory_order_relaxed);
    const bool holds = mode != kFree && entry.aside == 0;
    locks[i].word.store(!holds ? 0 : (mode == kExclusive ? kWriter : 1));
    locks[i].waiters.store(0);
    locks[i].upgrading.store(0);
  }
}

void report() {
  if (!watchdog) return;
  fprintf(stderr,
          "syndrome: set aside: %llu at waits of the program, %llu in a cycle, %llu after %ld ms, "
          "%llu at upgrades\n",
          static_cast<unsigned long long>(counters[kWaits].load()),
          static_cast<unsigned long long>(counters[kCycles].load()),
          static_cast<unsigned long long>(counters[kImpatient].load()), patience_ms,
          static_cast<unsigned long long>(counters[kUpgrades].load()));
  fprintf(stderr,
          "syndrome: taken: %llu locks of the program; of the plan %llu for reading, %llu "
          "exclusively\n",
          static_cast<unsigned long long>(counters[kProgram].load()),
          static_cast<unsigned long long>(counters[kTakenRead].load()),
          static_cast<unsigned long long>(counters[kTakenExclusive].load()));
}

__attribute__((constructor(101))) void start() {
  pthread_key_create(&key, on_thread_exit);
  pthread_atfork(nullptr, nullptr, on_fork_child);
  if (const char* text = secure_getenv("SYNDROME_ENFORCE_PATIENCE_MS")) {
    const long value = strtol(text, nullptr, 10);
    if (value > 0) patience_ms = value;
  }
  const char* text = secure_getenv("SYNDROME_ENFORCE_WATCHDOG");
  watchdog = text != nullptr && strcmp(text, "0") != 0 && *text != '\0';
  recorded = &__tsan_mutex_post_lock != nullptr && &__tsan_mutex_pre_unlock != nullptr;
  told = recorded || watchdog;
  if (watchdog) atexit(report);
}

__attribute__((noinline)) void upgrade(std::uint32_t number, Entry& entry) {
  Lock& lock = locks[number];
  std::uint32_t none = 0;
  entry.busy = 1;
  if (lock.upgrading.compare_exchange_strong(none, 1)) {
    const bool taken = wait_for(number, kExclusive, true);
    lock.upgrading.store(0);
    if (taken) entry.mode.store(kExclusive, std::memory_order_relaxed);
    if (!taken) {
      let_go(lock, kRead);
      entry.mode.store(kExclusive, std::memory_order_relaxed);
      entry.aside = 1;
    }
  } else {
    // Another reader wants the same: one of the two has to let go of what it read.
    counters[kUpgrades].fetch_add(1, std::memory_order_relaxed);
    tell("two wanted to write what both were reading; this one let go first", number);
    let_go(lock, kRead);
    entry.aside = wait_for(number, kExclusive, false) ? 0 : 1;
    entry.mode.store(kExclusive, std::memory_order_relaxed);
  }
  entry.busy = 0;
}

void have_taken(Thread& thread, Entry& entry, std::uint8_t mode, void* frame) {
  entry.frame = frame;
  entry.mode.store(mode, std::memory_order_relaxed);
  ++thread.held;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  entry.busy = 0;
}

/// The entry is busy.
__attribute__((noinline)) void take_in_use(std::uint32_t number, std::uint8_t mode, void* frame) {
  Entry& entry = state.entries[number];
  entry.aside = wait_for(number, mode, false) ? 0 : 1;
  have_taken(state, entry, mode, frame);
}

/// Whatever is not a lock that this thread has not, in a thread that is known.
__attribute__((noinline)) void acquire_slowly(std::uint32_t number, std::uint8_t mode,
                                              void* frame) {
  Entry& entry = state.entries[number];
  const std::uint8_t have = entry.mode.load(std::memory_order_relaxed);
  // A handler that has interrupted this very operation goes on without.
  if (entry.busy != 0) return;
  if (have != kFree) {
    if (have < mode && entry.aside == 0) upgrade(number, entry);
    return;
  }
  enroll_self();
  entry.busy = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  take_in_use(number, mode, frame);
}

// A function of its own for each way out, so that the usual one saves no registers.
__attribute__((always_inline)) inline void acquire(std::uint32_t number, std::uint8_t mode,
                                                   void* frame) {
  Thread& thread = state;
  Entry& entry = thread.entries[number];
  const std::uint8_t have = entry.mode.load(std::memory_order_relaxed);
  if (have >= mode) return;
  if (have != kFree || entry.busy != 0 || !thread.registered) [[unlikely]] {
    return acquire_slowly(number, mode, frame);
  }
  entry.busy = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!try_take(locks[number], mode)) [[unlikely]]
    return take_in_use(number, mode, frame);
  have_taken(thread, entry, mode, frame);
}

}  // namespace

Thread& self() {
  return state;
}

std::uint64_t times_impatient() {
  return counters[kImpatient].load(std::memory_order_relaxed);
}

std::uint32_t set_aside(Thread& thread) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0, left = thread.held; i < kMostLocks && left != 0; ++i) {
    Entry& entry = thread.entries[i];
    const std::uint8_t mode = entry.mode.load(std::memory_order_relaxed);
    if (mode == kFree) continue;
    --left;
    if (entry.aside != 0) continue;
    entry.aside = 1;
    let_go(locks[i], mode);
    ++count;
  }
  counters[kWaits].fetch_add(count, std::memory_order_relaxed);
  return count;
}

void take_back(Thread& thread) {
  for (std::uint32_t i = 0, left = thread.held; i < kMostLocks && left != 0; ++i) {
    Entry& entry = thread.entries[i];
    const std::uint8_t mode = entry.mode.load(std::memory_order_relaxed);
    if (mode == kFree) continue;
    --left;
    if (entry.aside != 0 && try_take(locks[i], mode)) entry.aside = 0;
  }
}

bool stuck_behind(ProgramLock lock, const Thread& thread) {
  const Registry registry;
  looks_left = kMostLooks;
  return follow_program(lock, thread, 0) != Chain::kMoves;
}

void enroll_self() {
  if (!state.registered) [[unlikely]]
    enroll(state);
}

void has_taken(ProgramLock lock) {
  enroll_self();
  for (std::atomic<ProgramLock>& owned : state.owns) {
    if (owned.load(std::memory_order_relaxed) != 0) continue;
    owned.store(lock, std::memory_order_relaxed);
    return;
  }
  state.owns_more.fetch_add(1, std::memory_order_relaxed);
}

void gives_back(ProgramLock lock) {
  for (std::atomic<ProgramLock>& owned : state.owns) {
    if (owned.load(std::memory_order_relaxed) != lock) continue;
    owned.store(0, std::memory_order_relaxed);
    return;
  }
  const std::uint32_t more = state.owns_more.load(std::memory_order_relaxed);
  if (more != 0) state.owns_more.store(more - 1, std::memory_order_relaxed);
}

void count_program_lock() {
  if (watchdog) [[unlikely]]
    counters[kProgram].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace syndrome::locks

using namespace syndrome::locks;

#define SYNDROME_EXPORT extern "C" __attribute__((visibility("default")))

SYNDROME_EXPORT void __syndrome_lock_read(std::uint32_t number, void* frame) {
  acquire(number, kRead, frame);
}

SYNDROME_EXPORT void __syndrome_lock_exclusive(std::uint32_t number, void* frame) {
  acquire(number, kExclusive, frame);
}

SYNDROME_EXPORT void __syndrome_lock_release(std::uint32_t number, void* frame) {
  Thread& thread = state;
  Entry& entry = thread.entries[number];
  if (entry.frame != frame) return;
  const std::uint8_t mode = entry.mode.load(std::memory_order_relaxed);
  if (mode == kFree) return;
  entry.busy = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (entry.aside == 0) let_go(locks[number], mode);
  entry.aside = 0;
  entry.frame = nullptr;
  entry.mode.store(kFree, std::memory_order_relaxed);
  --thread.held;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  entry.busy = 0;
}

SYNDROME_EXPORT void __syndrome_lock_degrade(std::uint32_t number, void* frame) {
  Entry& entry = state.entries[number];
  if (entry.frame != frame || entry.mode.load(std::memory_order_relaxed) != kExclusive) return;
  entry.mode.store(kRead, std::memory_order_relaxed);
  if (entry.aside != 0) return;
  tell_given_back(locks[number], kExclusive);
  locks[number].word.store(1, std::memory_order_seq_cst);
  if (told) [[unlikely]]
    record_taken(locks[number], kRead);
  wake(locks[number]);
}

/// After a longjmp: what functions held that are no longer there. Stacks grow down.
SYNDROME_EXPORT void __syndrome_lock_resume(void* frame) {
  if (state.held != 0) release_all(state, frame);
}
