#include "live/shadow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace syndrome::live {
namespace {

constexpr std::uint64_t kAddress = 0x7f0000001000;

std::vector<SitedEntry> entries_of(Shadow& shadow, std::uint64_t address) {
  std::vector<SitedEntry> entries;
  shadow.read(shadow.at(address), entries);
  return entries;
}

TEST(Shadow, KeepsAnyNumberOfEntries) {
  Shadow shadow;
  ASSERT_TRUE(shadow.good());
  for (const std::size_t count : {0u, 1u, 2u, 3u, 9u, 2u, 5u, 0u}) {
    std::vector<SitedEntry> entries;
    for (std::size_t i = 0; i < count; ++i) {
      entries.push_back({Entry(100 + i, i, 0xff, i % 2 == 0), Where(7, 0)});
    }
    shadow.write(kAddress, shadow.at(kAddress), entries);
    const std::vector<SitedEntry> found = entries_of(shadow, kAddress);
    ASSERT_EQ(found.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(found[i].entry.position(), 100 + i);
      EXPECT_EQ(found[i].entry.slot(), i);
      EXPECT_EQ(found[i].entry.write(), i % 2 == 0);
      EXPECT_EQ(found[i].where.site(), 7u);
    }
  }
}

TEST(Shadow, ForgetsTheBytesThatAreUsedAnew) {
  Shadow shadow;
  for (std::uint64_t i = 0; i < 1024; ++i) {
    const std::vector<SitedEntry> entries = {{Entry(1, 0, 0xff, true), Where(1, 0)}};
    shadow.write(kAddress + 8 * i, shadow.at(kAddress + 8 * i), entries);
  }
  // From the middle of one granule to the middle of another, over the end of a page.
  shadow.clear(kAddress + 12, 4096 + 8 - 6);
  EXPECT_EQ(entries_of(shadow, kAddress).size(), 1u);
  ASSERT_EQ(entries_of(shadow, kAddress + 8).size(), 1u);
  EXPECT_EQ(entries_of(shadow, kAddress + 8)[0].entry.mask(), 0x0fu);
  EXPECT_EQ(entries_of(shadow, kAddress + 16).size(), 0u);
  EXPECT_EQ(entries_of(shadow, kAddress + 4096).size(), 0u);
  ASSERT_EQ(entries_of(shadow, kAddress + 4104).size(), 1u);
  EXPECT_EQ(entries_of(shadow, kAddress + 4104)[0].entry.mask(), 0xc0u);
  EXPECT_EQ(entries_of(shadow, kAddress + 4112).size(), 1u);
  // Where nothing ever was.
  shadow.clear(0x10, std::uint64_t{1} << 40);
}

TEST(Shadow, ChangesItsVersionWithEachChange) {
  Shadow shadow;
  (void)shadow.at(kAddress);
  const std::uint64_t before = shadow.version(kAddress, kAddress + 4096);
  EXPECT_EQ(shadow.version(kAddress, kAddress + 4096), before);
  shadow.touch(kAddress + 8);
  const std::uint64_t after = shadow.version(kAddress, kAddress + 4096);
  EXPECT_NE(after, before);
  shadow.clear(kAddress, 8);
  EXPECT_NE(shadow.version(kAddress, kAddress + 4096), after);
}

}  // namespace
}  // namespace syndrome::live
