// The second loop of capture_reduce.h: writes what is kept of one thread. Internal.
//
// A *call* is what has units of work in it: from when the outermost function that is one for
// certain, or may be, is entered (FunctionRole::kMember and kDeclared), or accesses something
// itself or through the library (kAccessor), until it returns; and any block. What is outside of
// calls is a unit by itself.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "event/wire.h"
#include "trace/capture_scan.h"
#include "trace/capture_shared.h"
#include "trace/capture_sweep.h"

namespace syndrome::trace {

[[nodiscard]] inline bool is_atomic(const ScanSync& sync) {
  return (sync.kind == wire::Sync::kAtomicLoad || sync.kind == wire::Sync::kAtomicStore ||
          sync.kind == wire::Sync::kAtomicRmw) &&
         (sync.operand() & 0xff) != 0 && sync.object() <= wire::kAddressMask;
}

/// When the first thread is alone. Both loops ask it the same and get the same answers.
struct Alone {
  std::uint64_t others_begin = UINT64_MAX;
  std::uint64_t others_end = 0;
  /// The first call that was open when others began, or that began then: from 1.
  std::uint64_t first_together = UINT64_MAX;

  bool before = true;
  bool late = false;       // the others are over
  bool call_late = false;  // and were so when the call began
  std::uint64_t calls = 0;

  void restart() {
    before = true;
    late = call_late = false;
    calls = 0;
  }
  void begin_call() {
    ++calls;
    call_late = late;
  }
  void see(std::uint64_t time) { late |= time > others_end; }
  [[nodiscard]] bool is_late(bool in_call) const { return in_call ? call_late : late; }
  /// For who knows first_together.
  [[nodiscard]] bool now(bool in_call) const {
    if (before) return !in_call || calls < first_together;
    return is_late(in_call);
  }
};

class ThreadReducer : public WordScan<ThreadReducer> {
  friend class WordScan<ThreadReducer>;

 public:
  struct Options {
    bool by_calls = false;  // make what sweep() needs
    bool every_function = false;
    bool atomics = false;  // atomic accesses count
  };
  ThreadReducer(const ScanTables& tables, const CaptureShared& shared, SweepThread& out,
                bool first_thread, Options options, Alone* alone)
      : WordScan(tables, first_thread),
        shared_(&shared),
        out_(&out),
        options_(options),
        alone_(options.by_calls ? alone : nullptr) {}

  /// Behind finish(). False: it was too much.
  [[nodiscard]] bool done() const {
    return out_->words.size() < kMostWords && out_->items.size() < kMostItems;
  }

 private:
  static constexpr std::size_t kMostWords = std::size_t{1} << 27;  // 1 GB
  static constexpr std::size_t kMostItems = std::size_t{1} << 26;  // 1 GB
  using Item = SweepItem;

  // What is accessed.

  void on_access(wire::Word word, wire::Word wide, ScanTables::Site site, std::uint32_t,
                 std::uint64_t address) {
    const bool forced = leaf() && frames().back().told;
    if (!wanted(address, site.bytes()) && !forced) return;
    accessed();
    tell_frames();
    const std::uint32_t at = place();
    if (wide != 0) out_->words.push_back(wide);
    out_->words.push_back(word);
    released_ = false;
    add_items(address, site.bytes(), kinds_of(site), at);
  }
  void on_object(wire::Word word) {
    if (frames().empty()) return;
    ScanFrame& frame = frames().back();
    if (frame.told) {
      out_->words.push_back(word);
      return;
    }
    const auto room = std::ranges::find(frame.objects, wire::Word{0});
    if (room != frame.objects.end()) *room = word;
  }
  void on_range(std::span<const wire::Word> record, std::uint64_t address, std::uint64_t bytes,
                bool write) {
    if (!wanted(address, bytes)) return;
    accessed();
    const std::uint32_t at = keep(record);
    add_items(address, bytes, write ? Item::kWrite : Item::kRead, at);
  }
  void on_run(std::span<const wire::Word> record, std::span<const ScanRun> accesses) {
    bool any = false;
    for (const ScanRun& access : accesses) {
      access.each(
          [&](std::uint64_t address, std::uint64_t bytes) { any = any || wanted(address, bytes); });
    }
    if (!any) return;
    accessed();
    const std::uint32_t at = keep(record);
    for (const ScanRun& access : accesses) add_loop(access, at);
  }
  [[nodiscard]] static std::uint8_t kinds_of(ScanTables::Site site) {
    const bool container = (site.bits & ScanTables::Site::kOfContainer) != 0;
    return static_cast<std::uint8_t>((site.reads() ? Item::kRead : 0) |
                                     (site.writes() ? Item::kWrite : 0) |
                                     (container ? Item::kOfContainer : 0));
  }

