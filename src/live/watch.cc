#include "live/watch.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "event/quiet.h"
#include "live/places.h"
#include "live/sieve.h"
#include "live/told_trace.h"
#include "live/variables.h"
#include "spec/block_mapper.h"
#include "trace/capture_events.h"
#include "trace/capture_order.h"
#include "trace/capture_walk.h"

namespace syndrome::live {
namespace {

using trace::CaptureMeta;
using trace::OpenFrame;
using trace::SyncRecord;

// Words that may wait for a version before it is taken to be lost: its thread died in the middle of
// a probe. Far more than the buffers of a program that is stopped hold.
constexpr std::size_t kMaxWaiting = std::size_t{16} << 20;

constexpr std::size_t kWorthDropping = std::size_t{1} << 14;

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause(100);

// The number comes from the program's memory: no index to be trusted.
constexpr std::uint32_t kMaxThread = std::uint32_t{1} << 24;

/// Versions count up by one. Behind the shards come the slots of a process that follows its
/// accesses itself, whose positions grow.
class Versions {
 public:
  Versions() { next_.fill(1); }
  [[nodiscard]] std::uint64_t awaited(std::size_t shard) const { return next_[shard]; }
  void advance(std::size_t shard, std::uint64_t version) { next_[shard] = version + 1; }

 private:
  std::array<std::uint64_t, wire::kShards + sieve::kSlots> next_{};
};

// What OpenFrame::value says here.
constexpr std::uint32_t kTold = 1;    // there are events of it
constexpr std::uint32_t kAtomic = 2;  // a block
constexpr unsigned kLabelShift = 2;   // its label, once it was told

struct Stream {
  explicit Stream(const CaptureMeta& meta) : walk(meta) {}

  trace::ThreadWalk walk;
  std::vector<wire::Word> words;
  std::size_t at = 0;
  std::uint64_t time = 0;
  ThreadId id;
  std::uint32_t blocks = 0;   // of those that are open, atomic ones
  std::size_t undecided = 0;  // the first of those that are open that was not told nor passed over
  EventNumber last = 0;       // its last event
  bool follows = false;       // its words are what is told: it follows its accesses itself
  bool queued = false;        // it is ready, or waits
  bool ended = false;
};

/// What the sieve has to know of a site, in few bytes: they are looked at for every access.
struct PlainSite {
  PlainSite() = default;
  explicit PlainSite(const unit::Site& site) {
    const bool both = site.kind == unit::SiteKind::kReadWrite;
    reads = both || site.kind == unit::SiteKind::kRead || site.kind == unit::SiteKind::kRangeRead;
    writes =
        both || site.kind == unit::SiteKind::kWrite || site.kind == unit::SiteKind::kRangeWrite;
    if ((reads || writes) && site.bytes <= 8) bytes = static_cast<std::uint8_t>(site.bytes);
  }

  std::uint8_t bytes = 0;  // 0: not an access to at most 8 bytes
  bool reads = false;
  bool writes = false;
};

class Watch final : public record::Taker, public trace::CaptureEvents<Watch>, public Listener {
  friend class trace::CaptureEvents<Watch>;

 public:
  Watch(const WatchOptions& options, std::unique_ptr<CaptureMeta> meta, ToldTraceWriter trace)
      : CaptureEvents(*meta),
        options_(options),
        own_meta_(std::move(meta)),
        mapper_({options.spec, false, nullptr}),
        sieve_({options.kind == sieve::Checked::kAtomicity,
                options.kind == sieve::Checked::kDeterminism},
               *this),
        trace_(std::move(trace)) {}

  // Taker.

  [[nodiscard]] Status meta(std::span<const std::byte> bytes) override {
    own_meta_->add(bytes);
    names_.grow();
    for (std::size_t i = plain_.size(); i < own_meta_->sites.size(); ++i) {
      plain_.emplace_back(own_meta_->sites[i]);
    }
    if (own_meta_->unreadable) return *own_meta_->unreadable;
    if (own_meta_->noise) trace_.noise(*own_meta_->noise);
    if (const std::optional<Ended> how = own_meta_->ended()) trace_.ended(*how);
    return {};
  }

