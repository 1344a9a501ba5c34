#include "check/count/count.h"

#include <numeric>
#include <string>

namespace syndrome::check {
namespace {

constexpr std::size_t slot_of(std::size_t kind, std::size_t flags) {
  return kind + 32 * flags;
}

std::size_t slot_of(const Event& event) {
  return slot_of(static_cast<std::size_t>(event.kind), event.flags & (kNested | kDropped));
}

class CountCheck final : public Check {
 public:
  // Other checks may want to see the trace again; it counts once.
  void take(const Batch& batch, const Names&) override {
    if (!over_) count_.take(batch);
  }
  bool satisfied() const override { return over_; }
  bool end_of_pass(const Names&) override {
    over_ = true;
    return false;
  }

  CheckResult result() override {
    CheckResult result;
    result.check = "count";
    const Counts counts = count_.counts();
    for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
      if (counts.of_kind[kind] == 0) continue;
      result.stats.push_back({std::string(kEventKindNames[kind]), counts.of_kind[kind]});
    }
    result.stats.push_back({"blocks", counts.blocks});
    return result;
  }

 private:
  Count count_;
  bool over_ = false;
};

}  // namespace

std::uint64_t Counts::events() const {
  return std::accumulate(of_kind.begin(), of_kind.end(), dropped);
}

void Count::take(const Batch& batch) {
  const Event* event = batch.events.data();
  const Event* const end = event + batch.events.size();
  for (; end - event >= static_cast<std::ptrdiff_t>(kLanes); event += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) ++slots_[lane][slot_of(event[lane])];
  }
  for (; event != end; ++event) ++slots_[0][slot_of(*event)];
}

Counts Count::counts() const {
  Counts counts;
  const auto sum = [this](std::size_t slot) {
    std::uint64_t total = 0;
    for (const auto& lane : slots_) total += lane[slot];
    return total;
  };
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    counts.of_kind[kind] = sum(slot_of(kind, 0)) + sum(slot_of(kind, kNested));
    counts.dropped += sum(slot_of(kind, kDropped)) + sum(slot_of(kind, kDropped | kNested));
  }
  counts.blocks = sum(slot_of(static_cast<std::size_t>(EventKind::kBegin), 0));
  return counts;
}

std::unique_ptr<Check> make_count(const Options&) {
  return std::make_unique<CountCheck>();
}

}  // namespace syndrome::check
