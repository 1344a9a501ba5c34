// The end of a line. A probe that has written the last word of its line calls __syndrome_full in
// the middle of arbitrary code, so it keeps every register: the general ones always, and the vector
// ones only when the C library may be called (this file is compiled without vector instructions).
// Likewise the access that the filter does not know, and the beginning and end of a block.

#include <atomic>

#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/live.h"
#include "runtime/shards.h"
#include "runtime/thread.h"

extern "C" {
__attribute__((visibility("hidden"), used)) int syndrome_full_quick();
__attribute__((visibility("hidden"), used)) int syndrome_miss_quick(syndrome::wire::Word needs,
                                                                    syndrome::wire::Word word);
__attribute__((visibility("hidden"), used)) int syndrome_wide_quick(syndrome::wire::Word what,
                                                                    syndrome::wire::Word word);
__attribute__((visibility("hidden"), used)) int syndrome_block_quick(syndrome::wire::Word word);
__attribute__((visibility("hidden"), used)) int syndrome_gap_quick(const SyndromeRun* run,
                                                                   const void* first,
                                                                   const void* next);
__attribute__((visibility("hidden"), used)) int syndrome_far_quick(const SyndromeRun* run,
                                                                   const void* first,
                                                                   syndrome::wire::Word bits);
__attribute__((visibility("hidden"), used)) void syndrome_full_deep();
}

// xsave: everything but the tiles of AMX (bits 17 and 18), which nothing here touches and which
// would need 8 KiB more. The header of the save area must be 0 before.
__asm__(
    ".text\n"
    // Keeps the general registers, calls `quick` and, if that says so, `deep` with all others kept.
    // On entry, `bytes` of arguments lie above the return address; the first three are at 16, 24
    // and 32 from %rbp.
    ".macro syndrome_probe name, quick, bytes\n"
    ".globl \\name\n"
    ".type \\name, @function\n"
    "\\name:\n"
    ".cfi_startproc\n"
    "  pushq %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbp, -16\n"
    "  movq %rsp, %rbp\n"
    ".cfi_def_cfa_register %rbp\n"
    "  pushq %rax\n"
    "  pushq %rcx\n"
    "  pushq %rdx\n"
    "  pushq %rsi\n"
    "  pushq %rdi\n"
    "  pushq %r8\n"
    "  pushq %r9\n"
    "  pushq %r10\n"
    "  pushq %r11\n"
    "  pushq %rbx\n"
    "  movq %rsp, %rbx\n"
    "  andq $-64, %rsp\n"
    "  cld\n"
    "  movq 16(%rbp), %rdi\n"
    "  movq 24(%rbp), %rsi\n"
    "  movq 32(%rbp), %rdx\n"
    "  call \\quick\n"
    "  testl %eax, %eax\n"
    "  je 1f\n"
    "  subq $4096, %rsp\n"
    "  xorl %eax, %eax\n"
    "  movq %rax, 512(%rsp)\n"
    "  movq %rax, 520(%rsp)\n"
    "  movq %rax, 528(%rsp)\n"
    "  movq %rax, 536(%rsp)\n"
    "  movq %rax, 544(%rsp)\n"
    "  movq %rax, 552(%rsp)\n"
    "  movq %rax, 560(%rsp)\n"
    "  movq %rax, 568(%rsp)\n"
    "  movl $0xfff9ffff, %eax\n"
    "  movl $0xffffffff, %edx\n"
    "  xsave64 (%rsp)\n"
    "  call syndrome_full_deep\n"
    "  movl $0xfff9ffff, %eax\n"
    "  movl $0xffffffff, %edx\n"
    "  xrstor64 (%rsp)\n"
    "1:\n"
    "  movq %rbx, %rsp\n"
    "  popq %rbx\n"
    "  popq %r11\n"
    "  popq %r10\n"
    "  popq %r9\n"
    "  popq %r8\n"
    "  popq %rdi\n"
    "  popq %rsi\n"
    "  popq %rdx\n"
    "  popq %rcx\n"
    "  popq %rax\n"
    "  popq %rbp\n"
    ".cfi_def_cfa %rsp, 8\n"
    "  ret $\\bytes\n"
    ".cfi_endproc\n"
    ".size \\name, . - \\name\n"
    ".endm\n"
    "syndrome_probe __syndrome_full, syndrome_full_quick, 0\n"
    "syndrome_probe __syndrome_miss, syndrome_miss_quick, 16\n"
    "syndrome_probe __syndrome_wide, syndrome_wide_quick, 16\n"
    "syndrome_probe __syndrome_block, syndrome_block_quick, 8\n"
    "syndrome_probe __syndrome_gap, syndrome_gap_quick, 24\n"
    "syndrome_probe __syndrome_far, syndrome_far_quick, 24\n");

