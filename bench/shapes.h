// The generated traces that figures are given for, (a) to (d): what `syndrome trace generate`
// makes.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "trace/generate.h"

namespace syndrome::bench {

struct Shape {
  std::string_view name;
  std::uint32_t threads;
  std::uint32_t variables;
  std::uint32_t locks;
};

inline constexpr std::array<Shape, 4> kShapes = {{
    {"a", 8, 10'000, 100},
    {"b", 8, 1'000'000, 1'000},
    {"c", 64, 10'000, 100},
    {"d", 1'000, 10'000, 100},
}};

[[nodiscard]] inline trace::GenerateOptions options_of(const Shape& shape, std::uint64_t events) {
  trace::GenerateOptions options;
  options.events = events;
  options.threads = shape.threads;
  options.variables = shape.variables;
  options.locks = shape.locks;
  return options;
}

}  // namespace syndrome::bench
