// Threads of the system over one engine: interleavings inside an update only show here.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/differential/player.h"

namespace syndrome::engine {
namespace {

constexpr std::uint32_t kThreads = 4;
constexpr std::uint32_t kRounds = 20'000;
constexpr std::uint32_t kLocks = 3;

MadeUpUnit made_up_unit() {
  MadeUpUnit::Function function;
  function.sites.push_back({.kind = unit::SiteKind::kRead, .bytes = 8});
  function.sites.push_back({.kind = unit::SiteKind::kWrite, .bytes = 8});
  return {std::span(&function, 1),
          {{.from = 0, .to = 1, .how = unit::kFlowData | unit::kFlowDecides}}};
}

class Stress {
 public:
  explicit Stress(const Limits& limits) : player_(limits) {
    player_.engine().announce(unit_.header());
    player_.outermost = unit_.function(0);
  }
  /// work(thread, its number, round), in each of them.
  void run(const std::function<void(Thread&, std::uint32_t, std::uint32_t)>& work) {
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      Thread& thread = player_.thread(ThreadId(t));
      threads.emplace_back([&work, &thread, t] {
        for (std::uint32_t round = 0; round < kRounds; ++round) work(thread, t, round);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Player& player() { return player_; }
  Engine& engine() { return player_.engine(); }
  const unit::Function* function() const { return unit_.function(0); }

  /// Reads and writes some of what a lock guards.
  void locked(Thread& thread, std::uint32_t t, std::uint32_t round) {
    const std::uint32_t lock = (t + round) % kLocks;
    const std::lock_guard guard(locks_[lock]);
    engine().acquire(thread, 0x100000 + lock * 64, false);
    engine().enter(thread, function(), 0);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint64_t address = Player::kBase + lock * 64 + (round + i) % 8 * 8;
      engine().access(thread, address, 1);
      if (i % 2 == 0) engine().access(thread, address, 2);
    }
    engine().exit(thread, function());
    engine().release(thread, 0x100000 + lock * 64, false);
  }

 private:
  MadeUpUnit unit_ = made_up_unit();
  Player player_;
  std::array<std::mutex, kLocks> locks_;
};

TEST(EngineStress, what_is_locked_has_no_races) {
  Stress stress({});
  stress.run([&](Thread& thread, std::uint32_t t, std::uint32_t round) {
    stress.locked(thread, t, round);
  });
  EXPECT_TRUE(stress.player().races.empty());
  EXPECT_GT(stress.player().counters().accesses, kThreads * kRounds * 5U);
}

TEST(EngineStress, nor_when_epochs_run_out_all_the_time) {
  Stress stress({.slots = kThreads + 1, .epochs = 50});
  stress.run([&](Thread& thread, std::uint32_t t, std::uint32_t round) {
    stress.locked(thread, t, round);
  });
  EXPECT_TRUE(stress.player().races.empty());
  EXPECT_GT(stress.engine().resets(), 10U);
}

TEST(EngineStress, nor_when_threads_have_to_do_without_a_slot) {
  Stress stress({.slots = kThreads - 2});
  stress.run([&](Thread& thread, std::uint32_t t, std::uint32_t round) {
    stress.locked(thread, t, round);
  });
  EXPECT_TRUE(stress.player().races.empty());
}

TEST(EngineStress, what_is_not_locked_races) {
  Stress stress({});
  stress.run([&](Thread& thread, std::uint32_t t, std::uint32_t round) {
    stress.locked(thread, t, round);
    if (round % 100 == 0) stress.engine().access(thread, Player::kBase + 0x800 + t / 2 * 8, 2);
  });
  ASSERT_FALSE(stress.player().races.empty());
  for (const SeenRace& race : stress.player().races) {
    EXPECT_GE(race.now.address, Player::kBase + 0x800);
    EXPECT_TRUE(race.now.write);
    EXPECT_TRUE(race.earlier.write);
  }
}

}  // namespace
}  // namespace syndrome::engine
