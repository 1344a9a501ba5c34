// What the micro-benchmarks run on: the generated shapes, in memory and as files, made once.

#pragma once

#include <string>
#include <vector>

#include "event/event.h"
#include "event/names.h"
#include "shapes.h"

namespace syndrome::bench {

/// As long as a benchmark's working set shall be: 16 MB of events.
inline constexpr std::uint64_t kMicroEvents = 1'000'000;

struct Generated {
  std::vector<Event> events;
  Names names;
};

/// Of the shape with this index in kShapes.
[[nodiscard]] const Generated& generated(std::size_t shape);

/// The same as a file; `format` is "std" or "syn".
[[nodiscard]] const std::string& generated_file(std::size_t shape, const std::string& format);

}  // namespace syndrome::bench
