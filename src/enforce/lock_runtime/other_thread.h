// What tests of the locks share: another thread that wants one.

#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "enforce/lock_runtime/locks.h"

extern "C" {
void __syndrome_lock_read(std::uint32_t number, void* frame);
void __syndrome_lock_exclusive(std::uint32_t number, void* frame);
void __syndrome_lock_release(std::uint32_t number, void* frame);
void __syndrome_lock_degrade(std::uint32_t number, void* frame);
void __syndrome_lock_resume(void* frame);
}

namespace syndrome::locks {

// Longer than any machine keeps a thread from running, so that nothing here depends on how busy it
// is: a lock that is not given back is missed after this time.
inline const bool patient = [] {
  patience_ms = 60'000;
  return true;
}();

/// Another thread that takes the lock and gives it back.
class Other {
 public:
  Other(std::uint32_t lock, bool exclusive)
      : thread_([this, lock, exclusive] {
          char frame = 0;
          exclusive ? __syndrome_lock_exclusive(lock, &frame) : __syndrome_lock_read(lock, &frame);
          taken_ = self().entries[lock].aside == 0;
          __syndrome_lock_release(lock, &frame);
        }) {}
  ~Other() {
    if (thread_.joinable()) thread_.join();
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  /// Whether it had the lock, now that it is done.
  [[nodiscard]] bool could() {
    thread_.join();
    return taken_;
  }
  [[nodiscard]] bool has_taken() const { return taken_; }

 private:
  std::atomic<bool> taken_ = false;
  std::thread thread_;
};

inline bool is_free(std::uint32_t lock, bool exclusive) {
  return Other(lock, exclusive).could();
}
/// Gives `frame` its lock back in the end, which the other thread then gets.
inline void expect_held(std::uint32_t lock, bool exclusive, char& frame) {
  Other other(lock, exclusive);
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_FALSE(other.has_taken());
  __syndrome_lock_release(lock, &frame);
  EXPECT_TRUE(other.could());
}

}  // namespace syndrome::locks
