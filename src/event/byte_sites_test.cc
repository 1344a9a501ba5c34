#include "event/byte_sites.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace syndrome::sieve {
namespace {

template <class Table>
std::vector<std::uint32_t> sites_of(const Table& table, std::uint32_t site) {
  std::vector<std::uint32_t> all;
  for (unsigned byte = 0; byte < 8; ++byte) all.push_back(table.site_of(site, byte));
  return all;
}

TEST(ByteSites, SayOfEachByteWhereItWasAccessedLast) {
  ByteSitesTable<4> table{};
  std::uint32_t site = table.with(7, 0b10, 8);
  EXPECT_NE(site & Cell::kSeveral, 0u);
  EXPECT_EQ(sites_of(table, site), (std::vector<std::uint32_t>{7, 8, 7, 7, 7, 7, 7, 7}));
  site = table.with(site, 0b1111'0010, 9);
  EXPECT_EQ(sites_of(table, site), (std::vector<std::uint32_t>{7, 9, 7, 7, 9, 9, 9, 9}));
  // The same is the same number, whatever the way to it; and where all are one site, that is it.
  EXPECT_EQ(table.with(table.with(9, 0b100, 7), 0b1001, 7), site);
  EXPECT_EQ(table.with(site, 0b1101, 9), 9u);
}

TEST(ByteSites, SayWhenThereIsNoRoom) {
  ByteSitesTable<2> table{};
  ByteSitesCache cache{};
  std::vector<std::uint32_t> made;
  for (std::uint32_t other = 2; other < 5; ++other) made.push_back(cache.with(table, 1, 1, other));
  EXPECT_EQ(cache.with(table, 1, 1, 5), 0u);
  for (std::uint32_t other = 2; other < 5; ++other) {
    EXPECT_EQ(cache.with(table, 1, 1, other), made[other - 2]);
    EXPECT_EQ(table.site_of(made[other - 2], 0), other);
  }
  EXPECT_EQ(cache.with(table, 1, 1, 5), 0u);
}

/// Threads that ask for the same at the same time get the same number.
TEST(ByteSites, AreTheSameForAllThreads) {
  constexpr std::uint32_t kSites = 500;
  const auto table = std::make_unique<ByteSitesTable<12>>();
  std::array<std::vector<std::uint32_t>, 4> seen;
  std::vector<std::thread> threads;
  for (std::vector<std::uint32_t>& mine : seen) {
    threads.emplace_back([&table, &mine] {
      for (std::uint32_t i = 0; i < kSites; ++i) mine.push_back(table->with(1, 0b11, i + 2));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::uint32_t>& mine : seen) EXPECT_EQ(mine, seen[0]);
  EXPECT_EQ(std::set(seen[0].begin(), seen[0].end()).size(), kSites);
  for (std::uint32_t i = 0; i < kSites; ++i) EXPECT_EQ(table->site_of(seen[0][i], 1), i + 2);
}

}  // namespace
}  // namespace syndrome::sieve
