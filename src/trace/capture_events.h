// What the words of a recording mean as events. Whoever goes through them (ThreadWalk) derives from
// this, and says what becomes of the events: `Derived` has
//
//   void emit(EventKind kind, std::uint32_t target, SiteId site, MemoryOrder order)
//   void touch(EventKind kind, std::uint32_t site, std::uint64_t address, std::uint64_t bytes,
//              MemoryOrder order)                          an access, which may be several
//              variables
//   void renew(std::uint64_t address, std::uint64_t bytes) other variables from here on
//   void work_on(std::uint32_t site, std::uint64_t address, std::uint64_t bytes)
//              an object of the function that runs
//   std::uint64_t owner()                                  of what is allocated now; 0: nobody
//   SiteId call_site(std::uint32_t call)                   of synchronization
//   std::span<const OpenFrame> stack()                     of the thread that runs

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "event/event.h"
#include "event/labels.h"
#include "trace/capture_meta.h"
#include "trace/capture_names.h"
#include "trace/capture_walk.h"

namespace syndrome::trace {

template <class Derived>
class CaptureEvents {
 public:
  void access(const unit::Site& site, std::uint32_t index, std::uint64_t address) {
    if (site.bytes == 0) return;
    switch (site.kind) {
      case unit::SiteKind::kObject:
        if (address != 0) derived().work_on(index, address, site.bytes);
        break;
      case unit::SiteKind::kRead:
      case unit::SiteKind::kRangeRead: plain(EventKind::kRead, index, address, site.bytes); break;
      case unit::SiteKind::kWrite:
      case unit::SiteKind::kRangeWrite: plain(EventKind::kWrite, index, address, site.bytes); break;
      case unit::SiteKind::kReadWrite:
        plain(EventKind::kRead, index, address, site.bytes);
        plain(EventKind::kWrite, index, address, site.bytes);
        break;
      case unit::SiteKind::kAtomic:
      case unit::SiteKind::kCall: break;
    }
  }

  void range(std::uint32_t index, bool write, std::uint64_t address, std::uint64_t bytes,
             bool atomic) {
    derived().touch(write ? EventKind::kWrite : EventKind::kRead, index, address, bytes,
                    atomic ? MemoryOrder::kRelaxed : MemoryOrder::kPlain);
  }

  void locals(std::uint64_t address, std::uint64_t bytes) { derived().renew(address, bytes); }

 protected:
  /// The events of a function or block that begins; what exit_events() has to know of it.
  std::uint32_t enter_events(const OpenFrame& frame) {
    const SiteId site = names_.site(frame.call);
    if (frame.block) {
      const std::string_view text = meta_->string(frame.mark);
      std::uint32_t label = 0;
      switch (static_cast<wire::Block>(frame.block_kind)) {
        case wire::Block::kDeterministic:
          label = names_.label(kDeterministicLabel + std::string(text)).value;
          break;
        case wire::Block::kUnit: label = names_.label(kUnitLabel + std::string(text)).value; break;
        default: label = names_.label(text).value; break;
      }
      derived().emit(is_atomic(frame) ? EventKind::kBegin : EventKind::kEnter, label, site,
                     MemoryOrder::kPlain);
      return label;
    }
    const std::uint32_t label = names_.function(frame.function).value;
    if (names_.is_called_back(frame.call, frame.function)) {
      plain_event(EventKind::kEnter, names_.label(kCalledBackLabel).value, site);
    }
    plain_event(EventKind::kEnter, label, site);
    if (is_atomic(frame)) plain_event(EventKind::kBegin, label, site);
    if (const std::uint32_t flags = flags_of(frame); flags != 0) {
      if ((flags & unit::kDeterministic) != 0) {
        plain_event(EventKind::kEnter, deterministic(label), site);
      }
      if ((flags & unit::kUnitOfWork) != 0) {
        plain_event(EventKind::kEnter, unit_of_work(frame), site);
      }
    }
    return label;
  }

