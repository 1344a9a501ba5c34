#include "trace/pipelined.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace syndrome::trace {
namespace {

// One being filled, one being read, and two so that neither waits when batches differ in cost.
constexpr std::size_t kSlots = 4;

/// Names that one batch adds, in the order of their ids.
struct NewNames {
  std::array<std::string, kSpaceCount> bytes;
  std::array<std::vector<std::size_t>, kSpaceCount> ends;
  Layout layout;
};

/// Appends to `to` what `from` has behind the first `known`.
template <class Each>
void append_new(const std::vector<Each>& from, std::size_t known, std::vector<Each>& to) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(known), from.end());
}

struct Slot {
  std::vector<Event> events;
  EventNumber first = 1;
  NewNames names;
  Progress progress;
  std::vector<std::string> warnings;  // all so far
  std::optional<Error> error;         // instead of events
};

/// Who touches what
///   field                     owner
///   inner_, known_            the producer, until it is joined
///   names_, warnings_, …      the consumer
///   slots_[i]                 the producer while filled_ - released_ counts it as free, then the
///                             consumer; mutex_ orders the hand-over
///   filled_, released_        both, under mutex_
class Pipelined : public Source {
 public:
  Pipelined(std::unique_ptr<Source> inner, std::stop_source stop)
      : inner_(std::move(inner)),
        noise_(inner_->noise()),
        process_ended_(inner_->ended()),
        left_out_blocks_(inner_->left_out_blocks()),
        stop_(std::move(stop)) {}

  void start() {
    producer_ = std::thread([this] { produce(); });
  }
  [[nodiscard]] std::unique_ptr<Source> take_inner() { return std::move(inner_); }

  ~Pipelined() override {
    {
      const std::lock_guard lock(mutex_);
      stop_.request_stop();
    }
    changed_.notify_all();
    if (producer_.joinable()) producer_.join();
  }

  Result<Batch> next() override {
    if (ended_) return end();
    {
      std::unique_lock lock(mutex_);
      if (reading_) {
        ++released_;
        changed_.notify_all();
      }
      reading_ = true;
      changed_.wait(lock, [this] { return filled_ > released_; });
    }
    Slot& slot = slots_[released_ % kSlots];
    take_names(slot.names);
    progress_ = slot.progress;
    if (slot.warnings.size() != warnings_.size()) warnings_ = slot.warnings;
    if (slot.error || slot.events.empty()) {
      ended_ = true;
      error_ = slot.error;
      return end();
    }
    return Batch{slot.events, slot.first};
  }

  const Names& names() const override { return names_; }
  Progress progress() const override { return progress_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  std::optional<std::uint64_t> noise() const override { return noise_; }
  std::optional<Ended> ended() const override { return process_ended_; }
  std::uint64_t left_out_blocks() const override { return left_out_blocks_; }

 private:
  Result<Batch> end() const {
    if (error_) return *error_;
    return Batch{};
  }

  void take_names(const NewNames& added) {
    for (std::size_t s = 0; s < kSpaceCount; ++s) {
      StringTable& table = names_.table(static_cast<Space>(s));
      const std::string_view bytes = added.bytes[s];
      std::size_t begin = 0;
      for (const std::size_t end : added.ends[s]) {
        table.append(bytes.substr(begin, end - begin));
        begin = end;
      }
    }
    Layout& layout = names_.layout();
    append_new(added.layout.variables, 0, layout.variables);
    append_new(added.layout.objects, 0, layout.objects);
    append_new(added.layout.regions, 0, layout.regions);
    append_new(added.layout.flows, 0, layout.flows);
    append_new(added.layout.results, 0, layout.results);
    append_new(added.layout.steered, 0, layout.steered);
  }

  void produce() {
    while (true) {
      Slot* slot = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock,
                      [this] { return stop_.stop_requested() || filled_ - released_ < kSlots; });
        if (stop_.stop_requested()) return;
        slot = &slots_[filled_ % kSlots];
      }
      fill(*slot);
      // The consumer may take the slot, and the producer's end, as soon as this is over.
      const bool last = slot->error.has_value() || slot->events.empty();
      {
        const std::lock_guard lock(mutex_);
        ++filled_;
      }
      changed_.notify_all();
      if (last) return;
    }
  }

  void fill(Slot& slot) {
    Result<Batch> batch = inner_->next();
    if (batch) {
      slot.events.assign(batch->events.begin(), batch->events.end());
      slot.first = batch->first;
    } else {
      slot.events.clear();
      slot.error = batch.error();
    }
    for (std::size_t s = 0; s < kSpaceCount; ++s) {
      const StringTable& table = inner_->names().table(static_cast<Space>(s));
      slot.names.bytes[s].clear();
      slot.names.ends[s].clear();
      for (; known_[s] < table.size(); ++known_[s]) {
        slot.names.bytes[s].append(table[known_[s]]);
        slot.names.ends[s].push_back(slot.names.bytes[s].size());
      }
    }
    fill(inner_->names().layout(), slot.names.layout);
    slot.progress = inner_->progress();
    slot.warnings = inner_->warnings();
  }

  /// What the layout has more than was handed over so far.
  void fill(const Layout& layout, Layout& added) {
    added = {};
    added.regions.clear();
    append_new(layout.variables, known_variables_, added.variables);
    append_new(layout.objects, known_objects_, added.objects);
    append_new(layout.regions, known_regions_, added.regions);
    append_new(layout.flows, known_flows_, added.flows);
    append_new(layout.results, known_results_, added.results);
    append_new(layout.steered, known_steered_, added.steered);
    known_variables_ = layout.variables.size();
    known_objects_ = layout.objects.size();
    known_regions_ = layout.regions.size();
    known_flows_ = layout.flows.size();
    known_results_ = layout.results.size();
    known_steered_ = layout.steered.size();
  }

  static std::array<std::size_t, kSpaceCount> sizes_of(const Names& names) {
    std::array<std::size_t, kSpaceCount> sizes{};
    for (std::size_t s = 0; s < kSpaceCount; ++s) {
      sizes[s] = names.table(static_cast<Space>(s)).size();
    }
    return sizes;
  }

  std::unique_ptr<Source> inner_;
  std::optional<std::uint64_t> noise_;
  std::optional<Ended> process_ended_;
  std::uint64_t left_out_blocks_;
  std::array<std::size_t, kSpaceCount> known_ = sizes_of(Names());  // names handed over so far
  // Likewise, of the layout.
  std::size_t known_variables_ = 0;
  std::size_t known_objects_ = 0;
  std::size_t known_regions_ = 1;
  std::size_t known_flows_ = 0;
  std::size_t known_results_ = 0;
  std::size_t known_steered_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source stop_;
  std::array<Slot, kSlots> slots_;
  std::uint64_t filled_ = 0;
  std::uint64_t released_ = 0;

  Names names_;
  Progress progress_;
  std::vector<std::string> warnings_;
  std::optional<Error> error_;
  bool reading_ = false;  // slots_[released_] is the caller's
  bool ended_ = false;

  std::thread producer_;
};

}  // namespace

std::unique_ptr<Source> pipelined(std::unique_ptr<Source> inner, std::stop_source stop) {
  auto source = std::make_unique<Pipelined>(std::move(inner), std::move(stop));
  try {
    source->start();
  } catch (const std::system_error&) {
    return source->take_inner();
  }
  return source;
}

}  // namespace syndrome::trace
