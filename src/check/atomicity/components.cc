#include "check/atomicity/components.h"

#include <algorithm>

namespace syndrome::check {

std::vector<std::uint32_t> strong_components(const std::vector<std::size_t>& begin,
                                             const std::vector<std::uint32_t>& targets,
                                             const std::vector<bool>& without) {
  constexpr std::uint32_t kNone = ~0U;
  const std::size_t size = begin.size() - 1;
  std::vector<std::uint32_t> component(size, kNone);
  std::vector<std::uint32_t> order(size, kNone);  // when first seen
  std::vector<std::uint32_t> low(size);           // least order that the subtree reaches
  std::vector<bool> on_stack(size);
  std::vector<std::uint32_t> stack;
  struct Frame {
    std::uint32_t node;
    std::size_t next;  // into targets
  };
  std::vector<Frame> frames;
  std::uint32_t seen = 0;
  std::uint32_t components = 0;

  const auto enter = [&](std::uint32_t n) {
    order[n] = low[n] = seen++;
    on_stack[n] = true;
    stack.push_back(n);
    frames.push_back({n, begin[n]});
  };
  for (std::uint32_t root = 0; root < size; ++root) {
    if (order[root] != kNone || without[root]) continue;
    enter(root);
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const std::uint32_t n = frame.node;
      if (frame.next < begin[n + 1]) {
        const std::uint32_t m = targets[frame.next++];
        if (without[m]) continue;
        if (order[m] == kNone) {
          enter(m);
        } else if (on_stack[m]) {
          low[n] = std::min(low[n], order[m]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) {
        low[frames.back().node] = std::min(low[frames.back().node], low[n]);
      }
      if (low[n] != order[n]) continue;
      const bool alone = stack.back() == n;
      while (true) {
        const std::uint32_t m = stack.back();
        stack.pop_back();
        on_stack[m] = false;
        if (!alone) component[m] = components;
        if (m == n) break;
      }
      if (!alone) ++components;
    }
  }
  return component;
}

}  // namespace syndrome::check