  void exit_events(const OpenFrame& frame, std::uint32_t label) {
    if (const std::uint32_t flags = flags_of(frame); flags != 0) {
      if ((flags & unit::kUnitOfWork) != 0) {
        plain_event(EventKind::kExit, unit_of_work(frame), SiteId());
      }
      if ((flags & unit::kDeterministic) != 0) {
        plain_event(EventKind::kExit, deterministic(label), SiteId());
      }
    }
    if (is_atomic(frame)) plain_event(EventKind::kEnd, label, SiteId());
    if (!frame.block || !is_atomic(frame)) plain_event(EventKind::kExit, label, SiteId());
    if (!frame.block && names_.is_called_back(frame.call, frame.function)) {
      plain_event(EventKind::kExit, names_.label(kCalledBackLabel).value, SiteId());
    }
  }

  /// unit::FunctionFlag, 0 for a block.
  [[nodiscard]] std::uint32_t flags_of(const OpenFrame& frame) const {
    if (frame.block || frame.function == CaptureMeta::kNone) return 0;
    return meta_->functions[frame.function].flags;
  }
  [[nodiscard]] bool is_atomic(const OpenFrame& frame) const {
    if (frame.block) return static_cast<wire::Block>(frame.block_kind) == wire::Block::kAtomic;
    return (flags_of(frame) & unit::kAtomic) != 0;
  }

  void perform(const SyncRecord& record) {
    using wire::Sync;
    switch (record.kind) {
      case Sync::kThreadStart: plain_event(EventKind::kThreadStart, 0, site_of(record)); break;
      case Sync::kThreadStop: plain_event(EventKind::kThreadStop, 0, site_of(record)); break;
      case Sync::kFork: on_thread(EventKind::kFork, record); break;
      case Sync::kJoin: on_thread(EventKind::kJoin, record); break;
      case Sync::kAcquire: on_lock(EventKind::kAcquire, true, record); break;
      case Sync::kRelease: on_lock(EventKind::kRelease, false, record); break;
      case Sync::kAcquireShared: on_lock(EventKind::kAcquireShared, true, record); break;
      case Sync::kReleaseShared: on_lock(EventKind::kReleaseShared, false, record); break;
      case Sync::kBarrierArrive: on_object(EventKind::kBarrierArrive, record); break;
      case Sync::kBarrierLeave: on_object(EventKind::kBarrierLeave, record); break;
      case Sync::kPost: on_object(EventKind::kPost, record); break;
      case Sync::kWait: on_object(EventKind::kWait, record); break;
      case Sync::kCondWait: on_object(EventKind::kCondWait, record); break;
      case Sync::kCondSignal: on_object(EventKind::kCondSignal, record); break;
      case Sync::kCondBroadcast: on_object(EventKind::kCondBroadcast, record); break;
      case Sync::kAlloc:
        if (record.object > wire::kAddressMask || record.operand > wire::kAddressMask) break;
        names_.allocated(record.object, record.operand, derived().owner());
        derived().renew(record.object, record.operand);
        break;
      case Sync::kFree: on_free(record); break;
      case Sync::kAtomicLoad: on_atomic(EventKind::kRead, record); break;
      case Sync::kAtomicStore: on_atomic(EventKind::kWrite, record); break;
      case Sync::kAtomicRmw: on_atomic(EventKind::kRmw, record); break;
      case Sync::kHappensBefore: on_object(EventKind::kHappensBefore, record); break;
      case Sync::kHappensAfter: on_object(EventKind::kHappensAfter, record); break;
      case Sync::kFence:
        derived().emit(EventKind::kFence, 0, site_of(record),
                       order_of(EventKind::kFence, record.operand));
        break;
      case Sync::kBlockBegin:
      case Sync::kBlockEnd: break;  // enter_events() and exit_events()
      case Sync::kDestroy: names_.forget_objects(record.object, 1); break;
      case Sync::kOrdered: break;
    }
  }

  /// What a thread did to a lock, told when it does something else.
  [[nodiscard]] Event late_lock(ThreadId thread, bool release, std::uint64_t address,
                                std::uint32_t site) {
    CaptureNames::Object& lock = names_.object(Space::kLock, address, site, {});
    if (!release) {
      ++lock.held;
    } else if (lock.held != 0) {
      --lock.held;
    }
    return {thread,
            lock.id,
            names_.site(site),
            release ? EventKind::kRelease : EventKind::kAcquire,
            0,
            MemoryOrder::kPlain,
            0};
  }

