// System calls as the kernel has them: the C library's wrappers may be interposed by this very
// runtime, and set errno. Each gives the result, or the negative error number.

#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

namespace syndrome::rt::sys {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
  long result = 0;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline long address_of(const void* p) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(p));
}

inline int open(const char* path, int flags, int mode = 0) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, address_of(path), flags, mode));
}
inline void close(int fd) {
  call(SYS_close, fd);
}
inline long write(int fd, const void* data, std::size_t bytes) {
  return call(SYS_write, fd, address_of(data), static_cast<long>(bytes));
}
inline long read(int fd, void* data, std::size_t bytes) {
  return call(SYS_read, fd, address_of(data), static_cast<long>(bytes));
}
/// Null when it fails.
inline void* map(std::size_t bytes, int protection, int flags, int fd, long offset) {
  const long result = call(SYS_mmap, 0, static_cast<long>(bytes), protection, flags, fd, offset);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}
/// A second mapping of the shared memory that is mapped at `address`, and of what follows it in its
/// file. Null when it fails.
inline void* map_again(const void* address, std::size_t bytes) {
  const long result =
      call(SYS_mremap, address_of(address), 0, static_cast<long>(bytes), MREMAP_MAYMOVE);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}
inline void unmap(void* address, std::size_t bytes) {
  call(SYS_munmap, address_of(address), static_cast<long>(bytes));
}
inline std::uint32_t getpid() {
  return static_cast<std::uint32_t>(call(SYS_getpid));
}
inline std::uint32_t gettid() {
  return static_cast<std::uint32_t>(call(SYS_gettid));
}
inline void yield() {
  call(SYS_sched_yield);
}

}  // namespace syndrome::rt::sys
