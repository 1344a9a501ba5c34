#include "trace/capture_reader.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <ranges>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "trace/capture_events.h"
#include "trace/capture_index.h"
#include "trace/capture_order.h"
#include "trace/capture_reduce.h"
#include "trace/capture_survey.h"
#include "trace/pipelined.h"
#include "trace/syn_chunks.h"

namespace syndrome::trace {
namespace {

// As for events of other .syn files (syn_reader.cc).
constexpr std::size_t kBatch = 4096;
constexpr std::size_t kUnpackedBytes = std::size_t{512} << 20;

/// The words of one thread and how far they have come.
struct Stream {
  Stream(const CaptureIndex::Thread& t, const CaptureMeta& meta) : thread(&t), walk(meta) {}

  const CaptureIndex::Thread* thread;
  ThreadWalk walk;
  std::size_t next_chunk = 0;
  std::vector<std::uint64_t> words;  // from the chunk before next_chunk, and what was left before
  std::span<const std::uint64_t> given;  // all of them, when they are CaptureReduced's
  std::size_t at = 0;                    // in words
  std::uint64_t time = 0;
  std::uint64_t segment = 0;  // CaptureRepeats
  ThreadId id;
  bool begun = false;
  bool dropped = false;     // words were given back; left_over and `at` tell how to get them again
  std::size_t carried = 0;  // words in front that are not of the chunk
  std::vector<std::uint64_t> carry;
  struct Object {
    std::size_t depth = 0;  // functions that are open, the one that works on it included
    std::uint64_t address = 0;
  };
  std::vector<Object> objects;  // the first of each function that is open
};

class CaptureSource final : public Source, public CaptureEvents<CaptureSource> {
  friend class CaptureEvents<CaptureSource>;