  [[nodiscard]] Status words(std::uint32_t thread, std::span<const wire::Word> words) override {
    if (thread >= streams_.size()) {
      if (thread > kMaxThread) return Error{fmt::format("there is no thread of number {}", thread)};
      streams_.resize(thread + 1);
    }
    std::unique_ptr<Stream>& stream = streams_[thread];
    if (stream == nullptr) {
      stream = std::make_unique<Stream>(*meta_);
      stream->id = names_.thread(thread);
    }
    stream->words.insert(stream->words.end(), words.begin(), words.end());
    waiting_ += words.size();
    if (!std::exchange(stream->queued, true)) order_.ready(thread, stream->time);
    return {};
  }

  [[nodiscard]] Result<bool> end_of_round() override {
    if (Status gone_on = go_on(); !gone_on) return gone_on.error();
    while (waiting_ > kMaxWaiting && order_.anyone_waits()) {
      order_.release_first(versions_);
      if (Status gone_on = go_on(); !gone_on) return gone_on.error();
    }
    if (options_.snapshots) {
      if (Status taken = take_snapshot(); !taken) return taken.error();
    }
    return order_.anyone_waits();
  }

  [[nodiscard]] std::vector<std::uint64_t> new_blocks() override {
    std::vector<std::uint64_t> blocks;
    for (; asked_ < own_meta_->functions.size(); ++asked_) {
      if (const std::uint8_t role = role_of_function(static_cast<std::uint32_t>(asked_));
          role != 0) {
        blocks.push_back(own_meta_->functions[asked_].address |
                         ((role & kAtomicRole) != 0 ? 1 : 0));
      }
    }
    return blocks;
  }

  void ended(std::uint32_t thread) override {
    if (thread >= streams_.size() || streams_[thread] == nullptr) return;
    streams_[thread]->ended = true;
    if (!streams_[thread]->queued) streams_[thread].reset();
  }

  [[nodiscard]] Result<std::uint64_t> close(std::uint64_t left_out_blocks) override {
    for (;;) {
      if (Status gone_on = go_on(); !gone_on) return gone_on.error();
      if (!order_.anyone_waits()) break;
      order_.release_first(versions_);
    }
    trace_.left_out(left_out_blocks);
    return trace_.close(names_.names());
  }

  // What ThreadWalk calls, for the stream that runs.

  void access(const unit::Site& site, std::uint32_t index, std::uint64_t address) {
    if (stream_->follows) return CaptureEvents::access(site, index, address);
    // A thread begins with an event that says so.
    if (!sieve_.listens() || thread_ == nullptr) return;
    const PlainSite plain = plain_[index - 1];
    if (plain.bytes == 0 || (address & 7) + plain.bytes > 8) [[unlikely]] {
      CaptureEvents::access(site, index, address);
      return;
    }
    if (sieve_.known(*thread_, address, plain.bytes, plain.writes)) return;
    if (plain.reads && plain.writes) {
      sieve_.look_twice(*thread_, address, plain.bytes, index);
    } else {
      sieve_.look(*thread_, address, plain.bytes, plain.writes, index);
    }
  }

  void enter(OpenFrame& frame) {
    const std::uint8_t role = role_of(frame);
    frame.value = 0;
    if (role == 0) [[likely]]
      return;
    const bool atomic = (role & kAtomicRole) != 0;
    if (atomic) frame.value = kAtomic;
    tell_levels(stack().size());
    if (atomic && stream_->blocks++ == 0 && !stream_->follows) sieve_.begin_block(stream_->id);
  }

  void exit(const OpenFrame& frame) {
    const std::size_t depth = stack().size() - 1;
    if (stream_->undecided > depth) stream_->undecided = depth;
    if (frame.value == 0) [[likely]]
      return;
    if ((frame.value & kTold) != 0) exit_events(frame, frame.value >> kLabelShift);
    if ((frame.value & kAtomic) != 0 && --stream_->blocks == 0 && !stream_->follows) {
      sieve_.end_block(stream_->id);
    }
  }

  [[nodiscard]] bool place(std::uint32_t slot, std::uint64_t position) {
    // The thread that had the slot before may not have come so far.
    if (!stream_->follows && position != 0 && !has_come(slot, position - 1)) return false;
    stream_->follows = true;
    // Not behind its last event: it may have thrown others away since (runtime/draft.h).
    places_[slot].set(position, stream_->id, trace_.count());
    order_.advance(versions_, wire::kShards + slot, position);
    return true;
  }

