// The engine as the runtime uses it: words in, races and candidates out. One test for each kind of
// word and of question.

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "engine/differential/player.h"
#include "event/wire.h"

namespace syndrome::engine {
namespace {

using wire::Control;
using wire::Word;

constexpr std::uint64_t kX = Player::kBase + 0x100;
constexpr std::uint64_t kY = Player::kBase + 0x200;
constexpr std::uint64_t kLock = 0x200000;
enum Site : std::uint32_t { kReadSite = 1, kWriteSite = 2, kCallSite = 3, kShortSite = 4 };

/// f: a read that flows into a write, a call, and a read of 4 bytes. g: the same, with no flows.
MadeUpUnit made_up_unit() {
  MadeUpUnit::Function function;
  function.sites.push_back({.kind = unit::SiteKind::kRead, .bytes = 8});
  function.sites.push_back({.kind = unit::SiteKind::kWrite, .bytes = 8});
  function.sites.push_back({.kind = unit::SiteKind::kCall});
  function.sites.push_back({.kind = unit::SiteKind::kRead, .bytes = 4});
  const std::vector<MadeUpUnit::Function> functions = {function, function};
  return {functions, {{.from = 0, .to = 1, .how = unit::kFlowData}}};
}

class Take : public testing::Test {
 protected:
  explicit Take(const Limits& limits = {}) : player_(limits) {
    player_.engine().announce(unit_.header());
  }

  void take(std::uint32_t thread, const std::vector<Word>& words) {
    player_.engine().take(player_.thread(ThreadId(thread)), words.data(),
                          words.data() + words.size());
  }
  Word enter(std::size_t function, std::uint32_t call = 0, Control kind = Control::kEnter) {
    return wire::control(kind, reinterpret_cast<std::uintptr_t>(unit_.function(function)), call);
  }
  Word leave(std::size_t function) { return enter(function, 0, Control::kExit); }
  static void append_lock(std::vector<Word>& words, wire::Sync what) {
    words.push_back(wire::sync(what, 1, 0));
    words.push_back(wire::operand(kLock));
  }
  std::vector<Word> locked(const std::vector<Word>& words) {
    std::vector<Word> all;
    append_lock(all, wire::Sync::kAcquire);
    all.insert(all.end(), words.begin(), words.end());
    append_lock(all, wire::Sync::kRelease);
    return all;
  }
  Counters counters() { return player_.counters(); }

