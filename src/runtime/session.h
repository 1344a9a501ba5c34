// What the recorder (`syndrome record`) and the runtime inside the programs share: a folder with
//
//   session       SessionHeader, mapped by everyone
//   N.rings       the rings of process number N, one after another
//   N.meta        the metadata of process number N (event/wire.h), appended with write(2)
//
// The folder is named by SYNDROME_SESSION in the environment of the recorded program. Memory-mapped
// files outlive the process that wrote them: after kill -9 the recorder finds all of it.
//
// A ring is a page for its header and `ring_words` words. Its thread writes words and moves
// `published`, a line at a time; the recorder copies words from `consumed` to `published`, sets
// them to 0 and moves `consumed`. Words behind `published` that are not 0 are written too: the
// recorder takes them when the thread has ended.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "event/sieve.h"
#include "event/wire.h"

namespace syndrome::rt {

inline constexpr char kSessionVariable[] = "SYNDROME_SESSION";
/// Options for `syndrome run`, separated by blanks, for programs that something else starts.
inline constexpr char kOptionsVariable[] = "SYNDROME_OPTIONS";
inline constexpr std::uint64_t kSessionMagic = 0x324e4f4953534553;  // "SESSION2"
/// Processes that one session can hold, dead ones included; later ones run unrecorded.
inline constexpr std::uint32_t kMaxProcesses = 4096;
inline constexpr std::size_t kPage = 4096;
/// In place of the pid of a process that could not make its files: nothing of it will come.
inline constexpr std::uint32_t kNoProcess = UINT32_MAX;
inline constexpr char kPidSpacePath[] = "/proc/self/ns/pid";

enum class Order : std::uint32_t { kFeasible = 0, kExact = 1 };

struct ProcessSlot {
  std::atomic<std::uint32_t> pid;    // 0: not there yet
  std::atomic<std::uint32_t> rings;  // how many the file N.rings holds …
  std::atomic<std::uint32_t> free;   // … and how many of them are free
  std::atomic<std::uint32_t> space;  // where the pid counts, see pid_space; 0: unknown
  /// With a filter: how many units the process has announced, and for how many of them the file
  /// N.blocks has the addresses of the functions that are blocks.
  std::atomic<std::uint32_t> units;
  std::atomic<std::uint32_t> answered;
};

struct SessionHeader {
  std::uint64_t magic;
  std::uint32_t abi;  // wire::kAbi
  Order order;
  sieve::Checked checked;  // accesses that change nothing for that are left out
  std::uint32_t zero;
  std::uint64_t ring_words;  // a power of two
  std::uint32_t recorder;    // its pid
  /// The inode of the recorder's namespace of pids: a program in a container has other numbers.
  std::uint32_t pid_space;
  /// For runtime/noise.h; no noise without the flag.
  std::uint64_t noise_seed;
  std::uint32_t noise;
  /// The program that `syndrome record` was asked to run, and, when it has ended, 1 + its status as
  /// waitpid() gives it; 0: not yet known.
  std::atomic<std::uint32_t> program;
  std::atomic<std::uint32_t> status;
  /// The recorder cannot go on (the disk is full): everyone stops writing.
  alignas(64) std::atomic<std::uint32_t> stop;
  /// A futex: producers add 1 and wake the recorder when it sleeps.
  alignas(64) std::atomic<std::uint32_t> doorbell;
  std::atomic<std::uint32_t> sleeping;
  /// Grows while the recorder lives, for those who cannot ask for its pid.
  std::atomic<std::uint32_t> beat;
  alignas(64) std::atomic<std::uint32_t> processes;
  alignas(64) ProcessSlot slots[kMaxProcesses];
};

enum class RingState : std::uint32_t {
  kFree = 0,      // any thread may claim it
  kActive = 1,    // a thread writes
  kFinished = 2,  // its thread has ended; the recorder will free it
};

struct RingHeader {
  std::atomic<RingState> state;
  std::uint32_t thread;                              // number of the thread that has it
  alignas(64) std::atomic<std::uint64_t> published;  // words since the thread began
  std::atomic<std::uint32_t> waiting;                // 1: its thread sleeps until `consumed` moves
  alignas(64) std::atomic<std::uint64_t> consumed;
  /// Of all threads that have had the ring: blocks that nobody was told of (runtime/draft.h).
  alignas(64) std::atomic<std::uint64_t> thrown_blocks;
};
static_assert(sizeof(RingHeader) <= kPage);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

[[nodiscard]] constexpr std::size_t ring_bytes(std::uint64_t ring_words) {
  return kPage + ring_words * sizeof(wire::Word);
}

}  // namespace syndrome::rt
