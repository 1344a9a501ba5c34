// Memory for tables that are larger than the caches and are hit at random: in pages of 2 MB, so
// that finding the page of an entry does not cost more than the entry.

#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace syndrome::clock {

/// An allocator for std::vector. Small tables come from the ordinary heap.
template <class T>
struct HugePages {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{2} << 20U;

  HugePages() = default;
  template <class U>
  explicit HugePages(const HugePages<U>&) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes));
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = std::aligned_alloc(kPage, whole);
    if (memory == nullptr) throw std::bad_alloc();
    // Only advice: where the kernel has no such pages, ordinary ones do.
    (void)madvise(memory, whole, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kPage) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }

  friend bool operator==(HugePages, HugePages) { return true; }
};

}  // namespace syndrome::clock
