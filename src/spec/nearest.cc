#include "spec/nearest.h"

#include <algorithm>
#include <cstdint>

namespace syndrome::spec {

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  const std::size_t too_far = limit + 1;
  if (b.size() - a.size() > limit) return too_far;
  // Cells further than `limit` from the diagonal cannot be on a path that is short enough.
  std::vector<std::size_t> row(b.size() + 1, too_far);
  for (std::size_t j = 0; j <= std::min(b.size(), limit); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t from = i > limit ? i - limit : 1;
    const std::size_t to = std::min(b.size(), i + limit);
    std::size_t diagonal = row[from - 1];
    row[from - 1] = from == 1 && i <= limit ? i : too_far;
    std::size_t best = row[from - 1];
    for (std::size_t j = from; j <= to; ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, diagonal + 1, row[j - 1] + 1, too_far});
      best = std::min(best, row[j]);
    }
    if (best > limit) return too_far;
  }
  return std::min(row[b.size()], too_far);
}

std::size_t slip_of(std::string_view name) {
  return std::max<std::size_t>(2, name.size() / 3);
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = slip_of(name) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate, best_distance - 1);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
    if (distance == 0) break;
  }
  return best;
}

}  // namespace syndrome::spec
