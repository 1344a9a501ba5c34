// Guards the locks of hardened programs: how they exclude each other, and that nothing a program
// does by its own means makes it wait for them forever.

#include "enforce/lock_runtime/locks.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

extern "C" {
void __syndrome_lock_read(std::uint32_t number, void* frame);
void __syndrome_lock_exclusive(std::uint32_t number, void* frame);
void __syndrome_lock_release(std::uint32_t number, void* frame);
void __syndrome_lock_degrade(std::uint32_t number, void* frame);
void __syndrome_lock_resume(void* frame);
}

namespace {

using namespace std::chrono_literals;

// Longer than any machine keeps a thread from running, so that nothing here depends on how busy it
// is: a lock that is not given back is missed after this time.
const bool patient = [] {
  syndrome::locks::patience_ms = 60'000;
  return true;
}();

/// Another thread that takes the lock and gives it back.
class Other {
 public:
  Other(std::uint32_t lock, bool exclusive)
      : thread_([this, lock, exclusive] {
          char frame = 0;
          exclusive ? __syndrome_lock_exclusive(lock, &frame) : __syndrome_lock_read(lock, &frame);
          taken_ = syndrome::locks::self().entries[lock].aside == 0;
          __syndrome_lock_release(lock, &frame);
        }) {}
  ~Other() {
    if (thread_.joinable()) thread_.join();
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  /// Whether it had the lock, now that it is done.
  [[nodiscard]] bool could() {
    thread_.join();
    return taken_;
  }
  [[nodiscard]] bool has_taken() const { return taken_; }

 private:
  std::atomic<bool> taken_ = false;
  std::thread thread_;
};

bool is_free(std::uint32_t lock, bool exclusive) {
  return Other(lock, exclusive).could();
}
/// Gives `frame` its lock back in the end, which the other thread then gets.
void expect_held(std::uint32_t lock, bool exclusive, char& frame) {
  Other other(lock, exclusive);
  std::this_thread::sleep_for(25ms);
  EXPECT_FALSE(other.has_taken());
  __syndrome_lock_release(lock, &frame);
  EXPECT_TRUE(other.could());
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

// Figure 9: who waits for a condition must not keep the one from working who would signal it.
TEST(Locks, WaitsSetLocksAside) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool ready = false;
  std::atomic<const syndrome::locks::Thread*> waiting = nullptr;
  std::thread waiter([&] {
    char frame = 0;
    __syndrome_lock_exclusive(7, &frame);
    waiting = &syndrome::locks::self();
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    __syndrome_lock_release(7, &frame);
  });
  while (waiting == nullptr || !waiting.load()->waits_other) std::this_thread::yield();
  char frame = 0;
  __syndrome_lock_exclusive(7, &frame);
  EXPECT_EQ(syndrome::locks::self().entries[7].aside, 0);
  __syndrome_lock_release(7, &frame);
  pthread_mutex_lock(&mutex);
  ready = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  waiter.join();
  EXPECT_TRUE(is_free(7, true));
}

/// A lock of the program, of some kind.
struct ProgramLock {
  const char* name;
  void (*lock)();
  void (*unlock)();
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin = 0;
mtx_t c11;
const bool made = mtx_init(&c11, mtx_timed) == thrd_success &&
                  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0;

timespec in_a_minute() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += 60;
  return time;
}

const ProgramLock kLocks[] = {
    {"mutex", [] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); }},
    {"timed mutex",
     [] {
       const timespec until = in_a_minute();
       EXPECT_EQ(pthread_mutex_timedlock(&mutex, &until), 0);
     },
     [] { pthread_mutex_unlock(&mutex); }},
    {"mutex of C11", [] { EXPECT_EQ(mtx_lock(&c11), thrd_success); },
     [] { EXPECT_EQ(mtx_unlock(&c11), thrd_success); }},
    {"write lock", [] { pthread_rwlock_wrlock(&rwlock); }, [] { pthread_rwlock_unlock(&rwlock); }},
    {"timed write lock",
     [] {
       const timespec until = in_a_minute();
       EXPECT_EQ(pthread_rwlock_timedwrlock(&rwlock, &until), 0);
     },
     [] { pthread_rwlock_unlock(&rwlock); }},
    {"spin lock", [] { pthread_spin_lock(&spin); }, [] { pthread_spin_unlock(&spin); }},
};

/// The waiter has a lock of the program and waits for a semaphore; who waits for that lock, or for
/// one of somebody who does, sets its locks aside as well.
void expect_passable(const ProgramLock& kept, void (*waiters_lock)(), bool step_between) {
  SCOPED_TRACE(kept.name);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::vector<std::thread> threads;
  const auto start = [&threads](auto body) {
    threads.emplace_back(body);
    std::this_thread::sleep_for(15ms);
  };
  start([&] {
    waiters_lock();
    sem_wait(&semaphore);
    kept.unlock();
  });
  static pthread_mutex_t step = PTHREAD_MUTEX_INITIALIZER;
  if (step_between) {
    // Without a lock of ours.
    start([&] {
      pthread_mutex_lock(&step);
      kept.lock();
      kept.unlock();
      pthread_mutex_unlock(&step);
    });
  }
  start([&] {
    char frame = 0;
    __syndrome_lock_exclusive(8, &frame);
    if (step_between) {
      pthread_mutex_lock(&step);
      pthread_mutex_unlock(&step);
    } else {
      kept.lock();
      kept.unlock();
    }
    __syndrome_lock_release(8, &frame);
  });
  char frame = 0;
  __syndrome_lock_exclusive(8, &frame);
  EXPECT_EQ(syndrome::locks::self().entries[8].aside, 0);
  __syndrome_lock_release(8, &frame);
  sem_post(&semaphore);
  for (std::thread& thread : threads) thread.join();
}

