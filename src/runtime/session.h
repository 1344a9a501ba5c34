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
//
// In flight (ProcessSlot::mode) nobody empties a ring: it goes round, and its thread clears a line
// before it publishes the one before. A thread that ends leaves its ring with what is in it to the
// next one, whose words follow from the next line on. Behind the words of such a ring there is a
// FlightPages.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "event/open_words.h"
#include "event/sieve.h"
#include "event/wire.h"

namespace syndrome::rt {

inline constexpr char kSessionVariable[] = "SYNDROME_SESSION";
/// Options for `syndrome run`, separated by blanks, for programs that something else starts.
inline constexpr char kOptionsVariable[] = "SYNDROME_OPTIONS";
inline constexpr std::uint64_t kSessionMagic = 0x334e4f4953534553;  // "SESSION3"
/// Processes that one session can hold, dead ones included; later ones run unrecorded.
inline constexpr std::uint32_t kMaxProcesses = 4096;
inline constexpr std::size_t kPage = 4096;
/// In place of the pid of a process that could not make its files: nothing of it will come.
inline constexpr std::uint32_t kNoProcess = UINT32_MAX;
inline constexpr char kPidSpacePath[] = "/proc/self/ns/pid";

enum class Order : std::uint32_t { kFeasible = 0, kExact = 1 };

/// What becomes of a process's words.
enum class Mode : std::uint32_t {
  kRecord = 0,   // all of them are taken while it runs
  kFlight = 1,   // nobody takes them; so far, every ring has all words of its one thread
  kWrapped = 2,  // nobody takes them, and the rings have the last ones
};

struct ProcessSlot {
  std::atomic<std::uint32_t> pid;    // 0: not there yet
  std::atomic<std::uint32_t> rings;  // how many the file N.rings holds …
  std::atomic<std::uint32_t> free;   // … and how many of them are free
  std::atomic<std::uint32_t> space;  // where the pid counts, see pid_space; 0: unknown
  /// With a filter: how many units the process has announced, and for how many of them the file
  /// N.blocks has the addresses of the functions that are blocks.
  std::atomic<std::uint32_t> units;
  std::atomic<std::uint32_t> answered;
  std::atomic<Mode> mode;
  /// In flight: how many windows its threads have asked for (live.h), and a futex: how many of them
  /// have been taken.
  std::atomic<std::uint32_t> windows_asked;
  std::atomic<std::uint32_t> windows_taken;
};

struct SessionHeader {
  std::uint64_t magic;
  std::uint32_t abi;  // wire::kAbi
  Order order;
  sieve::Checked checked;      // accesses that change nothing for that are left out
  std::uint32_t flight;        // 1: its processes begin in flight
  std::uint32_t window_every;  // 0, or for tests: each thread asks for a window after so many lines
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
  kFree = 0,      // any thread may claim it (in flight: with the last one's words in it)
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
  /// In flight: not 0 while its thread performs an atomic, from before that takes its version until
  /// it is in the ring: a time from before it took it.
  std::atomic<std::uint64_t> pending;
};
static_assert(sizeof(RingHeader) <= kPage);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A ring in flight has so many parts. It can be read from the beginning of any of them that is
/// still whole: there it is known what is open.
inline constexpr std::uint64_t kParts = 16;
struct alignas(kPage) FlightPages {
  wire::OpenWords open;  // at the beginning of the line that is being filled
  struct Part {
    std::uint64_t begin;  // words before it
    wire::OpenWords open;
  };
  Part parts[kParts];
};

[[nodiscard]] constexpr std::size_t ring_bytes(std::uint64_t ring_words, bool flight) {
  return kPage + ring_words * sizeof(wire::Word) + (flight ? sizeof(FlightPages) : 0);
}
[[nodiscard]] constexpr std::uint64_t part_words(std::uint64_t ring_words) {
  return ring_words / kParts;
}

}  // namespace syndrome::rt
