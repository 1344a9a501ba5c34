// For tests: a trace in memory as a driver opens it.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check/pass.h"
#include "check/samples/random_trace.h"
#include "trace/source.h"

namespace syndrome::check {

/// As a reader gives it: in small batches, no flags set.
class MemorySource final : public trace::Source {
 public:
  explicit MemorySource(SmallTrace trace) : trace_(std::move(trace)) {
    for (Event& event : trace_.events) event.flags = 0;
  }
  Result<Batch> next() override {
    constexpr std::size_t kBatch = 7;
    const std::size_t size = std::min(kBatch, trace_.events.size() - at_);
    const Batch batch{std::span(trace_.events).subspan(at_, size), at_ + 1};
    at_ += size;
    return batch;
  }
  const Names& names() const override { return trace_.names; }
  trace::Progress progress() const override { return {at_, trace_.events.size()}; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  SmallTrace trace_;
  std::size_t at_ = 0;
  std::vector<std::string> warnings_;
};

/// `trace` outlives it.
inline Opener opener_of(const SmallTrace& trace) {
  return [&trace]() -> Result<std::unique_ptr<trace::Source>> {
    return std::unique_ptr<trace::Source>(std::make_unique<MemorySource>(trace));
  };
}

}  // namespace syndrome::check
