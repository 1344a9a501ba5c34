// Which calls of a program can have a part in a violation of atomic sets, found out while it runs.
//
// A *call* here is a stretch of one thread's run that contains whole units of work, or an access
// that is a unit by itself; a thread has at most one open at a time. Each of the 14 patterns
// (docs/atomic-sets.md) has two units of different threads and two conflicts between them, one in
// each direction: a1 of u before b1 of u', and b2 of u' before a2 of u. Let b1 be the later access
// of the conflict that is complete first. Then u is still open at b1, because a2 comes behind. So
//
//   u    has made a1 when someone else comes behind it (it is *left behind*, `out`), and comes
//        behind someone after that (`last_in`), whose call was open when u began or later: b2's
//   u'   has come behind u, which was open then (`sources`), and u comes behind someone after that
//
// A call for which neither is true when it is over, or of which the second cannot become true any
// more because its sources are over, has no part in a pattern. More calls than needed may be kept,
// and calls may be taken to be longer than they are; nothing is lost by either.
//
// Memory. Each granule of 8 bytes has a cell with up to two calls that are open, or were when
// somebody last looked: the newest in `a`. Calls that are over are only known by when the last of
// them ended. Where more than two open calls have been, `b` is *many*: which slots' calls, if they
// are still open and began before a time; if all have only read, any open call at any time, so that
// readers need not write here.
//
// A page of 64 granules that one call after the other has accessed has one cell for all of them,
// and which of them its thread has accessed (access_page()). When somebody comes while another's
// is open, or ended after a call began that is, the page is *shared*: the cells of its granules are
// used from there on, and what that of the page knows counts for each of them.
//
// A thread's *serial* numbers what it does: another one for each function activation, and behind
// each synchronization. What it does again with the same serial, with nobody in between, need not
// be told again; a small table of the thread's own knows what that is. Somebody who came in between
// and did what conflicts with that is an *intrusion*, which all threads are told of by one word:
// who has not seen it change need not look into the cells to know (is_known()).
//
// Cells are changed by compare-and-swap, so no access is lost to another one at the same time,
// whether the two race or not. In which order two of them count that nothing orders is chance, as
// it is in a recording. Depends on nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "event/call_cells.h"

namespace syndrome::calls {

enum class Verdict : std::uint8_t { kDrop, kKeep, kWait };

/// All slots of a process. Clock::now() is a time that is never 0 and never goes back.
template <class Clock>
class Calls {
 public:
  constexpr Calls(Slot* slots, const Word* used) : slots_(slots), used_(used) {}

  void begin(Call& call, Word now) {
    Slot& slot = slots_[call.slot];
    call.next_serial();
    call.first = call.mark = call.serial;
    call.begin = now;
    call.last_in = 0;
    call.count = 0;
    call.certain = false;
    store(slot.out, 0);
    store(slot.begin, now);
    store(slot.first, call.first);
  }

  /// All of it was done before this time. Returns the one when everybody could see that it is over:
  /// nobody who found it open noted a later one, so the thread's next call is not taken for it.
  Word end(Call& call, Word before) {
    Slot& slot = slots_[call.slot];
    Ended& one = slot.ended[slot.count % Slot::kEnded];
    is_over_now(call, call.serial, before);
    __atomic_exchange_n(&slot.first, Word{0}, __ATOMIC_SEQ_CST);
    const Word now = Clock::now();
    store(one.end, now);
    call.first = 0;
    call.last_end = now;
    return now;
  }

  /// What the call did since it had this mark, from this time on, is another call. It gets all that
  /// is known of the first one, which ends.
  void split(Call& call, Word serial, Word time) {
    Slot& slot = slots_[call.slot];
    is_over_now(call, serial - 1, Clock::now());
    call.first = serial;
    call.begin = time;
    // Others may have come behind what is the second one.
    if (const Word out = load(slot.out); out != 0 && out < time) store(slot.out, time);
    call.last_end = Clock::now();
    store(slot.begin, time);
    store(slot.first, serial);
  }

