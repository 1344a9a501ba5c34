// What a program tells that follows its own accesses (runtime/follow*.cc), simulated in one thread:
// differential.cc compares it with the oracles.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "check/races/happens_before.h"
#include "event/byte_sites.h"
#include "event/event.h"
#include "event/filter.h"
#include "event/pages.h"
#include "event/quiet.h"
#include "event/sieve_quick.h"
#include "event/sieve_update.h"
#include "live/differential.h"
#include "live/simulated_drafts.h"
#include "live/simulated_filter.h"
#include "live/simulated_marks.h"

namespace syndrome::live {

/// What a program tells that follows its accesses itself, as runtime/sieve.cc does it.
class Following {
 public:
  Following(Way way, std::span<const Event> events) : way_(way), nodes_(1) {
    std::set<ThreadId> threads;
    std::set<ThreadId> children;
    for (const Event& event : events) {
      threads.insert(event.thread);
      if (event.flags == 0 && event.kind == EventKind::kFork) children.insert(event.child());
    }
    coming_ = threads.size();
    for (const ThreadId thread : threads) strangers_ += children.contains(thread) ? 0 : 1;
  }

  void take(const Event& event) {
    Thread& thread = begun(event);
    now_ = &thread;
    if (!is_access(event)) {
      if (event.flags == 0 && sync_quietly(thread, event)) return;
      filter_.new_segment(event.thread);
      if (way_.drafts && event.flags == 0) return draft(thread, event);
      append(event);
      if (event.flags == 0) follow(thread, event);
      return;
    }
    if (!check::is_atomic(event) && is_alone(thread)) return;
    const Place place = place_of(event.target, way_.layout);
    for (unsigned i = 0; i < place.bytes; ++i) {
      accessed_.insert(
          {event.thread, place.address + i, event.kind != EventKind::kRead, event.site.value});
    }
    sieve::Access access;
    access.granule = place.address & ~7ull;
    access.bytes = ((1u << place.bytes) - 1u) << (place.address & 7);
    access.write = event.kind != EventKind::kRead;
    access.atomic = check::is_atomic(event);
    access.site = event.site.value;
    access.orders = access.atomic && access.write && event.order != MemoryOrder::kRelaxed;
    if (access.atomic && !way_.determinism && !way_.only_atomicity) {
      access.acquires = acquires(event);
      access.releases = releases(event);
    }
    if (access.atomic) {
      if (way_.page != 0) share(thread, pages_[access.granule / way_.page]);
      if (keep_quietly(thread, access)) return;
      filter_.new_segment(event.thread);
    } else if (way_.filter && filter_.knows(event.thread, place, access.write)) {
      ++left_out_;
      return;
    }
    if (way_.page != 0 && keep(thread, access)) return;
    if (access.atomic && !way_.determinism) order_by_atomic(thread, event);
    sieve::Cell& cell = cells_[access.granule][0];
    const sieve::Cell& second = more(cell);
    if (access.atomic ||
        !sieve::is_known(cell.a, cell.b, second.a, second.b, thread, access.bytes, access.write)) {
      const bool quiet =
          !access.atomic && event.target % 3 != 0 &&
          ((told_.size() % 2 == 0 && sieve::read_again(*this, cell, cell.a, thread, access)) ||
           sieve::update_quietly(*this, cell, cell.a, thread, access));
      cell.a &= ~sieve::Entry::kLock;
      const bool listed = !quiet && !access.atomic && event.target % 2 != 0 &&
                          sieve::update_listed(*this, cell, thread, access);
      if (!quiet && !listed) sieve::Update(*this, thread, cell).access(access);
    }
    if (leaves_) drafts_.leave(thread.slot);
    if (leaves_) send();
    leaves_ = false;
    if (!access.atomic) return;
    Event atomic = event;
    atomic.target = variable(place.address, place.bytes);
    object_ = {8, static_cast<std::uint32_t>(access.granule)};
    append(atomic);
    object_.reset();
    meet(thread, event);
    if (thread.begin == 0) pass(thread);
    send();
  }

