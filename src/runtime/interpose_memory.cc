// Memory: malloc and its relatives, mmap. What is allocated is new, whatever was there before.
//
// kAlloc comes after the real allocation, kFree before the real freeing; both have all the bytes
// that malloc_usable_size would tell, because programs ask it and use them. dlsym may allocate
// before the real malloc is known: it gets memory from `early`, which is never given back.
//
// State, and who may touch it:
//   early_used     anyone, by fetch_add

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(malloc);
SYNDROME_REAL(calloc);
SYNDROME_REAL(realloc);
SYNDROME_REAL(free);
SYNDROME_REAL(memalign);
SYNDROME_REAL(aligned_alloc);
SYNDROME_REAL(posix_memalign);
SYNDROME_REAL(valloc);
SYNDROME_REAL(pvalloc);
SYNDROME_REAL(malloc_usable_size);
SYNDROME_REAL(mmap);
SYNDROME_REAL(mmap64);
SYNDROME_REAL(munmap);
SYNDROME_REAL(mremap);
SYNDROME_REAL(brk);
SYNDROME_REAL(sbrk);

constexpr std::size_t kEarlyBytes = std::size_t{64} << 10;
constexpr std::size_t kAlignment = 16;
alignas(kAlignment) char early[kEarlyBytes];
std::size_t early_used = 0;

bool is_early(const void* memory) {
  return memory >= early && memory < early + kEarlyBytes;
}

// What is left stays zero, as calloc needs it.
void* early_allocation(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  if (bytes > kEarlyBytes) return nullptr;
  const std::size_t at = __atomic_fetch_add(&early_used, rounded, __ATOMIC_RELAXED);
  return at + rounded <= kEarlyBytes ? early + at : nullptr;
}

void* allocated(void* memory, std::size_t bytes) {
  if (memory != nullptr && recording()) sync(Sync::kAlloc, number_of(memory), bytes);
  return memory;
}

/// By malloc and its relatives.
void* given(void* memory) {
  if (memory == nullptr || !recording()) return memory;
  return allocated(memory, real_malloc_usable_size(memory));
}

void freeing(void* memory) {
  if (memory != nullptr && recording()) {
    sync(Sync::kFree, number_of(memory), real_malloc_usable_size(memory));
  }
}

// The old block is gone before the call, as far as anyone else may know; the new one is new as a
// whole, because what realloc copied has been read and written by no one who could race with it.
// When the call fails the old block is still there: it begins again.
template <typename Call>
void* reallocated(void* old, std::size_t bytes, Call call) {
  if (is_early(old)) {
    void* const moved = real_malloc(bytes);
    if (moved == nullptr) return nullptr;
    const auto left = static_cast<std::size_t>(early + kEarlyBytes - static_cast<char*>(old));
    __builtin_memcpy(moved, old, bytes < left ? bytes : left);
    return moved;
  }
  if (!recording()) return call();
  const std::size_t had = old != nullptr ? real_malloc_usable_size(old) : 0;
  if (old != nullptr) sync(Sync::kFree, number_of(old), had);
  void* const now = call();
  if (now != nullptr) {
    given(now);
  } else if (old != nullptr && bytes != 0) {
    allocated(old, had);
  }
  return now;
}

std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) & ~(kPage - 1);
}

template <typename Call>
void* mapped(std::size_t bytes, Call call) {
  void* const memory = call();
  if (memory != MAP_FAILED) allocated(memory, whole_pages(bytes));
  return memory;
}

}  // namespace

void check_allocator() {
  static bool checked = false;
  if (checked) return;
  checked = true;
  void* const first = dlsym(RTLD_DEFAULT, "malloc");
  Dl_info theirs{};
  Dl_info ours{};
  if (first == nullptr || dladdr(first, &theirs) == 0 || dladdr(early, &ours) == 0) return;
  // In the program itself it may have probes, and then it is seen as what it is.
  const std::uintptr_t program = getauxval(AT_PHDR) & ~std::uintptr_t{4095};
  if (theirs.dli_fbase == ours.dli_fbase || number_of(theirs.dli_fbase) == program) return;
  char text[1024];
  char* end = text;
  const auto add = [&](const char* more) {
    while (*more != 0 && end < text + sizeof(text) - 1) *end++ = *more++;
    *end = 0;
  };
  add("malloc of ");
  add(theirs.dli_fname);
  add(" stands in front of the runtime, which does not see it: memory that is used again may look "
      "like a race. Begin LD_PRELOAD with ");
  complain(text, ours.dli_fname);
}

