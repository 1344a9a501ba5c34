// A lock that waits by trying again, for a few instructions at a time. No signal handler may take
// one that its thread may have: the runtime defers what signal handlers do.

#pragma once

#include <atomic>
#include <cstdint>

namespace syndrome::engine {

class Spin {
 public:
  void lock() {
    while (taken_.exchange(1, std::memory_order_acquire) != 0) {
      while (taken_.load(std::memory_order_relaxed) != 0) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    }
  }
  void unlock() { taken_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> taken_{0};
};

class Locked {
 public:
  explicit Locked(Spin& spin) : spin_(spin) { spin_.lock(); }
  ~Locked() { spin_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Spin& spin_;
};

}  // namespace syndrome::engine
