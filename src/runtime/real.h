// The functions behind the ones that the runtime defines: libc's, libstdc++'s.
//
// SYNDROME_REAL(read); at namespace scope declares real_read, which is called as read is. It is
// looked up with dlsym(RTLD_NEXT) when the library is initialized, or earlier when something calls
// it earlier (the dynamic loader calls malloc before any constructor has run).
//
// State, and who may touch it:
//   Slot::address      anyone, relaxed: a lookup always gives the same answer
//   looking_up         this thread alone

#pragma once

#include <atomic>
#include <cstddef>

// A function's type carries attributes (nonnull, …) that do not matter here.
#pragma GCC diagnostic ignored "-Wignored-attributes"

namespace syndrome::rt {

/// One looked-up function. All of them stand side by side in a section of their own, so that
/// initialization can find them.
struct Slot {
  const char* name;
  std::atomic<void*> address{nullptr};

  [[nodiscard]] void* get() {
    void* const known = address.load(std::memory_order_relaxed);
    return __builtin_expect(known != nullptr, 1) ? known : look_up();
  }
  /// Null when no library behind this one has the function.
  void* look_up();
};

template <typename F>
struct Real;
template <typename R, typename... A>
struct Real<R(A...)> : Slot {
  using Pointer = R (*)(A...);
  [[nodiscard]] Pointer pointer() { return reinterpret_cast<Pointer>(get()); }
  R operator()(A... arguments) { return pointer()(arguments...); }
};
template <typename R, typename... A>
struct Real<R(A...) noexcept> : Real<R(A...)> {};
template <typename R, typename... A>
struct Real<R(A..., ...)> : Slot {
  using Pointer = R (*)(A..., ...);
  [[nodiscard]] Pointer pointer() { return reinterpret_cast<Pointer>(get()); }
};
template <typename R, typename... A>
struct Real<R(A..., ...) noexcept> : Real<R(A..., ...)> {};

/// True while this thread is in dlsym, which may allocate before there is an allocator to ask.
[[nodiscard]] bool looking_up();

}  // namespace syndrome::rt

// The type is given where libc's headers do not declare the function.
#define SYNDROME_REAL_AS(function, ...)                                    \
  __attribute__((section("syndrome_real"),                                 \
                 used)) constinit static ::syndrome::rt::Real<__VA_ARGS__> \
      real_##function {                                                    \
    {                                                                      \
      #function                                                            \
    }                                                                      \
  }
#define SYNDROME_REAL(function) SYNDROME_REAL_AS(function, decltype(::function))

/// In front of each definition that takes the place of a library's function.
#define SYNDROME_INTERPOSE extern "C" __attribute__((visibility("default")))