 public:
  /// `meta` is that of the index.
  CaptureSource(CaptureIndex index, std::unique_ptr<const CaptureMeta> meta, WordLoader loader,
                const CaptureSelection& selection, std::shared_ptr<const CaptureReduced> reduced)
      : CaptureEvents(*meta),
        index_(std::move(index)),
        owned_meta_(std::move(meta)),
        loader_(std::move(loader)),
        reduced_(std::move(reduced)),
        total_((reduced_ == nullptr ? 2 : 1) * index_.bytes) {
    warnings_ = index_.warnings;
    warnings_.insert(warnings_.end(), meta_->warnings.begin(), meta_->warnings.end());
    failure_ = meta_->unreadable;
    if (!selection.only_shared) return;
    if (reduced_ == nullptr) survey_.shared = std::make_unique<CaptureShared>();
    shared_ = reduced_ != nullptr ? &reduced_->shared() : survey_.shared.get();
    repeats_ = std::make_unique<CaptureRepeats>();
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

  [[nodiscard]] std::optional<std::uint64_t> noise() const override { return meta_->noise; }
  [[nodiscard]] std::optional<Ended> ended() const override { return meta_->ended(); }

  // What ThreadWalk calls, for the stream that runs; accesses come to touch().

  void enter(OpenFrame& frame) {
    new_segment();
    frame.value = enter_events(frame);
  }
  void exit(const OpenFrame& frame) {
    new_segment();
    std::vector<Stream::Object>& objects = stream_->objects;
    while (!objects.empty() && objects.back().depth >= stack().size()) objects.pop_back();
    exit_events(frame, frame.value);
  }

  [[nodiscard]] bool time(std::uint64_t now) {
    stream_->time = now;
    return now <= order_.limit() && events_.size() < kBatch;
  }

  [[nodiscard]] bool sync(const SyncRecord& record) {
    // Once it has been paused for its time it runs when no other has a smaller one.
    if (record.time > order_.limit()) {
      stream_->time = record.time;
      return false;
    }
    const std::size_t shard = wire::shard_of(record.kind, record.object);
    if (record.version > versions().awaited(shard)) {
      stream_->time = record.time;
      waits_for_ = {shard, record.version};
      return false;
    }
    new_segment();
    perform(record);
    if (record.version != 0 && record.version == versions().awaited(shard)) {
      order_.advance(versions(), shard, record.version);
    }
    return true;
  }

 private:
  using Waiting = std::pair<std::size_t, std::uint64_t>;  // shard and version

  [[nodiscard]] Result<Batch> fail(const Status& status) {
    failure_ = status.error();
    return *failure_;
  }
  [[nodiscard]] CaptureVersions& versions() { return survey_.versions; }

  [[nodiscard]] Status begin() {
    if (Status status = survey_all(); !status) return status;
    warnings_.insert(warnings_.end(), survey_.warnings.begin(), survey_.warnings.end());
    streams_.reserve(index_.threads.size());
    for (std::size_t i = 0; i < index_.threads.size(); ++i) {
      Stream& stream = streams_.emplace_back(index_.threads[i], *meta_);
      stream.time = survey_.begins[i];
      if (reduced_ != nullptr) {
        stream.given = reduced_->words(i);
        stream.next_chunk = stream.thread->chunks.size();
        if (stream.given.empty()) continue;
      }
      order_.ready(i, survey_.begins[i]);
    }
    events_.reserve(kBatch + 256);
    return {};
  }
  [[nodiscard]] Status survey_all() {
    if (reduced_ == nullptr) return survey(index_, *meta_, loader_, survey_, done_);
    for (std::size_t i = 0; i < index_.threads.size(); ++i) {
      survey_words(reduced_->words(i), *meta_, survey_);
    }
    (void)survey_.memory.seal();
    survey_.versions.seal(true);
    warn_of_missing(reduced_->missing(), survey_.warnings);
    // What was called has a name, also where nothing is told of it.
    for (const std::uint32_t function : reduced_->called()) (void)names_.function(function);
    for (const std::uint64_t object : reduced_->objects()) names_.know_object(object);
    return {};
  }

  [[nodiscard]] Status fill() {
    while (events_.size() < kBatch) {
      const std::optional<std::size_t> number = order_.next();
      if (!number) {
        if (!order_.anyone_waits() || !index_.complete) return {};
        // Each waits for another: versions that contradict program order. No recorder writes that.
        order_.release_first(versions());
        continue;
      }
      if (Status status = run(*number); !status) return status;
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
      const std::span<const std::uint64_t> words =
          reduced_ != nullptr ? stream_->given : std::span<const std::uint64_t>(stream_->words);
      const WalkStop stop = stream_->walk.walk(words, stream_->at, *this);
      if (stop == WalkStop::kPaused) {
        if (waits_for_) {
          order_.wait(number, stream_->time, waits_for_->first, waits_for_->second);
        } else {
          order_.ready(number, stream_->time);
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
        order_.ready(number, stream_->time);
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

  void emit(EventKind kind, std::uint32_t target, SiteId site, MemoryOrder order) {
    events_.push_back(Event{stream_->id, target, site, kind, 0, order, 0});
  }

  void touch(EventKind kind, std::uint32_t index, std::uint64_t address, std::uint64_t bytes,
             MemoryOrder order) {
    const bool all = shared_ == nullptr || order != MemoryOrder::kPlain;
    if (repeats_ != nullptr && is_repeated(kind, index, address, bytes, order)) return;
    const SiteId site = names_.site(index);
    survey_.memory.each(address, bytes, [&](CaptureMemory::Slot& slot, std::uint64_t segment) {
      // What a variable is called also says what others are called: so all of them get a name.
      if (slot.id == CaptureMemory::kNew) {
        slot.id = names_.variable(index, address, segment, ++slot.generation, stack()).value;
      }
      if (all || shared_->has_conflicts(segment)) emit(kind, slot.id, site, order);
    });
  }
  [[nodiscard]] bool is_repeated(EventKind kind, std::uint32_t site, std::uint64_t address,
                                 std::uint64_t bytes, MemoryOrder order) {
    if (order == MemoryOrder::kPlain && (address & 7) + bytes <= 8) {
      return repeats_->knows(stream_->segment, site, address, bytes, kind == EventKind::kWrite);
    }
    repeats_->disturb(address, bytes);
    return false;
  }
  void work_on(std::uint32_t site, std::uint64_t address, std::uint64_t bytes) {
    std::vector<Stream::Object>& objects = stream_->objects;
    const std::size_t depth = stack().size();
    if (objects.empty() || objects.back().depth < depth) objects.push_back({depth, address});
    emit(EventKind::kObject, names_.work_on(site, address, bytes).value, SiteId(),
         MemoryOrder::kPlain);
  }
  /// What the innermost function of the program works on: it, or what it calls of the library.
  [[nodiscard]] std::uint64_t owner() const {
    const std::span<const OpenFrame> frames = stack();
    std::size_t depth = frames.size();
    const auto is_library = [this](const OpenFrame& frame) {
      return frame.block || frame.function == CaptureMeta::kNone ||
             (meta_->functions[frame.function].flags & unit::kSystem) != 0;
    };
    while (depth > 0 && is_library(frames[depth - 1])) --depth;
    for (const Stream::Object& object : stream_->objects | std::views::reverse) {
      if (object.depth == depth) return object.address;
      if (object.depth < depth) break;
    }
    return 0;
  }
  void new_segment() { stream_->segment = ++segments_; }

  void renew(std::uint64_t address, std::uint64_t bytes) {
    new_segment();
    if (repeats_ != nullptr && bytes != 0) repeats_->disturb(address, bytes);
    survey_.memory.renew(address, bytes);
    names_.forget_objects(address, bytes);
  }

  [[nodiscard]] SiteId call_site(std::uint32_t call) { return names_.site(call); }
  [[nodiscard]] std::span<const OpenFrame> stack() const { return stream_->walk.open(); }

  CaptureIndex index_;
  std::unique_ptr<const CaptureMeta> owned_meta_;
  WordLoader loader_;
  std::shared_ptr<const CaptureReduced> reduced_;  // null: all words are read
  CaptureSurvey survey_;
  const CaptureShared* shared_ = nullptr;    // null, unless asked for
  std::unique_ptr<CaptureRepeats> repeats_;  // the same
  std::uint64_t segments_ = 0;
  std::vector<std::string> warnings_;
  std::atomic<std::uint64_t> done_ = 0;
  std::uint64_t total_;
  bool surveyed_ = false;
  std::optional<Error> failure_;

  std::vector<Stream> streams_;
  CaptureOrder<CaptureVersions> order_;
  std::size_t unpacked_ = 0;  // words of all streams

  Stream* stream_ = nullptr;  // that runs
  std::optional<Waiting> waits_for_;

  std::vector<Event> events_;
  EventNumber first_ = 1;
};

}  // namespace

Result<std::unique_ptr<Source>> read_capture(const std::string& path, const ReadOptions& options) {
  std::shared_ptr<const CaptureReduced> none;
  return read_capture(path, options, {}, none);
}

Result<std::unique_ptr<Source>> read_capture(const std::string& path, const ReadOptions& options,
                                             const CaptureSelection& selection,
                                             std::shared_ptr<const CaptureReduced>& reduced) {
  auto index = read_capture_index(path);
  if (!index) return index.error();
  auto loader = WordLoader::open(path);
  if (!loader) return loader.error();
  auto meta = std::make_unique<const CaptureMeta>(std::exchange(index->meta, {}));
  const unsigned jobs = options.jobs != 0 ? options.jobs : std::thread::hardware_concurrency();
  if (selection.only_shared && selection.reduce && reduced == nullptr && !meta->unreadable) {
    reduced = CaptureReduced::make(path, *index, *meta, selection, jobs);
  }
  std::unique_ptr<Source> source = std::make_unique<CaptureSource>(
      std::move(*index), std::move(meta), std::move(*loader), selection, reduced);
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
  summary.noise = meta.noise;
  summary.ended = meta.ended();
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
