// The filter of a thread that follows its own accesses (event/filter.h): what need not be told,
// because nothing has changed since it was. The probes look into it; this is what changes it.
//
// State, and who may touch it:
//   the entries     their thread alone
//   the key         anyone, without order: it only ever becomes one that no entry has

#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/follower.h"
#include "runtime/thread.h"

namespace syndrome::rt {

/// The thread's accesses from here on are other ones than those before. Also while it does not ask
/// the filter: what loops did is known by the key, too (KnownRun).
inline void new_segment() {
  if (tls.keeps_key || tls.follower == nullptr) return;
  tls.follower->filter.begin_segment();
}

/// An access that the filter did not know. The word is the caller's to write.
inline void filter_miss(wire::Word address, wire::Word needs) {
  if (tls.follower == nullptr || needs == filter::kNever) return;  // the first: since a moment ago
  filter::Table& table = tls.follower->filter;
  wire::Word& entry = table.entry(address);
  entry = filter::after(entry, address, table.now(), needs);
}

/// These bytes are another variable from here on, or one that is never to be known.
inline void filter_forget(Follower& self, wire::Word address, wire::Word bytes) {
  constexpr wire::Word kMost = 4096;
  if (bytes > kMost) return self.filter.begin_segment();
  for (wire::Word at = address & ~wire::Word{7}; at < address + bytes; at += 8) {
    self.filter.entry(at) = 0;
  }
}

/// In attach(): whether the process's threads follow their accesses.
void make_filter();
/// Waits until whoever checks has said which functions of the units so far are blocks; without an
/// answer this process goes on without filters.
void learn_blocks();
/// For a thread that has just begun to follow, or that has done without for a while. Always with a
/// new key: the old one may be that of another block.
inline void start_filter() {
  if (tls.follower == nullptr || !process.follows) return;
  __syndrome_thread.filter = tls.follower->filter.entries;
  tls.follower->filter.begin_segment();
}

}  // namespace syndrome::rt
