// What is left out of a recording before it is read (trace/capture_reduce.h), compared on random
// recordings of made-up programs with reading all of it: the oracle finds the same.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace syndrome::check::atomic_sets {

struct RecordingTally {
  std::uint64_t violated = 0;  // recordings
  std::uint64_t events = 0;    // in all of them
  std::uint64_t left = 0;      // of those, in what was left
  std::uint64_t reduced = 0;   // recordings that were not read event by event after all
};

/// The recordings of `count` seeds from `first`. The first disagreement, in words, or none.
[[nodiscard]] std::optional<std::string> first_recording_disagreement(
    std::uint64_t first, std::uint64_t count, RecordingTally* tally = nullptr,
    const std::function<void(std::uint64_t)>& progress = {});

}  // namespace syndrome::check::atomic_sets