  MadeUpUnit unit_ = made_up_unit();
  Player player_;
};

/// Not only once for two sites.
class TakeAll : public Take {
 protected:
  TakeAll() : Take({.report_all = true}) {}
};

TEST_F(Take, a_stale_update_is_a_candidate) {
  take(0, {enter(0)});
  take(1, {enter(1)});
  take(0, locked({wire::access(kX, kReadSite)}));
  take(1, locked({wire::access(kX, kWriteSite)}));
  EXPECT_TRUE(player_.candidates.empty());
  take(0, locked({wire::access(kX, kWriteSite)}));
  EXPECT_TRUE(player_.races.empty());
  ASSERT_EQ(player_.candidates.size(), 1U);
  const Candidate& candidate = player_.candidates[0].candidate;
  EXPECT_EQ(candidate.question, Question::kOneLocation);
  EXPECT_EQ(candidate.function, unit_.function(0));
  EXPECT_EQ(candidate.from, kReadSite);
  EXPECT_EQ(candidate.to, kWriteSite);
  EXPECT_EQ(candidate.first.address, kX);
  EXPECT_EQ(candidate.other.function, unit_.function(1));
  EXPECT_TRUE(candidate.other.write);
  EXPECT_FALSE(candidate.by_hold);
}

TEST_F(Take, but_not_of_another_activation_nor_without_a_connection) {
  take(1, {enter(1)});
  take(0, {enter(0)});
  take(0, locked({wire::access(kX, kReadSite)}));
  take(0, {leave(0), enter(0)});
  take(1, locked({wire::access(kX, kWriteSite)}));
  take(0, locked({wire::access(kX, kWriteSite)}));
  EXPECT_TRUE(player_.candidates.empty()) << "read by an activation that is over";
  take(0, {leave(0), enter(1)});
  take(0, locked({wire::access(kX, kReadSite)}));
  take(1, locked({wire::access(kX, kWriteSite)}));
  take(0, locked({wire::access(kX, kWriteSite)}));
  EXPECT_TRUE(player_.candidates.empty()) << "nothing connects them";
}

TEST_F(Take, candidates_are_tried_a_bounded_number_of_times) {
  take(0, {enter(0)});
  take(1, {enter(1)});
  for (int i = 0; i < 5000; ++i) {
    take(0, locked({wire::access(kX, kReadSite)}));
    take(1, locked({wire::access(kX, kWriteSite)}));
    take(0, locked({wire::access(kX, kWriteSite)}));
  }
  EXPECT_GE(counters().candidates, 5000U);
  EXPECT_EQ(player_.candidates.size(), 10U);
}

TEST_F(Take, no_more_candidates_of_a_key_that_was_answered) {
  take(0, {enter(0)});
  take(1, {enter(1)});
  for (int i = 0; i < 100; ++i) {
    take(0, locked({wire::access(kX, kReadSite)}));
    take(1, locked({wire::access(kX, kWriteSite)}));
    take(0, locked({wire::access(kX, kWriteSite)}));
    if (i == 0) player_.engine().retire(player_.candidates.at(0).candidate.key);
  }
  EXPECT_EQ(player_.candidates.size(), 1U);
}

TEST_F(Take, a_lock_that_is_held_over_both_is_a_candidate) {
  take(0, {enter(1)});
  take(1, {enter(1)});
  std::vector<Word> words;
  append_lock(words, wire::Sync::kAcquire);
  words.push_back(wire::access(kX, kReadSite));
  take(0, words);
  take(1, {wire::access(kX, kWriteSite)});
  take(0, {wire::access(kX, kWriteSite)});
  ASSERT_EQ(player_.candidates.size(), 1U);
  EXPECT_TRUE(player_.candidates[0].candidate.by_hold);
}

TEST_F(Take, a_race_is_reported_once_for_two_sites) {
  take(0, {enter(1)});
  take(1, {enter(1)});
  for (int i = 0; i < 10; ++i) {
    take(0, {wire::access(kX, kWriteSite)});
    take(1, {wire::access(kX, kWriteSite)});
  }
  ASSERT_EQ(player_.races.size(), 1U);
  EXPECT_EQ(player_.races[0].earlier.site, kWriteSite);
  EXPECT_EQ(player_.races[0].now.site, kWriteSite);
  EXPECT_EQ(player_.races[0].now.address, kX);
  EXPECT_GT(counters().races, 1U);
}

TEST_F(TakeAll, ranges_and_runs_reach_to_their_last_byte) {
  take(0, {enter(1)});
  take(1, {enter(1)});
  take(0, {wire::control(Control::kRange, 0x10, kWriteSite), wire::operand(kX + 3),
           wire::operand(22)});
  take(1, {wire::access(kX + 24, kShortSite)});
  ASSERT_EQ(player_.races.size(), 1U) << "3 + 22 = 25";
  // 5 rounds of 4 bytes, 16 apart; another site in the whole ones.
  take(0, {wire::run(4, 2, 1), wire::operand(wire::stride_bits(16, 0) | wire::stride_bits(8, 1)),
           wire::access(kY, kShortSite), wire::access(kY + 0x100, kWriteSite)});
  take(1, {wire::access(kY + 64, kWriteSite)});
  EXPECT_EQ(player_.races.size(), 2U) << "the round behind the last whole one";
  take(1, {wire::access(kY + 0x100 + 24, kReadSite), wire::access(kY + 0x100 + 32, kReadSite)});
  EXPECT_EQ(player_.races.size(), 3U) << "the last of four";
}

TEST_F(Take, memory_that_begins_anew_has_no_past) {
  take(0, {enter(1)});
  take(1, {enter(1)});
  take(0, {wire::access(kX, kWriteSite)});
  take(1, {wire::control(Control::kLocals, 0, 0), wire::operand(kX), wire::operand(8)});
  take(1, {wire::access(kX, kWriteSite)});
  EXPECT_TRUE(player_.races.empty());
  player_.engine().free(player_.thread(ThreadId(0u)), kX, 64, kWriteSite);
  EXPECT_EQ(player_.races.size(), 1U) << "free is a write";
}

TEST_F(Take, functions_end_by_their_exits_by_longjmp_and_as_leaves) {
  Thread& thread = player_.thread(ThreadId(0u));
  take(0, {enter(0), wire::control(Control::kFrame, 0x70, 0), enter(1, kCallSite),
           enter(0, kCallSite)});
  EXPECT_EQ(thread.depth, 3U);
  take(0, {enter(1, kCallSite, Control::kLeaf), wire::access(kX, kReadSite)});
  EXPECT_EQ(thread.depth, 3U);
  take(0, {leave(1)});
  EXPECT_EQ(thread.depth, 1U) << "what it had called is over as well";
  take(0, {enter(1, kCallSite), wire::control(Control::kResume, 0x70, 0)});
  EXPECT_EQ(thread.depth, 1U);
  take(0, {leave(0), leave(0)});
  EXPECT_EQ(thread.depth, 0U);
  EXPECT_EQ(counters().odd, 1U);
}

TEST_F(Take, atomics_order_by_what_they_say) {
  const auto atomic = [](wire::Sync kind, std::uint64_t order) {
    return std::vector<Word>{wire::sync(kind, 4, kReadSite), wire::operand(kY), wire::operand(0),
                             wire::operand(0), wire::operand(8 | (order << 8))};
  };
  take(0, {enter(1)});
  take(1, {enter(1)});
  take(2, {enter(1)});
  take(0, {wire::access(kX, kWriteSite)});
  take(0, atomic(wire::Sync::kAtomicStore, 3));
  take(1, atomic(wire::Sync::kAtomicLoad, 2));
  take(1, {wire::access(kX, kReadSite)});
  EXPECT_TRUE(player_.races.empty());
  take(2, atomic(wire::Sync::kAtomicLoad, 0));
  take(2, {wire::access(kX, kReadSite)});
  EXPECT_EQ(player_.races.size(), 1U);
}

}  // namespace
}  // namespace syndrome::engine