  /// In what may be a unit and is not alone, all that has conflicts: which object a function
  /// accesses first says whose unit it is.
  [[nodiscard]] bool wanted(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return false;
    const bool alone = is_alone();
    if (!options_.by_calls || (in_call() && !alone)) return shared_->has_conflicts(address, bytes);
    const std::uint64_t last = (address + bytes - 1) >> 3;
    for (std::uint64_t granule = address >> 3; granule <= last; ++granule) {
      if (!shared_->has_conflicts(granule << 3)) continue;
      if (!alone && shared_->has_conflicts_together(granule << 3)) return true;
      if (!has_seen(granule, bytes_of_granule(granule, address, bytes))) return true;
    }
    return false;
  }
  void forget_seen() { seen_.assign(seen_.size(), {}); }
  [[nodiscard]] bool is_alone() const { return alone_ != nullptr && alone_->now(in_call()); }
  [[nodiscard]] bool has_seen(std::uint64_t granule, std::uint8_t bytes) const {
    const Seen& seen = seen_[granule % seen_.size()];
    return seen.granule == granule && (bytes & ~seen.bytes) == 0;
  }
  void add_loop(const ScanRun& access, std::uint32_t at) {
    if (!options_.by_calls || access.count == 0) return;
    if (access.site.bytes() > 255) return fail();
    const std::uint8_t kinds = kinds_of(access.site);
    if (!is_alone() && call_ != kNoCall) begin_part(at);
    const std::uint8_t names = is_alone() ? Item::kNamesOnly : 0;
    out_->items.push_back(
        {access.address, at, Item::kLoop, static_cast<std::uint8_t>(kinds | names)});
    out_->items.push_back({static_cast<std::uint64_t>(access.stride),
                           static_cast<std::uint32_t>(access.count), Item::kLoop, 0,
                           static_cast<std::uint8_t>(access.site.bytes())});
  }
  /// Of the open call, with its first access.
  void begin_part(std::uint32_t at) {
    if (active_) return;
    active_ = true;
    out_->items.push_back({out_->parts.size(), at, Item::kPartBegin});
    out_->parts.push_back(static_cast<std::uint32_t>(out_->calls.size() - 1));
  }
  void add_items(std::uint64_t address, std::uint64_t bytes, std::uint8_t kinds, std::uint32_t at) {
    if (!options_.by_calls) return;
    const bool alone = is_alone();
    const std::uint64_t last = (address + bytes - 1) >> 3;
    for (std::uint64_t granule = address >> 3; granule <= last; ++granule) {
      Item item{granule, at, Item::kAccess, kinds, bytes_of_granule(granule, address, bytes)};
      if (alone || (kinds & Item::kNamesOnly) != 0 ||
          !shared_->has_conflicts_together(granule << 3)) {
        if (!shared_->has_conflicts(granule << 3) || has_seen(granule, item.bytes)) continue;
        Seen& seen = seen_[granule % seen_.size()];
        if (seen.granule != granule) seen = {granule, 0};
        seen.bytes |= item.bytes;
        item.access |= Item::kNamesOnly;
      } else if (call_ != kNoCall) {
        begin_part(at);
        // Nobody else comes in between before the next time or synchronization.
        Recent& recent = recent_[granule % recent_.size()];
        if (recent.granule != granule || recent.segment != segment_) recent = {granule, segment_};
        if ((item.access & ~recent.access) == 0 && (item.bytes & ~recent.bytes) == 0) continue;
        recent.access |= item.access;
        recent.bytes |= item.bytes;
      }
      out_->items.push_back(item);
    }
    if (out_->items.size() > kMostItems || out_->words.size() > kMostWords) fail();
  }

