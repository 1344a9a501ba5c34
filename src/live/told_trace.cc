#include "live/told_trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include "event/wire.h"
#include "trace/syn_reader.h"
#include "trace/syn_writer.h"

namespace syndrome::live {
namespace {

std::string late_path(const std::string& path) {
  return path + ".late";
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

Error unwritable(const std::string& path) {
  return Error{fmt::format("{}: cannot write: {}", path, std::strerror(errno))};
}

/// The told events, and the late ones in their places among them.
class ToldTraceSource final : public trace::Source {
 public:
  struct Late {
    EventNumber position = 0;
    Event event;
  };

  ToldTraceSource(std::unique_ptr<trace::Source> told, std::vector<Late> late, Names names,
                  EventNumber count, std::optional<std::uint64_t> noise,
                  std::optional<Ended> ended, std::uint64_t left_out_blocks)
      : told_(std::move(told)),
        late_(std::move(late)),
        names_(std::move(names)),
        count_(count),
        noise_(noise),
        ended_(ended),
        left_out_blocks_(left_out_blocks) {}

  [[nodiscard]] Result<Batch> next() override {
    first_ += size_;
    size_ = 0;
    if (read_ >= count_) return Batch{{}, first_};
    Result<Batch> batch = told_->next();
    if (!batch) return batch;
    std::span<Event> events = batch->events;
    // What came after the snapshot may speak of names that are not here.
    if (events.size() > count_ - read_) events = events.first(count_ - read_);
    const EventNumber end = read_ + events.size();
    if (at_ == late_.size() || late_[at_].position > end) {
      read_ = end;
      size_ = events.size();
      return Batch{events, first_};
    }
    merged_.clear();
    for (const Event& event : events) {
      merged_.push_back(event);
      ++read_;
      for (; at_ < late_.size() && late_[at_].position <= read_; ++at_) {
        merged_.push_back(late_[at_].event);
      }
    }
    size_ = merged_.size();
    return Batch{merged_, first_};
  }

  [[nodiscard]] const Names& names() const override { return names_; }
  [[nodiscard]] trace::Progress progress() const override { return told_->progress(); }
  [[nodiscard]] const std::vector<std::string>& warnings() const override {
    return read_ >= count_ ? none_ : told_->warnings();
  }
  [[nodiscard]] std::optional<std::uint64_t> noise() const override { return noise_; }
  [[nodiscard]] std::optional<Ended> ended() const override { return ended_; }
  [[nodiscard]] std::uint64_t left_out_blocks() const override { return left_out_blocks_; }

 private:
  std::unique_ptr<trace::Source> told_;
  std::vector<Late> late_;
  Names names_;
  EventNumber count_;
  std::optional<std::uint64_t> noise_;
  std::optional<Ended> ended_;
  std::uint64_t left_out_blocks_;
  EventNumber read_ = 0;  // of the told events
  std::size_t at_ = 0;    // in late_
  EventNumber first_ = 1;
  std::size_t size_ = 0;  // of the last batch
  std::vector<Event> merged_;
  std::vector<std::string> none_;
};

}  // namespace

Result<ToldTraceWriter> ToldTraceWriter::create(const std::string& path) {
  // Read soon and once or twice, on the cores that the program uses: compressing would cost more.
  Result<std::unique_ptr<trace::Sink>> sink = trace::write_syn(path, {.level = 0});
  if (!sink) return sink.error();
  return ToldTraceWriter(path, std::move(*sink));
}

Status ToldTraceWriter::write(const Names& names) {
  Status written = sink_->append(events_, names);
  events_.clear();
  return written;
}

// count, whether there is noise, its seed, how the process ended in four numbers, blocks that were left out, late, then for each space:
// names, and each with its length.
Status ToldTraceWriter::write_late(const Names& names) {
  // Not stable_sort, which takes as much memory again.
  std::ranges::sort(late_, {},
                    [](const Late& l) { return std::tuple(l.position, l.order, l.told); });
  const std::string path = late_path(path_);
  const std::string fresh = path + ".new";
  const File file(std::fopen(fresh.c_str(), "wbe"));
  if (file == nullptr) return unwritable(fresh);
  const auto put = [&file](const void* data, std::size_t bytes) {
    return bytes == 0 || std::fwrite(data, 1, bytes, file.get()) == bytes;
  };
  const auto put_number = [&put](std::uint64_t number) { return put(&number, sizeof number); };
  const Ended end = ended_.value_or(Ended());
  const std::uint32_t thread = end.thread.value_or(wire::kNoThread);
  bool good = put_number(count_) && put_number(noise_ ? 1 : 0) && put_number(noise_.value_or(0)) &&
              put_number(ended_ ? 1 : 0) && put_number(end.signal ? 1 : 0) &&
              put_number(end.number) && put_number(thread) &&
              put_number(left_out_blocks_) && put_number(late_.size());
  for (const Late& late : late_) {
    good = good && put_number(late.position) && put(&late.event, sizeof late.event);
  }
  for (std::size_t i = 0; i < kSpaceCount; ++i) {
    const StringTable& table = names.table(static_cast<Space>(i));
    good = good && put_number(table.size());
    for (std::size_t id = 0; id < table.size(); ++id) {
      good = good && put_number(table[id].size()) && put(table[id].data(), table[id].size());
    }
  }
  if (!good || std::fflush(file.get()) != 0) return unwritable(fresh);
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return unwritable(path);
  return {};
}

Status ToldTraceWriter::snapshot(const Names& names) {
  if (Status written = write(names); !written) return written;
  if (Status flushed = sink_->flush(); !flushed) return flushed;
  return write_late(names);
}

Result<std::uint64_t> ToldTraceWriter::close(const Names& names) {
  if (Status written = write(names); !written) return written.error();
  if (Status closed = sink_->close(); !closed) return closed.error();
  if (Status written = write_late(names); !written) return written.error();
  struct stat told{};
  struct stat late{};
  ::stat(path_.c_str(), &told);
  ::stat(late_path(path_).c_str(), &late);
  return static_cast<std::uint64_t>(told.st_size + late.st_size);
}

Result<std::unique_ptr<trace::Source>> read_told_trace(const std::string& path,
                                                       const trace::ReadOptions& options) {
  const File file(std::fopen(late_path(path).c_str(), "rbe"));
  const Error cut{fmt::format("{}: is cut off", late_path(path))};
  if (file == nullptr) {
    return Error{fmt::format("{}: {}", late_path(path), std::strerror(errno))};
  }
  const auto get = [&file](void* data, std::size_t bytes) {
    return bytes == 0 || std::fread(data, 1, bytes, file.get()) == bytes;
  };
  std::uint64_t count = 0;
  std::uint64_t size = 0;
  std::uint64_t noisy = 0;
  std::uint64_t seed = 0;
  std::array<std::uint64_t, 4> end{};
  std::uint64_t left_out_blocks = 0;
  if (!get(&count, sizeof count) || !get(&noisy, sizeof noisy) || !get(&seed, sizeof seed) ||
      !get(end.data(), sizeof end) ||
      !get(&left_out_blocks, sizeof left_out_blocks) || !get(&size, sizeof size)) {
    return cut;
  }
  std::optional<Ended> ended;
  if (end[0] != 0) {
    ended = Ended{end[1] != 0, static_cast<std::uint32_t>(end[2]), std::nullopt};
    if (end[3] != wire::kNoThread) ended->thread = static_cast<std::uint32_t>(end[3]);
  }
  std::vector<ToldTraceSource::Late> late;
  for (std::uint64_t i = 0; i < size; ++i) {
    ToldTraceSource::Late one;
    if (!get(&one.position, sizeof one.position) || !get(&one.event, sizeof one.event)) return cut;
    late.push_back(one);
  }
  Names names;
  std::string text;
  for (std::size_t i = 0; i < kSpaceCount; ++i) {
    StringTable& table = names.table(static_cast<Space>(i));
    if (!get(&size, sizeof size)) return cut;
    for (std::uint64_t id = 0; id < size; ++id) {
      std::uint64_t length = 0;
      if (!get(&length, sizeof length) || length > (1u << 20)) return cut;
      text.resize(length);
      if (!get(text.data(), length)) return cut;
      // The first label and the first site are there already.
      if (id >= table.size()) table.append(text);
    }
  }
  Result<std::unique_ptr<trace::Source>> told = trace::read_syn(path, options);
  if (!told) return told;
  return std::unique_ptr<trace::Source>(std::make_unique<ToldTraceSource>(
      std::move(*told), std::move(late), std::move(names), count,
      noisy != 0 ? std::optional(seed) : std::nullopt, ended, left_out_blocks));
}

}  // namespace syndrome::live
