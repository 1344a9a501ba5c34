// The annotations that programs already have for ThreadSanitizer: its interface functions, and the
// older dynamic annotations. Both find their functions by name, and these are those names.

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

// Bits of the flags of __tsan_mutex_*, as in sanitizer/tsan_interface.h.
constexpr unsigned kReadLock = 1u << 3;
constexpr unsigned kTryLockFailed = 1u << 5;

void locked(const volatile void* lock, bool shared) {
  note(shared ? Sync::kAcquireShared : Sync::kAcquire, lock);
}
void unlocking(const volatile void* lock, bool shared) {
  note(shared ? Sync::kReleaseShared : Sync::kRelease, lock);
}

}  // namespace

SYNDROME_INTERPOSE void __tsan_acquire(void* object) {
  note(Sync::kHappensAfter, object);
}
SYNDROME_INTERPOSE void __tsan_release(void* object) {
  note(Sync::kHappensBefore, object);
}

SYNDROME_INTERPOSE void __tsan_mutex_create(void* mutex, unsigned) {
  note(Sync::kDestroy, mutex);
}
SYNDROME_INTERPOSE void __tsan_mutex_destroy(void* mutex, unsigned) {
  note(Sync::kDestroy, mutex);
}
SYNDROME_INTERPOSE void __tsan_mutex_pre_lock(void*, unsigned) {}
SYNDROME_INTERPOSE void __tsan_mutex_post_lock(void* mutex, unsigned flags, int) {
  if ((flags & kTryLockFailed) == 0) locked(mutex, (flags & kReadLock) != 0);
}
SYNDROME_INTERPOSE int __tsan_mutex_pre_unlock(void* mutex, unsigned flags) {
  unlocking(mutex, (flags & kReadLock) != 0);
  return 1;  // as many levels of a recursive lock as each unlock gives up
}
SYNDROME_INTERPOSE void __tsan_mutex_post_unlock(void*, unsigned) {}
SYNDROME_INTERPOSE void __tsan_mutex_pre_signal(void* condition, unsigned) {
  note(Sync::kCondSignal, condition);
}
SYNDROME_INTERPOSE void __tsan_mutex_post_signal(void*, unsigned) {}
SYNDROME_INTERPOSE void __tsan_mutex_pre_divert(void*, unsigned) {}
SYNDROME_INTERPOSE void __tsan_mutex_post_divert(void*, unsigned) {}

SYNDROME_INTERPOSE void AnnotateHappensBefore(const char*, int, const volatile void* object) {
  note(Sync::kHappensBefore, object);
}
SYNDROME_INTERPOSE void AnnotateHappensAfter(const char*, int, const volatile void* object) {
  note(Sync::kHappensAfter, object);
}
SYNDROME_INTERPOSE void AnnotateCondVarSignal(const char*, int, const volatile void* condition) {
  note(Sync::kCondSignal, condition);
}
SYNDROME_INTERPOSE void AnnotateCondVarSignalAll(const char*, int, const volatile void* condition) {
  note(Sync::kCondBroadcast, condition);
}
SYNDROME_INTERPOSE void AnnotateCondVarWait(const char*, int, const volatile void* condition,
                                            const volatile void*) {
  note(Sync::kCondWait, condition);
}
SYNDROME_INTERPOSE void AnnotateRWLockCreate(const char*, int, const volatile void* lock) {
  note(Sync::kDestroy, lock);
}
SYNDROME_INTERPOSE void AnnotateRWLockCreateStatic(const char*, int, const volatile void*) {}
SYNDROME_INTERPOSE void AnnotateRWLockDestroy(const char*, int, const volatile void* lock) {
  note(Sync::kDestroy, lock);
}
SYNDROME_INTERPOSE void AnnotateRWLockAcquired(const char*, int, const volatile void* lock,
                                               long writer) {
  locked(lock, writer == 0);
}
SYNDROME_INTERPOSE void AnnotateRWLockReleased(const char*, int, const volatile void* lock,
                                               long writer) {
  unlocking(lock, writer == 0);
}
SYNDROME_INTERPOSE void AnnotateNewMemory(const char*, int, const volatile void* memory,
                                          long bytes) {
  if (bytes > 0 && recording()) {
    sync(Sync::kAlloc, number_of(memory), static_cast<wire::Word>(bytes));
  }
}

}  // namespace syndrome::rt
