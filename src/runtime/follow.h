// A thread of a process that is checked while it runs, and follows its own accesses
// (event/sieve.h).
//
// Its probes write their words into a line of their own, not into the ring. When the line is full,
// and before anything that the thread does to others (synchronization, its end), the thread goes
// through them: *settles*. What has to be told goes into the ring then, with the functions that
// run, which until then are only remembered.
//
// Everything here may be called from a probe (full.cc): no vector registers, no allocation, nothing
// of the C library.

#pragma once

#include <cstdint>

#include "event/sieve.h"
#include "event/unit.h"
#include "event/wire.h"
#include "runtime/probes.h"
#include "runtime/thread.h"

namespace syndrome::rt {

/// A unit of the program, before its code runs. Until its numbers of sites are given, none of them
/// is known.
void follow_unit(const unit::Header* unit);

/// For a process that has attached: whether its threads follow their accesses.
bool make_followers();
/// For a thread that has just got its ring, which is this one of the process. False: it has to tell
/// of everything.
bool start_following(std::uint32_t slot);
void stop_following();
/// Whether a thread that is about to begin comes behind all that the threads of a slot did.
[[nodiscard]] bool comes_behind_slot(std::uint32_t thread, std::uint32_t slot);

[[nodiscard]] inline bool following() {
  return tls.follower != nullptr;
}

/// Goes through what the probes have written.
void settle();
/// The same, at the end of the line.
void settle_line();
/// Whether the thread's words go where settle() reads them, and it is not at that just now.
[[nodiscard]] bool is_on_line();
/// The same, before an atomic.
void settle_atomic();
/// Behind settle_atomic(): whether the thread has done nothing since loaded() but enter and leave
/// functions that are no blocks. A loop that waits does that, and its loads tell the same.
[[nodiscard]] bool loads_again();
void loaded();

/// For the end of the process (ending.cc): becomes the last settler, and settles for all others.
void settle_others();

// What the runtime knows itself; all of them settle first.

void follow_range(const void* address, std::size_t length, bool write, std::uint32_t site,
                  bool site_is_call);
void follow_run(const SyndromeRun& run, const void* const* first, std::uint64_t rounds,
                std::uint32_t rest);
/// Of one site, with strides of its own size.
void follow_stretch(const SyndromeRun& run, const void* first, std::uint64_t rounds);
/// Some of 64, a bit for each.
void follow_spots(const SyndromeRun& run, const void* first, std::uint64_t bits);
/// A word that a probe would have written.
void follow_word(wire::Word word);
/// Whether somebody has to hear of it.
[[nodiscard]] bool follow_locals(const void* address, std::size_t bytes);
void follow_frame(std::uint64_t mark);
void follow_resume(std::uint64_t mark);
/// An atomic, while nobody else performs one on the same shard, and before its record. `what` is as
/// in __syndrome_atomic_end.
void order_by_atomic(wire::Sync kind, std::uintptr_t object, std::uint32_t what,
                     std::uint32_t site);
/// The same, and before that: whether nobody has to hear of it.
[[nodiscard]] bool atomic_quietly(wire::Sync kind, std::uintptr_t object, std::uint32_t what,
                                  std::uint32_t site);
/// A wait or happens-after annotation, before it has its version: what is known of posts by then
/// comes before it.
void order_by_signal(wire::Sync kind, std::uintptr_t object);
/// A lock that was taken, when nothing but atomicity is checked, by who has no draft, and before it
/// has its version: others who share the lock may come behind later versions meanwhile, and so what
/// they do afterwards must not come before this one.
void order_by_position(wire::Sync kind, std::uintptr_t object);
/// Whether nobody has to hear of a lock: no block has ever begun, and nothing but atomicity is
/// checked. When one has, those that the thread still holds are told first, as if it took them now.
[[nodiscard]] bool lock_unheard(wire::Sync kind, std::uintptr_t object);
void tell_unheard(Follower& self);
/// A lock, when nothing but atomicity is checked (draft.h). False: it needs a version.
[[nodiscard]] bool lock_by_position(wire::Sync kind, std::uintptr_t object, std::uint32_t call);
/// Around the record of a kSync.
void before_sync(wire::Sync kind, std::uintptr_t object, wire::Word operand, std::uint32_t site);
void after_sync(wire::Sync kind, std::uintptr_t object, wire::Word operand);

/// A signal handler's words go into a line of its own. False: there are too many handlers.
bool enter_handler();
void leave_handler(wire::Word* cursor);
/// All handlers were left by longjmp.
void drop_handlers();

}  // namespace syndrome::rt
