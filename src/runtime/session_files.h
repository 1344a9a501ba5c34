// The files of the session as the program's side opens them. Internal.
//
// Nothing is kept open: programs close all descriptors, and count them. So every file is found by
// its name when it is needed; what must go on without names (after a chroot, with no descriptor
// left) goes on through memory that is mapped already (rings.cc).

#pragma once

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/sys.h"

namespace syndrome::rt {

/// Guards attaching, the list of rings, and the metadata. Held briefly, never while the program's
/// code runs.
class Lock {
 public:
  explicit Lock(std::atomic<std::uint32_t>& word) : word_(word) {
    while (word_.exchange(1, std::memory_order_acquire) != 0) sys::yield();
  }
  ~Lock() { word_.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic<std::uint32_t>& word_;
};

/// The program's limit on the size of a file (RLIMIT_FSIZE) holds for what we write, too. While
/// this lives, the signal that the kernel sends then is kept from the program, which would die of
/// it.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sys::call(SYS_rt_sigprocmask, SIG_BLOCK, sys::address_of(&kMask), sys::address_of(&before_),
              sizeof(kMask));
    sys::call(SYS_rt_sigpending, sys::address_of(&pending_), sizeof(pending_));
  }
  ~WithoutSizeSignal() {
    if ((pending_ & kMask) == 0) {  // else it is the program's own
      const timespec now{};
      sys::call(SYS_rt_sigtimedwait, sys::address_of(&kMask), 0, sys::address_of(&now),
                sizeof(kMask));
    }
    sys::call(SYS_rt_sigprocmask, SIG_SETMASK, sys::address_of(&before_), 0, sizeof(before_));
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  static constexpr std::uint64_t kMask = std::uint64_t{1} << (SIGXFSZ - 1);
  std::uint64_t before_ = 0;
  std::uint64_t pending_ = 0;
};

inline constexpr std::size_t kMaxPath = 1024;
struct Path {
  char text[kMaxPath + 32];
};

/// The session's file "NAME", or "SLOT.NAME" of this process.
[[nodiscard]] Path path_of(const char* name, bool of_process);

/// Whoever may write into the session's folder, which the program can give to another user
/// (share_session), must not lead us out of it.
inline constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW;

/// Makes the file of this process's rings. False when it cannot be made.
[[nodiscard]] bool make_rings_file();
/// In a forked child: the rings that it knows are its parent's.
void forget_rings();

}  // namespace syndrome::rt
