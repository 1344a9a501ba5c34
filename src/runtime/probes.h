// The functions that instrumented code calls: the interface between the pass (instrument/) and the
// runtime. All of them are cheap no-ops in a process that is not recorded.
//
// Most probes are not calls: the pass writes the words itself, like this (AT&T syntax; %tls is the
// address of __syndrome_thread, %word the word):
//
//     movq  (%tls), %tmp
//     movq  %word, (%tmp)
//     addq  $8, (%tls)             one instruction: a signal cannot come in between
//     cmpb  $0xf8, %tmp_low_byte   was that the last word of its line?
//     jne   1f
//     call  *__syndrome_full@GOTPCREL(%rip)    preserves every register but the flags
//   1:

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/wire.h"

extern "C" {

/// A translation unit announces itself from its constructor: its unit (event/unit.h) and its global
/// variables. `globals` may be null.
struct SyndromeGlobal {
  const void* address;
  std::uint64_t bytes;
  std::uint32_t name;  // string in the unit
  std::uint32_t zero;
};
void __syndrome_unit(const void* unit, const SyndromeGlobal* globals, std::uint64_t count);

/// See above. Not callable from C: it keeps every register.
void __syndrome_full();
/// Likewise, with their arguments on the stack, which they take from it: the word of an access that
/// the filter (event/filter.h) does not know, and above it what it needs; the enter or exit of a
/// block.
void __syndrome_miss();
void __syndrome_block();

/// Around an atomic instruction, which runs while the address's shard is held. `what`:
/// wire::Sync (kAtomicLoad, kAtomicStore, kAtomicRmw, kOrdered, kHappensAfter) | bytes << 8 |
/// order << 16; a failed compare-exchange is a kAtomicLoad.
void __syndrome_atomic_begin(const void* address);
void __syndrome_atomic_end(const void* address, std::uint32_t site, std::uint32_t what);

/// A fence, called directly after the instruction.
void __syndrome_fence(std::uint32_t site, std::uint32_t order);

/// In place of llvm.memcpy, memmove and memset whose length is not a small constant.
void* __syndrome_memcpy(void* to, const void* from, std::size_t bytes, std::uint32_t read_site,
                        std::uint32_t write_site);
void* __syndrome_memmove(void* to, const void* from, std::size_t bytes, std::uint32_t read_site,
                         std::uint32_t write_site);
void* __syndrome_memset(void* to, int value, std::size_t bytes, std::uint32_t write_site);

/// A local variable whose address leaves its function begins its life.
void __syndrome_local(const void* address, std::uint64_t bytes);

/// Whether accesses must be recorded one by one, each directly before it happens (--order exact,
/// --noise).
/// Loops exist twice: with such probes, and with what follows.
extern std::uint32_t __syndrome_pinned;
/// The accesses of a loop that has ended (wire::Control::kRun). `first`: where each site was in the
/// first round; `rest`: how many of them had their turn once more after `rounds` whole ones.
struct SyndromeRun {
  std::uint32_t sites;
  std::uint32_t flags;       // kNamed, and a bit for each site from kCovered on
  std::uint64_t strides[2];  // operands
  std::uint64_t tops[8];     // access words with address 0
  std::uint8_t shapes[8];    // bytes << 1 | whether it writes, and 0x80: it may lie in two granules
  const void* function;      // the unit::Function whose sites they are
  static constexpr std::uint32_t kNamed = 1;          // it is: older compilers end before it
  static constexpr std::uint32_t kCovered = 1u << 8;  // the site reads what was just accessed
};
void __syndrome_run(const SyndromeRun* run, const void* const* first, std::uint64_t rounds,
                    std::uint32_t rest);
/// Whether the process follows its accesses (follow.h): then what other loops do at one site to
/// neighbours, one after another, is recorded at once, by the first of these two with `run` of one
/// site. `next`: behind the last. The second has its arguments on the stack and takes them from it,
/// as __syndrome_full, and keeps every register.
extern std::uint32_t __syndrome_follows;
void __syndrome_stretch(const SyndromeRun* run, const void* first, const void* next);
void __syndrome_gap();
/// The same of some of 64 neighbours: the first one, and a bit for each from there on.
void __syndrome_spots(const SyndromeRun* run, const void* first, std::uint64_t bits);
void __syndrome_far();
/// One access of such a loop, where the compiler ends before it knows better (the object files of
/// some kinds of link-time optimization). `what`: as SyndromeRun::shapes. `done`: whether this read
/// was recorded in this run of the loop. `function`: as there.
void __syndrome_mark(const void* address, std::uint64_t site, std::uint32_t what,
                     const void* function);
void __syndrome_mark_once(const void* address, std::uint64_t site, unsigned char* done,
                          const void* function);

/// In a function that calls setjmp: once after its enter, giving the frame its number, and after
/// each return of setjmp.
std::uint64_t __syndrome_frame();
void __syndrome_resume(std::uint64_t frame);

/// Synchronization that is recognized by function: std::latch, std::barrier,
/// std::counting_semaphore. arrive and post before the real operation, leave and wait after it.
void __syndrome_barrier_arrive(const void* barrier);
void __syndrome_barrier_leave(const void* barrier);
void __syndrome_post(const void* semaphore);
void __syndrome_wait(const void* semaphore);

/// Around std::lock and std::try_lock: of the locks that are taken in between, those that are still
/// held at the end are recorded, then.
void __syndrome_locks_begin();
void __syndrome_locks_end();

/// A scoped block (syndrome/syndrome.h). `kind`: wire::Block.
void __syndrome_block_begin(std::uint32_t kind, const char* label);
void __syndrome_block_end(std::uint32_t kind, const char* label);

/// Home-made synchronization (syndrome/syndrome.h).
void __syndrome_happens_before(const void* object);
void __syndrome_happens_after(const void* object);
}

namespace syndrome::rt {

/// How many accesses a stretch has.
[[nodiscard]] inline std::uint64_t rounds_of(const SyndromeRun& run, const void* first,
                                             const void* next) {
  const auto from = reinterpret_cast<std::uintptr_t>(first);
  const auto to = reinterpret_cast<std::uintptr_t>(next);
  return (from < to ? to - from : from - to) / (run.shapes[0] >> 1);
}

/// Calls visit(first, rounds) for each stretch among spots.
template <class Visit>
inline void each_stretch(const SyndromeRun& run, const void* first, std::uint64_t bits,
                         const Visit& visit) {
  const std::int64_t stride = syndrome::wire::stride_of(run.strides[0], 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  for (std::uint64_t from = 0; bits != 0;) {
    const auto gap = static_cast<std::uint64_t>(__builtin_ctzll(bits));
    bits >>= gap;
    from += gap;
    const std::uint64_t rounds =
        ~bits == 0 ? 64 : static_cast<std::uint64_t>(__builtin_ctzll(~bits));
    visit(begin + from * static_cast<std::uint64_t>(stride), rounds);
    bits = rounds == 64 ? 0 : bits >> rounds;
    from += rounds;
  }
}

}  // namespace syndrome::rt
