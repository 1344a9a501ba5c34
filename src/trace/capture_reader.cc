#include "trace/capture_reader.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "trace/capture_index.h"
#include "trace/capture_names.h"
#include "trace/capture_survey.h"
#include "trace/mix_hash.h"
#include "trace/pipelined.h"
#include "trace/syn_chunks.h"

namespace syndrome::trace {
namespace {

// As for events of other .syn files (syn_reader.cc).
constexpr std::size_t kBatch = 4096;
constexpr std::size_t kUnpackedBytes = std::size_t{512} << 20;

// How labels begin that are no atomic blocks.
constexpr const char* kDeterministicLabel = "deterministic ";
constexpr const char* kUnitLabel = "unit ";

using wire::Sync;

MemoryOrder order_of(std::uint64_t operand) {
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
MemoryOrder order_of(EventKind kind, std::uint64_t operand) {
  const MemoryOrder order = order_of(operand);
  if (!word_of(kind, order).empty()) return order;
  if (kind == EventKind::kFence) return MemoryOrder::kPlain;
  if (order != MemoryOrder::kAcqRel) return MemoryOrder::kRelaxed;
  return kind == EventKind::kRead ? MemoryOrder::kAcquire : MemoryOrder::kRelease;
}

/// The words of one thread and how far they have come.
struct Stream {
  Stream(const CaptureIndex::Thread& t, const CaptureMeta& meta) : thread(&t), walk(meta) {}

  const CaptureIndex::Thread* thread;
  ThreadWalk walk;
  std::size_t next_chunk = 0;
  std::vector<std::uint64_t> words;  // from the chunk before next_chunk, and what was left before
  std::size_t at = 0;                // in words
  std::uint64_t time = 0;
  ThreadId id;
  bool begun = false;
  bool dropped = false;     // words were given back; left_over and `at` tell how to get them again
  std::size_t carried = 0;  // words in front that are not of the chunk
  std::vector<std::uint64_t> carry;
};

class CaptureSource final : public Source {
 public:
  CaptureSource(CaptureIndex index, WordLoader loader)
      : index_(std::move(index)),
        meta_(std::move(index_.meta)),
        loader_(std::move(loader)),
        names_(meta_),
        total_(2 * index_.bytes) {
    warnings_ = index_.warnings;
    warnings_.insert(warnings_.end(), meta_.warnings.begin(), meta_.warnings.end());
    failure_ = meta_.unreadable;
  }

  [[nodiscard]] Result<Batch> next() override {
    if (failure_) return *failure_;
    if (!surveyed_) {
      surveyed_ = true;
      if (Status status = begin(); !status) return fail(status);
    }
    first_ += events_.size();
    events_.clear();
    if (Status status = fill(); !status) return fail(status);
    return Batch{events_, first_};
  }

  [[nodiscard]] const Names& names() const override { return names_.names(); }
  [[nodiscard]] Progress progress() const override { return {done_.load(), total_}; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }

  // What ThreadWalk calls, for the stream that runs.

  void access(const unit::Site& site, std::uint32_t index, std::uint64_t address) {
    if (site.bytes == 0) return;
    switch (site.kind) {
      case unit::SiteKind::kRead:
      case unit::SiteKind::kRangeRead: touch(EventKind::kRead, index, address, site.bytes); break;
      case unit::SiteKind::kWrite:
      case unit::SiteKind::kRangeWrite: touch(EventKind::kWrite, index, address, site.bytes); break;
      case unit::SiteKind::kReadWrite:
        touch(EventKind::kRead, index, address, site.bytes);
        touch(EventKind::kWrite, index, address, site.bytes);
        break;
      case unit::SiteKind::kAtomic:
      case unit::SiteKind::kCall: break;
    }
  }

  void range(std::uint32_t index, bool write, std::uint64_t address, std::uint64_t bytes) {
    touch(write ? EventKind::kWrite : EventKind::kRead, index, address, bytes);
  }

  void enter(OpenFrame& frame) {
    const SiteId site = names_.site(frame.call);
    if (frame.block) {
      const std::string_view text = meta_.string(frame.mark);
      switch (static_cast<wire::Block>(frame.block_kind)) {
        case wire::Block::kDeterministic:
          frame.value = names_.label(kDeterministicLabel + std::string(text)).value;
          break;
        case wire::Block::kUnit:
          frame.value = names_.label(kUnitLabel + std::string(text)).value;
          break;
        default: frame.value = names_.label(text).value; break;
      }
      emit(is_atomic(frame) ? EventKind::kBegin : EventKind::kEnter, frame.value, site);
      return;
    }
    frame.value = names_.function(frame.function).value;
    emit(EventKind::kEnter, frame.value, site);
    if (is_atomic(frame)) emit(EventKind::kBegin, frame.value, site);
    if (const std::uint32_t flags = flags_of(frame); flags != 0) {
      if ((flags & unit::kDeterministic) != 0) {
        emit(EventKind::kEnter, deterministic(frame), site);
      }
      if ((flags & unit::kUnitOfWork) != 0) emit(EventKind::kEnter, unit_of_work(frame), site);
    }
  }

  void exit(const OpenFrame& frame) {
    if (const std::uint32_t flags = flags_of(frame); flags != 0) {
      if ((flags & unit::kUnitOfWork) != 0) emit(EventKind::kExit, unit_of_work(frame), SiteId());
      if ((flags & unit::kDeterministic) != 0) {
        emit(EventKind::kExit, deterministic(frame), SiteId());
      }
    }
    if (is_atomic(frame)) emit(EventKind::kEnd, frame.value, SiteId());
    if (!frame.block || !is_atomic(frame)) emit(EventKind::kExit, frame.value, SiteId());
  }

  [[nodiscard]] bool time(std::uint64_t now) {
    stream_->time = now;
    return now <= limit_ && events_.size() < kBatch;
  }

  [[nodiscard]] bool sync(const SyncRecord& record) {
    // Once it has been paused for its time it runs when no other has a smaller one.
    if (record.time > limit_) {
      stream_->time = record.time;
      return false;
    }
    const std::size_t shard = wire::shard_of(record.kind, record.object);
    if (record.version > versions().awaited(shard)) {
      stream_->time = record.time;
      waits_for_ = {shard, record.version};
      return false;
    }
    perform(record);
    if (record.version != 0 && record.version == versions().awaited(shard)) {
      versions().advance(shard, record.version);
      wake(shard);
    }
    return true;
  }

  void locals(std::uint64_t address, std::uint64_t bytes) { renew(address, bytes); }

 private:
  using Waiting = std::pair<std::size_t, std::uint64_t>;  // shard and version

  [[nodiscard]] Result<Batch> fail(const Status& status) {
    failure_ = status.error();
    return *failure_;
  }
  [[nodiscard]] CaptureVersions& versions() { return survey_.versions; }

  [[nodiscard]] Status begin() {
    if (Status status = survey(index_, meta_, loader_, survey_, done_); !status) return status;
    warnings_.insert(warnings_.end(), survey_.warnings.begin(), survey_.warnings.end());
    streams_.reserve(index_.threads.size());
    for (std::size_t i = 0; i < index_.threads.size(); ++i) {
      streams_.emplace_back(index_.threads[i], meta_);
      streams_[i].time = survey_.begins[i];
      ready_.emplace(survey_.begins[i], i);
    }
    events_.reserve(kBatch + 256);
    return {};
  }

  [[nodiscard]] Status fill() {
    while (events_.size() < kBatch) {
      if (ready_.empty()) {
        if (waiting_.empty() || !index_.complete) return {};
        // Each waits for another: versions that contradict program order. No recorder writes that.
        release(*by_time_.begin());
        continue;
      }
      const std::size_t number = ready_.begin()->second;
      ready_.erase(ready_.begin());
      limit_ = ready_.empty() ? UINT64_MAX : ready_.begin()->first;
      if (Status status = run(number); !status) return status;
    }
    return {};
  }

  /// Lets a stream go on until another one is before it, it has to wait, or it ends.
  [[nodiscard]] Status run(std::size_t number) {
    stream_ = &streams_[number];
    if (!stream_->begun) {
      stream_->begun = true;
      stream_->id = names_.thread(stream_->thread->number);
    }
    if (stream_->dropped) {
      if (Status status = load_again(*stream_); !status) return status;
    }
    for (;;) {
      waits_for_.reset();
      const WalkStop stop = stream_->walk.walk(stream_->words, stream_->at, *this);
      if (stop == WalkStop::kPaused) {
        if (waits_for_) {
          wait(number, *waits_for_);
        } else {
          ready_.emplace(stream_->time, number);
        }
        return {};
      }
      if (stream_->next_chunk == stream_->thread->chunks.size()) {
        unpacked_ -= stream_->words.size();
        stream_->words = {};
        stream_->carry = {};
        return {};
      }
      if (Status status = load_next(*stream_); !status) return status;
      if (events_.size() >= kBatch) {
        ready_.emplace(stream_->time, number);
        return {};
      }
    }
  }

  [[nodiscard]] Status load_next(Stream& stream) {
    // A record may go on in the next chunk.
    stream.carry.assign(stream.words.begin() + static_cast<std::ptrdiff_t>(stream.at),
                        stream.words.end());
    done_ += stream.next_chunk > 0 ? stream.thread->chunks[stream.next_chunk - 1].stored : 0;
    unpacked_ -= stream.words.size();
    stream.words = stream.carry;
    stream.at = 0;
    const Status status = loader_.load(stream.thread->chunks[stream.next_chunk++], stream.words);
    unpacked_ += stream.words.size();
    if (unpacked_ > kUnpackedBytes / sizeof(std::uint64_t)) give_back(&stream);
    return status;
  }

  [[nodiscard]] Status load_again(Stream& stream) {
    stream.dropped = false;
    stream.words = stream.carry;
    const Status status = loader_.load(stream.thread->chunks[stream.next_chunk - 1], stream.words);
    unpacked_ += stream.words.size();
    return status;
  }

  void give_back(const Stream* except) {
    for (Stream& stream : streams_) {
      if (&stream == except || stream.words.empty()) continue;
      unpacked_ -= stream.words.size();
      stream.words = {};
      stream.dropped = true;
    }
  }

  void wait(std::size_t number, Waiting for_what) {
    waiting_.emplace(for_what, number);
    by_time_.emplace(streams_[number].time, number);
    waits_[number] = for_what;
  }
  void wake(std::size_t shard) {
    const std::uint64_t version = versions().awaited(shard);
    for (;;) {
      const auto at = waiting_.lower_bound({shard, 0});
      if (at == waiting_.end() || at->first.first != shard || at->first.second > version) return;
      release({streams_[at->second].time, at->second});
    }
  }
  /// Lets a waiting stream go on; when it is not its turn, its shard is taken to be there.
  void release(std::pair<std::uint64_t, std::size_t> who) {
    const auto [time, number] = who;
    const Waiting what = waits_[number];
    const auto [from, to] = waiting_.equal_range(what);
    for (auto at = from; at != to; ++at) {
      if (at->second != number) continue;
      waiting_.erase(at);
      break;
    }
    by_time_.erase(who);
    while (versions().awaited(what.first) < what.second) {
      versions().advance(what.first, versions().awaited(what.first));
    }
    ready_.emplace(time, number);
    if (limit_ > time) limit_ = time;
  }

  void emit(EventKind kind, std::uint32_t target, SiteId site,
            MemoryOrder order = MemoryOrder::kPlain) {
    events_.push_back(Event{stream_->id, target, site, kind, 0, order, 0});
  }

  void touch(EventKind kind, std::uint32_t index, std::uint64_t address, std::uint64_t bytes,
             MemoryOrder order = MemoryOrder::kPlain) {
    const SiteId site = names_.site(index);
    survey_.memory.each(address, bytes, [&](CaptureMemory::Slot& slot, std::uint64_t segment) {
      if (slot.id == CaptureMemory::kNew) {
        slot.id = names_.variable(index, address, segment, ++slot.generation).value;
      }
      emit(kind, slot.id, site, order);
    });
  }

  void renew(std::uint64_t address, std::uint64_t bytes) {
    survey_.memory.renew(address, bytes);
    names_.forget_objects(address, bytes);
  }

  /// unit::FunctionFlag, 0 for a block.
  [[nodiscard]] std::uint32_t flags_of(const OpenFrame& frame) const {
    if (frame.block || frame.function == CaptureMeta::kNone) return 0;
    return meta_.functions[frame.function].flags;
  }
  [[nodiscard]] bool is_atomic(const OpenFrame& frame) const {
    if (frame.block) return static_cast<wire::Block>(frame.block_kind) == wire::Block::kAtomic;
    return (flags_of(frame) & unit::kAtomic) != 0;
  }
  // Annotations of functions are told as those of scopes are.
  [[nodiscard]] std::uint32_t deterministic(const OpenFrame& frame) {
    const std::string name(names_.names().of(Space::kLabel, frame.value));
    return names_.label(kDeterministicLabel + name).value;
  }
  [[nodiscard]] std::uint32_t unit_of_work(const OpenFrame& frame) {
    const std::string sets(meta_.functions[frame.function].label);
    return names_.label(kUnitLabel + sets).value;
  }

  CaptureNames::Object& object(Space space, const SyncRecord& record) {
    return names_.object(space, record.object, record.call, stream_->walk.open());
  }
  void on_object(EventKind kind, const SyncRecord& record) {
    emit(kind, object(*target_space(kind), record).id, names_.site(record.call));
  }
  void on_lock(EventKind kind, bool take, const SyncRecord& record) {
    CaptureNames::Object& lock = object(Space::kLock, record);
    // Taken before the recording began.
    if (!take && lock.held == 0) return;
    lock.held += take ? 1 : -1u;
    emit(kind, lock.id, names_.site(record.call));
  }
  void on_thread(EventKind kind, const SyncRecord& record) {
    emit(kind, names_.thread(static_cast<std::uint32_t>(record.object)).value,
         names_.site(record.call));
  }
  void on_atomic(EventKind kind, const SyncRecord& record) {
    const std::uint64_t bytes = record.operand & 0xff;
    if (bytes == 0 || record.object > wire::kAddressMask) return;
    touch(kind, record.call, record.object, bytes, order_of(kind, record.operand));
  }

  void perform(const SyncRecord& record) {
    switch (record.kind) {
      case Sync::kThreadStart: emit(EventKind::kThreadStart, 0, names_.site(record.call)); break;
      case Sync::kThreadStop: emit(EventKind::kThreadStop, 0, names_.site(record.call)); break;
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
        sizes_[record.object] = record.operand;
        renew(record.object, record.operand);
        break;
      case Sync::kFree: free(record); break;
      case Sync::kAtomicLoad: on_atomic(EventKind::kRead, record); break;
      case Sync::kAtomicStore: on_atomic(EventKind::kWrite, record); break;
      case Sync::kAtomicRmw: on_atomic(EventKind::kRmw, record); break;
      case Sync::kHappensBefore: on_object(EventKind::kHappensBefore, record); break;
      case Sync::kHappensAfter: on_object(EventKind::kHappensAfter, record); break;
      case Sync::kFence:
        emit(EventKind::kFence, 0, names_.site(record.call),
             order_of(EventKind::kFence, record.operand));
        break;
      case Sync::kBlockBegin:
      case Sync::kBlockEnd: break;  // enter() and exit()
      case Sync::kDestroy: names_.forget_objects(record.object, 1); break;
      case Sync::kOrdered: break;
    }
  }

  void free(const SyncRecord& record) {
    if (record.object > wire::kAddressMask) return;
    std::uint64_t bytes = record.operand;
    const auto known = sizes_.find(record.object);
    if (known != sizes_.end()) {
      if (bytes == 0) bytes = known->second;
      sizes_.erase(known);
    }
    if (bytes <= wire::kAddressMask) renew(record.object, bytes);
  }

  CaptureIndex index_;
  CaptureMeta meta_;
  WordLoader loader_;
  CaptureSurvey survey_;
  CaptureNames names_;
  std::vector<std::string> warnings_;
  std::atomic<std::uint64_t> done_ = 0;
  std::uint64_t total_;
  bool surveyed_ = false;
  std::optional<Error> failure_;

  std::vector<Stream> streams_;
  std::set<std::pair<std::uint64_t, std::size_t>> ready_;  // time and stream
  std::multimap<Waiting, std::size_t> waiting_;
  std::set<std::pair<std::uint64_t, std::size_t>> by_time_;  // those that wait
  tsl::robin_map<std::size_t, Waiting> waits_;
  std::size_t unpacked_ = 0;                                     // words of all streams
  tsl::robin_map<std::uint64_t, std::uint64_t, MixHash> sizes_;  // of allocations

  Stream* stream_ = nullptr;  // that runs
  std::uint64_t limit_ = 0;   // the smallest time of the others
  std::optional<Waiting> waits_for_;

  std::vector<Event> events_;
  EventNumber first_ = 1;
};

}  // namespace

Result<std::unique_ptr<Source>> read_capture(const std::string& path, const ReadOptions& options) {
  auto index = read_capture_index(path);
  if (!index) return index.error();
  auto loader = WordLoader::open(path);
  if (!loader) return loader.error();
  std::unique_ptr<Source> source =
      std::make_unique<CaptureSource>(std::move(*index), std::move(*loader));
  const unsigned jobs = options.jobs != 0 ? options.jobs : std::thread::hardware_concurrency();
  if (jobs == 1) return source;
  return pipelined(std::move(source));
}

Result<CaptureSummary> read_capture_summary(const std::string& path) {
  auto index = read_capture_index(path);
  if (!index) return index.error();
  const CaptureMeta meta(std::move(index->meta));
  CaptureSummary summary;
  summary.command = meta.command;
  summary.pid = meta.pid;
  summary.realtime_ns = meta.realtime_ns;
  summary.threads = index->threads.size();
  summary.words = index->words;
  summary.chunks = index->chunks;
  summary.complete = index->complete;
  for (const CapturedModule& module : meta.modules) {
    std::vector<std::string>& list = module.instrumented ? summary.instrumented : summary.bare;
    if (std::find(list.begin(), list.end(), module.path) == list.end()) list.push_back(module.path);
  }
  return summary;
}

Result<bool> is_capture(const std::string& path) {
  auto reader = ChunkReader::open(path);
  if (!reader) return reader.error();
  Chunk chunk;
  const auto outcome = reader->skip(chunk);
  if (!outcome || *outcome == ChunkReader::Outcome::kEnd) return false;
  return chunk.header.type == kWordsChunk || chunk.header.type == kMetaChunk;
}

}  // namespace syndrome::trace
