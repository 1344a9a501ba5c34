// Guards against: an access that is taken for known and is not, and entries whose parts overlap.

#include "engine/cell.h"

#include <gtest/gtest.h>

#include <array>

namespace syndrome::engine {
namespace {

using Cell = std::array<Entry, kLanes>;

Entry entry(std::uint32_t slot, std::uint32_t epoch, Entry bytes, Entry kind = 0,
            std::uint32_t way = 1) {
  return prefix_of(slot, epoch) | bytes | kind | (Entry{way} << kWayShift);
}

TEST(Cell, an_entry_gives_back_what_was_put_in) {
  const Entry most =
      entry(kSlots - 1, (1u << kEpochBits) - 1, 0xff, kReadBit | kAtomicBit, (1u << kWayBits) - 1) |
      kSourceBit;
  EXPECT_EQ(most, ~Entry{0});
  EXPECT_EQ(slot_of(most), kSlots - 1);
  EXPECT_EQ(epoch_of(most), (1u << kEpochBits) - 1);
  EXPECT_EQ(way_of(most), (1u << kWayBits) - 1);
  EXPECT_EQ(slot_of(entry(3, 5, 1)), 3U);
  EXPECT_EQ(epoch_of(entry(3, 5, 1)), 5U);
  EXPECT_EQ(way_of(entry(3, 5, 1, 0, 9)), 9U);
}

TEST(Cell, known_is_the_same_access_once_more) {
  const Entry read = entry(1, 5, 0x0f, kReadBit);
  EXPECT_TRUE(is_known(Cell{read}.data(), read));
  EXPECT_TRUE(is_known(Cell{read}.data(), entry(1, 5, 0x03, kReadBit)));
  EXPECT_FALSE(is_known(Cell{read}.data(), entry(1, 5, 0x1f, kReadBit)));
  EXPECT_FALSE(is_known(Cell{read}.data(), entry(1, 6, 0x0f, kReadBit)));
  EXPECT_FALSE(is_known(Cell{read}.data(), entry(2, 5, 0x0f, kReadBit)));
  EXPECT_FALSE(is_known(Cell{read}.data(), entry(1, 5, 0x0f)));
  EXPECT_FALSE(is_known(Cell{read}.data(), entry(1, 5, 0x0f, kReadBit, 2)));
  EXPECT_FALSE(is_known(Cell{}.data(), read));
}

TEST(Cell, nothing_is_known_that_somebody_has_interrupted) {
  const Entry read = entry(1, 5, 0x0f, kReadBit);
  EXPECT_FALSE(is_known(Cell{entry(2, 3, 0x01), read}.data(), read));
  EXPECT_TRUE(is_known(Cell{entry(2, 3, 0x10), read}.data(), read)) << "other bytes";
  EXPECT_TRUE(is_known(Cell{entry(2, 3, 0x01, kReadBit), read}.data(), read)) << "two reads";
  EXPECT_TRUE(is_known(Cell{read, entry(2, 3, 0x01)}.data(), read)) << "it was before";
  const Entry write = entry(1, 5, 0x0f);
  EXPECT_FALSE(is_known(Cell{entry(2, 3, 0x01, kReadBit), write}.data(), write));
}

TEST(Cell, loosely_any_way_and_a_stronger_kind_will_do) {
  const Entry read = entry(1, 5, 0x0f, kReadBit);
  EXPECT_TRUE(is_known_loosely(Cell{entry(1, 5, 0xff, 0, 7)}.data(), read));
  EXPECT_FALSE(is_known_loosely(Cell{entry(1, 5, 0xff, kAtomicBit, 7)}.data(), read));
  EXPECT_FALSE(is_known_loosely(Cell{entry(1, 4, 0xff, 0, 7)}.data(), read));
  EXPECT_FALSE(is_known_loosely(Cell{entry(1, 5, 0x01, 0, 7)}.data(), read));
  const Entry write = entry(1, 5, 0x0f);
  EXPECT_FALSE(is_known_loosely(Cell{read}.data(), write));
}

TEST(Cell, loosely_known_is_nothing_over_an_interrupted_access_of_ones_own) {
  const Entry read = entry(1, 5, 0x0f, kReadBit);
  const Entry write = entry(2, 3, 0x0f);
  EXPECT_TRUE(is_known_loosely(Cell{read, write}.data(), read));
  EXPECT_FALSE(is_known_loosely(Cell{write, read}.data(), read));
  EXPECT_FALSE(is_known_loosely(Cell{read, write, entry(1, 4, 0x0f, kReadBit, 3)}.data(), read));
}

}  // namespace
}  // namespace syndrome::engine
