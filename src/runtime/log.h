// The log of a thread inside the program: what the probes and the interposed functions write to.
//
// State, and who may touch it:
//   __syndrome_thread      this thread alone (its probes, its signal handlers, this file)
//   the ring behind it     words: this thread writes, the recorder reads and then clears them
//   Shard::lock            whoever performs an atomic (or, with --order exact, any access) on it
//   Shard::version         fetch_add by anyone
// Nothing here allocates from the heap, takes a lock of the program's C library, or changes errno.

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/wire.h"

namespace syndrome::rt {

/// What the probes touch directly; the pass knows this layout (instrument/abi.h).
///
/// `cursor` is where the next word goes. A probe stores its word there, adds 8 to the cursor with
/// one instruction, and when it has filled the last word of a line calls __syndrome_full. A thread
/// that is not recorded has its cursor in a scratch line, so probes never test for that.
struct ThreadWindow {
  wire::Word* cursor;
  std::uint32_t call;    // site of the call that is going on, in the function that runs
  std::uint32_t inside;  // > 0: in the runtime itself; interposed functions only pass on
  wire::Word* filter;    // the entries of filter::Table; null: every access is written
};
extern "C" {
__attribute__((visibility("default"))) extern constinit thread_local ThreadWindow __syndrome_thread
    __attribute__((tls_model("initial-exec")));
}

/// Whether the calling thread records now: the process has a recorder, the thread has a log, and
/// the caller is the program and not the runtime. The first question of every interposed function;
/// gives the thread its log when it has none yet.
[[nodiscard]] bool recording();

/// While one exists, functions that the runtime itself calls are not recorded.
class Inside {
 public:
  Inside() { ++__syndrome_thread.inside; }
  ~Inside() { --__syndrome_thread.inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// Appends a kSync, whose version and time are taken now. Call it before a real release and after a
/// real acquire. Only when recording(). `operand` is for those kinds that have one.
void sync(wire::Sync kind, std::uintptr_t object);
void sync(wire::Sync kind, std::uintptr_t object, wire::Word operand);

/// Appends a kRange for memory that a function without probes reads or writes on behalf of the
/// program: the site is that of the call. Nothing when length is 0.
void read_range(const void* address, std::size_t length);
void write_range(const void* address, std::size_t length);

/// Numbers for threads. Thread 0 is the one that ran first.
[[nodiscard]] std::uint32_t new_thread_number();
[[nodiscard]] std::uint32_t thread_number();  // of the caller

/// The first thing that a new thread does (its fork has been recorded by its creator), and the
/// last. After thread_end() the thread's probes go nowhere.
void thread_begin(std::uint32_t number);
void thread_end();
/// The thread's name as the system shows it, for reports.
void thread_named(const char* name);

/// In the child, before anything else of it runs: it goes on as a process with a trace of its own,
/// with the calling thread as its thread 0. fork_prepare() and fork_parent() around the real fork.
void fork_prepare();
void fork_parent();
void fork_child();

/// For the end of the process (exit, a signal that kills): all threads' words are where the checker
/// finds them. What they do from here on is lost. Only a process that follows its own accesses
/// (follow.h) has something to do here.
void settle_for_all();
/// The same before an exec, which may fail: other threads wait when they come to synchronize, until
/// go_on_settling().
void settle_before_exec();
void go_on_settling();
/// Signals that would kill the process let it do so first (interpose_signal.cc).
void settle_before_death();

/// The calling thread ends the process, with this exit code or by this signal (wire::Meta::kEnded).
/// May be called in a signal handler. Writes nothing when the metadata is being written by the very
/// code that the handler has interrupted.
void note_end(wire::EndHow how, int number, wire::EndSaidBy said_by);
/// Signals that a thread brings upon itself are noted before they kill (interpose_signal.cc).
void note_before_death();

/// Around a signal handler of the program: the code that was interrupted may be in the middle of a
/// probe, and the handler's words go behind it.
struct SignalFrame {
  ThreadWindow window;
  std::uint32_t held;  // the shard of the atomic that was interrupted
  bool recorded;       // false: the handler's words go nowhere
  bool follows;        // they go into a line of their own (follow.h)
  bool unborn;         // the thread has not begun with code of its own
};
void signal_enter(SignalFrame& frame);
void signal_leave(const SignalFrame& frame);

/// Appends a record to the process's metadata (event/wire.h). Pieces are written one after another.
struct Piece {
  const void* data;
  std::size_t bytes;
};
void meta(wire::Meta type, const Piece* pieces, std::size_t count);

/// The number of a string in the metadata; equal texts may get different numbers.
[[nodiscard]] std::uint32_t intern(const char* text);

/// What is printed on standard error, once, starting with "syndrome: "; never through stdio.
void complain(const char* text, const char* detail = nullptr);

/// Whether the process is recorded at all (this thread or not), and the value of SYNDROME_SESSION
/// that children need, or nullptr.
[[nodiscard]] bool process_recorded();
[[nodiscard]] const char* session_path();

/// Before the process becomes `user` for good: what it does and starts then finds the session.
void share_session(std::uint32_t user);

}  // namespace syndrome::rt