  /// Of a call that is over.
  [[nodiscard]] Verdict verdict(bool certain, const Source* sources, unsigned count) const {
    if (certain) return Verdict::kKeep;
    Verdict result = Verdict::kDrop;
    for (unsigned i = 0; i < count; ++i) {
      const Source& source = sources[i];
      const Slot& slot = slots_[source.slot];
      // In this order: a call that is not open any more is among those that are over.
      if (load(slot.first) == source.first) {
        result = Verdict::kWait;
      } else if (slot.came_in(source.first, source.at)) {
        return Verdict::kKeep;
      }
    }
    return result;
  }

  /// Whether an access is known to have been made before with the same serial, and nobody to have
  /// come behind it since: then access() would say so. Requires an open call. Who had the page or
  /// the cell in between has only read, as this call has.
  [[nodiscard]] bool is_known(Call& call, Word key, Word kinds, Word bytes) const {
    if (load(intrusion_) != call.seen) [[unlikely]] {
      see(call);
      return false;
    }
    const Word fresh = fresh_of(kinds, bytes);
    const Recent& recent = call.recent_of(key);
    return recent.key == (key | call.turn) &&
           ((recent.what ^ ((call.now << kSerialShift) | fresh)) & (kOnlySerial | fresh)) == 0;
  }

  /// An access to bytes of a granule, a bit for each. Whether it was made before with the same
  /// serial, and nobody has been there since. Requires an open call.
  [[nodiscard]] bool access(Call& call, Cell& cell, Word key, Word kinds, Word bytes) {
    if (is_own(call, cell, kinds)) [[likely]]
      return access_own(call, cell, key, kinds, bytes);
    access_slowly(call, cell, kinds);
    call.recent_of(key) = {key | call.turn, (call.now << kSerialShift) | fresh_of(kinds, bytes)};
    return false;
  }
  /// The same, of which nobody will ask whether it was made before.
  void touch(Call& call, Cell& cell, Word kinds) {
    if (is_own(call, cell, kinds)) [[likely]] {
      come_behind_ended(call, cell, kinds);
    } else {
      access_slowly(call, cell, kinds);
    }
  }
  /// Whether the call has accessed it so, and nobody else has been there since: then access_own()
  /// does what access() does.
  [[nodiscard]] static bool is_own(const Call& call, const Cell& cell, Word kinds) {
    const Word a = load(cell.a);
    if (slot_of(a) != call.slot || serial_of(a) < call.mark || (a & kinds) != kinds) return false;
    // Who was there before may be someone whom only an access of the other kind has come behind.
    const Word b = load(cell.b);
    return b == 0 || (kinds == kRead && (b & kWrite) == 0);
  }
  [[nodiscard]] static bool access_own(Call& call, const Cell& cell, Word key, Word kinds,
                                       Word bytes) {
    if (access_again(call, key, kinds, bytes)) return true;
    // Nobody has been there since; but maybe before that, and it came behind them otherwise.
    come_behind_ended(call, cell, kinds);
    return false;
  }
  /// Whether it was made before with the same serial, if nobody has been there since.
  [[nodiscard]] static bool access_again(Call& call, Word key, Word kinds, Word bytes) {
    const Word fresh = fresh_of(kinds, bytes);
    Recent& recent = call.recent_of(key);
    const bool known = (recent.key & kKeyMask) == key && recent.what >> kSerialShift == call.now;
    const bool again = known && (recent.what & fresh) == fresh;
    if (again) {
      // Who was at the granule is asked for now: what was seen since has not been there.
      recent.key = key | call.turn;
      return true;
    }
    const Word now = known ? fresh_after(recent.what & ~kOnlySerial, kinds, bytes) : fresh;
    recent = {key | call.turn, (call.now << kSerialShift) | now};
    return false;
  }

