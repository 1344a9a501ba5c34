// What random recordings hardly come to: granules where more than two open calls have been
// (event/calls.h).

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "event/calls.h"

namespace syndrome::calls {
namespace {

/// What `meanwhile` says happens when somebody asks for the time.
struct Clock {
  static inline Word time = 1;
  static inline std::function<void()> meanwhile;
  static Word now() {
    if (const auto what = std::exchange(meanwhile, nullptr)) what();
    return ++time;
  }
};

class HeldMany : public ::testing::Test {
 protected:
  static constexpr Word kSlots = 5;

  HeldMany() {
    for (Word i = 0; i < kSlots; ++i) calls_[i].slot = i;
  }
  void begin(Word slot) { rule_.begin(calls_[slot], Clock::now()); }
  void end(Word slot) { rule_.end(calls_[slot], Clock::now()); }
  void access(Word slot, Word kinds) { (void)rule_.access(calls_[slot], cell_, 1, kinds, 0xff); }
  [[nodiscard]] bool is_left_behind(Word slot) const {
    return slots_[slot].out >= calls_[slot].begin && slots_[slot].out != 0;
  }

  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlots);
  Word used_ = kSlots;
  Calls<Clock> rule_{slots_.get(), &used_};
  Call calls_[kSlots] = {};
  Cell cell_{};
};

// A call that ended when this one had begun counted as over since the granule had many.
TEST_F(HeldMany, CallsThatEndedAreComeBehindByWhoBeganBeforeThat) {
  // Written a moment ago, so that it counts who has read it.
  begin(4);
  access(4, kWrite);
  end(4);
  for (const Word slot : {Word{0}, Word{1}, Word{2}}) begin(slot);
  for (const Word slot : {Word{0}, Word{1}, Word{2}}) access(slot, kRead);
  end(2);
  begin(3);
  end(0);
  end(1);
  access(3, kWrite);
  EXPECT_NE(calls_[3].last_in, 0u);
}

// The next call of a slot, begun while somebody looked at who is there, counted as having been
// there: it was told, with all that came behind it.
TEST_F(HeldMany, TheNextCallOfASlotHasNotBeenThere) {
  begin(4);
  access(4, kWrite);
  end(4);
  for (const Word slot : {Word{0}, Word{1}, Word{2}, Word{4}}) begin(slot);
  for (const Word slot : {Word{0}, Word{1}, Word{2}}) access(slot, kRead);
  Clock::meanwhile = [this] {
    end(0);
    begin(0);
  };
  access(4, kRead);
  begin(3);
  access(3, kWrite);
  EXPECT_FALSE(is_left_behind(0));
  EXPECT_TRUE(is_left_behind(1));
  EXPECT_EQ(calls_[3].count, 3u);
}

// A page that another call takes over would have lost what one that is open since before has to
// come behind.
TEST_F(HeldMany, APageIsNotTakenOverWhileSomeoneMayComeBehindItsLastCall) {
  Page page{};
  begin(2);
  begin(0);
  ASSERT_TRUE(rule_.access_page(calls_[0], page, kWrite, 1));
  end(0);
  begin(1);
  EXPECT_FALSE(rule_.access_page(calls_[1], page, kWrite, 2));
  rule_.come_behind_page(calls_[2], page, kWrite, 2);
  EXPECT_EQ(calls_[2].last_in, 0u);
  rule_.come_behind_page(calls_[2], page, kWrite, 1);
  EXPECT_NE(calls_[2].last_in, 0u);
}

}  // namespace
}  // namespace syndrome::calls
