// Guards the locks of hardened programs: how they exclude each other, and that nothing a program
// does by its own means makes it wait for them forever.

#include "enforce/lock_runtime/locks.h"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

extern "C" {
void __syndrome_lock_read(std::uint32_t number, void* frame);
void __syndrome_lock_exclusive(std::uint32_t number, void* frame);
void __syndrome_lock_release(std::uint32_t number, void* frame);
void __syndrome_lock_degrade(std::uint32_t number, void* frame);
void __syndrome_lock_resume(void* frame);
}

namespace {

using namespace std::chrono_literals;

/// Another thread that takes the lock and gives it back; whether it could within the time.
class Other {
 public:
  Other(std::uint32_t lock, bool exclusive, std::chrono::milliseconds time)
      : thread_([this, lock, exclusive] {
          char frame = 0;
          exclusive ? __syndrome_lock_exclusive(lock, &frame) : __syndrome_lock_read(lock, &frame);
          taken_ = syndrome::locks::self().entries[lock].aside == 0;
          __syndrome_lock_release(lock, &frame);
        }) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!taken_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    in_time = taken_;
  }
  ~Other() { thread_.join(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  bool in_time = false;

 private:
  std::atomic<bool> taken_ = false;
  std::thread thread_;
};

// Far longer than a free lock takes on a machine with other things to do.
bool is_free(std::uint32_t lock, bool exclusive) {
  return Other(lock, exclusive, 700ms).in_time;
}
/// Gives `frame` its lock back in the end, so that the other thread is done.
void expect_held(std::uint32_t lock, bool exclusive, char& frame) {
  const Other other(lock, exclusive, 25ms);
  EXPECT_FALSE(other.in_time);
  __syndrome_lock_release(lock, &frame);
}

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

// Figure 9: who waits for a condition must not keep the one from working who would signal it.
TEST(Locks, WaitsSetLocksAside) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool ready = false;
  std::thread waiter([&] {
    char frame = 0;
    __syndrome_lock_exclusive(7, &frame);
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    __syndrome_lock_release(7, &frame);
  });
  std::this_thread::sleep_for(20ms);
  const auto start = std::chrono::steady_clock::now();
  char frame = 0;
  __syndrome_lock_exclusive(7, &frame);
  EXPECT_EQ(syndrome::locks::self().entries[7].aside, 0);
  __syndrome_lock_release(7, &frame);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 500ms);
  pthread_mutex_lock(&mutex);
  ready = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  waiter.join();
  EXPECT_TRUE(is_free(7, true));
}

// The waiter holds a mutex; whoever waits for that one sets its locks aside as well.
TEST(Locks, SoDoThoseWhoWaitForTheMutexOfAWaiter) {
  pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread waiter([&] {
    char frame = 0;
    __syndrome_lock_read(9, &frame);
    pthread_mutex_lock(&kept);
    sem_wait(&semaphore);
    pthread_mutex_unlock(&kept);
    __syndrome_lock_release(9, &frame);
  });
  std::this_thread::sleep_for(20ms);
  std::thread middle([&] {
    char frame = 0;
    __syndrome_lock_exclusive(8, &frame);
    pthread_mutex_lock(&kept);
    pthread_mutex_unlock(&kept);
    __syndrome_lock_release(8, &frame);
  });
  std::this_thread::sleep_for(20ms);
  char frame = 0;
  const auto start = std::chrono::steady_clock::now();
  __syndrome_lock_exclusive(8, &frame);
  EXPECT_EQ(syndrome::locks::self().entries[8].aside, 0);
  __syndrome_lock_release(8, &frame);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 500ms);
  sem_post(&semaphore);
  waiter.join();
  middle.join();
}

TEST(Locks, TwoThatUpgradeAndACycleDoNotWaitForever) {
  const auto start = std::chrono::steady_clock::now();
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
  EXPECT_LT(std::chrono::steady_clock::now() - start, 900ms) << "that was patience, not a cycle";
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
  std::thread holder([&] {
    char frame = 0;
    __syndrome_lock_exclusive(14, &frame);
    while (!stop) std::this_thread::sleep_for(1ms);
    __syndrome_lock_release(14, &frame);
  });
  std::this_thread::sleep_for(20ms);
  const pid_t child = fork();
  if (child == 0) {
    char frame = 0;
    __syndrome_lock_exclusive(14, &frame);
    _exit(syndrome::locks::self().entries[14].aside);
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