  /// Whether the call has accessed this granule of the page, which is not shared, so: access_page()
  /// would say so.
  [[nodiscard]] static bool is_own_page(const Call& call, const Page& page, Word kinds, Word bit) {
    const Word a = load(page.cell.a);
    return slot_of(a) == call.slot && serial_of(a) >= call.mark && (a & kinds) == kinds &&
           ((kinds & kRead) == 0 || (load(page.read) & bit) != 0) &&
           ((kinds & kWrite) == 0 || (load(page.written) & bit) != 0);
  }
  /// An access to a granule of a page that is not shared yet. Whether no open call of another slot
  /// has been at the page: then access_again() is all that the granule needs; else it is shared.
  [[nodiscard]] bool access_page(Call& call, Page& page, Word kinds, Word bit) {
    Cell& cell = page.cell;
    const Word read = (kinds & kRead) != 0 ? bit : 0;
    const Word written = (kinds & kWrite) != 0 ? bit : 0;
    for (;;) {
      const Word a = load(cell.a);
      const bool own = slot_of(a) == call.slot && a != 0;
      const bool same = own && serial_of(a) >= call.first;
      if (!same || serial_of(a) < call.mark || (a & kinds) != kinds) {
        if (a != 0 && !own) {
          // What others may yet come behind stays known by granule.
          Word end = 0;
          if (!is_over(call, a, end) || end > call.begin || end > oldest_begin()) return false;
        } else if (!same) {
          ended(cell, a & kKinds, call.last_end);
        }
        if (!swap(cell.a, a, entry_of(call.mark, call.slot) | (same ? a & kKinds : 0) | kinds)) {
          continue;
        }
      }
      store(page.read, (own ? load(page.read) : 0) | read);
      store(page.written, (own ? load(page.written) : 0) | written);
      return true;
    }
  }
  /// Before an access to a granule of a page that is shared: it may come behind who had the page.
  void come_behind_page(Call& call, Page& page, Word kinds, Word bit) {
    const Word a = load(page.cell.a);
    const Word slot = slot_of(a);
    if (slot == call.slot) return;
    if (((((kinds & kWrite) != 0 ? load(page.read) : 0) | load(page.written)) & bit) == 0) return;
    if (Word end = 0; (a & kKinds) != 0 && is_over(call, a, end)) {
      ended(page.cell, a & kKinds, end);
      // What it did is known by when it ended.
      (void)swap(page.cell.a, a, a & ~kKinds);
    } else if ((a & kKinds) != 0) {
      const Word now = Clock::now();
      const Word first = load(slots_[slot].first);
      meet(call, slot, first <= serial_of(a) ? first : 0, now);
    }
    come_behind_ended(call, page.cell, kinds);
  }
  /// Whether another call, which is open, may have been at the page when it was not shared.
  [[nodiscard]] bool is_open_elsewhere(const Call& call, const Page& page) const {
    const Word a = load(page.cell.a);
    return (a & kKinds) != 0 && slot_of(a) != call.slot && slots_[slot_of(a)].is_open(serial_of(a));
  }
  static void forget(Cell& cell) {
    store(cell.a, 0);
    store(cell.b, 0);
    store(cell.read_until, 0);
    store(cell.written_until, 0);
  }

  /// What is there is another variable from here on. Whether that has to be told because another
  /// call, which is open, may have accessed the one that was there.
  [[nodiscard]] bool renew(const Call& call, Cell& cell) {
    const Word a = load(cell.a);
    const Word b = load(cell.b);
    if (a == 0 && b == 0 && load(cell.read_until) == 0 && load(cell.written_until) == 0) {
      return false;
    }
    bool open = false;
    for (const Word entry : {a, b}) {
      if (entry == 0 || slot_of(entry) == call.slot) continue;
      open |= slot_of(entry) == kMany || slots_[slot_of(entry)].is_open(serial_of(entry));
    }
    forget(cell);
    return open;
  }

  /// Another value whenever somebody came behind an open call. Who has not seen it change, with the
  /// same serial, has been alone wherever it was before, but for those who do the same as it did.
  [[nodiscard]] Word intrusion() const { return load(intrusion_); }
  void intrude(Call& call) { store(intrusion_, (++call.intrusions << kSlotBits) | call.slot); }

  /// Calls that are over, and ended when this one had begun.
  static void come_behind_ended(Call& call, const Cell& cell, Word kinds) {
    if (load(cell.written_until) > call.begin ||
        ((kinds & kWrite) != 0 && load(cell.read_until) > call.begin)) {
      call.last_in = Clock::now();
    }
  }

 private:
  void see(Call& call) const {
    call.seen = load(intrusion_);
    call.turn += Word{1} << kKeyBits;
    if (call.turn != 0) return;
    for (Recent& recent : call.recent) recent = {0, 0};
  }

  /// When the first one of the calls began that are open.
  [[nodiscard]] Word oldest_begin() const {
    const Word used = load(*used_);
    Word oldest = kForever;
    for (Word slot = 0; slot < used; ++slot) {
      if (load(slots_[slot].first) == 0) continue;
      const Word begin = load(slots_[slot].begin);
      if (begin < oldest) oldest = begin;
    }
    return oldest;
  }

