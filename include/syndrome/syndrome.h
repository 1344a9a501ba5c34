// Annotations for programs that Syndrome checks. C and C++, GCC and clang; nothing to link.
//
// They compile to nothing that matters without Syndrome: function attributes are only seen by
// `syndrome cc`, and the others call the runtime when it is in the process and do nothing when not.
//
//   SYNDROME_ATOMIC void transfer(…);       the function must be atomic
//   SYNDROME_DETERMINISTIC void sort(…);    its result must not depend on the schedule
//   SYNDROME_UNIT(S1, S2) void update(…);   a unit of work for these atomic sets; () for all
//
//   { SYNDROME_ATOMIC_SCOPE("transfer"); … }           the same for the rest of the braces
//   { SYNDROME_DETERMINISTIC_SCOPE("sort"); … }
//   { SYNDROME_UNIT_SCOPE("S1,S2"); … }
//
//   SYNDROME_ATOMIC_SET(S1) int x;          a variable or field that belongs to an atomic set
//
//   SYNDROME_HAPPENS_BEFORE(&flag);         home-made synchronization: what this thread did so far
//   SYNDROME_HAPPENS_AFTER(&flag);          … comes before what that thread does from here on
//
//   SYNDROME_NO_PROBES void trace(…);       a function whose accesses are not recorded

#ifndef SYNDROME_SYNDROME_H
#define SYNDROME_SYNDROME_H

#include <stdint.h>

#if defined(__clang__)
#define SYNDROME_INTERNAL_ANNOTATE(text) __attribute__((annotate(text)))
#else
#define SYNDROME_INTERNAL_ANNOTATE(text)
#endif

#define SYNDROME_ATOMIC SYNDROME_INTERNAL_ANNOTATE("syndrome.atomic")
#define SYNDROME_DETERMINISTIC SYNDROME_INTERNAL_ANNOTATE("syndrome.deterministic")
#define SYNDROME_UNIT(...) SYNDROME_INTERNAL_ANNOTATE("syndrome.unit:" #__VA_ARGS__)
#define SYNDROME_ATOMIC_SET(name) SYNDROME_INTERNAL_ANNOTATE("syndrome.atomic-set:" #name)

#if defined(__clang__)
#define SYNDROME_NO_PROBES __attribute__((disable_sanitizer_instrumentation))
#else
#define SYNDROME_NO_PROBES
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The runtime's, and null without it.
__attribute__((weak)) void __syndrome_block_begin(uint32_t kind, const char* label);
__attribute__((weak)) void __syndrome_block_end(uint32_t kind, const char* label);
__attribute__((weak)) void __syndrome_happens_before(const void* object);
__attribute__((weak)) void __syndrome_happens_after(const void* object);

#ifdef __cplusplus
}
#endif

struct syndrome_internal_scope {
  const char* label;
  uint32_t kind;
};

SYNDROME_NO_PROBES static inline struct syndrome_internal_scope syndrome_internal_begin(
    uint32_t kind, const char* label) {
  struct syndrome_internal_scope scope;
  scope.label = label;
  scope.kind = kind;
  if (__syndrome_block_begin) __syndrome_block_begin(kind, label);
  return scope;
}

SYNDROME_NO_PROBES static inline void syndrome_internal_end(
    const struct syndrome_internal_scope* scope) {
  if (__syndrome_block_end) __syndrome_block_end(scope->kind, scope->label);
}

#define SYNDROME_INTERNAL_JOIN2(a, b) a##b
#define SYNDROME_INTERNAL_JOIN(a, b) SYNDROME_INTERNAL_JOIN2(a, b)
#define SYNDROME_INTERNAL_SCOPE(kind, label)                                          \
  struct syndrome_internal_scope SYNDROME_INTERNAL_JOIN(syndrome_scope_, __COUNTER__) \
      __attribute__((cleanup(syndrome_internal_end), unused)) =                       \
          syndrome_internal_begin((kind), (label))

#define SYNDROME_ATOMIC_SCOPE(label) SYNDROME_INTERNAL_SCOPE(0u, (label))
#define SYNDROME_DETERMINISTIC_SCOPE(label) SYNDROME_INTERNAL_SCOPE(1u, (label))
#define SYNDROME_UNIT_SCOPE(sets) SYNDROME_INTERNAL_SCOPE(2u, (sets))

#define SYNDROME_HAPPENS_BEFORE(object) \
  ((void)(__syndrome_happens_before ? (__syndrome_happens_before((object)), 0) : 0))
#define SYNDROME_HAPPENS_AFTER(object) \
  ((void)(__syndrome_happens_after ? (__syndrome_happens_after((object)), 0) : 0))

#endif  // SYNDROME_SYNDROME_H