  // What else there is.

  void on_sync(const ScanSync& sync) {
    if (alone_ != nullptr) {
      if (alone_->before &&
          (sync.kind == wire::Sync::kFork || sync.time() > alone_->others_begin)) {
        alone_->before = false;
      }
      alone_->see(sync.time());
    }
    if (sync.kind == wire::Sync::kAlloc || sync.kind == wire::Sync::kFree) {
      const std::uint64_t bytes = sync.operand();
      const bool known =
          bytes != 0 && bytes <= wire::kAddressMask && sync.object() <= wire::kAddressMask;
      if (known && !shared_->has_conflicts(sync.object(), bytes)) return only_order(sync);
      return renew(sync.record, sync.object(), known ? bytes : 8, &sync);
    }
    tell_frames();
    const std::uint32_t at = place();
    put(sync.record);
    add_sync(sync, at);
    switch (sync.kind) {
      case wire::Sync::kRelease:
      case wire::Sync::kReleaseShared: released_ = true; break;
      case wire::Sync::kAcquire:
      case wire::Sync::kAcquireShared: released_ = false; break;
      default: break;
    }
    block_at_ = at;
    if (is_atomic(sync)) {
      const std::uint8_t kinds =
          sync.kind == wire::Sync::kAtomicLoad ? Item::kRead : Item::kRead | Item::kWrite;
      add_items(sync.object(), sync.operand() & 0xff,
                options_.atomics ? kinds : kinds | Item::kNamesOnly, at);
    }
    if (call_ == kNoCall) return;
    watch(sync);
    if (is_wait(sync.kind) && is_by_default()) {
      end_part();
      ++segment_;
    }
  }
  void add_sync(const ScanSync& sync, std::uint32_t at) {
    ++segment_;
    if (!options_.by_calls) return;
    out_->items.push_back({sync.time(), at, Item::kSync});
    const auto shard = static_cast<std::uint32_t>(wire::shard_of(sync.kind, sync.object()));
    out_->items.push_back({sync.version(), shard, Item::kSync});
  }
  /// Memory that does not matter: but others may be known to have come before or behind it.
  void only_order(const ScanSync& sync) {
    put_time();
    const std::uint32_t at = place();
    add_sync(sync, at);
    if (options_.by_calls) return;
    put(sync.record);
    if (sync.record.size() > 4) out_->words.back() = wire::operand(0);
  }
  /// `sync`: what says so, null: locals.
  void renew(std::span<const wire::Word> record, std::uint64_t address, std::uint64_t bytes,
             const ScanSync* sync) {
    put_time();
    const std::uint32_t at = place();
    put(record);
    if (sync != nullptr) add_sync(*sync, at);
    ++segment_;
    if (!options_.by_calls) return;
    const std::uint64_t last = (address + bytes - 1) >> 3;
    if (last - (address >> 3) >= seen_.size()) {
      forget_seen();
    } else {
      for (std::uint64_t granule = address >> 3; granule <= last; ++granule) {
        seen_[granule % seen_.size()] = {};
      }
    }
    out_->items.push_back({address, at, Item::kRenew});
    out_->items.push_back({bytes, at, Item::kRenew});
    if (call_ != kNoCall && call_told_) out_->renewals.push_back(at);
  }
  void on_locals(std::span<const wire::Word> record, std::uint64_t address, std::uint64_t bytes) {
    if (shared_->has_conflicts(address, bytes)) renew(record, address, bytes, nullptr);
  }
  void on_time(wire::Word word) {
    time_ = word;
    // The first one says when the thread begins.
    if (out_->words.empty()) put_time();
    if (alone_ != nullptr) see(wire::time_of(word));
  }
  void see(std::uint64_t time) {
    if (time > alone_->others_begin) alone_->before = false;
    // Others may have made new objects meanwhile.
    if (time > alone_->others_end && !alone_->late) forget_seen();
    alone_->see(time);
  }
  void on_frame(wire::Word word) { keep({&word, 1}); }
  void on_resume(wire::Word word) { keep({&word, 1}); }

