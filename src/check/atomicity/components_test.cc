// A graph's strongly connected components against the definition: n and m are in one component iff
// each reaches the other.

#include "check/atomicity/components.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace syndrome::check {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::vector<std::uint32_t> components(std::size_t size, const Edges& edges,
                                      const std::vector<bool>& without) {
  std::vector<std::size_t> begin(size + 1);
  std::vector<std::uint32_t> targets;
  for (std::uint32_t n = 0; n < size; ++n) {
    for (const auto& [from, to] : edges) {
      if (from == n) targets.push_back(to);
    }
    begin[n + 1] = targets.size();
  }
  return strong_components(begin, targets, without);
}

TEST(Components, AgreeWithReachabilityOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t size = 1 + random() % 9;
    Edges edges;
    for (std::size_t i = random() % (2 * size); i > 0; --i) {
      edges.emplace_back(random() % size, random() % size);
    }
    std::vector<bool> without(size);
    for (std::size_t n = 0; n < size; ++n) without[n] = random() % 8 == 0;

    std::vector<std::vector<bool>> reach(size, std::vector<bool>(size));
    for (const auto& [from, to] : edges) {
      if (!without[from] && !without[to]) reach[from][to] = true;
    }
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          if (reach[i][k] && reach[k][j]) reach[i][j] = true;
        }
      }
    }
    const std::vector<std::uint32_t> found = components(size, edges, without);
    for (std::size_t i = 0; i < size; ++i) {
      bool alone = true;
      for (std::size_t j = 0; j < size; ++j) {
        if (i == j) continue;
        const bool together = reach[i][j] && reach[j][i];
        if (together) alone = false;
        ASSERT_EQ(together, found[i] != ~0U && found[i] == found[j]) << "round " << round;
      }
      ASSERT_EQ(alone, found[i] == ~0U) << "round " << round;
    }
  }
}

TEST(Components, LongChainsDoNotOverflowTheStack) {
  constexpr std::uint32_t kSize = 1'000'000;
  std::vector<std::size_t> begin(kSize + 1);
  std::vector<std::uint32_t> targets;
  for (std::uint32_t n = 0; n < kSize; ++n) {
    targets.push_back((n + 1) % kSize);
    begin[n + 1] = targets.size();
  }
  const auto found = strong_components(begin, targets, std::vector<bool>(kSize));
  EXPECT_EQ(found.front(), 0U);
  EXPECT_EQ(found.back(), 0U);
}

}  // namespace
}  // namespace syndrome::check
