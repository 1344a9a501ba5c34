// The filter of a process that is checked while it runs (event/filter.h): what need not
// be told, because nothing has changed since it was. The probes look into it; this is what changes
// it.
//
// State, and who may touch it:
//   the table               every thread, without order: what is lost between two threads that
//                           access the same granule at the same time is a word too many, or one
//                           that could as well have come before the other's
//   __syndrome_thread.key   its thread alone

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/filter.h"
#include "runtime/thread.h"

namespace syndrome::rt {

/// The thread's accesses from here on are other ones than those before. Also while it does not ask
/// the filter: what loops did is known by the key, too (KnownRun).
inline void new_segment() {
  if (tls.keeps_key) return;
  __syndrome_thread.key = filter::key_of(tls.number, ++tls.segment);
}

/// For a process that has a filter.
[[nodiscard]] inline wire::Word* filter_entry(wire::Word address) {
  return reinterpret_cast<wire::Word*>(reinterpret_cast<char*>(process.filter) +
                                       filter::offset_of(address));
}

/// An access that the filter did not know. The word is the caller's to write.
inline void filter_miss(wire::Word address, wire::Word needs) {
  if (process.filter == nullptr) return;  // since a moment ago
  wire::Word* const entry = filter_entry(address);
  const wire::Word old = __atomic_load_n(entry, __ATOMIC_RELAXED);
  if (filter::needs_key(old, address, __syndrome_thread.key, needs)) new_segment();
  __atomic_store_n(entry, filter::after(old, address, __syndrome_thread.key, needs),
                   __ATOMIC_RELAXED);
}

/// A granule that was accessed past the filter: others must see that someone was there.
inline void filter_touch(wire::Word address, bool write) {
  if (process.filter == nullptr) return;
  wire::Word* const entry = filter_entry(address);
  const wire::Word old = __atomic_load_n(entry, __ATOMIC_RELAXED);
  const wire::Word now = filter::touched(old, address, __syndrome_thread.key, write);
  if (now != old) __atomic_store_n(entry, now, __ATOMIC_RELAXED);
}

/// The granule is another variable from here on: what anyone knows of it is void.
inline void filter_forget(wire::Word address) {
  if (process.filter == nullptr) return;
  wire::Word* const entry = filter_entry(address);
  if (__atomic_load_n(entry, __ATOMIC_RELAXED) != 0) __atomic_store_n(entry, 0, __ATOMIC_RELAXED);
}

/// In attach(): makes the table. Without memory for it there is no filter.
void make_filter();
/// Waits until whoever checks has said which functions of the units so far are blocks; without an
/// answer this process goes on without a filter.
void learn_blocks();
/// For the thread that has just got its ring, or that has done without for a while. Always with a
/// new key: the old one may be that of another block.
inline void start_filter() {
  __syndrome_thread.filter = process.filter;
  __syndrome_thread.key = filter::key_of(tls.number, ++tls.segment);
}

}  // namespace syndrome::rt
