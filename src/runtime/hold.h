// A thread of a process that is checked for atomic sets alone, and holds its calls back
// (event/calls.h).
//
// Its probes write into a line of its own, as those of a follower do (follow.h). When the line is
// full, and before anything that the thread does to others, it goes through it: accesses go to
// cells, and all words to a buffer. When a call is over and can have no part in a violation, the
// buffer goes back to where the call began; else its words are *told*: they go to the ring, with
// the functions that were running around it, and are read as any recording is. A call that may yet
// turn out to matter, because one that it came behind is still open, waits in the buffer.
//
// What is told is whole: it begins with the functions that run, and ends with their ends. What is
// outside of calls is cut where the thread holds no lock.
//
// Everything here may be called from a probe (full.cc): no vector registers, no allocation, nothing
// of the C library.

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/unit.h"
#include "event/wire.h"
#include "runtime/probes.h"
#include "runtime/thread.h"

namespace syndrome::rt {

/// For a process that has attached: whether its threads hold calls back.
void make_holders();
[[nodiscard]] bool holds_calls();
/// A unit of the program, before its code runs.
void hold_unit(const unit::Header* unit, const SyndromeGlobal* globals, std::uint64_t count);

/// For a thread that has just got its ring, which is this one of the process. False: it tells of
/// everything, and so does everybody else from here on.
bool start_holding(std::uint32_t slot);
void stop_holding();
/// All that is held is decided about, because the thread or the process ends.
void finish_holding();
/// `may_go_on`: unless exec fails, and then each goes on with the call that is open.
void finish_holding_for_all(bool may_go_on);

[[nodiscard]] inline bool holding() {
  return tls.holder != nullptr;
}

/// Goes through what the probes have written.
void hold_settle();
/// The same, at the end of the line.
void hold_line();

// What the runtime knows itself; all of them settle first.

void hold_range(const void* address, std::size_t length, bool write, std::uint32_t site,
                bool site_is_call);
void hold_run(const SyndromeRun& run, const void* const* first, std::uint64_t rounds,
              std::uint32_t rest);
void hold_word(wire::Word word);
void hold_locals(const void* address, std::size_t bytes);
void hold_frame(std::uint64_t mark);
void hold_resume(std::uint64_t mark);
void hold_sync(wire::Sync kind, std::uintptr_t object, std::uint64_t version, unsigned extra,
               wire::Word operand, std::uint32_t site);

/// The thread is about to wait for others, in a way at which units of work end by default.
void hold_wait();

/// As those of follow.h.
bool hold_enter_handler();
void hold_leave_handler(wire::Word* cursor);
void hold_drop_handlers();

}  // namespace syndrome::rt