  [[nodiscard]] bool behind(std::uint32_t slot, std::uint64_t position) {
    return has_come(slot, position);
  }

  [[nodiscard]] bool late(const trace::LateRecord& record) {
    if (!has_come(record.slot, record.told)) return false;
    if (record.bytes == 0) return true;
    const Places::Place place = places_[record.slot].at(record.position);
    late(place.event, sieve::order_of_late(record.position, place.position, false),
         {place.thread, record.write, record.atomic, record.address, record.bytes, record.site});
    return true;
  }

  [[nodiscard]] bool late(const trace::LateLockRecord& record) {
    if (!has_come(record.slot, record.told)) return false;
    const std::size_t shard = wire::shard_of(wire::Sync::kAcquire, record.object);
    if (record.version > versions_.awaited(shard)) {
      waits_for_ = {shard, record.version};
      return false;
    }
    const Places::Place place = places_[record.slot].at(record.position);
    trace_.late(place.event, sieve::order_of_late(record.position, place.position, true),
                late_lock(place.thread, record.release, record.object, record.site));
    if (record.version != 0 && record.version == versions_.awaited(shard)) {
      order_.advance(versions_, shard, record.version);
    }
    return true;
  }

  /// Whether the accesses of a loop at one site change nothing.
  [[nodiscard]] bool knows_run(std::uint32_t index, std::uint64_t address, std::int64_t stride,
                               std::uint64_t rounds) {
    if (stream_->follows) return false;
    if (!sieve_.listens() || thread_ == nullptr) return true;
    const PlainSite plain = plain_[index - 1];
    if (plain.bytes == 0) return false;
    return sieve_.known_run(*thread_, address, stride, rounds, plain.bytes, plain.reads,
                            plain.writes, index);
  }

  [[nodiscard]] bool time(std::uint64_t now) {
    stream_->time = now;
    return now <= order_.limit();
  }

  [[nodiscard]] bool sync(const SyncRecord& record) {
    if (record.time > order_.limit()) {
      stream_->time = record.time;
      return false;
    }
    const std::size_t shard = wire::shard_of(record.kind, record.object);
    if (record.version > versions_.awaited(shard)) {
      stream_->time = record.time;
      waits_for_ = {shard, record.version};
      return false;
    }
    perform(record);
    if (record.version != 0 && record.version == versions_.awaited(shard)) {
      order_.advance(versions_, shard, record.version);
    }
    return true;
  }

  // Listener.

  void late(EventNumber position, std::uint64_t order, const Told& access) override {
    Event event = event_of(access);
    if (access.atomic) event.order = MemoryOrder::kRelaxed;
    trace_.late(position, order, event);
  }

  void now(const Told& access) override {
    tell_levels(stack().size());
    Event event = event_of(access);
    if (access.atomic) {
      event.kind = atomic_kind_;
      event.order = atomic_order_;
    }
    append(event);
  }

 private:
  enum Role : std::uint8_t { kToldRole = 1, kAtomicRole = 2 };

  /// Whether the thread of the slot has come to that position; otherwise the stream waits for it.
  [[nodiscard]] bool has_come(std::uint32_t slot, std::uint64_t position) {
    const std::size_t shard = wire::kShards + slot;
    if (position < versions_.awaited(shard)) return true;
    waits_for_ = {shard, position + 1};
    return false;
  }

  /// When there is news, but with ten times as long in between as it takes.
  [[nodiscard]] Status take_snapshot() {
    const Clock::time_point now = Clock::now();
    if (trace_.count() == snapshot_ || now < next_snapshot_) return {};
    snapshot_ = trace_.count();
    Status taken = trace_.snapshot(names_.names());
    next_snapshot_ = Clock::now() + std::max<Clock::duration>(10 * (Clock::now() - now), kPause);
    return taken;
  }

  [[nodiscard]] Status go_on() {
    while (const std::optional<std::size_t> number = order_.next()) {
      std::unique_ptr<Stream>& stream = streams_[*number];
      run(*number, *stream);
      if (Status flushed = trace_.flush(names_.names()); !flushed) return flushed;
      if (stream->ended && !stream->queued) stream.reset();
    }
    if (!sieve_.shadow().good()) {
      return Error{"there is no memory left to follow the program's; record it with -o FILE"};
    }
    return {};
  }