  // Of a Host.
  [[nodiscard]] static sieve::Cell& more(const sieve::Cell& cell) {
    return const_cast<sieve::Cell*>(&cell)[1];
  }
  sieve::Node& node(std::uint32_t number) { return nodes_[number]; }
  std::uint32_t new_node() {
    if (nodes_.size() > kMostNodes) return 0;
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void free_node(std::uint32_t) {}
  [[nodiscard]] std::uint32_t with(std::uint32_t site, unsigned bytes, std::uint32_t other) {
    const std::uint32_t joined = byte_sites_.with(site, bytes, other);
    if (joined != 0) ++joined_;
    return joined;
  }
  [[nodiscard]] std::uint32_t site_of(std::uint32_t site, unsigned byte) const {
    return byte_sites_.site_of(site, byte);
  }
  [[nodiscard]] sieve::Word begin_of(std::uint32_t slot) const {
    for (const auto& [id, thread] : threads_) {
      if (thread.slot == slot && thread.position >= slots_[slot].position) return thread.begin;
    }
    return 0;
  }
  void late(sieve::Entry entry, std::uint64_t granule, unsigned from, unsigned count, bool write,
            std::uint32_t site) {
    if (told_.size() % 2 == 0) want_locks(entry);
    for (unsigned i = 0; i < count; ++i) {
      const ThreadId thread = place_at(entry.slot(), entry.position()).thread;
      misplaced_ += accessed_.contains({thread, granule + from + i, write, site}) ? 0 : 1;
    }
    const Event event{place_at(entry.slot(), entry.position()).thread,
                      variable(granule + from, count),
                      SiteId(site),
                      write ? EventKind::kWrite : EventKind::kRead,
                      0,
                      entry.atomic() ? MemoryOrder::kRelaxed : MemoryOrder::kPlain,
                      0};
    put_late(entry.slot(), entry.position(), false, event);
    if (way_.drafts) {
      drafts_.late(now_->slot, entry.slot(), entry.position(), event, granule);
    }
  }
  void after(sieve::Entry entry) {
    if (way_.drafts) drafts_.late(now_->slot, entry.slot(), entry.position(), std::nullopt, 0);
  }
  void intrude(sieve::Entry entry) {
    if (installing_) return;
    for (const auto& [id, thread] : threads_) {
      if (thread.slot == entry.slot()) filter_.intrude(id);
    }
  }
  void intrude_all() { filter_.intrude_all(); }
  void stamp() { leaves_ = way_.drafts; }
  [[nodiscard]] bool drafts() const { return way_.drafts && drafts_.by_position(now_->slot); }
  void forget(std::uint64_t granule) {
    if (!installing_) filter_.forget(id_, granule);
  }
  [[nodiscard]] sieve::Word past(std::uint32_t slot) const { return past_.of(slot); }
  [[nodiscard]] sieve::Word clear(std::uint32_t slot) const { return drafts_.clear(slot); }
  [[nodiscard]] sieve::Word horizon(std::uint32_t slot) const {
    return sieve::without_block(horizon_.of(slot), begin_of(slot));
  }
  void now(const sieve::Access& access, unsigned from, unsigned count) {
    if (installing_) return;
    filter_.new_segment(id_);
    // Nothing but the time says what is before it.
    if (leaves_) object_ = {9, 0};
    granule_ = access.granule;
    append({id_, variable(access.granule + from, count), SiteId(access.site),
            access.write ? EventKind::kWrite : EventKind::kRead, 0,
            access.atomic ? MemoryOrder::kRelaxed : MemoryOrder::kPlain, 0});
    granule_ = 0;
    object_.reset();
  }

  [[nodiscard]] std::uint64_t thrown() const { return drafts_.thrown(); }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  /// How often an access became one with another that was at another site.
  [[nodiscard]] std::uint64_t joined() const { return joined_; }
  /// Bytes that were told late at a site where their thread never accessed them.
  [[nodiscard]] std::uint64_t misplaced() const { return misplaced_; }
  /// None: the checker would wait for something that never comes.
  [[nodiscard]] std::optional<std::vector<Event>> trace() {
    if (way_.drafts) {
      send();
      return drafts_.merged(told_.size());
    }
    std::vector<Event> all;
    auto next = late_.begin();
    for (std::size_t i = 0; i <= told_.size(); ++i) {
      for (; next != late_.end() && next->first.first == i; ++next) all.push_back(next->second);
      if (i < told_.size()) all.push_back(told_[i]);
    }
    return all;
  }

 private:
  using Thread = sieve::Thread;
  static constexpr std::size_t kMostNodes = 6;  // so that cells get hot, too
  static constexpr std::size_t kMostLogged = 5;
  static constexpr unsigned kByteSitesBits = 4;  // 15 of them: in some traces there are more
  /// What a thread keeps of pages that are its own, as runtime/follow_pages.cc does it.
  struct Log {
    sieve::Word base = 0;  // how many entries were thrown away
    std::vector<std::pair<sieve::Word, sieve::Access>> entries;  // with their positions
    bool direct = false;  // it was too short: what follows goes to cells
  };
  /// Of a position: whose it is, and which event of the trace it is behind.
  struct At {
    ThreadId thread;
    std::size_t behind = 0;
    sieve::Word told_at = 0;  // the position of that event
  };
  struct Slot {
    Log log;
    std::vector<At> places = {{}, {}};  // by position
    sieve::Word position = 1;           // of its thread, or its last
    bool free = false;
    sieve::QuietLocks quiet;
    std::vector<sieve::Section> sections;  // that were not told
  };

  [[nodiscard]] const At& place_at(std::uint32_t slot, sieve::Word position) const {
    return slots_[slot].places[position];
  }
  void put_late(std::uint32_t slot, sieve::Word position, bool sync, const Event& event) {
    const At& place = place_at(slot, position);
    late_.emplace(std::pair(place.behind, sieve::order_of_late(position, place.told_at, sync)),
                  event);
  }

  // Quiet locks, as runtime/follow_quiet.cc has them.

  void tell_lock(std::uint32_t slot, const sieve::Section& section, bool release) {
    const sieve::Word position = release ? section.released : section.acquired;
    put_late(slot, position, true,
             {place_at(slot, position).thread, static_cast<std::uint32_t>(section.object),
              SiteId(release ? section.released_at : section.acquired_at),
              release ? EventKind::kRelease : EventKind::kAcquire, 0, MemoryOrder::kPlain, 0});
  }
  void tell_section(std::uint32_t slot, const sieve::Section& section) {
    tell_lock(slot, section, false);
    tell_lock(slot, section, true);
    std::erase_if(slots_[slot].sections,
                  [&](const sieve::Section& each) { return each.released == section.released; });
  }
  void tell_before(const Thread& thread, sieve::LastRelease& last, bool shared) {
    if (last.quiet && (shared || !last.is_by(thread))) {
      last.quiet = false;
      tell_section(last.slot, last.section);
    }
    if (shared) last.shared();
  }
  void tell_held() {
    sieve::QuietLocks& quiet = slots_[now_->slot].quiet;
    while (quiet.count() != 0) {
      tell_lock(now_->slot, quiet[0].section, false);
      quiet.remove(quiet[0]);
    }
  }
  void want_locks(sieve::Entry entry) {
    Slot& slot = slots_[entry.slot()];
    for (std::uint32_t i = 0; i < slot.quiet.count(); ++i) {
      if (slot.quiet[i].section.acquired < entry.position()) slot.quiet[i].wanted = 1;
    }
    for (const sieve::Section section : std::vector(slot.sections)) {
      if (section.acquired >= entry.position() || section.released < entry.position()) continue;
      sieve::LastRelease& last = lasts_[static_cast<std::uint32_t>(section.object)];
      if (last.slot == entry.slot() && last.section.released == section.released) {
        last.quiet = false;
      }
      tell_section(entry.slot(), section);
    }
  }
  /// As when another lock takes the place of one in the table.
  void evict(std::uint32_t lock) {
    sieve::LastRelease& last = lasts_[lock];
    if (last.quiet) tell_section(last.slot, last.section);
    last = {};
    locks_[lock] = {};
  }
  bool sync_quietly(Thread& thread, const Event& event) {
    if (way_.only_atomicity || way_.determinism) return false;
    if (event.kind < EventKind::kAcquire || event.kind > EventKind::kReleaseShared) return false;
    if (told_.size() % 5 == 0) evict(event.target + 1);
    sieve::LastRelease& last = lasts_[event.target];
    sieve::QuietLocks& quiet = slots_[thread.slot].quiet;
    const bool shared =
        event.kind == EventKind::kAcquireShared || event.kind == EventKind::kReleaseShared;
    tell_before(thread, last, shared);
    if (event.kind == EventKind::kAcquire) {
      if (!last.is_by(thread) || !quiet.acquire(thread, event.target, event.site.value)) {
        return false;
      }
      new_quiet_position();
      return true;
    }
    sieve::QuietLocks::Held* const held = quiet.find(event.target);
    if (event.kind != EventKind::kRelease || held == nullptr || held->wanted != 0) return false;
    quiet.release(thread, *held, last, event.site.value);
    new_quiet_position();
    thread.publish(locks_[event.target], static_cast<std::uint32_t>(slots_.size()));
    slots_[thread.slot].sections.push_back(last.section);
    filter_.new_segment(event.thread);
    return true;
  }
  bool keep_quietly(Thread& thread, const sieve::Access& access) {
    if (way_.only_atomicity || way_.determinism) return false;
    sieve::Cell& cell = cells_[access.granule][0];
    const sieve::Cell& second = more(cell);
    return (!access.is_in_sequence(cell) &&
            sieve::is_known_atomic(cell.a, cell.b, second.a, second.b, thread, access.bytes,
                                   access.write)) ||
           sieve::Update(*this, thread, cell).keep_quietly(access);
  }
  void new_quiet_position() {
    Slot& slot = slots_[now_->slot];
    const At place = slot.places[slot.position];
    slot.position = now_->position;
    slot.places.resize(slot.position + 1, place);
  }

  Thread& begun(const Event& event) {
    id_ = event.thread;
    const auto known = threads_.find(id_);
    if (known != threads_.end()) return known->second;
    Thread& thread = threads_[id_];
    std::uint32_t slot = 0;
    while (slot < slots_.size() && !slots_[slot].free) ++slot;
    if (slot == slots_.size()) slots_.emplace_back();
    slots_[slot].free = false;
    thread.slot = slot;
    thread.only_atomicity = way_.only_atomicity;
    thread.first = thread.position = thread.since = thread.told_at = slots_[slot].position;
    slots_[slot].quiet.clear();
    const auto forked = forks_.find(id_);
    if (forked != forks_.end()) thread.known = forked->second;
    marks_.begin(thread, id_, static_cast<std::uint32_t>(slots_.size()));
    // Of the threads that had the slot before it.
    for (const auto& [id, other] : threads_) {
      if (other.slot != slot || &other == &thread) continue;
      thread.comes_after(other.before, static_cast<std::uint32_t>(slots_.size()));
      thread.after_unknown |= other.after_unknown;
    }
    now_ = &thread;
    filter_.new_segment(id_);
    if (way_.drafts) {
      drafts_.begin(slot, thread.position);
      object_ = {1, id_.value};
    }
    append({id_, 0, SiteId(), EventKind::kEnter, 0, MemoryOrder::kPlain, 0});
    object_.reset();
    send();
    return thread;
  }

  /// Whether the access is in the thread's log. Otherwise its page is for cells.
  bool keep(Thread& thread, const sieve::Access& access) {
    sieve::Word& page = pages_[access.granule / way_.page];
    Log& log = slots_[thread.slot].log;
    if (log.entries.size() == kMostLogged) make_room(thread);
    // As if every other access were a loop's.
    const bool alone = !way_.only_atomicity && ++kept_ % 2 == 0 &&
                       !pages::is_logged(page, thread, over_of(thread.slot));
    switch (pages::next(page, thread, over_of(pages::slot_of(page)))) {
      case pages::Next::kTake:
        page = alone ? pages::word_of(pages::kShared, thread.slot, 0) : pages::own(thread);
        break;
      case pages::Next::kOpen: open(page); break;
      default: break;
    }
    if (pages::tag_of(page) == pages::kShared || log.direct) return false;
    log.entries.emplace_back(thread.position, access);
    return true;
  }
  [[nodiscard]] sieve::Word over_of(std::uint32_t slot) const {
    return way_.only_atomicity ? past_.of(slot) : horizon(slot);
  }
  void make_room(Thread& thread) {
    Log& log = slots_[thread.slot].log;
    if (!way_.only_atomicity) {
      const auto over = [&](const auto& entry) { return entry.first < over_of(thread.slot); };
      const auto from = std::ranges::find_if_not(log.entries, over);
      log.base += static_cast<std::size_t>(from - log.entries.begin());
      log.entries.erase(log.entries.begin(), from);
      if (log.entries.size() == kMostLogged) flush(thread.slot);
      return;
    }
    if (thread.begin == 0) {
      new_position();
      pass(thread);
    }
    flush(thread.slot);
    log.direct = told_.size() % 2 == 0;
  }
  /// Pages that someone opened have theirs already.
  void flush(std::uint32_t slot) {
    Log& log = slots_[slot].log;
    for (const auto& [position, access] : log.entries) {
      const sieve::Word page = pages_[access.granule / way_.page];
      if (pages::tag_of(page) == pages::kOwned && pages::slot_of(page) == slot) {
        install(slot, position, access);
      }
    }
    const sieve::Word end = log.base + log.entries.size();
    for (const auto& [position, access] : log.entries) {
      sieve::Word& page = pages_[access.granule / way_.page];
      if (!way_.only_atomicity && pages::tag_of(page) == pages::kOwned &&
          pages::slot_of(page) == slot) {
        page = pages::word_of(pages::kShared, slot, end);
      }
    }
    empty(log);
  }
  static void empty(Log& log) {
    log.base += log.entries.size();
    log.entries.clear();
  }
  /// Before an atomic.
  void share(const Thread& thread, sieve::Word& page) {
    if (pages::tag_of(page) == pages::kOwned) return open(page);
    if (pages::tag_of(page) == pages::kNobody) {
      page = pages::word_of(pages::kShared, thread.slot, 0);
    }
  }
  void open(sieve::Word& page) {
    const std::uint32_t slot = pages::slot_of(page);
    const Log& log = slots_[slot].log;
    for (const auto& [position, access] : log.entries) {
      if (&pages_[access.granule / way_.page] == &page) install(slot, position, access);
    }
    page = pages::word_of(pages::kShared, slot, log.base + log.entries.size());
  }
  /// Into the cell, where it would have been without pages.
  void install(std::uint32_t slot, sieve::Word position, const sieve::Access& access) {
    Thread owner;
    owner.slot = slot;
    owner.position = owner.since = position;
    installing_ = true;
    sieve::Update(*this, owner, cells_[access.granule][0]).access(access);
    installing_ = false;
  }
  /// Behind pass().
  void passed(const Thread& thread) {
    Log& log = slots_[thread.slot].log;
    const sieve::Word past = past_.of(thread.slot);
    if (!log.entries.empty() && log.entries.back().first < past) empty(log);
    if (past >= thread.limit()) log.direct = false;
  }

  void append(const Event& event) {
    tell_held();
    told_.push_back(event);
    if (way_.drafts && granule_ != 0 && !object_) {
      drafts_.access(now_->slot, event, granule_, now_->position);
    } else if (way_.drafts) {
      drafts_.event(now_->slot, event, object_);
    }
    new_position();
    if (way_.drafts) drafts_.place(now_->slot, now_->position);
  }

  // Drafts, as runtime/draft.cc has them.

  void draft(Thread& thread, const Event& event) {
    const bool taken = event.kind == EventKind::kAcquire || event.kind == EventKind::kAcquireShared;
    const bool released =
        event.kind == EventKind::kRelease || event.kind == EventKind::kReleaseShared;
    const bool block = event.kind == EventKind::kBegin || event.kind == EventKind::kEnd;
    if (taken) drafts_.acquire(thread.slot, event.target);
    if ((!taken && !released && !block) || !drafts_.by_position(thread.slot)) {
      object_ = SimulatedDrafts::object_of(event);
    }
    append(event);
    const bool versioned = object_.has_value();
    object_.reset();
    if (released) drafts_.release(thread.slot, event.target, thread.position);
    if (taken || released) drafts_.held(thread.slot, taken ? 1 : -1);
    follow(thread, event);
    if (versioned || told_.size() % 29 == 0) send();
  }
  void send() {
    if (!way_.drafts) return;
    drafts_.send(
        [&](std::uint32_t slot) { return past_.of(slot); },
        [&](std::uint64_t granule) { cells_[granule][0].site_b |= sieve::Cell::kStirred; });
  }
  void new_position() {
    now_->told();
    Slot& slot = slots_[now_->slot];
    slot.position = now_->position;
    slot.places.resize(slot.position + 1);
    slot.places[slot.position] = {id_, told_.size(), slot.position};
  }

  /// As runtime/follow_order.cc has it.
  [[nodiscard]] bool is_alone(const Thread& thread) const {
    if (thread.begin != 0 || way_.determinism) return false;
    if (way_.only_atomicity && !in_blocks_) return true;
    if (!way_.only_atomicity && !forked_.empty()) return false;
    // One that comes by itself would have been there all the time.
    if (strangers_ > 1) return false;
    std::size_t others = 0;
    for (const auto& [id, each] : threads_) others += ended_.contains(id) || id == id_ ? 0 : 1;
    for (const ThreadId child : forked_) others += threads_.contains(child) ? 0 : 1;
    return others == 0;
  }

  void order_by_atomic(Thread& thread, const Event& event) {
    // As when another object takes its place in the table.
    if (told_.size() % 3 == 0) atomics_[event.target] = {};
    atomics_[event.target].perform(thread, event.kind == EventKind::kWrite, acquires(event),
                                   releases(event), static_cast<std::uint32_t>(slots_.size()));
  }
  [[nodiscard]] static bool acquires(const Event& event) {
    return event.kind != EventKind::kWrite && event.order != MemoryOrder::kRelaxed &&
           event.order != MemoryOrder::kRelease;
  }
  [[nodiscard]] static bool releases(const Event& event) {
    return event.kind != EventKind::kRead &&
           (event.order == MemoryOrder::kRelease || event.order == MemoryOrder::kAcqRel ||
            event.order == MemoryOrder::kSeqCst);
  }

  void meet(Thread& thread, const Event& event) {
    const auto child =
        event.kind == EventKind::kJoin ? threads_.find(event.child()) : threads_.end();
    marks_.meet(thread, event, way_.layout, static_cast<std::uint32_t>(slots_.size()),
                child == threads_.end() ? nullptr : &child->second);
  }
  void pass(const Thread& thread) {
    if (!way_.only_atomicity || thread.after_unknown) return;
    raise_past(thread);
    if (way_.page != 0) passed(thread);
    if (way_.drafts && thread.begin == 0) {
      drafts_.pass(thread.slot, thread.position, thread.before, told_.size() % 2 == 0);
    }
  }
  void raise_past(const Thread& thread) {
    const auto slots = static_cast<std::uint32_t>(slots_.size());
    past_.set_limit(thread.slot, thread.limit());
    if (past_.advance(thread.slot, thread.before, slots) || told_.size() % 3 != 0) return;
    past_.advance_all(slots,
                      [&](std::uint32_t slot) -> const sieve::Known& { return before_of(slot); });
  }
  [[nodiscard]] const sieve::Known& before_of(std::uint32_t slot) const {
    for (const auto& [id, thread] : threads_) {
      if (thread.slot == slot && thread.position >= slots_[slot].position) return thread.before;
    }
    static const sieve::Known kNone{};
    return kNone;
  }

  void follow(Thread& thread, const Event& event) {
    const auto slots = static_cast<std::uint32_t>(slots_.size());
    meet(thread, event);
    switch (event.kind) {
      case EventKind::kBegin:
        in_blocks_ = true;
        thread.begin_block(true, slots);
        pass(thread);
        filter_.keep_key(id_, thread.whole);
        break;
      case EventKind::kEnd:
        thread.end_block();
        filter_.keep_key(id_, false);
        break;
      case EventKind::kAcquire:
        if (!way_.determinism) thread.known.join(locks_[event.target], slots);
        break;
      case EventKind::kRelease:
        if (!way_.determinism) thread.publish(locks_[event.target], slots);
        lasts_[event.target].told(thread);
        break;
      case EventKind::kFork:
        forked_.insert(event.child());
        thread.publish(forks_[event.child()], slots);
        break;
      case EventKind::kJoin: {
        const auto child = threads_.find(event.child());
        if (child == threads_.end()) break;
        sieve::Known clock{};
        child->second.publish(clock, slots);
        thread.known.join(clock, slots);
        // A second join finds the slot gone, and maybe another thread's.
        if (ended_.insert(event.child()).second) {
          Slot& slot = slots_[child->second.slot];
          slot.free = true;
          flush(child->second.slot);
        }
        break;
      }
      case EventKind::kPost:
      case EventKind::kHappensBefore: {
        if (way_.determinism) break;
        sieve::Known clock{};
        thread.publish(clock, slots);
        signals_[event.target].post(clock, event.kind == EventKind::kHappensBefore, slots);
        break;
      }
      case EventKind::kWait:
      case EventKind::kHappensAfter:
        if (way_.determinism) break;
        signals_[event.target].wait(thread.known, event.kind == EventKind::kHappensAfter, slots);
        break;
      case EventKind::kBarrierArrive: {
        sieve::Known clock{};
        thread.publish(clock, slots);
        rounds_[thread.slot] = barriers_[event.target].arrive(clock, slots);
        break;
      }
      case EventKind::kBarrierLeave:
        barriers_[event.target].leave(thread.known, rounds_[thread.slot], slots);
        break;
      default: break;
    }
    if (thread.begin == 0) pass(thread);
    // A thread that is still to come may know nothing.
    if (threads_.size() != coming_) return;
    horizon_.begin();
    for (const auto& [id, each] : threads_) {
      if (!ended_.contains(id)) horizon_.see(each);
    }
    horizon_.end();
  }

  std::uint32_t variable(std::uint64_t address, unsigned bytes) {
    return variables_
        .try_emplace(std::pair(address, bytes), static_cast<std::uint32_t>(variables_.size()))
        .first->second;
  }

  Way way_;
  std::size_t coming_ = 0;     // threads in all
  std::size_t strangers_ = 0;  // that nobody forks
  std::set<ThreadId> forked_;
  Filter filter_;
  std::map<ThreadId, Thread> threads_;
  std::vector<Slot> slots_;
  std::map<ThreadId, sieve::Known> forks_;
  std::map<std::uint32_t, sieve::Known> locks_;
  std::map<std::uint32_t, sieve::LastRelease> lasts_;
  std::map<std::uint32_t, sieve::AtomicClock> atomics_;
  std::map<std::uint32_t, sieve::Signals> signals_;
  std::map<std::uint32_t, sieve::Rounds> barriers_;
  std::map<std::uint32_t, std::uint32_t> rounds_;  // by slot
  sieve::Horizon horizon_;
  sieve::Past past_;
  std::map<std::uint64_t, sieve::Word> pages_;  // by address / way_.page
  std::size_t kept_ = 0;                        // accesses that were to be in a log
  bool installing_ = false;
  bool in_blocks_ = false;
  Marks marks_;
  std::set<ThreadId> ended_;
  std::map<std::uint64_t, std::array<sieve::Cell, 2>> cells_;
  std::deque<sieve::Node> nodes_;
  sieve::ByteSitesTable<kByteSitesBits> byte_sites_{};
  std::uint64_t joined_ = 0;
  std::set<std::tuple<ThreadId, std::uint64_t, bool, std::uint32_t>>
      accessed_;  // byte, write, site
  std::uint64_t misplaced_ = 0;
  Thread* now_ = nullptr;
  ThreadId id_;
  SimulatedDrafts drafts_;
  std::optional<SimulatedDrafts::Object> object_;  // of the event that is told, if it has a version
  std::uint64_t granule_ = 0;                      // of the access that is told
  bool leaves_ = false;
  std::vector<Event> told_;
  std::multimap<std::pair<std::size_t, sieve::Word>, Event> late_;  // by place and order
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> variables_;
  std::uint64_t left_out_ = 0;
};

}  // namespace syndrome::live
