// Small and large tables, and growth from the one kind of memory to the other.

#include "clock/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace syndrome::clock {
namespace {

TEST(HugePages, GrowsFromTheHeapToPagesOfItsOwn) {
  std::vector<std::uint64_t, HugePages<std::uint64_t>> table;
  constexpr std::size_t kCount = 3 * HugePages<std::uint64_t>::kPage / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < kCount; ++i) table.push_back(i);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(table[i], i);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.data()) % HugePages<std::uint64_t>::kPage, 0U);
}

}  // namespace
}  // namespace syndrome::clock
