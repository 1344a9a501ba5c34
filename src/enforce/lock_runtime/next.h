// The C library's function of the same name, behind one of ours that stands in front of it.

#pragma once

#include <dlfcn.h>

#include <atomic>

namespace syndrome {

/// Looked up when it is first called; a lookup always gives the same answer.
template <typename Function>
Function* next_of(std::atomic<Function*>& known, const char* name) {
  Function* found = known.load(std::memory_order_relaxed);
  if (__builtin_expect(found == nullptr, 0)) {
    found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    known.store(found, std::memory_order_relaxed);
  }
  return found;
}

}  // namespace syndrome

/// Declares next_NAME.
#define SYNDROME_NEXT(name)                         \
  static std::atomic<decltype(name)*> known_##name; \
  const auto next_##name = ::syndrome::next_of(known_##name, #name)

// A function's type carries attributes (nonnull, …) that do not matter here.
#pragma GCC diagnostic ignored "-Wignored-attributes"
