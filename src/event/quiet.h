// Locks that need not be told of. Like sieve.h, compiled into other people's programs.
//
// A lock that a thread takes and that it has itself released last brings it no order that program
// order does not give. Such a *section*, from the taking to the release, is quiet: nobody hears of
// it unless another thread takes the lock later. That one tells of the last section first, late
// (as sieve::Entry): the sections before are implied by it and program order. What a thread
// tells while it holds a lock quietly comes behind the taking, which is told then.
//
// Positions grow by quiet locks as well, so that what is before a release is known to be before it.
// Thread::told_at is the last position that has an event.

#pragma once

#include <cstdint>

#include "event/sieve.h"

namespace syndrome::sieve {

struct Section {
  Word object = 0;
  Word acquired = 0;  // the positions that the two are behind
  Word released = 0;
  std::uint32_t acquired_at = 0;  // sites
  std::uint32_t released_at = 0;
};

/// Of a lock: who released it last.
struct LastRelease {
  Word position = 0;  // behind it; 0: nobody, as far as is known
  std::uint32_t slot = 0;
  bool quiet = false;  // and nobody has been told of
  Section section;

  [[nodiscard]] bool is_by(const Thread& thread) const {
    return position != 0 && slot == thread.slot && position >= thread.first;
  }
  /// Others have shared the lock since: who takes it comes behind them.
  void shared() {
    position = 0;
    quiet = false;
  }
  /// It has been told.
  void told(const Thread& thread) {
    position = thread.position;
    slot = thread.slot;
    quiet = false;
  }
};

/// The locks that a thread holds and has not told of.
class QuietLocks {
 public:
  static constexpr std::uint32_t kMost = 8;
  struct Held {
    Section section;
    std::uint32_t times;   // that it was taken
    std::uint32_t wanted;  // set by others: what was done while it was held has been told
  };

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] Held& operator[](std::uint32_t i) { return held_[i]; }
  [[nodiscard]] Held* find(Word object) {
    for (std::uint32_t i = count_; i-- > 0;) {
      if (held_[i].section.object == object) return &held_[i];
    }
    return nullptr;
  }
  /// A lock that the thread has released last. False: it has to be told of.
  [[nodiscard]] bool acquire(Thread& thread, Word object, std::uint32_t site) {
    if (count_ == kMost) return false;
    held_[count_++] = {{object, thread.position, 0, site, 0}, 1, 0};
    ++thread.position;
    return true;
  }
  /// A lock that find() has found, and that was taken once. `last` is the lock's.
  void release(Thread& thread, Held& held, LastRelease& last, std::uint32_t site) {
    last.section = held.section;
    last.section.released = thread.position;
    last.section.released_at = site;
    remove(held);
    ++thread.position;
    thread.since = thread.position;
    last.position = thread.position;
    last.slot = thread.slot;
    last.quiet = true;
  }
  /// It has been told, or is told as it is released.
  void remove(Held& held) {
    --count_;
    for (Held* at = &held; at < held_ + count_; ++at) *at = at[1];
  }
  void clear() { count_ = 0; }

 private:
  std::uint32_t count_ = 0;
  Held held_[kMost];
};

/// Where an event that is told late lies among those behind the same event: accesses at a position,
/// and behind them the lock that the position ended with. `last` is the position of the event.
[[nodiscard]] constexpr Word order_of_late(Word position, Word last, bool sync) {
  return 2 * (position < last ? 0 : position - last) + (sync ? 1 : 0);
}

}  // namespace syndrome::sieve
