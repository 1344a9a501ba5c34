// Guards that no way in which a program waits makes anybody wait for a lock of ours: those who wait
// set theirs aside, and the program's own functions do what they did.

#include <gtest/gtest.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "enforce/lock_runtime/other_thread.h"

namespace syndrome::locks {
namespace {

using namespace std::chrono_literals;

timespec in_a_minute(clockid_t clock = CLOCK_REALTIME) {
  timespec time{};
  clock_gettime(clock, &time);
  time.tv_sec += 60;
  return time;
}

/// A way to wait for another thread, and what that one does to end it.
struct Wait {
  const char* name;
  std::function<void()> wait;
  std::function<void()> end;
};

// Figure 9: who waits for a condition must not keep the one from working who would signal it; nor
// who waits in any other way.
TEST(Waits, WaitsSetLocksAside) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  mtx_t c11_mutex;
  cnd_t c11_condition;
  ASSERT_EQ(mtx_init(&c11_mutex, mtx_timed), thrd_success);
  ASSERT_EQ(cnd_init(&c11_condition), thrd_success);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  bool ready = false;
  std::atomic<bool> may_end = false;
  pthread_t joined{};
  const auto start_joined = [&] {
    may_end = false;
    pthread_create(
        &joined, nullptr,
        [](void* flag) -> void* {
          while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
          return nullptr;
        },
        &may_end);
  };
  const auto locked = [&](const auto& wait) {
    return [&, wait] {
      pthread_mutex_lock(&mutex);
      while (!ready) wait();
      pthread_mutex_unlock(&mutex);
    };
  };
  const auto c11_locked = [&](const auto& wait) {
    return [&, wait] {
      mtx_lock(&c11_mutex);
      while (!ready) wait();
      mtx_unlock(&c11_mutex);
    };
  };
  const std::function<void()> signal = [&] {
    pthread_mutex_lock(&mutex);
    ready = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  };
  const std::function<void()> c11_signal = [&] {
    mtx_lock(&c11_mutex);
    ready = true;
    cnd_signal(&c11_condition);
    mtx_unlock(&c11_mutex);
  };
  const std::function<void()> post = [&] { sem_post(&semaphore); };
  const std::function<void()> end_joined = [&] { may_end = true; };
  const Wait waits[] = {
      {"condition", locked([&] { pthread_cond_wait(&condition, &mutex); }), signal},
      {"condition, timed", locked([&] {
         const timespec until = in_a_minute();
         pthread_cond_timedwait(&condition, &mutex, &until);
       }),
       signal},
      {"condition, by a clock", locked([&] {
         const timespec until = in_a_minute(CLOCK_MONOTONIC);
         pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
       }),
       signal},
      {"condition of C11", c11_locked([&] { cnd_wait(&c11_condition, &c11_mutex); }), c11_signal},
      {"condition of C11, timed", c11_locked([&] {
         const timespec until = in_a_minute();
         cnd_timedwait(&c11_condition, &c11_mutex, &until);
       }),
       c11_signal},
      {"semaphore", [&] { sem_wait(&semaphore); }, post},
      {"semaphore, timed",
       [&] {
         const timespec until = in_a_minute();
         sem_timedwait(&semaphore, &until);
       },
       post},
      {"semaphore, by a clock",
       [&] {
         const timespec until = in_a_minute(CLOCK_MONOTONIC);
         sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until);
       },
       post},
      {"barrier", [&] { pthread_barrier_wait(&barrier); }, [&] { pthread_barrier_wait(&barrier); }},
      {"join", [&] { pthread_join(joined, nullptr); }, end_joined},
      {"join, timed",
       [&] {
         const timespec until = in_a_minute();
         pthread_timedjoin_np(joined, nullptr, &until);
       },
       end_joined},
  };
  for (const Wait& one : waits) {
    SCOPED_TRACE(one.name);
    ready = false;
    if (std::string_view(one.name).starts_with("join")) start_joined();
    std::atomic<const Thread*> waiting = nullptr;
    std::thread waiter([&] {
      char frame = 0;
      __syndrome_lock_exclusive(7, &frame);
      waiting = &self();
      one.wait();
      __syndrome_lock_release(7, &frame);
    });
    while (waiting == nullptr || !waiting.load()->waits_other) std::this_thread::yield();
    char frame = 0;
    __syndrome_lock_exclusive(7, &frame);
    EXPECT_EQ(self().entries[7].aside, 0);
    __syndrome_lock_release(7, &frame);
    one.end();
    waiter.join();
    EXPECT_TRUE(is_free(7, true));
  }
}

/// A lock of the program, of some kind.
struct Kept {
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

const Kept kLocks[] = {
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
void expect_passable(const Kept& kept, void (*waiters_lock)(), bool step_between) {
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
  EXPECT_EQ(self().entries[8].aside, 0);
  __syndrome_lock_release(8, &frame);
  sem_post(&semaphore);
  for (std::thread& thread : threads) thread.join();
}

TEST(Waits, SoDoThoseWhoWaitForTheLockOfAWaiter) {
  ASSERT_TRUE(made);
  for (const Kept& lock : kLocks) {
    expect_passable(lock, lock.lock, false);
    expect_passable(lock, lock.lock, true);
  }
  // A reader, whom nothing in a read-write lock names.
  expect_passable(kLocks[3], [] { pthread_rwlock_rdlock(&rwlock); }, false);
}

TEST(Waits, WhoeverHasALockAndMovesIsWaitedFor) {
  for (const Kept& lock : kLocks) {
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
      kept = self().entries[16].aside == 0;
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

TEST(Waits, LocksOfTheProgramDoWhatTheyDid) {
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
  for (const auto& owned : self().owns) EXPECT_EQ(owned, 0U);
}

// A server that holds a lock of ours in its event loop: whoever would wake it needs the lock first.
TEST(Waits, WhoeverWaitsForADescriptorLetsGo) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const int epoll = epoll_create1(0);
  epoll_event event{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
  pollfd descriptor{.fd = ends[0], .events = POLLIN, .revents = 0};
  const timespec long_enough{.tv_sec = 50, .tv_nsec = 0};
  const auto selected = [&](auto wait) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return wait(&set);
  };
  const std::function<int()> waits[] = {
      [&] { return epoll_wait(epoll, &event, 1, 50'000); },
      [&] { return epoll_pwait(epoll, &event, 1, 50'000, nullptr); },
      [&] { return poll(&descriptor, 1, 50'000); },
      [&] { return ppoll(&descriptor, 1, &long_enough, nullptr); },
      [&] {
        return selected([&](fd_set* set) {
          timeval time{.tv_sec = 50, .tv_usec = 0};
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
      had_it = self().entries[20].aside == 0;
      __syndrome_lock_release(20, &own);
      EXPECT_EQ(write(ends[1], "x", 1), 1);
    });
    EXPECT_EQ(wait(), 1) << number << ": the other one had to wait";
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

}  // namespace
}  // namespace syndrome::locks
