// What the sweep has found out about a thread (capture_sweep.h), and what is left of its words.
// Internal.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "event/wire.h"
#include "trace/capture_sweep.h"
#include "trace/huge_allocator.h"

namespace syndrome::trace {

/// From this word on, the thread's words are at this step of the order.
struct SweepStart {
  std::uint32_t at = 0;
  std::uint64_t step = 0;
};

/// How far a thread has come, and what was found out about it.
struct SweepStream {
  const SweepThread* thread = nullptr;
  std::size_t next = 0;  // item
  std::uint64_t time = 0;
  std::uint32_t first_call = 0;  // the number of its first call among all
  std::uint32_t call = 0;        // the number of the one that is open, 0: none
  std::uint32_t resume_at = 0;   // word
  std::vector<SweepStart> starts;
  std::vector<std::uint32_t> met;  // open calls that the open one has come behind
  std::vector<bool> marked_calls;
  std::vector<std::uint32_t> marked;  // records outside of calls, and
  std::vector<std::uint32_t> names;   // those that access something for the first time
};

/// `any_marked`: in some thread, so that names count.
[[nodiscard]] HugeVector<wire::Word> write_left(const SweepStream& stream, bool any_marked);

}  // namespace syndrome::trace