  /// Whether the call can be left out as a whole: it gives back all that it takes.
  void watch(const ScanSync& sync) {
    using wire::Sync;
    switch (sync.kind) {
      case Sync::kAcquire:
      case Sync::kAcquireShared: held_.push_back(sync.object()); break;
      case Sync::kRelease:
      case Sync::kReleaseShared: {
        const auto at = std::find(held_.begin(), held_.end(), sync.object());
        if (at == held_.end()) {
          stays_ = true;
        } else {
          held_.erase(at);
        }
        break;
      }
      case Sync::kAtomicLoad:
      case Sync::kAtomicStore:
      case Sync::kAtomicRmw:
      case Sync::kFence:
      case Sync::kCondWait:
      case Sync::kCondSignal:
      case Sync::kCondBroadcast: break;
      default: stays_ = true; break;
    }
  }

  // Functions, as far as they are told: always the outermost ones.

  void on_push() {
    ScanFrame& frame = frames().back();
    if (frame.word == 0) {
      frame.told = true;
      ++told_;
      if (call_ != kNoCall) {
        stays_ = true;
      } else {
        begin_call(frames().size() - 1);
        tell_call(block_at_);
        stays_ = true;
      }
      return;
    }
    if (call_ == kNoCall && frame.role >= FunctionRole::kMember) begin_call(frames().size() - 1);
    constexpr std::uint32_t kAnnotated = unit::kAtomic | unit::kDeterministic | unit::kUnitOfWork;
    if (options_.every_function ||
        (tables().meta().functions[frame.function].flags & kAnnotated) != 0 ||
        tables().may_wait(frame.function)) {
      tell_frames();
    }
  }
  void on_call_begin() {
    if (alone_ != nullptr) alone_->begin_call();
  }
  void on_call_end() {}

