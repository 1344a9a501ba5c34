// Tries a program out: with noise, or under every schedule of at most so many preemptions.
//
// A program that is built with --syndrome-steps comes here before each access to memory that
// threads may share and before each lock of the plan (__syndrome_step), and with what it calls of
// the C library to synchronize (interpose.cc). SYNDROME_STEPS says what happens then:
//
//   noise:SEED             random pauses (noise.cc)
//   explore:BOUND[:MOST]   runs the program again and again, under every schedule with at most
//                          BOUND preemptions, at most MOST of them (explorer.cc), and tells how
//                          many failed: had another exit code than 0, or came to a deadlock
//   replay:CHOICES         one of those schedules, as the explorer has told it
//   (nothing)              nothing
//
// In the last but one, one thread runs at a time (scheduler.cc). It may be preempted at every step;
// where it waits or ends, any other may go on, and that is no preemption. The bounded search is
// that of CHESS (Musuvathi and Qadeer, PLDI 2007). Time stands still but for the waits that end by
// it: they do when nobody can go on otherwise.
//
// Not known: waits that do not come by interpose.cc (pthread_once, a read of a pipe, spinning
// without a step). A run that hangs in one is ended after ten seconds and told. The waiters of a
// condition are woken in the order in which they came.

#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace syndrome::steps {

enum class Mode : std::uint8_t { kOff, kNoise, kControlled };
extern Mode mode;

// ---- noise.cc ----

void start_noise(std::uint64_t seed);
void make_noise();

// ---- scheduler.cc: all but begin_thread() are called by the one thread that runs ----

inline constexpr std::uint32_t kMostThreads = 64;
inline constexpr std::uint32_t kMostDecisions = 1U << 16;
inline constexpr std::uint64_t kNever = UINT64_MAX;

/// One choice between two threads or more.
struct Decision {
  std::uint64_t enabled = 0;  // by thread, as bits
  std::uint8_t current = 0;
  std::uint8_t chosen = 0;
  bool free = false;  // `current` cannot go on: any choice is no preemption
};

enum class Verdict : std::uint32_t { kEnded, kDeadlock, kEndless, kDiverged };

/// What a run is told by the explorer, and tells it.
struct Schedule {
  std::uint32_t given = 0;      // decisions that are to be made as they stand
  std::uint32_t decisions = 0;  // that were made
  Verdict verdict = Verdict::kEnded;
  std::uint32_t stuck = 0;  // times at which only a lock wait's end by time let anybody go on
  Decision log[kMostDecisions];
};

void start_scheduler(Schedule* schedule);

enum class Why : std::uint8_t { kWaits, kSleeps };

/// The thread may be preempted here.
void point();
/// Until somebody wakes the object. False: `nanoseconds` are over.
[[nodiscard]] bool wait_on(const void* object, std::uint64_t nanoseconds, Why why = Why::kWaits);
void wake(const void* object, std::uint32_t most = kMostThreads);
/// Another one may go on, if there is any.
void give_way();

/// The number of a thread that is about to be made. Then its handle, or that it could not be made.
[[nodiscard]] std::uint32_t new_thread();
void name_thread(std::uint32_t number, pthread_t handle);
void drop_thread(std::uint32_t number);
/// The new thread itself, before and after all else.
void begin_thread(std::uint32_t number);
void end_thread();
/// By its handle; kMostThreads when there is none.
[[nodiscard]] std::uint32_t find_thread(pthread_t handle);
[[nodiscard]] bool has_ended(std::uint32_t number);
[[nodiscard]] const void* end_of(std::uint32_t number);
/// A new one with the handle of one that has been joined must not be taken for it.
void forget_thread(std::uint32_t number);

/// Nanoseconds that have passed since the start, all of them made up.
[[nodiscard]] std::uint64_t virtual_time();

// ---- explorer.cc ----

/// Does not return in the process that explores; does in each that runs the program.
void explore(std::uint32_t bound, std::uint64_t most);

}  // namespace syndrome::steps