  const CaptureMeta* meta_;
  CaptureNames names_;

 private:
  friend Derived;
  explicit CaptureEvents(const CaptureMeta& meta) : meta_(&meta), names_(meta) {}

  // How labels begin that are no atomic blocks.
  static constexpr const char* kDeterministicLabel = "deterministic ";
  static constexpr const char* kUnitLabel = "unit ";

  [[nodiscard]] static MemoryOrder order_of(std::uint64_t operand) {
    switch ((operand >> 8) & 0xff) {  // C's memory_order
      case 0: return MemoryOrder::kRelaxed;
      case 1:
      case 2: return MemoryOrder::kAcquire;
      case 3: return MemoryOrder::kRelease;
      case 4: return MemoryOrder::kAcqRel;
      default: return MemoryOrder::kSeqCst;
    }
  }
  /// What C allows of an order for the kind: a load that says "release" orders nothing.
  [[nodiscard]] static MemoryOrder order_of(EventKind kind, std::uint64_t operand) {
    const MemoryOrder order = order_of(operand);
    if (!word_of(kind, order).empty()) return order;
    if (kind == EventKind::kFence) return MemoryOrder::kPlain;
    if (order != MemoryOrder::kAcqRel) return MemoryOrder::kRelaxed;
    return kind == EventKind::kRead ? MemoryOrder::kAcquire : MemoryOrder::kRelease;
  }

  [[nodiscard]] Derived& derived() { return static_cast<Derived&>(*this); }
  void plain(EventKind kind, std::uint32_t site, std::uint64_t address, std::uint64_t bytes) {
    derived().touch(kind, site, address, bytes, MemoryOrder::kPlain);
  }
  void plain_event(EventKind kind, std::uint32_t target, SiteId site) {
    derived().emit(kind, target, site, MemoryOrder::kPlain);
  }
  [[nodiscard]] SiteId site_of(const SyncRecord& record) {
    return derived().call_site(record.call);
  }

  // Annotations of functions are told as those of scopes are.
  [[nodiscard]] std::uint32_t deterministic(std::uint32_t function) {
    const std::string name(names_.names().of(Space::kLabel, function));
    return names_.label(kDeterministicLabel + name).value;
  }
  [[nodiscard]] std::uint32_t unit_of_work(const OpenFrame& frame) {
    const std::string sets(meta_->functions[frame.function].label);
    return names_.label(kUnitLabel + sets).value;
  }

  CaptureNames::Object& object(Space space, const SyncRecord& record) {
    return names_.object(space, record.object, record.call, derived().stack());
  }
  void on_object(EventKind kind, const SyncRecord& record) {
    plain_event(kind, object(*target_space(kind), record).id, site_of(record));
  }
  void on_lock(EventKind kind, bool take, const SyncRecord& record) {
    CaptureNames::Object& lock = object(Space::kLock, record);
    // Taken before the recording began.
    if (!take && lock.held == 0) return;
    lock.held += take ? 1 : -1u;
    plain_event(kind, lock.id, site_of(record));
  }
  void on_thread(EventKind kind, const SyncRecord& record) {
    plain_event(kind, names_.thread(static_cast<std::uint32_t>(record.object)).value,
                site_of(record));
  }
  void on_atomic(EventKind kind, const SyncRecord& record) {
    const std::uint64_t bytes = record.operand & 0xff;
    if (bytes == 0 || record.object > wire::kAddressMask) return;
    derived().touch(kind, record.call, record.object, bytes, order_of(kind, record.operand));
  }
  void on_free(const SyncRecord& record) {
    if (record.object > wire::kAddressMask) return;
    const std::uint64_t allocated = names_.freed(record.object);
    const std::uint64_t bytes = record.operand != 0 ? record.operand : allocated;
    if (bytes <= wire::kAddressMask) derived().renew(record.object, bytes);
  }
};

}  // namespace syndrome::trace
