// Rows that are freed come back clean; widening loses nothing; join tells exactly what is new.

#include "clock/row_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace syndrome::clock {
namespace {

TEST(RowPool, ASweptRowIsReusedAndZero) {
  RowPool pool;
  const Row a = pool.allocate();
  const Row b = pool.allocate();
  pool[a][3] = 7;
  pool[b][3] = 8;
  EXPECT_NE(a, kNoRow);
  EXPECT_NE(b, a);
  pool.sweep({false, false, true});
  EXPECT_EQ(pool[a][3], 0);
  EXPECT_EQ(pool[b][3], 8);
  EXPECT_EQ(pool.allocate(), a);
  EXPECT_EQ(pool.size(), 3U);
  EXPECT_EQ(pool.allocate(), 3U);
}

TEST(RowPool, WantsASweepNowAndThen) {
  RowPool pool;
  std::size_t sweeps = 0;
  constexpr std::size_t kRows = 100'000;
  std::size_t most = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    if (pool.wants_sweep(100)) {
      pool.sweep(std::vector<bool>(pool.size(), false));
      ++sweeps;
    }
    (void)pool.allocate();
    most = std::max(most, pool.size());
  }
  EXPECT_GT(sweeps, 10U);
  EXPECT_LT(most, 10'000U);
}

TEST(RowPool, WideningKeepsTheEntries) {
  RowPool pool;
  const Row a = pool.allocate();
  const Row b = pool.allocate();
  pool[a][7] = 1;
  pool[b][0] = 2;
  pool.widen(9);
  EXPECT_EQ(pool.width(), 2 * kLanes);
  EXPECT_EQ(pool[a][7], 1);
  EXPECT_EQ(pool[b][0], 2);
  EXPECT_EQ(pool[a][8], 0);
  pool.widen(3);
  EXPECT_EQ(pool.width(), 2 * kLanes);
}

TEST(RowPool, ClearColumn) {
  RowPool pool;
  const Row a = pool.allocate();
  pool[a][1] = 5;
  pool[a][2] = 6;
  pool.clear_column(1);
  EXPECT_EQ(pool[a][1], 0);
  EXPECT_EQ(pool[a][2], 6);
}

TEST(Join, AgreesWithOneEntryAtATime) {
  std::mt19937 random(1);
  const auto draw = [&] { return static_cast<Tick>(random() % 6); };
  for (int round = 0; round < 2000; ++round) {
    const std::size_t width = kLanes * (1 + random() % 3);
    std::vector<Tick> dst(width);
    std::vector<Tick> src(width);
    std::vector<Tick> limits(width);
    for (std::size_t i = 0; i < width; ++i) {
      dst[i] = draw();
      src[i] = round % 10 == 0 ? 0 : draw();
      limits[i] = random() % 3 == 0 ? kTickMax : draw();
    }
    const Tick low_bit = static_cast<Tick>(random() % 2);
    std::vector<Tick> expected = dst;
    std::vector<std::size_t> expected_learned;
    for (std::size_t i = 0; i < width; ++i) {
      expected[i] = std::max(dst[i], src[i] | low_bit);
      if (expected[i] > limits[i] && dst[i] <= limits[i]) expected_learned.push_back(i);
    }
    const bool expected_change = expected != dst;
    std::vector<std::size_t> learned;
    const bool changed = join(dst.data(), src.data(), low_bit, limits.data(), width,
                              [&](std::size_t slot) { learned.push_back(slot); });
    ASSERT_EQ(dst, expected);
    ASSERT_EQ(learned, expected_learned);
    ASSERT_EQ(changed, expected_change);
    ASSERT_EQ(passes(dst.data(), limits.data(), width), [&] {
      for (std::size_t i = 0; i < width; ++i) {
        if (dst[i] > limits[i]) return true;
      }
      return false;
    }());
  }
}

}  // namespace
}  // namespace syndrome::clock