  /// Until another one is before it, it has to wait, or there are no more words.
  void run(std::size_t number, Stream& stream) {
    stream_ = &stream;
    thread_ = sieve_.knows(stream.id) ? &sieve_.thread(stream.id) : nullptr;
    waits_for_.reset();
    const std::size_t before = stream.at;
    const trace::WalkStop stop = stream.walk.walk(stream.words, stream.at, *this);
    waiting_ -= stream.at - before;
    if (stop == trace::WalkStop::kPaused) {
      // It may be some time until it comes to its end.
      if (stream.at > kWorthDropping && 2 * stream.at > stream.words.size()) drop_walked(stream);
      if (waits_for_) {
        order_.wait(number, stream.time, waits_for_->first, waits_for_->second);
      } else {
        order_.ready(number, stream.time);
      }
      return;
    }
    // What is left may be the beginning of a record.
    drop_walked(stream);
    stream.queued = false;
  }

  static void drop_walked(Stream& stream) {
    stream.words.erase(stream.words.begin(),
                       stream.words.begin() + static_cast<std::ptrdiff_t>(stream.at));
    stream.at = 0;
  }

  [[nodiscard]] std::uint8_t role_of(const OpenFrame& frame) {
    if (frame.block) {
      if (!is_atomic(frame)) return kToldRole;
      const LabelId label = names_.label(meta_->string(frame.mark));
      return mapper_.is_excluded(label, names_.names()) ? kToldRole : kToldRole | kAtomicRole;
    }
    return frame.function == CaptureMeta::kNone ? std::uint8_t{0}
                                                : role_of_function(frame.function);
  }
  [[nodiscard]] std::uint8_t role_of_function(std::uint32_t function) {
    if (function >= roles_.size()) roles_.resize(meta_->functions.size(), kUnknown);
    std::uint8_t& role = roles_[function];
    if (role == kUnknown) role = find_role(function);
    return role;
  }
  [[nodiscard]] std::uint8_t find_role(std::uint32_t function) {
    const LabelId label = names_.function(function);
    const std::uint32_t flags = meta_->functions[function].flags;
    unsigned role = 0;
    if (!options_.atomic_blocks) return 0;
    // What is told begins anew for a thread: only where somebody looks at it.
    const std::uint32_t annotated =
        unit::kAtomic | (options_.kind == sieve::Checked::kDeterminism
                             ? std::uint32_t{unit::kDeterministic | unit::kUnitOfWork}
                             : 0);
    if ((flags & annotated) != 0) role |= kToldRole;
    if ((flags & unit::kAtomic) != 0 && !mapper_.is_excluded(label, names_.names()))
      role |= kAtomicRole;
    if (mapper_.is_block(label, names_.names())) role |= kToldRole | kAtomicRole;
    if (options_.other_blocks && options_.other_blocks(names_.names().label(label))) {
      role |= kToldRole;
    }
    return static_cast<std::uint8_t>(role);
  }

  [[nodiscard]] bool is_of_library(const OpenFrame& frame) const {
    return !frame.block &&
           (frame.function == CaptureMeta::kNone || (flags_of(frame) & unit::kSystem) != 0);
  }

  /// Tells of the functions that run, up to `size` of them, those of libraries included.
  void tell_levels(std::size_t size) {
    for (std::size_t i = stream_->undecided; i < size; ++i) tell_level(i);
    stream_->undecided = std::max(stream_->undecided, size);
  }
  void tell_level(std::size_t i) {
    if ((stack()[i].value & kTold) != 0) return;
    const std::uint32_t label = enter_events(stack()[i]);
    stream_->walk.open_at(i).value |= kTold | (label << kLabelShift);
  }

  /// For synchronization: nobody wants to see how std::lock_guard calls pthread_mutex_lock. The
  /// place of the call in the function that is not a library's, and what it says of itself.
  void tell_callers() {
    const std::span<const OpenFrame> open = stack();
    std::size_t size = open.size();
    while (size > stream_->undecided && is_of_library(open[size - 1])) --size;
    tell_levels(size);
  }
  [[nodiscard]] SiteId call_site(std::uint32_t call) {
    const std::span<const OpenFrame> open = stack();
    std::size_t size = open.size();
    while (size > 0 && is_of_library(open[size - 1])) --size;
    return names_.site(size == 0 || size == open.size() ? call : open[size].call);
  }
  [[nodiscard]] std::span<const OpenFrame> stack() const { return stream_->walk.open(); }

