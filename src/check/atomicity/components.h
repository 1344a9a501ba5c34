// Strongly connected components (Tarjan, without recursion: graphs have millions of nodes).

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace syndrome::check {

/// The component of each node, numbered from 0, or ~0 for a node alone in its component. Successors
/// of n are targets[begin[n]] … targets[begin[n + 1]]. Nodes in `without` are left out.
[[nodiscard]] std::vector<std::uint32_t> strong_components(
    const std::vector<std::size_t>& begin, const std::vector<std::uint32_t>& targets,
    const std::vector<bool>& without);

}  // namespace syndrome::check