  /// The function that runs, and not the library's, accesses something.
  void accessed() {
    if (call_ != kNoCall) return;
    std::size_t at = frames().size();
    while (at > 0 && !is_own(frames()[at - 1])) --at;
    if (at == 0 || frames()[at - 1].role != FunctionRole::kAccessor) return;
    begin_call(at - 1);
    if (at > told_) return;
    tell_call(place());
    // Functions of the library that were entered before would be left in it.
    stays_ = told_ > at;
  }
  void begin_call(std::size_t frame) {
    call_ = frame;
    ++segment_;
    held_.clear();
    active_ = false;
    stays_ = false;
    call_told_ = false;
  }
  /// Its words begin here.
  void tell_call(std::uint32_t at) {
    call_told_ = true;
    call_enters_ = false;
    out_->calls.push_back({at, at, false});
  }
  void on_pop(wire::Word word) {
    const ScanFrame& frame = frames().back();
    if (!frame.told && released_) {
      tell_frames();
      if (word == 0) word = wire::control(wire::Control::kExit, wire::payload_of(frame.word), 0);
      // Without its access.
      if (wire::kind_of(frame.word) == wire::Control::kLeaf) {
        out_->words.back() = wire::control(wire::Control::kEnter, wire::payload_of(frame.word),
                                           wire::top_of(frame.word));
      }
    }
    const bool told = frame.told;
    if (told) --told_;
    // What was told before its first access does not belong to the call.
    const bool inside = !told || frames().size() - 1 != call_ || begins_with_enter();
    if (!inside) end_call();
    if (told && word != 0) {
      put_time();
      out_->words.push_back(word);
      released_ = false;
    }
    if (inside && frames().size() - 1 == call_) end_call();
  }
  /// Whether the words of the open call begin with its function's.
  [[nodiscard]] bool begins_with_enter() const { return call_enters_; }
  void end_call() {
    call_ = kNoCall;
    if (!call_told_) return;
    call_told_ = false;
    SweepCall& call = out_->calls.back();
    call.end = place();
    call.stays = stays_ || !held_.empty();
    end_part();
  }
  void end_part() {
    if (active_) out_->items.push_back({0, place(), Item::kPartEnd});
    active_ = false;
  }
  [[nodiscard]] static bool is_wait(wire::Sync kind) {
    return kind == wire::Sync::kCondWait || kind == wire::Sync::kBarrierLeave ||
           kind == wire::Sync::kWait || kind == wire::Sync::kJoin;
  }
  /// Whether there is neither a block nor a declared unit in the call: they go on at a wait.
  [[nodiscard]] bool is_by_default() {
    for (std::size_t i = call_; i < frames().size(); ++i) {
      if (frames()[i].word == 0 || frames()[i].role == FunctionRole::kDeclared) return false;
    }
    return true;
  }
  void tell_frames() {
    put_time();
    if (told_ < frames().size()) released_ = false;
    for (; told_ < frames().size(); ++told_) {
      ScanFrame& frame = frames()[told_];
      if (told_ == call_) {
        tell_call(place());
        call_enters_ = true;
      }
      frame.told = true;
      out_->words.push_back(frame.word);
      for (const wire::Word object : frame.objects) {
        if (object != 0) out_->words.push_back(object);
      }
    }
  }

  // Words.

  [[nodiscard]] std::uint32_t place() const {
    return static_cast<std::uint32_t>(out_->words.size());
  }
  void put(std::span<const wire::Word> record) {
    out_->words.insert(out_->words.end(), record.begin(), record.end());
  }
  std::uint32_t keep(std::span<const wire::Word> record) {
    tell_frames();
    released_ = false;
    const std::uint32_t at = place();
    put(record);
    return at;
  }
  void put_time() {
    if (time_ == 0) return;
    out_->words.push_back(time_);
    ++segment_;
    if (options_.by_calls) {
      out_->items.push_back({wire::time_of(time_), place(), Item::kTime});
    }
    time_ = 0;
  }

  struct Seen {
    std::uint64_t granule = 0;
    std::uint8_t bytes = 0;
  };
  struct Recent {
    std::uint64_t granule = 0;
    std::uint64_t segment = 0;
    std::uint8_t access = 0;
    std::uint8_t bytes = 0;
  };

  const CaptureShared* shared_;
  SweepThread* out_;
  Options options_;
  Alone* alone_;
  wire::Word time_ = 0;        // the last one, when nothing has come behind it
  std::size_t told_ = 0;       // frames
  std::uint64_t segment_ = 1;  // counts times, synchronization, calls and new objects
  bool released_ = false;      // behind a release neither an access nor a function was kept
  // Of the call that is open.
  static constexpr std::size_t kNoCall = SIZE_MAX;
  std::size_t call_ = kNoCall;  // its frame
  bool call_told_ = false;
  bool call_enters_ = false;
  bool active_ = false;  // it has an access
  bool stays_ = false;
  std::uint32_t block_at_ = 0;
  std::vector<std::uint64_t> held_;  // locks
  std::vector<Seen> seen_ = std::vector<Seen>(std::size_t{1} << 12);
  std::array<Recent, 1024> recent_{};
};

}  // namespace syndrome::trace
