// What the runtime keeps for each thread beside the window that probes see (log.h). Internal.

#pragma once

#include <cstdint>

#include "runtime/log.h"
#include "runtime/session.h"

namespace syndrome::rt {

enum class ThreadState : std::uint32_t {
  kNew = 0,   // has not been seen yet
  kOn,        // has a ring
  kOff,       // its process is not recorded, or recording has stopped
  kEnded,     // thread_end() was called
  kStarting,  // is being given a ring
};

struct Draft;
struct Follower;

/// Touched by its own thread alone.
struct Thread {
  ThreadState state;
  std::uint32_t number;
  std::uint32_t tid;
  /// > 0 while a record of several words is being appended; a signal handler that comes in between
  /// is not recorded.
  std::uint32_t busy;
  /// Counts what it is doing that a settler (last_settler) must find done, or not begun.
  std::uint32_t steps;
  RingHeader* ring;
  wire::Word* words;    // of the ring
  std::uint64_t line;   // words before the line that is being filled
  std::uint64_t limit;  // words up to which the ring is known to be free
  /// Where the next word goes, when it is not where the probes write: with --order exact or --noise
  /// the window's cursor stays in the scratch line, so that every probe comes to full(); with a
  /// follower it is in the follower's own line.
  wire::Word* exact;
  std::uint32_t held;        // 1 + shard held by an atomic that is going on; 0: none
  std::uint32_t held_exact;  // 1 + shard held for the access after the last probe; 0: none
  // Locks that std::lock has taken and not let go again (__syndrome_locks_begin).
  struct Taken {
    std::uintptr_t object;
    wire::Sync kind;
  };
  std::uint32_t deferring;
  std::uint32_t deferred;
  Taken locks[8];
  Follower* follower;    // of this thread's accesses (follow.h); null: the ring gets all of them
  Draft* draft;          // where the follower's words go (draft.h); null: into the ring
  bool keeps_key;        // in a block all of whose accesses count as one (sieve::Thread::whole)
  std::uint64_t frames;  // numbers given by __syndrome_frame
  // For handlers that are left by longjmp, and so never come to signal_leave().
  std::uint32_t handlers;       // that are running
  std::uint64_t handlers_from;  // frames when the outermost began
  std::uint32_t handlers_held;  // held when it began
  wire::Word* whole;            // the cursor before the record that one has interrupted; null: none
  const wire::Word* last_load;  // where the cursor was after the last atomic load …
  std::uintptr_t last_load_address;
  std::uint64_t last_load_version;  // … and the version of its shard then
  std::uint32_t last_load_what;     // with which order
  std::uint64_t noise;              // points passed (runtime/noise.h)
  FlightPages* flight;              // of the ring, when it is in flight (live.h); null: it is not
  const wire::Word* taken;          // words of the line that the engine has had end here
};

extern constinit thread_local Thread tls __attribute__((tls_model("initial-exec")));
/// Where the words of a thread go that is not recorded. A second line behind the first: a stack
/// that overflows in full(), and a handler that leaves it with longjmp, let the probes go on there.
extern constinit thread_local wire::Word scratch[2 * wire::kLineWords]
    __attribute__((tls_model("initial-exec"), aligned(256)));

/// The process. Written while it attaches and in fork_child(), read by all threads.
struct Process {
  SessionHeader* session;  // null: not recorded
  std::uint32_t slot;
  std::uint64_t ring_words;
  bool exact;    // the order of all accesses is recorded
  bool pinned;   // every probe comes to the runtime: exact, or for noise
  bool foreign;  // the recorder's pid means another process, or none, here
  bool follows;  // its threads follow their accesses (follow.h), with filters
};
extern Process process;

[[nodiscard]] inline wire::Word read_counter() {
  return __builtin_ia32_rdtsc();
}

/// The next free word of the thread's log.
[[nodiscard]] inline wire::Word*& cursor() {
  return tls.exact != nullptr ? tls.exact : __syndrome_thread.cursor;
}

/// Makes the probes of this thread go nowhere.
inline void point_at_scratch() {
  __syndrome_thread.cursor = scratch;
  __syndrome_thread.filter = nullptr;
}

/// Publishes the line and goes to the next one; waits for room if there is none, unless `may_wait`
/// is false: then it returns false and nothing has changed.
[[nodiscard]] bool next_line(bool may_wait);
/// The same, in the ring of any thread, whose next word goes to `at`. kStopped: recording is over.
enum class Turned : std::uint8_t { kDone, kNoRoom, kStopped };
[[nodiscard]] Turned turn_line(Thread& its, wire::Word*& at, bool may_wait);
/// Sleeps until the recorder has freed the words of its ring up to `wanted`. False: there is no
/// recorder any more, or it has given up.
[[nodiscard]] bool wait_for_room(Thread& its, std::uint64_t wanted);

/// Gives the thread a ring and its number; the process attaches to its session if it has not yet.
/// The thread's state is kOn or kOff afterwards.
void start_thread(std::uint32_t number, bool has_number);

/// Leaves recording for good in this thread, without another word.
void turn_off();

/// A ring of the process for this thread, or false.
[[nodiscard]] bool claim_ring(std::uint32_t number);
/// It is the recorder's now.
void release_ring();

/// Whether the C library does not have its environment yet: what runs before it (the .preinit_array
/// of UndefinedBehaviorSanitizer) must not decide that there is no session.
[[nodiscard]] bool too_early();

/// Attaches the process to the session that the environment names, once. False when there is none.
[[nodiscard]] bool attach();

/// The thread that settles for all others, because the process ends (follow.h): nobody else writes.
/// Its tid; 0: none does.
extern std::atomic<std::uint32_t> last_settler;
/// Whether it is done: nobody reads what others write any more.
extern std::atomic<bool> all_settled;
[[nodiscard]] inline bool is_over() {
  const std::uint32_t settler = last_settler.load(std::memory_order_relaxed);
  return settler != 0 && settler != tls.tid && tls.steps == 0;
}
/// For a thread that finds that it is over. What it does from here on is not recorded, and must not
/// be taken for something that it did before: it waits until the last settler has read that.
/// Whether it may write after all, because the process goes on.
[[nodiscard]] bool wait_for_settler();
/// Counts the thread as busy, unless it is over.
[[nodiscard]] inline bool become_busy() {
  for (;;) {
    ++tls.busy;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!is_over()) [[likely]]
      return true;
    --tls.busy;
    if (!wait_for_settler()) return false;
  }
}
/// A step of a thread that follows its accesses: synchronization, or what its line does not have.
/// The settler waits for its end; it is not begun when it is over.
class Step {
 public:
  Step() {
    for (;;) {
      if (++tls.steps != 1) return;  // a part of another one
      std::atomic_signal_fence(std::memory_order_seq_cst);
      const std::uint32_t settler = last_settler.load(std::memory_order_relaxed);
      if (settler == 0 || settler == tls.tid) [[likely]]
        return;
      --tls.steps;
      if (wait_for_settler()) continue;
      over_ = true;
      return;
    }
  }
  ~Step() {
    if (!over_) --tls.steps;
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  bool over_ = false;
};

/// Room for `count` words that stand in one line, with another one behind them; null when recording
/// has ended. They are written there in order, and then appended() is called.
[[nodiscard]] wire::Word* room(unsigned count);
void appended(unsigned count);
void append(wire::Word word);

/// In a frame that was there before the outermost handler: all of them were left by longjmp.
void leave_handlers();

/// Releases what held_exact says.
void release_exact_slow();
inline void release_exact() {
  if (__builtin_expect(static_cast<long>(tls.held_exact != 0), 0) != 0) release_exact_slow();
}

/// With the site of the access itself, and a version and a time that were taken already.
void sync_at(wire::Sync kind, std::uintptr_t object, std::uint64_t version, wire::Word time,
             wire::Word operand, std::uint32_t site);
void range_at(const void* address, std::size_t length, bool write, std::uint32_t site);

/// In the child after fork: forgets the parent's rings and place in the session; attach() again.
void detach_child();

/// Notes every module that has been loaded since the last call (interpose_process.cc).
void modules_changed();
/// Says so, once, when another library's malloc takes the place of ours (interpose_memory.cc).
void check_allocator();

}  // namespace syndrome::rt
