// Guards the locks of hardened programs: how they exclude each other, and that nothing a program
// does by its own means makes it wait for them forever.

#include <gtest/gtest.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "enforce/lock_runtime/other_thread.h"

namespace syndrome::locks {
namespace {

using namespace std::chrono_literals;

TEST(Locks, ReadersShareAndWritersDoNot) {
  char frame = 0;
  __syndrome_lock_read(1, &frame);
  EXPECT_TRUE(is_free(1, false));
  expect_held(1, true, frame);
  EXPECT_TRUE(is_free(1, true));
  __syndrome_lock_exclusive(2, &frame);
  expect_held(2, false, frame);
  __syndrome_lock_exclusive(2, &frame);
  __syndrome_lock_degrade(2, &frame);
  EXPECT_TRUE(is_free(2, false));
  expect_held(2, true, frame);
  EXPECT_TRUE(is_free(2, true));
}

TEST(Locks, AnInnerFrameGivesNothingBack) {
  char outer = 0;
  char inner = 0;
  __syndrome_lock_exclusive(3, &outer);
  __syndrome_lock_read(3, &inner);
  __syndrome_lock_release(3, &inner);
  expect_held(3, false, outer);
  EXPECT_TRUE(is_free(3, true));
}

TEST(Locks, ALongjmpGivesBackWhatDeeperFramesHeld) {
  static jmp_buf back;
  char outer = 0;
  __syndrome_lock_read(4, &outer);
  if (setjmp(back) == 0) {
    const auto deeper = [] {
      char frame[64] = {};
      __syndrome_lock_exclusive(5, frame);
      longjmp(back, 1);
    };
    deeper();
  }
  // The frame of the lambda lies below `outer`, whatever the order of locals here.
  __syndrome_lock_resume(&outer);
  EXPECT_TRUE(is_free(5, true));
  expect_held(4, true, outer);
}

TEST(Locks, AThreadThatEndsGivesEverythingBack) {
  std::thread([] {
    char frame = 0;
    __syndrome_lock_exclusive(6, &frame);
  }).join();
  EXPECT_TRUE(is_free(6, true));
}

// Where it holds the lock, and where it has set it aside.
TEST(Locks, ACancelledThreadGivesEverythingBack) {
  static std::atomic<bool> there = false;
  static sem_t never;
  sem_init(&never, 0, 0);
  void* (*const ways[])(void*) = {[](void*) -> void* {
                                    char frame = 0;
                                    __syndrome_lock_exclusive(21, &frame);
                                    there = true;
                                    while (true) pause();
                                  },
                                  [](void*) -> void* {
                                    char frame = 0;
                                    __syndrome_lock_exclusive(21, &frame);
                                    there = true;
                                    while (true) sem_wait(&never);
                                  }};
  for (const auto& way : ways) {
    there = false;
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, way, nullptr), 0);
    while (!there) std::this_thread::yield();
    EXPECT_EQ(pthread_cancel(thread), 0);
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(is_free(21, true));
  }
}

TEST(Locks, TwoThatUpgradeAndACycleDoNotWaitForever) {
  const std::uint64_t impatient = times_impatient();
  std::atomic<int> reading = 0;
  const auto both = [&](std::uint32_t first, std::uint32_t second, bool upgrade) {
    char frame = 0;
    __syndrome_lock_read(first, &frame);
    ++reading;
    while (reading < 2) std::this_thread::yield();
    __syndrome_lock_exclusive(upgrade ? first : second, &frame);
    __syndrome_lock_release(first, &frame);
    __syndrome_lock_release(second, &frame);
  };
  std::thread a(both, 10, 10, true);
  both(10, 10, true);
  a.join();
  EXPECT_TRUE(is_free(10, true));
  reading = 0;
  std::thread b(both, 11, 12, false);
  both(12, 11, false);
  b.join();
  EXPECT_TRUE(is_free(11, true));
  EXPECT_TRUE(is_free(12, true));
  EXPECT_EQ(times_impatient(), impatient) << "that was patience, not a cycle";
}

std::atomic<int> handled = 0;
TEST(Locks, AHandlerDoesNotWaitForTheThreadThatItInterrupts) {
  char frame = 0;
  __syndrome_lock_exclusive(13, &frame);
  signal(SIGUSR1, [](int) {
    char inner = 0;
    __syndrome_lock_read(13, &inner);
    __syndrome_lock_release(13, &inner);
    ++handled;
  });
  raise(SIGUSR1);
  EXPECT_EQ(handled, 1);
  expect_held(13, false, frame);
}

TEST(Locks, AForkedChildHasTheLocksOfItsOneThread) {
  std::atomic<bool> stop = false;
  std::atomic<bool> has = false;
  std::thread holder([&] {
    char frame = 0;
    __syndrome_lock_exclusive(14, &frame);
    has = true;
    while (!stop) std::this_thread::sleep_for(1ms);
    __syndrome_lock_release(14, &frame);
  });
  while (!has) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    char frame = 0;
    __syndrome_lock_exclusive(14, &frame);
    _exit(self().entries[14].aside);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  stop = true;
  holder.join();
}

// Two counters that must agree, under the locks: a stress that a broken lock does not survive.
TEST(Locks, ManyThreadsExcludeEachOther) {
  long first = 0;
  long second = 0;
  std::atomic<long> torn = 0;
  const auto work = [&](bool writes) {
    char frame = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (writes) {
        __syndrome_lock_exclusive(15, &frame);
        ++first;
        ++second;
        if (i % 3 == 0) __syndrome_lock_degrade(15, &frame);
      } else {
        __syndrome_lock_read(15, &frame);
      }
      if (first != second) ++torn;
      __syndrome_lock_release(15, &frame);
    }
  };
  std::thread a(work, true);
  std::thread b(work, true);
  std::thread c(work, false);
  work(false);
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(first, 40'000);
}

}  // namespace
}  // namespace syndrome::locks
