// The locks of a hardened program. Linked into it as a static library that depends on the C library
// alone; nothing else of Syndrome is there when it runs.
//
// A lock is held for reading by many threads or exclusively by one. Readers are preferred: a thread
// that waits to write does not keep others from reading, because the planner (enforce/plan/order.h)
// counts on it that readers wait for none but those who hold exclusively. A thread has an entry for
// each lock that says whether it holds it and for which frame (the function activation that took
// it); taking a lock that the thread has already, in an outer frame or in the function that a
// signal handler interrupted, does nothing, and so does giving it back from there.
//
// Our locks must not make a program wait forever, whatever it does with its own means. So a lock
// may be *set aside*: the entry stays, and the thread goes on without the lock.
//   - A thread that waits for another one by a condition, semaphore, barrier or join, or for a
//     descriptor to be ready (poll and its kin), sets its locks aside for that time, and takes
//     those back that are free then (section 9 of the paper).
//   - A thread that holds locks of ours and waits for a lock of the program (a mutex, also of C11,
//   a
//     read-write lock, a spin lock) does so when that belongs, over any number of such steps, to a
//     thread that waits like that, or to itself. A mutex knows its owner; who has one of the others
//     is kept here.
//   - A thread that waits for a lock of ours looks every few milliseconds whether it waits in a
//     cycle, which plans exclude, but signal handlers and code that the planner has not seen do
//     not; then, or when its patience is at its end, it goes on without.
// What was set aside is counted, and told at the end with SYNDROME_ENFORCE_WATCHDOG=1; so is how
// often locks were taken.
//
// State, and who may touch it:
//   Lock::word, waiters, upgrading   anyone, atomically
//   Thread::entries, held            its own thread; others read `mode` of entries under the
//                                    registry's lock, and take what they see as a hint
//   Thread::waits_*, owns*           its own thread writes, others read under the registry's lock
//   registry (list of threads)       under its lock, with signals blocked

#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "event/plan_limits.h"

namespace syndrome::locks {

inline constexpr std::uint32_t kMostLocks = kMostPlanLocks;
// Read-write and spin locks of one thread at once that are told apart.
inline constexpr std::uint32_t kMostOwned = 8;

enum Mode : std::uint8_t { kFree = 0, kRead = 1, kExclusive = 2 };

struct Entry {
  void* frame = nullptr;
  std::atomic<std::uint8_t> mode{kFree};
  std::uint8_t aside = 0;  // the lock itself is not held
  std::uint8_t busy = 0;   // being taken or given back: only a signal handler ever sees it set
};

/// A lock of the program, as the address with one bit that says how its owner is found; 0 for none.
using ProgramLock = std::uintptr_t;
[[nodiscard]] inline ProgramLock as_mutex(const void* lock) {
  return reinterpret_cast<std::uintptr_t>(lock) | 1U;
}
[[nodiscard]] inline ProgramLock as_owned(const volatile void* lock) {
  return reinterpret_cast<std::uintptr_t>(lock);
}

struct Thread {
  Entry entries[kMostLocks];
  std::uint32_t held = 0;  // entries that are not kFree
  bool registered = false;
  pid_t tid = 0;
  // One more than a lock's number, or 0.
  std::atomic<std::uint32_t> waits_lock{0};
  std::atomic<bool> waits_exclusive{false};
  std::atomic<ProgramLock> waits_program{0};
  std::atomic<bool> waits_other{false};  // a condition, semaphore, barrier, join or descriptor
  std::atomic<ProgramLock> owns[kMostOwned];
  std::atomic<std::uint32_t> owns_more{0};  // that there was no room for
  Thread* next = nullptr;
};

[[nodiscard]] Thread& self();

/// How long a thread waits for a lock of ours before it goes on without, in milliseconds. Set by
/// SYNDROME_ENFORCE_PATIENCE_MS when the program starts; tests set it before there are threads.
extern long patience_ms;
/// How often that was too long.
[[nodiscard]] std::uint64_t times_impatient();

/// Lets go of the real locks of all entries. How many there were.
std::uint32_t set_aside(Thread& thread);
/// Takes those back that nobody has now.
void take_back(Thread& thread);

/// Whether a thread that owns the lock waits, over any number of steps, by other means than locks,
/// or for this thread.
[[nodiscard]] bool stuck_behind(ProgramLock lock, const Thread& thread);

/// Makes this thread one that others know of.
void enroll_self();
/// This thread has taken a lock that does not know its owner, or is about to give it back.
void has_taken(ProgramLock lock);
void gives_back(ProgramLock lock);
/// The program has taken a lock of its own.
void count_program_lock();

}  // namespace syndrome::locks
