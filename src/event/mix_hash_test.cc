// Keys that differ in some of their bits alone must not fall on one place of a table: that made a
// recording of 25 MB take a minute to read.

#include "event/mix_hash.h"

#include <gtest/gtest.h>

#include <set>

namespace syndrome {
namespace {

TEST(MixHash, SpreadsKeysThatDifferAnywhere) {
  constexpr std::size_t kKeys = 4096;
  constexpr std::size_t kMask = 0xffff;
  for (unsigned shift = 0; shift + 12 <= 64; ++shift) {
    std::set<std::size_t> places;
    for (std::uint64_t key = 0; key < kKeys; ++key) places.insert(MixHash{}(key << shift) & kMask);
    EXPECT_GT(places.size(), kKeys / 2) << "keys differ from bit " << shift << " on";
  }
}

}  // namespace
}  // namespace syndrome
