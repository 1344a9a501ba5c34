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

/// Calls visit(address, needs) for each granule of an access, until that is false. Whether it never
/// was.
template <class Visit>
[[gnu::always_inline]] inline bool each_need(wire::Word address, wire::Word bytes, bool write,
                                             const Visit& visit) {
  const wire::Word end = address + bytes;
  while (address < end) {
    const wire::Word next = (address | 7) + 1 < end ? (address | 7) + 1 : end;
    const wire::Word mask = ((wire::Word{1} << (next - address)) - 1) << (address & 7);
    if (!visit(address, filter::needs(mask, write))) return false;
    address = next;
  }
  return true;
}

/// Whether all of an access to several granules is known; `what` is wire::wide().
[[nodiscard]] inline bool filter_knows_wide(wire::Word address, wire::Word what) {
  if (tls.follower == nullptr) return false;
  filter::Table& table = tls.follower->filter;
  const wire::Word key = table.now();
  return each_need(address, what >> 1, (what & 1) != 0, [&](wire::Word at, wire::Word needs) {
    return filter::knows(table.entry(at), at, key, needs);
  });
}

/// These bytes are another variable from here on, or one that is never to be known.
inline void filter_forget(Follower& self, wire::Word address, wire::Word bytes) {
  constexpr wire::Word kMost = 4096;
  if (bytes > kMost) return self.filter.begin_segment();
  for (wire::Word at = address & ~wire::Word{7}; at < address + bytes; at += 8) {
    self.filter.entry(at) = 0;
  }
}

/// The thread did `count` times what it had done before, and its filter had not known.
void filter_grow(Follower& self);
inline void filter_lost(Follower& self, wire::Word count) {
  if (count != 0 && self.filter.lose(count)) filter_grow(self);
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