  // What CaptureEvents wants.

  void emit(EventKind kind, std::uint32_t target, SiteId site, MemoryOrder order) {
    const bool frame = kind == EventKind::kEnter || kind == EventKind::kExit ||
                       kind == EventKind::kBegin || kind == EventKind::kEnd;
    if (!frame) tell_callers();
    append({stream_->id, target, site, kind, 0, order, 0});
  }
  void append(const Event& event) {
    stream_->last = trace_.append(event);
    if (stream_->follows) return;
    sieve_.event(event, stream_->last);
    thread_ = &sieve_.thread(stream_->id);
  }

  void touch(EventKind kind, std::uint32_t site, std::uint64_t address, std::uint64_t bytes,
             MemoryOrder order) {
    const bool write = kind != EventKind::kRead;
    const std::uint64_t end = address + bytes;
    if (order != MemoryOrder::kPlain) {
      atomic_kind_ = kind;
      atomic_order_ = order;
      // In one piece, if it is one: two halves would be two atomics.
      now({stream_->id, write, true, address,
           static_cast<unsigned>(std::min<std::uint64_t>(bytes, 16)), site});
    }
    const bool follows = stream_->follows;
    if (follows ? order != MemoryOrder::kPlain : !sieve_.listens() || thread_ == nullptr) return;
    while (address < end) {
      const std::uint64_t next = std::min(end, (address | 7) + 1);
      const auto part = static_cast<unsigned>(next - address);
      if (follows) {
        now({stream_->id, write, false, address, part, site});
      } else if (order == MemoryOrder::kPlain) {
        sieve_.access(*thread_, address, part, write, site);
      } else {
        sieve_.atomic(*thread_, address, part, write, site);
      }
      address = next;
    }
  }

  void work_on(std::uint32_t, std::uint64_t, std::uint64_t) {}
  [[nodiscard]] static std::uint64_t owner() { return 0; }
  void renew(std::uint64_t address, std::uint64_t bytes) {
    if (!stream_->follows) sieve_.renew(address, bytes);
    variables_.renew(address, bytes);
    names_.forget_objects(address, bytes);
  }

  [[nodiscard]] Event event_of(const Told& access) {
    const VarId variable =
        variables_.at(access.address, access.bytes, [&](std::uint32_t generation) {
          return names_.variable(access.site, access.address, access.address, generation);
        });
    return {access.thread,
            variable.value,
            names_.site(access.site),
            access.write ? EventKind::kWrite : EventKind::kRead,
            0,
            MemoryOrder::kPlain,
            0};
  }

  static constexpr std::uint8_t kUnknown = 0xff;

  WatchOptions options_;
  std::unique_ptr<CaptureMeta> own_meta_;
  spec::BlockMapper mapper_;
  Sieve sieve_;
  Variables variables_;
  ToldTraceWriter trace_;
  EventNumber snapshot_ = 0;  // events that the last one had
  Clock::time_point next_snapshot_;

  std::vector<PlainSite> plain_;                  // by site
  std::vector<std::uint8_t> roles_;               // by function
  std::size_t asked_ = 0;                         // functions that new_blocks() has looked at
  std::vector<std::unique_ptr<Stream>> streams_;  // by number
  trace::CaptureOrder<Versions> order_;
  Versions versions_;
  std::array<Places, sieve::kSlots> places_;
  std::size_t waiting_ = 0;  // words

  Stream* stream_ = nullptr;         // that runs
  Sieve::Thread* thread_ = nullptr;  // its
  std::optional<std::pair<std::size_t, std::uint64_t>> waits_for_;
  EventKind atomic_kind_ = EventKind::kRead;
  MemoryOrder atomic_order_ = MemoryOrder::kPlain;
};

}  // namespace

Result<std::unique_ptr<record::Taker>> watch(const WatchOptions& options,
                                             const std::string& output) {
  Result<ToldTraceWriter> trace = ToldTraceWriter::create(output);
  if (!trace) return trace.error();
  return std::unique_ptr<record::Taker>(
      std::make_unique<Watch>(options, std::make_unique<CaptureMeta>(), std::move(*trace)));
}

}  // namespace syndrome::live
