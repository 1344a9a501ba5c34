// What the interposed functions have in common: when to record, and around what.
//
// Every one of them asks recording() first and, when it says no, is the real function and nothing
// else. Real functions are called with no lock of ours held: they may block, be cancelled, or be
// left by longjmp.

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/wire.h"
#include "runtime/log.h"
#include "runtime/noise.h"
#include "runtime/real.h"

namespace syndrome::rt {

using wire::Sync;

[[nodiscard]] inline std::uintptr_t number_of(const volatile void* object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

/// Records, if the caller is to be recorded.
inline void note(Sync kind, const volatile void* object) {
  if (recording()) sync(kind, number_of(object));
}

/// Something that takes effect when the function is called: a release, a post, an arrival.
template <typename Call>
inline auto note_before(Sync kind, const volatile void* object, Call call) {
  note(kind, object);
  const auto result = call();
  noise();
  return result;
}

/// Something that takes effect when the function has returned `done`: an acquire.
template <typename Call>
inline auto note_after(Sync kind, const volatile void* object, Call call, int done = 0) {
  noise();
  const auto result = call();
  if (result == done) note(kind, object);
  return result;
}

/// A lock that keeps the runtime's own tables, held for a few instructions. Not for signal
/// handlers, unless whoever takes it has blocked signals.
class Spin {
 public:
  void lock() {
    while (__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) pause();
  }
  void unlock() { __atomic_store_n(&taken_, false, __ATOMIC_RELEASE); }
  /// Before a fork, so that the child's copy of the table is whole. Gives up in the end: a signal
  /// handler may fork while the code that it interrupted holds this.
  [[nodiscard]] bool lock_soon() {
    constexpr int kTries = 10'000;
    for (int i = 0; i < kTries; ++i) {
      if (!__atomic_exchange_n(&taken_, true, __ATOMIC_ACQUIRE)) return true;
      pause();
    }
    return false;
  }

 private:
  static void pause();
  bool taken_ = false;
};

class Hold {
 public:
  explicit Hold(Spin& spin) : spin_(spin) { spin_.lock(); }
  ~Hold() { spin_.unlock(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Spin& spin_;
};

/// In a forked child, after fork_child(): the tables of the interposed functions forget the threads
/// that the child does not have.
void mutexes_after_fork();
void modules_after_fork();

/// The locks of the tables of interpose_threads.cc and so on.
[[nodiscard]] Spin& threads_spin();
[[nodiscard]] Spin& signals_spin();
[[nodiscard]] Spin& modules_spin();
[[nodiscard]] Spin& openmp_spin();

/// Records the modules that have been loaded since the last call (wire::Meta::kModule).
void modules_changed();
/// Says so, once, when another library's malloc takes the place of ours.
void check_allocator();

/// Releasing this mutex now would work: its kind lets anyone unlock it, or the caller is its owner.
[[nodiscard]] bool may_unlock(const void* pthread_mutex);

/// gettid() of the caller, remembered.
[[nodiscard]] int thread_id();

/// At the end of a thread: the robust mutexes that it holds are released, by the kernel and for
/// whoever gets EOWNERDEAD next.
void note_robust_released();

/// After a lock function of a mutex has returned `result`.
void note_locked(const void* mutex, int result);

}  // namespace syndrome::rt