  void access_slowly(Call& call, Cell& cell, Word kinds) {
    const Word own = entry_of(call.mark, call.slot);
    for (;;) {
      const Word a = load(cell.a);
      const Word b = load(cell.b);
      if (b == 0 && (a == 0 || slot_of(a) == call.slot)) {
        // Mostly nobody but this thread has ever been here.
        const bool same = serial_of(a) >= call.first;
        if (!same && a != 0) ended(cell, a & kKinds, call.last_end);
        come_behind_ended(call, cell, kinds);
        if (swap(cell.a, a, own | (same ? a & kKinds : 0) | kinds)) return;
        continue;
      }
      if (Word end = 0; b == 0 && is_over(call, a, end)) {
        // One call after the other.
        ended(cell, a & kKinds, end);
        come_behind_ended(call, cell, kinds);
        if (swap(cell.a, a, own | kinds)) return;
        continue;
      }
      if (kinds == kRead && b == many_of(kAllSlots, 0) && a != 0 &&
          load(cell.many_time) == kForever && (slot_of(a) == call.slot || (a & kWrite) == 0)) {
        come_behind_ended(call, cell, kinds);
        return;
      }
      if (update(call, cell, kinds, a, b)) return;
    }
  }

  [[nodiscard]] static bool swap(Word& word, Word old, Word now) {
    return __atomic_compare_exchange_n(&word, &old, now, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
  /// Both words of the cell.
  [[nodiscard]] static bool swap(Cell& cell, Word a, Word b, Word new_a, Word new_b) {
    bool done = false;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*reinterpret_cast<Word(*)[2]>(&cell.a)), "+a"(a), "+d"(b)
                     : "b"(new_a), "c"(new_b)
                     : "memory");
    return done;
  }
  /// Whether the call of an entry of another slot is over, and when it ended or a little later.
  /// What ended before this call began is known from then on, without a look at that slot.
  [[nodiscard]] bool is_over(Call& call, Word entry, Word& end) const {
    const Word serial = serial_of(entry);
    Slot::End& over = call.over[slot_of(entry)];
    if (serial <= over.serial) {
      end = over.time;
      return true;
    }
    const Slot& slot = slots_[slot_of(entry)];
    if (slot.is_open(serial)) return false;
    const Slot::End one = slot.end_of(serial);
    if (one.time <= call.begin) over = one;
    end = one.time;
    return true;
  }
  /// Of two at the same time the later one may be lost to one that is hardly earlier.
  static void later(Word& word, Word time) {
    if (load(word) < time) store(word, time);
  }
  static void ended(Cell& cell, Word kinds, Word time) {
    if ((kinds & kRead) != 0) later(cell.read_until, time);
    if ((kinds & kWrite) != 0) later(cell.written_until, time);
  }

  [[nodiscard]] bool update(Call& call, Cell& cell, Word kinds, Word a, Word b) {
    Word mine = 0;
    Word readers = 0;  // among many
    Word writers = 0;
    Word open[2];
    unsigned count = 0;
    // Before anybody is found to be open: who begins another call meanwhile is not meant.
    Word end = 0;
    const Word now = Clock::now();
    for (const Word entry : {a, b}) {
      if (entry == 0) continue;
      const Word slot = slot_of(entry);
      const bool conflicts = ((entry | kinds) & kWrite) != 0;
      if (slot == call.slot) {
        if (serial_of(entry) >= call.first) {
          mine = entry;
        } else {
          ended(cell, entry & kKinds, call.last_end);
        }
      } else if (slot == kMany) {
        const Word time = load(cell.many_time);
        readers = still_open(readers_of(entry), time, cell.read_until);
        writers = still_open(writers_of(entry), time, cell.written_until);
        if (conflicts) {
          meet_many(call, (kinds & kWrite) != 0 ? readers | writers : writers, time, now);
        }
      } else if (is_over(call, entry, end)) {
        ended(cell, entry & kKinds, end);
      } else {
        if (conflicts) {
          const Word first = load(slots_[slot].first);
          meet(call, slot, first <= serial_of(entry) ? first : 0, now);
        }
        open[count++] = entry;
      }
    }
    come_behind_ended(call, cell, kinds);
    Word rest = 0;
    if (count == 1 && (readers | writers) == 0) {
      rest = open[0];
    } else if (count != 0 || (readers | writers) != 0) {
      for (unsigned i = 0; i < count; ++i) {
        if ((open[i] & kRead) != 0) readers |= bit_of(slot_of(open[i]));
        if ((open[i] & kWrite) != 0) writers |= bit_of(slot_of(open[i]));
      }
      // Of what is written now and then, it pays to know who has read it.
      const bool only_read =
          writers == 0 && ((mine | kinds) & kWrite) == 0 && load(cell.written_until) + kWhile < now;
      if (only_read) readers = kAllSlots;
      // Not back, if others come at the same time: who is among many had begun by then.
      if (only_read) {
        store(cell.many_time, kForever);
      } else if (const Word time = load(cell.many_time); time < now || time == kForever) {
        store(cell.many_time, now);
      }
      rest = many_of(readers, writers);
    }
    const Word own = entry_of(call.mark, call.slot) | (mine & kKinds) | kinds;
    return rest == b ? swap(cell.a, a, own) : swap(cell, a, b, own, rest);
  }