namespace syndrome::rt {
Turned turn_line(Thread& its, wire::Word*& at, bool may_wait) {
  RingHeader& ring = *its.ring;
  const bool asks = its.flight != nullptr && wants_window(its);
  if (asks && !may_wait) return Turned::kNoRoom;
  // What is left of the line: a record did not fit, or a signal came in the middle of a probe.
  const wire::Word* const end =
      its.words + (its.line & (process.ring_words - 1)) + wire::kLineWords;
  for (wire::Word* word = at; word < end; ++word) {
    *word = wire::control(wire::Control::kPad, 0, 0);
  }
  const std::uint64_t next = its.line + wire::kLineWords;
  if (its.flight != nullptr && fly_on(its, next)) {
    at = its.words + (next & (process.ring_words - 1)) + 1;
    if (asks) request_window();
    return Turned::kDone;
  }
  ring.published.store(next, std::memory_order_release);
  if (next + wire::kLineWords > its.limit) {
    its.limit = ring.consumed.load(std::memory_order_acquire) + process.ring_words;
    if (next + wire::kLineWords > its.limit) {
      if (!may_wait) return Turned::kNoRoom;
      if (!wait_for_room(its, next + wire::kLineWords)) return Turned::kStopped;
    }
  }
  its.line = next;
  wire::Word* const line = its.words + (next & (process.ring_words - 1));
  line[0] = wire::time(read_counter());
  at = line + 1;
  return Turned::kDone;
}

bool next_line(bool may_wait) {
  const Turned turned = turn_line(tls, cursor(), may_wait);
  if (turned == Turned::kStopped) turn_off();
  return turned != Turned::kNoRoom;
}

}  // namespace syndrome::rt

using syndrome::rt::tls;

// 0: done. 1: syndrome_full_deep() must go on.
int syndrome_full_quick() {
  using namespace syndrome::rt;
  // A handler that came while the thread was at it, or one too many, has a line of its own that
  // nobody reads.
  if (following() && !is_on_line()) {
    point_at_scratch();
    return 0;
  }
  if (following()) {
    settle_line();
    return 0;
  }
  if (tls.state == ThreadState::kOn && tls.exact == nullptr) [[likely]] {
    ++tls.busy;
    const bool done = next_line(false);
    --tls.busy;
    return done ? 0 : 1;
  }
  if (tls.state == ThreadState::kOn || tls.state == ThreadState::kNew) return 1;
  point_at_scratch();
  return 0;
}

// As a probe writes it: see signal_enter().
static int write_word(syndrome::wire::Word word) {
  syndrome::wire::Word* const at = syndrome::rt::__syndrome_thread.cursor;
  *at = word;
  __asm__ volatile("addq $8, %0" : "+m"(syndrome::rt::__syndrome_thread.cursor));
  const auto next = reinterpret_cast<std::uintptr_t>(at + 1);
  return next % (syndrome::wire::kLineWords * sizeof(word)) == 0 ? syndrome_full_quick() : 0;
}

int syndrome_miss_quick(syndrome::wire::Word needs, syndrome::wire::Word word) {
  syndrome::rt::filter_miss(syndrome::wire::address_of(word), needs);
  return write_word(word);
}

int syndrome_wide_quick(syndrome::wire::Word what, syndrome::wire::Word word) {
  return syndrome::rt::filter_knows_wide(syndrome::wire::address_of(word), what) ? 0
                                                                                 : write_word(word);
}

// The enter or exit of a function that is a block.
int syndrome_block_quick(syndrome::wire::Word word) {
  using namespace syndrome::rt;
  const int more = write_word(word);
  // What the thread does from here on is filtered as what it belongs to.
  settle();
  new_segment();
  return more;
}

namespace {

/// What syndrome_full_deep() has to go on with; its run is null: a word.
struct Gap {
  const SyndromeRun* run;
  const void* first;
  const void* next;
  syndrome::wire::Word bits;  // not 0: of spots
};
constinit thread_local Gap gap __attribute__((tls_model("initial-exec"))) = {};

}  // namespace

int syndrome_gap_quick(const SyndromeRun* run, const void* first, const void* next) {
  using namespace syndrome::rt;
  if (__syndrome_thread.inside != 0) return 0;
  if (following()) {
    follow_stretch(*run, first, rounds_of(*run, first, next));
    return 0;
  }
  gap = {run, first, next, 0};
  return 1;
}

int syndrome_far_quick(const SyndromeRun* run, const void* first, syndrome::wire::Word bits) {
  using namespace syndrome::rt;
  if (__syndrome_thread.inside != 0) return 0;
  if (following()) {
    follow_spots(*run, first, bits);
    return 0;
  }
  gap = {run, first, nullptr, bits};
  return 1;
}

void syndrome_full_deep() {
  using namespace syndrome::rt;
  if (const SyndromeRun* const run = gap.run; run != nullptr) {
    gap.run = nullptr;
    if (gap.bits != 0) return __syndrome_spots(run, gap.first, gap.bits);
    return __syndrome_stretch(run, gap.first, gap.next);
  }
  const Inside inside;
  if (tls.state == ThreadState::kNew) {
    const syndrome::wire::Word word = __syndrome_thread.cursor[-1];
    point_at_scratch();
    start_thread(0, false);
    if (tls.state == ThreadState::kOn) {
      if (following()) {
        follow_word(word);
      } else if (tls.exact != nullptr) {
        exact_probe(word);
      } else {
        append(word);
      }
    }
    return;
  }
  if (tls.exact != nullptr) {
    exact_probe(*(__syndrome_thread.cursor - 1));
    return;
  }
  ++tls.busy;
  (void)next_line(true);
  --tls.busy;
}
