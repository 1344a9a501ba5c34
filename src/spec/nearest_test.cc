#include "spec/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace syndrome::spec {
namespace {

/// The whole table, without a limit.
std::size_t slow_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return cost[a.size()][b.size()];
}

TEST(EditDistance, Examples) {
  EXPECT_EQ(edit_distance("", "", 3), 0U);
  EXPECT_EQ(edit_distance("block", "blocks", 3), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3U) << "limit + 1: too far";
  EXPECT_EQ(edit_distance("abc", "xyz", 0), 1U);
  EXPECT_EQ(edit_distance("abc", "abc", 0), 0U);
}

TEST(EditDistance, AgreesWithTheWholeTable) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    const auto word = [&random] {
      std::string text(random() % 9, 'a');
      for (char& c : text) c = static_cast<char>('a' + random() % 3);
      return text;
    };
    const std::string a = word();
    const std::string b = word();
    const std::size_t limit = random() % 8;
    ASSERT_EQ(edit_distance(a, b, limit), std::min(slow_distance(a, b), limit + 1))
        << a << " " << b << " " << limit;
  }
}

TEST(Nearest, TheFirstOfTheNearestWithinASlip) {
  EXPECT_EQ(nearest("blcks", {"units", "blocks", "atomic-sets"}), "blocks");
  EXPECT_EQ(nearest("zzz", {"units", "blocks"}), "");
  EXPECT_EQ(nearest("aab", {"aaa", "bab"}), "aaa");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace syndrome::spec
