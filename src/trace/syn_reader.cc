#include "trace/syn_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "trace/syn_pipeline.h"

namespace syndrome::trace {
namespace {

// Events are handed out in slices of this many, 64 KiB: the stages pass over one several times, and
// it stays in the caches of one core. Measured in docs/performance.md.
constexpr std::size_t kSlice = 4096;

// The check runs in one thread, so a few workers are enough to feed it, and each takes memory.
// Whoever asks for more by number gets more.
constexpr unsigned kDefaultMaxWorkers = 4;
constexpr unsigned kMaxWorkers = 64;

unsigned workers_for(unsigned jobs) {
  if (jobs != 0) return std::min(jobs - 1, kMaxWorkers);
  const unsigned cores = std::thread::hardware_concurrency();
  return std::clamp(cores, 2u, kDefaultMaxWorkers + 1) - 1;
}

class SynSource final : public Source {
 public:
  SynSource(ChunkReader reader, unsigned workers)
      : progress_{reader.position(), reader.file_bytes()}, pipeline_(std::move(reader), workers) {}

  [[nodiscard]] Result<Batch> next() override {
    while (rest_.empty()) {
      if (failure_) return *failure_;
      if (done_) return Batch{};
      if (Status status = take(pipeline_.next()); !status) {
        failure_ = status.error();
        return *failure_;
      }
    }
    const Batch batch{rest_.first(std::min(kSlice, rest_.size())), first_};
    rest_ = rest_.subspan(batch.events.size());
    first_ += batch.events.size();
    return batch;
  }

  [[nodiscard]] const Names& names() const override { return names_; }
  [[nodiscard]] Progress progress() const override { return progress_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  Status take(SynPipeline::Slot& slot) {
    if (slot.error) return *slot.error;
    progress_.done = slot.position;
    if (slot.outcome != ChunkReader::Outcome::kChunk) {
      done_ = true;
      if (slot.outcome == ChunkReader::Outcome::kCut) {
        warnings_.push_back(describe_cut(slot.chunk, slot.position));
      }
      return {};
    }
    const ChunkHeader& header = slot.chunk.header;
    if (header.type == kNamesChunk) {
      slot.names.append_to(names_.table(static_cast<Space>(header.space)));
    } else if (header.type == kEventsChunk) {
      rest_ = std::span(slot.events).first(header.count);
      first_ = header.first;
    }
    return {};
  }

  Names names_;
  Progress progress_;
  std::vector<std::string> warnings_;
  std::span<Event> rest_;  // of the chunk that was taken last
  EventNumber first_ = 1;
  std::optional<Error> failure_;
  bool done_ = false;
  SynPipeline pipeline_;
};

}  // namespace

Result<std::unique_ptr<Source>> read_syn(const std::string& path, const ReadOptions& options) {
  auto reader = ChunkReader::open(path);
  if (!reader) return reader.error();
  return std::unique_ptr<Source>(
      std::make_unique<SynSource>(std::move(*reader), workers_for(options.jobs)));
}

bool is_syn(std::span<const std::byte> head) {
  const std::size_t size = std::min(head.size(), kSynMagic.size());
  std::size_t equal = 0;
  for (std::size_t i = 0; i < size; ++i) {
    equal += std::to_integer<std::uint8_t>(head[i]) == kSynMagic[i] ? 1 : 0;
  }
  if (size < kSynMagic.size()) return size > 0 && equal == size;
  return equal >= kSynMagic.size() - 2;
}

namespace {

/// Kinds and blocks of a file without its end, by reading it.
Status count_events(const std::string& path, SynSummary& summary) {
  auto source = read_syn(path, ReadOptions{});
  if (!source) return source.error();
  std::vector<std::uint32_t> depth;
  for (;;) {
    const auto batch = (*source)->next();
    if (!batch) return batch.error();
    if (batch->empty()) return {};
    for (const Event& event : batch->events) {
      ++summary.kinds[static_cast<std::size_t>(event.kind)];
      if (event.kind != EventKind::kBegin && event.kind != EventKind::kEnd) continue;
      depth.resize(std::max(depth.size(), event.thread.index() + 1));
      std::uint32_t& open = depth[event.thread.index()];
      if (event.kind == EventKind::kBegin) {
        summary.blocks += open++ == 0 ? 1 : 0;
      } else if (open > 0) {
        --open;
      }
    }
  }
}

}  // namespace

Result<SynSummary> read_syn_summary(const std::string& path) {
  auto reader = ChunkReader::open(path);
  if (!reader) return reader.error();
  SynSummary summary;
  Chunk chunk;
  for (;;) {
    const auto outcome = reader->next(chunk);
    if (!outcome) return outcome.error();
    if (*outcome != ChunkReader::Outcome::kChunk) {
      summary.complete = *outcome == ChunkReader::Outcome::kEnd;
      break;
    }
    SynTotals totals;
    if (Status status = verify(chunk, &totals); !status) return status.error();
    const std::uint64_t size = kChunkHeaderBytes + chunk.header.stored;
    if (chunk.header.type == kEventsChunk) {
      ++summary.event_chunks;
      summary.event_bytes += size;
    } else if (chunk.header.type == kNamesChunk) {
      summary.name_bytes += size;
    } else if (chunk.header.type == kEndChunk) {
      summary.blocks = totals.blocks;
      summary.kinds = totals.kinds;
    }
  }
  summary.events = chunk.events;
  summary.names = chunk.names;
  summary.threads = chunk.names[static_cast<std::size_t>(Space::kThread)];
  summary.variables = chunk.names[static_cast<std::size_t>(Space::kVariable)];
  summary.locks = chunk.names[static_cast<std::size_t>(Space::kLock)];
  summary.chunks = chunk.chunks;
  summary.bytes = reader->position();
  if (!summary.complete) {
    summary.warning = describe_cut(chunk, reader->position());
    if (Status status = count_events(path, summary); !status) return status.error();
  }
  return summary;
}

}  // namespace syndrome::trace