SYNDROME_INTERPOSE void* malloc(std::size_t bytes) noexcept {
  if (looking_up()) return early_allocation(bytes);
  return given(real_malloc(bytes));
}
SYNDROME_INTERPOSE void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t whole = 0;
  const bool overflow = __builtin_mul_overflow(count, bytes, &whole);
  if (looking_up()) return overflow ? nullptr : early_allocation(whole);
  return given(real_calloc(count, bytes));
}
SYNDROME_INTERPOSE void free(void* memory) noexcept {
  if (is_early(memory)) return;
  // dlsym gives back an old message before it looks anything up, this function included.
  if (looking_up() && real_free.address.load(std::memory_order_relaxed) == nullptr) return;
  freeing(memory);
  real_free(memory);
}
SYNDROME_INTERPOSE void* realloc(void* old, std::size_t bytes) noexcept {
  if (looking_up() && old == nullptr) return early_allocation(bytes);
  return reallocated(old, bytes, [=] { return real_realloc(old, bytes); });
}
// The real one ends in realloc, which may be this one.
SYNDROME_INTERPOSE void* reallocarray(void* old, std::size_t count, std::size_t bytes) noexcept {
  std::size_t whole = 0;
  if (!__builtin_mul_overflow(count, bytes, &whole)) return realloc(old, whole);
  errno = ENOMEM;
  return nullptr;
}
SYNDROME_INTERPOSE void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return given(real_memalign(alignment, bytes));
}
SYNDROME_INTERPOSE void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return given(real_aligned_alloc(alignment, bytes));
}
SYNDROME_INTERPOSE int posix_memalign(void** memory, std::size_t alignment,
                                      std::size_t bytes) noexcept {
  const int result = real_posix_memalign(memory, alignment, bytes);
  if (result == 0) given(*memory);
  return result;
}
SYNDROME_INTERPOSE void* valloc(std::size_t bytes) noexcept {
  return given(real_valloc(bytes));
}
SYNDROME_INTERPOSE void* pvalloc(std::size_t bytes) noexcept {
  return given(real_pvalloc(bytes));
}
// Of memory that dlsym was given, what is certainly there: nothing beyond what was asked for.
SYNDROME_INTERPOSE std::size_t malloc_usable_size(void* memory) noexcept {
  return is_early(memory) ? 0 : real_malloc_usable_size(memory);
}

SYNDROME_INTERPOSE void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                              off_t offset) noexcept {
  return mapped(bytes, [=] { return real_mmap(at, bytes, protection, flags, file, offset); });
}
SYNDROME_INTERPOSE void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file,
                                off64_t offset) noexcept {
  return mapped(bytes, [=] { return real_mmap64(at, bytes, protection, flags, file, offset); });
}
SYNDROME_INTERPOSE int munmap(void* memory, std::size_t bytes) noexcept {
  if (recording()) sync(Sync::kFree, number_of(memory), whole_pages(bytes));
  return real_munmap(memory, bytes);
}
SYNDROME_INTERPOSE void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags,
                                ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  const auto call = [=] { return real_mremap.pointer()(old, old_bytes, bytes, flags, wanted); };
  if (!recording()) return call();
  sync(Sync::kFree, number_of(old), whole_pages(old_bytes));
  void* const now = call();
  if (now == MAP_FAILED) {
    allocated(old, whole_pages(old_bytes));
  } else {
    allocated(now, whole_pages(bytes));
  }
  return now;
}

SYNDROME_INTERPOSE int brk(void* end) noexcept {
  auto* const before = static_cast<char*>(real_sbrk(0));
  const int result = real_brk(end);
  if (result == 0 && before < end) {
    allocated(before, static_cast<std::size_t>(static_cast<char*>(end) - before));
  }
  return result;
}
SYNDROME_INTERPOSE void* sbrk(intptr_t bytes) noexcept {
  void* const before = real_sbrk(bytes);
  if (bytes > 0 && number_of(before) != UINTPTR_MAX) {
    allocated(before, static_cast<std::size_t>(bytes));
  }
  return before;
}

}  // namespace syndrome::rt
