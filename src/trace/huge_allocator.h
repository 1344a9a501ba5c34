// Memory for large vectors that are written once, from the beginning: by huge pages where the
// system has them. In virtual machines a page that is touched for the first time takes
// microseconds, and a recording's words fill tens of thousands of small ones. What is reserved and
// never touched costs nothing.

#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace syndrome::trace {

template <class T>
struct HugeAllocator {
  using value_type = T;
  HugeAllocator() = default;
  template <class U>
  explicit HugeAllocator(const HugeAllocator<U>&) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* memory = nullptr;
    if (bytes < kHuge) {
      memory = std::malloc(bytes);
    } else {
      const std::size_t rounded = round(bytes);
      memory = std::aligned_alloc(kHuge, rounded);
      if (memory != nullptr) ::madvise(memory, rounded, MADV_HUGEPAGE);
    }
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  friend bool operator==(HugeAllocator, HugeAllocator) { return true; }

 private:
  static constexpr std::size_t kHuge = std::size_t{2} << 20;
  [[nodiscard]] static std::size_t round(std::size_t bytes) {
    return (bytes + kHuge - 1) / kHuge * kHuge;
  }
};

template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace syndrome::trace