  /// The open call, up to a serial, is over, which it says of itself behind this. Who comes behind
  /// it from here on does so behind all of its accesses, so whether it is left behind is known.
  void is_over_now(Call& call, Word last, Word now) {
    Slot& slot = slots_[call.slot];
    Ended& one = slot.ended[slot.count % Slot::kEnded];
    store(one.first, call.first);
    store(one.last, last);
    store(one.end, now);
    store(slot.count, slot.count + 1);
    if (!is_certain(call)) return;
    call.certain = true;
    Kept& kept = slot.kept[slot.kept_count % Slot::kKept];
    store(kept.first, call.first);
    store(kept.last_in, call.last_in);
    store(slot.kept_count, slot.kept_count + 1);
  }
  /// It was left behind, and came behind someone after that. An `out` from before it began was
  /// meant for the call before.
  [[nodiscard]] bool is_certain(const Call& call) const {
    const Word out = load(slots_[call.slot].out);
    return out != 0 && out >= call.begin && call.last_in >= out;
  }

  /// A call of another slot has made an access that conflicts with one of this call, and was open
  /// at that time. `first`: its serial if it still is, or 0.
  void meet(Call& call, Word slot, Word first, Word time) {
    call.last_in = Clock::now();
    intrude(call);
    if (first == 0) return;
    // One from before it began was meant for the call before, and came late.
    for (Word out = load(slots_[slot].out); out == 0 || out < load(slots_[slot].begin);) {
      if (__atomic_compare_exchange_n(&slots_[slot].out, &out, time, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
        break;
      }
    }
    for (unsigned i = 0; i < call.count; ++i) {
      if (call.sources[i].slot == slot && call.sources[i].first == first) return;
    }
    if (call.count == Call::kMostSources) {
      call.certain = true;
      return;
    }
    call.sources[call.count++] = {slot, first, time};
  }
  /// Of those slots of many, who had begun by `until`, and were open at `time`.
  void meet_many(Call& call, Word those, Word until, Word time) {
    const Word used = load(*used_);
    for (Word slot = 0; slot < used && those != 0; ++slot) {
      if (slot == call.slot || (those & bit_of(slot)) == 0) continue;
      // In this order: who has begun another call meanwhile is not meant.
      const Word first = load(slots_[slot].first);
      meet(call, slot, load(slots_[slot].begin) <= until ? first : 0, time);
    }
  }
  /// Those slots of many whose call is open and had begun by then. `until`: of what is over.
  [[nodiscard]] Word still_open(Word those, Word time, Word& until) const {
    if (those == 0) return 0;
    const Word used = load(*used_);
    Word left = 0;
    for (Word slot = 0; slot < used; ++slot) {
      if ((those & bit_of(slot)) == 0) continue;
      const Slot& one = slots_[slot];
      const bool open = load(one.first) != 0 && load(one.begin) <= time;
      if (open) left |= bit_of(slot);
      if (!open || time == kForever) later(until, one.end_after(time));
    }
    return left;
  }

  Slot* slots_;
  const Word* used_;
  Word intrusion_ = 0;
};

}  // namespace syndrome::calls
