// The names and layouts that instrumented code and the runtime (runtime/probes.h, runtime/log.h)
// agree on, as the compiler plugin needs them.

#pragma once

#include <cstddef>

#include "event/filter.h"
#include "event/unit.h"
#include "event/wire.h"

namespace syndrome::instrument::abi {

inline constexpr char kThread[] = "__syndrome_thread";
/// runtime/log.h, ThreadWindow: { cursor:ptr, call:i32, inside:i32, filter:ptr }.
inline constexpr unsigned kCallOffset = 8;
inline constexpr unsigned kFilterOffset = 16;

/// Whatever begins like this belongs to the runtime and gets no probes.
inline constexpr char kPrefix[] = "__syndrome_";

inline constexpr char kUnit[] = "__syndrome_unit";
inline constexpr char kAtomicBegin[] = "__syndrome_atomic_begin";
inline constexpr char kAtomicEnd[] = "__syndrome_atomic_end";
inline constexpr char kFence[] = "__syndrome_fence";
inline constexpr char kMemcpy[] = "__syndrome_memcpy";
inline constexpr char kMemmove[] = "__syndrome_memmove";
inline constexpr char kMemset[] = "__syndrome_memset";
inline constexpr char kLocksBegin[] = "__syndrome_locks_begin";
inline constexpr char kLocksEnd[] = "__syndrome_locks_end";
inline constexpr char kLocal[] = "__syndrome_local";
inline constexpr char kPinned[] = "__syndrome_pinned";
inline constexpr char kRun[] = "__syndrome_run";
inline constexpr char kFollows[] = "__syndrome_follows";
/// SyndromeRun::flags (runtime/probes.h).
inline constexpr std::uint32_t kRunNamed = 1;
inline constexpr std::uint32_t kRunCovered = 1u << 8;
inline constexpr char kStretch[] = "__syndrome_stretch";
inline constexpr char kSpots[] = "__syndrome_spots";
inline constexpr char kMark[] = "__syndrome_mark";
inline constexpr char kMarkOnce[] = "__syndrome_mark_once";
inline constexpr char kFrame[] = "__syndrome_frame";
inline constexpr char kResume[] = "__syndrome_resume";
inline constexpr char kBarrierArrive[] = "__syndrome_barrier_arrive";
inline constexpr char kBarrierLeave[] = "__syndrome_barrier_leave";
inline constexpr char kPost[] = "__syndrome_post";
inline constexpr char kWait[] = "__syndrome_wait";

/// One word into the log of this thread (runtime/probes.h). $0: scratch; $1: the cursor in memory;
/// $2: the word. A line is 256 bytes, so its last word lies where the low byte is 0xf8.
inline constexpr char kProbe[] =
    "movq $1, $0\n\t"
    "movq $2, ($0)\n\t"
    "addq $$8, $1\n\t"
    "cmpb $$0xf8, ${0:b}\n\t"
    "jne 1f\n\t"
    "call *__syndrome_full@GOTPCREL(%rip)\n"
    "1:";
inline constexpr char kProbeConstraints[] = "=&r,*m,r,~{dirflag},~{fpsr},~{flags}";

/// The word of an access, unless the filter (event/filter.h) knows it. $0, $1: scratch; $2: the
/// cursor, $3: the filter, which has its mask and the key in front of it; $4: the address; $5: the
/// word; $6: filter::needs().
inline constexpr char kFilteredProbe[] =
    "movq $3, $0\n\t"
    "testq $0, $0\n\t"
    "je 2f\n\t"
    "movq $4, $1\n\t"
    "shrq $$8, $1\n\t"
    "xorl ${4:k}, ${1:k}\n\t"
    "andl -16($0), ${1:k}\n\t"
    "movq ($0,$1), $1\n\t"
    "xorq $4, $1\n\t"
    "xorq -8($0), $1\n\t"
    "testq $6, $1\n\t"
    "je 1f\n\t"
    "pushq $5\n\t"
    "pushq $6\n\t"
    "call *__syndrome_miss@GOTPCREL(%rip)\n\t"
    "jmp 1f\n"
    "2:\n\t"
    "movq $2, $0\n\t"
    "movq $5, ($0)\n\t"
    "addq $$8, $2\n\t"
    "cmpb $$0xf8, ${0:b}\n\t"
    "jne 1f\n\t"
    "call *__syndrome_full@GOTPCREL(%rip)\n"
    "1:";
static_assert(filter::offset_of(~wire::Word{0} << 8) == 0xf8);
static_assert(offsetof(filter::Table, entries) - offsetof(filter::Table, mask) == 16);
inline constexpr char kFilteredProbeConstraints[] =
    "=&r,=&r,*m,*m,r,r,r,~{dirflag},~{fpsr},~{flags}";

/// The same of an access to several granules. $0: scratch; $1: the cursor, $2: the filter; $3: the
/// word; $4: wire::wide().
inline constexpr char kWideProbe[] =
    "cmpq $$0, $2\n\t"
    "je 2f\n\t"
    "pushq $3\n\t"
    "pushq $4\n\t"
    "call *__syndrome_wide@GOTPCREL(%rip)\n\t"
    "jmp 1f\n"
    "2:\n\t"
    "movq $1, $0\n\t"
    "movq $3, ($0)\n\t"
    "addq $$8, $1\n\t"
    "cmpb $$0xf8, ${0:b}\n\t"
    "jne 1f\n\t"
    "call *__syndrome_full@GOTPCREL(%rip)\n"
    "1:";
inline constexpr char kWideProbeConstraints[] = "=&r,*m,*m,r,i,~{dirflag},~{fpsr},~{flags}";

/// The exit of a function that may be a block of the run. Where a filter is asked, a function that
/// nothing was told of takes its enter back: that is the last word then, and differs from the exit
/// in its kind and its top. What has been settled is another word (runtime/follow.cc). $0, $1:
/// scratch; $2: the cursor, $3: the filter; $4: the word; $5 as in kBlockProbe.
inline constexpr char kExitProbe[] =
    "cmpb $$0, $5\n\t"
    "js 3f\n\t"
    "movq $2, $0\n\t"
    "cmpq $$0, $3\n\t"
    "je 2f\n\t"
    "movq -8($0), $1\n\t"
    "xorq $4, $1\n\t"
    "shlq $$16, $1\n\t"
    "cmpq $$0x30000, $1\n\t"
    "jne 2f\n\t"
    "subq $$8, $2\n\t"
    "jmp 1f\n"
    "3:\n\t"
    "pushq $4\n\t"
    "call *__syndrome_block@GOTPCREL(%rip)\n\t"
    "jmp 1f\n"
    "2:\n\t"
    "movq $4, ($0)\n\t"
    "addq $$8, $2\n\t"
    "cmpb $$0xf8, ${0:b}\n\t"
    "jne 1f\n\t"
    "call *__syndrome_full@GOTPCREL(%rip)\n"
    "1:";
static_assert(
    ((wire::control(wire::Control::kEnter, 0, 0) ^ wire::control(wire::Control::kExit, 0, 0))
     << 16) == 0x30000);
inline constexpr char kExitProbeConstraints[] = "=&r,=&r,*m,*m,r,*m,~{dirflag},~{fpsr},~{flags}";

/// The enter of a function that may be a block of the run, or its exit where that has to be told:
/// $3 is the byte of its flags that says so; the others as in kProbe.
inline constexpr char kBlockProbe[] =
    "cmpb $$0, $3\n\t"
    "jns 2f\n\t"
    "pushq $2\n\t"
    "call *__syndrome_block@GOTPCREL(%rip)\n\t"
    "jmp 1f\n"
    "2:\n\t"
    "movq $1, $0\n\t"
    "movq $2, ($0)\n\t"
    "addq $$8, $1\n\t"
    "cmpb $$0xf8, ${0:b}\n\t"
    "jne 1f\n\t"
    "call *__syndrome_full@GOTPCREL(%rip)\n"
    "1:";
static_assert(unit::kLiveBlock == 0x80);
inline constexpr char kBlockProbeConstraints[] = "=&r,*m,r,*m,~{dirflag},~{fpsr},~{flags}";
/// unit::Function, the byte with kLiveBlock.
inline constexpr unsigned kFlagsOffset = offsetof(unit::Function, flags);

/// __syndrome_stretch(), with every register kept. $0: the SyndromeRun; $1: the first address; $2:
/// the one behind the last.
inline constexpr char kGapProbe[] =
    "pushq $2\n\t"
    "pushq $1\n\t"
    "pushq $0\n\t"
    "call *__syndrome_gap@GOTPCREL(%rip)";
/// Likewise __syndrome_spots(), $2 being its bits.
inline constexpr char kFarProbe[] =
    "pushq $2\n\t"
    "pushq $1\n\t"
    "pushq $0\n\t"
    "call *__syndrome_far@GOTPCREL(%rip)";
inline constexpr char kGapProbeConstraints[] = "r,r,r,~{dirflag},~{fpsr},~{flags}";

/// What SYNDROME_ATOMIC and the others (include/syndrome/syndrome.h) leave in the code.
inline constexpr char kAnnotateAtomic[] = "syndrome.atomic";
inline constexpr char kAnnotateDeterministic[] = "syndrome.deterministic";
inline constexpr char kAnnotateUnit[] = "syndrome.unit:";       // then the sets
inline constexpr char kAnnotateSet[] = "syndrome.atomic-set:";  // then its name

/// A module with this named metadata has its probes already.
inline constexpr char kDone[] = "syndrome.instrumented";

}  // namespace syndrome::instrument::abi