TEST(Locks, SoDoThoseWhoWaitForTheLockOfAWaiter) {
  ASSERT_TRUE(made);
  for (const ProgramLock& lock : kLocks) {
    expect_passable(lock, lock.lock, false);
    expect_passable(lock, lock.lock, true);
  }
  // A reader, whom nothing in a read-write lock names.
  expect_passable(kLocks[3], [] { pthread_rwlock_rdlock(&rwlock); }, false);
}

TEST(Locks, WhoeverHasALockAndMovesIsWaitedFor) {
  for (const ProgramLock& lock : kLocks) {
    SCOPED_TRACE(lock.name);
    std::atomic<bool> stop = false;
    std::atomic<bool> has = false;
    std::thread owner([&] {
      lock.lock();
      has = true;
      while (!stop) std::this_thread::yield();
      lock.unlock();
    });
    while (!has) std::this_thread::yield();
    std::atomic<bool> kept = false;
    std::thread waiter([&] {
      char frame = 0;
      __syndrome_lock_exclusive(16, &frame);
      lock.lock();
      kept = syndrome::locks::self().entries[16].aside == 0;
      lock.unlock();
      __syndrome_lock_release(16, &frame);
    });
    std::this_thread::sleep_for(20ms);
    char frame = 0;
    __syndrome_lock_read(17, &frame);
    stop = true;
    owner.join();
    waiter.join();
    __syndrome_lock_release(17, &frame);
    EXPECT_TRUE(kept) << "its own lock stayed with it";
  }
}

TEST(Locks, LocksOfTheProgramDoWhatTheyDid) {
  const timespec past{1, 0};
  pthread_mutex_lock(&mutex);
  pthread_rwlock_rdlock(&rwlock);
  pthread_spin_lock(&spin);
  mtx_lock(&c11);
  std::thread([&] {
    // With a lock of ours and without.
    char frame = 0;
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
      EXPECT_EQ(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT);
      EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock), EBUSY);
      EXPECT_EQ(pthread_rwlock_timedwrlock(&rwlock, &past), ETIMEDOUT);
      EXPECT_EQ(pthread_rwlock_timedrdlock(&rwlock, &past), 0);
      EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
      EXPECT_EQ(pthread_spin_trylock(&spin), EBUSY);
      EXPECT_EQ(mtx_trylock(&c11), thrd_busy);
      EXPECT_EQ(mtx_timedlock(&c11, &past), thrd_timedout);
      __syndrome_lock_exclusive(18, &frame);
    }
    __syndrome_lock_release(18, &frame);
  }).join();
  mtx_unlock(&c11);
  pthread_spin_unlock(&spin);
  pthread_rwlock_unlock(&rwlock);
  pthread_rwlock_wrlock(&rwlock);
  EXPECT_EQ(pthread_rwlock_wrlock(&rwlock), EDEADLK) << "as glibc says of a thread's own";
  pthread_rwlock_unlock(&rwlock);
  pthread_mutex_unlock(&mutex);
  for (const auto& owned : syndrome::locks::self().owns) EXPECT_EQ(owned, 0U);
}

TEST(Locks, TwoThatUpgradeAndACycleDoNotWaitForever) {
  const std::uint64_t impatient = syndrome::locks::times_impatient();
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
  EXPECT_EQ(syndrome::locks::times_impatient(), impatient) << "that was patience, not a cycle";
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
    _exit(syndrome::locks::self().entries[14].aside);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  stop = true;
  holder.join();
}

// A server that holds a lock of ours in its event loop: whoever would wake it needs the lock first.
TEST(Locks, WhoeverWaitsForADescriptorLetsGo) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const int epoll = epoll_create1(0);
  epoll_event event{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
  pollfd descriptor{.fd = ends[0], .events = POLLIN, .revents = 0};
  const timespec long_enough{.tv_sec = 5, .tv_nsec = 0};
  const auto selected = [&](auto wait) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return wait(&set);
  };
  const std::function<int()> waits[] = {
      [&] { return epoll_wait(epoll, &event, 1, 5000); },
      [&] { return epoll_pwait(epoll, &event, 1, 5000, nullptr); },
      [&] { return poll(&descriptor, 1, 5000); },
      [&] { return ppoll(&descriptor, 1, &long_enough, nullptr); },
      [&] {
        return selected([&](fd_set* set) {
          timeval time{.tv_sec = 5, .tv_usec = 0};
          return select(ends[0] + 1, set, nullptr, nullptr, &time);
        });
      },
      [&] {
        return selected([&](fd_set* set) {
          return pselect(ends[0] + 1, set, nullptr, nullptr, &long_enough, nullptr);
        });
      }};
  std::size_t number = 0;
  for (const auto& wait : waits) {
    char frame = 0;
    __syndrome_lock_exclusive(20, &frame);
    bool had_it = false;
    std::thread other([&] {
      char own = 0;
      std::this_thread::sleep_for(20ms);
      __syndrome_lock_exclusive(20, &own);
      had_it = syndrome::locks::self().entries[20].aside == 0;
      __syndrome_lock_release(20, &own);
      EXPECT_EQ(write(ends[1], "x", 1), 1);
    });
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(wait(), 1) << number;
    EXPECT_LT(std::chrono::steady_clock::now() - start, 900ms) << "that was patience";
    other.join();
    EXPECT_TRUE(had_it) << number;
    // What is ready is not waited for; the lock is not given away.
    EXPECT_EQ(wait(), 1) << number;
    expect_held(20, true, frame);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    ++number;
  }
  for (const int end : {ends[0], ends[1], epoll}) close(end);
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
