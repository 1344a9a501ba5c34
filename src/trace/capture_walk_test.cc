// Records of loops, taken apart by hand and by the walk.

#include "trace/capture_walk.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/capture_meta.h"
#include "trace/capture_testing.h"

namespace syndrome::trace {
namespace {

using testing::UnitBuilder;
using testing::Words;

using Access = std::tuple<std::uint32_t, std::uint64_t>;  // 1 + index of the site, address

struct Collector {
  std::vector<Access> accesses;
  void access(const unit::Site& /*site*/, std::uint32_t index, std::uint64_t address) {
    accesses.emplace_back(index, address);
  }
  void range(std::uint32_t /*index*/, bool /*write*/, std::uint64_t /*address*/,
             std::uint64_t /*bytes*/, bool /*atomic*/) {}
  void enter(OpenFrame& /*frame*/) {}
  void exit(const OpenFrame& /*frame*/) {}
  bool time(std::uint64_t /*time*/) { return true; }
  bool sync(const SyncRecord& /*record*/) { return true; }
  void locals(std::uint64_t /*address*/, std::uint64_t /*bytes*/) {}
};

class WalkOfRuns : public ::testing::Test {
 protected:
  WalkOfRuns() : unit_(0x5000'0000) {
    const std::size_t function = unit_.function("loop");
    read_ = unit_.site(unit::SiteKind::kRead, 4, "a");
    write_ = unit_.site(unit::SiteKind::kWrite, 4, "b");
    std::vector<std::byte> bytes;
    testing::add_meta(bytes, wire::Meta::kProcess, {wire::kAbi, 7, 0, 0, 0}, "loop");
    add_unit(bytes, unit_);
    function_ = unit_.address(function);
    meta_ = std::make_unique<CaptureMeta>(std::move(bytes));
  }

  std::vector<Access> accesses_of(const std::vector<std::uint64_t>& record) {
    Words words;
    words.enter(1, function_);
    words.record(1, record);
    words.access(1, 0x4242, read_);
    ThreadWalk walk(*meta_);
    Collector collector;
    std::size_t at = 0;
    walk.walk(words.words(), at, collector);
    odd_ = walk.odd();
    return collector.accesses;
  }

  UnitBuilder unit_;
  std::uint64_t function_ = 0;
  std::uint32_t read_ = 0;
  std::uint32_t write_ = 0;
  std::unique_ptr<CaptureMeta> meta_;
  std::uint64_t odd_ = 0;
};

// A handler between the two words of a function that does nothing but one access.
TEST_F(WalkOfRuns, AFunctionOfOneAccessEndsBehindItAlsoWhenAHandlerCameBefore) {
  Words words;
  words.enter(1, function_);
  words.record(1, {wire::control(wire::Control::kLeaf, function_, 0)});
  words.enter(1, function_);
  words.access(1, 0x1000, read_);
  words.exit(1, function_);
  words.access(1, 0x2000, write_);
  ThreadWalk walk(*meta_);
  Collector collector;
  std::size_t at = 0;
  walk.walk(words.words(), at, collector);
  EXPECT_EQ(collector.accesses, (std::vector<Access>{{1, 0x1000}, {2, 0x2000}}));
  EXPECT_EQ(walk.open().size(), 1U);
  EXPECT_EQ(walk.odd(), 0U);
}

// A handler that was left by longjmp came before all operands were written.
TEST_F(WalkOfRuns, WhatFollowsARecordThatWasCutOffIsReadAsItself) {
  const auto accesses = accesses_of({wire::sync(wire::Sync::kAcquire, 3, 0), wire::operand(0x1000),
                                     wire::access(0x2000, read_), wire::access(0x3000, write_)});
  EXPECT_EQ(accesses, (std::vector<Access>{{1, 0x2000}, {2, 0x3000}, {1, 0x4242}}));
  EXPECT_EQ(odd_, 1U);
}

TEST_F(WalkOfRuns, GoesRoundByRound) {
  const auto accesses = accesses_of(
      {wire::run(2, 2, 1), wire::operand(wire::stride_bits(4, 0) | wire::stride_bits(-16, 1)),
       wire::access(0x1000, read_), wire::access(0x2000, write_)});
  EXPECT_EQ(accesses,
            (std::vector<Access>{
                {1, 0x1000}, {2, 0x2000}, {1, 0x1004}, {2, 0x1ff0}, {1, 0x1008}, {1, 0x4242}}));
  EXPECT_EQ(odd_, 0U);
}

TEST_F(WalkOfRuns, KeepsStridesOfAnySizeApart) {
  std::vector<std::uint64_t> record = {wire::run(1, 5, 5), wire::operand(0), wire::operand(0)};
  const std::vector<std::int64_t> strides = {0, -16384, 16383, -1, 1};
  for (std::size_t i = 0; i < strides.size(); ++i) {
    ASSERT_TRUE(wire::is_stride(strides[i]));
    record[1 + i / wire::kStridesInWord] |= wire::stride_bits(strides[i], i);
    record.push_back(wire::access(0x10000, read_));
  }
  const auto accesses = accesses_of(record);
  ASSERT_EQ(accesses.size(), 11U);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    EXPECT_EQ(std::get<1>(accesses[5 + i]), 0x10000 + static_cast<std::uint64_t>(strides[i]));
  }
  EXPECT_FALSE(wire::is_stride(16384));
  EXPECT_FALSE(wire::is_stride(-16385));
}

TEST_F(WalkOfRuns, PassesOverWhatMakesNoSense) {
  const std::uint64_t stride = wire::operand(wire::stride_bits(4, 0));
  const std::uint64_t first = wire::access(0x1000, read_);
  const std::vector<std::vector<std::uint64_t>> records = {
      {wire::run(5, 0, 0)},                                          // no site
      {wire::run(wire::kMaxRounds + 1, 1, 0), stride, first},        // longer than any is written
      {wire::run(5, 1, 2), stride, first},                           // more than all sites
      {wire::run(5, 1, 0), stride, wire::access(0x1000, 77)},        // unknown site
      {wire::run(5, 1, 0), stride, wire::operand(0xffff'ffff'ffff)}  // not an access
  };
  for (const auto& record : records) {
    EXPECT_EQ(accesses_of(record), (std::vector<Access>{{1, 0x4242}}));
    EXPECT_EQ(odd_, 1U);
  }
}

TEST_F(WalkOfRuns, WaitsForTheWholeRecord) {
  const std::vector<std::uint64_t> words = {
      wire::control(wire::Control::kEnter, function_, 0), wire::run(5, 1, 0),
      wire::operand(wire::stride_bits(4, 0)), wire::access(0x1000, read_)};
  for (std::size_t size = 1; size < words.size(); ++size) {
    ThreadWalk walk(*meta_);
    Collector collector;
    std::size_t at = 0;
    EXPECT_EQ(walk.walk(std::span(words).first(size), at, collector), WalkStop::kMore);
    EXPECT_EQ(at, 1U);
    EXPECT_TRUE(collector.accesses.empty());
    walk.walk(words, at, collector);
    EXPECT_EQ(collector.accesses.size(), 5U);
  }
}

}  // namespace
}  // namespace syndrome::trace
