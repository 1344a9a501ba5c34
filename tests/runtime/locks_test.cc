// Locks, conditions, semaphores, once: each function records what it did and nothing that it did
// not do (a failed try, an unlock that is refused).

#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include <algorithm>
#include <mutex>

#include "fake_log.h"
#include "recorded.h"

namespace syndrome {
namespace {

timespec soon(clockid_t clock, long milliseconds = 5) {
  timespec now{};
  clock_gettime(clock, &now);
  now.tv_nsec += milliseconds * 1'000'000;
  if (now.tv_nsec >= 1'000'000'000) {
    now.tv_nsec -= 1'000'000'000;
    ++now.tv_sec;
  }
  return now;
}

pthread_mutex_t mutex_of(int type, int robust = PTHREAD_MUTEX_STALLED) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setrobust(&attributes, robust);
  pthread_mutex_t mutex{};
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return mutex;
}

TEST(InterposedLocks, MutexFromInitToDestroy) {
  pthread_mutex_t mutex{};
  Recorded recorded;
  recorded.name(&mutex, "m");
  EXPECT_EQ(recorded.run([&] {
    pthread_mutex_init(&mutex, nullptr);
    pthread_mutex_lock(&mutex);
    EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
    const timespec until = soon(CLOCK_REALTIME);
    EXPECT_EQ(pthread_mutex_timedlock(&mutex, &until), ETIMEDOUT);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), EBUSY);
    pthread_mutex_unlock(&mutex);
    const timespec later = soon(CLOCK_MONOTONIC);
    EXPECT_EQ(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &later), 0);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
  }),
            (Lines{"0 destroy m", "0 acquire m", "0 release m", "0 acquire m", "0 release m",
                   "0 destroy m"}));
}

TEST(InterposedLocks, UnlocksThatAreRefusedReleaseNothing) {
  for (const int type : {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE}) {
    pthread_mutex_t mutex = mutex_of(type);
    Recorded recorded;
    recorded.name(&mutex, "m");
    EXPECT_EQ(recorded.run([&] {
      EXPECT_EQ(pthread_mutex_unlock(&mutex), EPERM);
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), EPERM);
    }),
              (Lines{"0 acquire m", "0 release m"}));
  }
}

TEST(InterposedLocks, RecursiveMutexRecordsEachLevel) {
  pthread_mutex_t mutex = mutex_of(PTHREAD_MUTEX_RECURSIVE);
  Recorded recorded;
  recorded.name(&mutex, "m");
  EXPECT_EQ(recorded.run([&] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&mutex);
  }),
            (Lines{"0 acquire m", "0 acquire m", "0 release m", "0 release m"}));
}

TEST(InterposedLocks, DeadOwnersHoldEndsBeforeTheNextOnesBegins) {
  pthread_mutex_t mutex = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  Recorded recorded;
  recorded.name(&mutex, "m");
  EXPECT_EQ(recorded.run([&] {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void* it) -> void* {
          pthread_mutex_lock(static_cast<pthread_mutex_t*>(it));
          return nullptr;
        },
        &mutex);
    pthread_join(thread, nullptr);
    EXPECT_EQ(pthread_mutex_lock(&mutex), EOWNERDEAD);
    pthread_mutex_unlock(&mutex);  // without making it consistent
    EXPECT_EQ(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
  }),
            (Lines{"1 acquire m", "1 release m", "0 acquire m", "0 release m"}));
}

TEST(InterposedLocks, SpinLock) {
  pthread_spinlock_t spin{};
  Recorded recorded;
  recorded.name(&spin, "s");
  EXPECT_EQ(recorded.run([&] {
    pthread_spin_init(&spin, 0);
    pthread_spin_lock(&spin);
    EXPECT_EQ(pthread_spin_trylock(&spin), EBUSY);
    pthread_spin_unlock(&spin);
    pthread_spin_destroy(&spin);
  }),
            (Lines{"0 destroy s", "0 acquire s", "0 release s", "0 destroy s"}));
}

TEST(InterposedLocks, ReadersAndWriters) {
  pthread_rwlock_t lock{};
  Recorded recorded;
  recorded.name(&lock, "l");
  EXPECT_EQ(recorded.run([&] {
    pthread_rwlock_init(&lock, nullptr);
    pthread_rwlock_rdlock(&lock);
    EXPECT_EQ(pthread_rwlock_tryrdlock(&lock), 0);
    EXPECT_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    EXPECT_EQ(pthread_rwlock_tryrdlock(&lock), EBUSY);
    pthread_rwlock_unlock(&lock);
    const timespec until = soon(CLOCK_MONOTONIC);
    EXPECT_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &until), 0);
    EXPECT_EQ(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &until), EDEADLK);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_destroy(&lock);
  }),
            (Lines{"0 destroy l", "0 acquire-shared l", "0 acquire-shared l", "0 release-shared l",
                   "0 release-shared l", "0 acquire l", "0 release l", "0 acquire l", "0 release l",
                   "0 destroy l"}));
}

struct Waiting {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool inside = false;
  bool woken = false;
  void name_in(Recorded& recorded) {
    recorded.name(&mutex, "m");
    recorded.name(&condition, "c");
  }
  // When this returns, the other thread waits.
  void until_it_waits() {
    for (bool waits = false; !waits; sched_yield()) {
      pthread_mutex_lock(&mutex);
      waits = inside;
      if (!waits) pthread_mutex_unlock(&mutex);
    }
  }
};

void* wait_until_woken(void* it) {
  auto* const all = static_cast<Waiting*>(it);
  pthread_mutex_lock(&all->mutex);
  pthread_cleanup_push(
      [](void* mutex) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex)); }, &all->mutex);
  all->inside = true;
  while (!all->woken) pthread_cond_wait(&all->condition, &all->mutex);
  pthread_cleanup_pop(1);
  return nullptr;
}

Lines of_thread(const Lines& lines, char thread) {
  Lines its;
  for (const std::string& line : lines) {
    if (line[0] == thread) its.push_back(line);
  }
  return its;
}

TEST(InterposedLocks, ConditionReleasesAndTakesAgain) {
  Waiting all;
  Recorded recorded;
  all.name_in(recorded);
  const Lines lines = recorded.run([&] {
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_until_woken, &all);
    all.until_it_waits();
    all.woken = true;
    pthread_cond_signal(&all.condition);
    pthread_mutex_unlock(&all.mutex);
    pthread_join(thread, nullptr);
  });
  EXPECT_EQ(of_thread(lines, '1'),
            (Lines{"1 acquire m", "1 release m", "1 cond-wait c", "1 acquire m", "1 release m"}));
  const Lines main = of_thread(lines, '0');
  ASSERT_GE(main.size(), 3u);
  EXPECT_EQ(main[main.size() - 2], "0 cond-signal c");
}

TEST(InterposedLocks, CancelledWaitHoldsTheMutexInItsCleanup) {
  Waiting all;
  Recorded recorded;
  recorded.threads = true;
  all.name_in(recorded);
  const Lines lines = recorded.run([&] {
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_until_woken, &all);
    all.until_it_waits();
    pthread_mutex_unlock(&all.mutex);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  });
  EXPECT_EQ(of_thread(lines, '1'), (Lines{"1 begins", "1 acquire m", "1 release m", "1 acquire m",
                                          "1 release m", "1 ends"}));
}

TEST(InterposedLocks, WaitThatTimesOutIsNotWoken) {
  Waiting all;
  Recorded recorded;
  all.name_in(recorded);
  EXPECT_EQ(recorded.run([&] {
    pthread_mutex_lock(&all.mutex);
    const timespec until = soon(CLOCK_REALTIME);
    EXPECT_EQ(pthread_cond_timedwait(&all.condition, &all.mutex, &until), ETIMEDOUT);
    const timespec later = soon(CLOCK_MONOTONIC);
    EXPECT_EQ(pthread_cond_clockwait(&all.condition, &all.mutex, CLOCK_MONOTONIC, &later),
              ETIMEDOUT);
    pthread_cond_broadcast(&all.condition);
    pthread_mutex_unlock(&all.mutex);
  }),
            (Lines{"0 acquire m", "0 release m", "0 acquire m", "0 release m", "0 acquire m",
                   "0 cond-broadcast c", "0 release m"}));
}

TEST(InterposedLocks, BarrierAndSemaphore) {
  pthread_barrier_t barrier{};
  sem_t semaphore{};
  Recorded recorded;
  recorded.name(&barrier, "b");
  recorded.name(&semaphore, "s");
  EXPECT_EQ(recorded.run([&] {
    pthread_barrier_init(&barrier, nullptr, 1);
    EXPECT_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    pthread_barrier_destroy(&barrier);
    sem_init(&semaphore, 0, 0);
    errno = 0;
    EXPECT_EQ(sem_trywait(&semaphore), -1);
    EXPECT_EQ(errno, EAGAIN);
    const timespec until = soon(CLOCK_REALTIME);
    EXPECT_EQ(sem_timedwait(&semaphore, &until), -1);
    EXPECT_EQ(errno, ETIMEDOUT);
    sem_post(&semaphore);
    sem_post(&semaphore);
    sem_wait(&semaphore);
    const timespec later = soon(CLOCK_MONOTONIC);
    EXPECT_EQ(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &later), 0);
    sem_destroy(&semaphore);
  }),
            (Lines{"0 destroy b", "0 arrive b", "0 leave b", "0 destroy b", "0 destroy s",
                   "0 post s", "0 post s", "0 wait s", "0 wait s", "0 destroy s"}));
}

pthread_once_t once = PTHREAD_ONCE_INIT;
once_flag c11_once = ONCE_FLAG_INIT;
int once_runs = 0;

TEST(InterposedLocks, OnceOrdersWhoRanItBeforeWhoReturns) {
  Recorded recorded;
  recorded.name(&once, "o");
  recorded.name(&c11_once, "f");
  EXPECT_EQ(
      recorded.run([] {
        for (int i = 0; i < 2; ++i) pthread_once(&once, [] { ++once_runs; });
        for (int i = 0; i < 2; ++i) call_once(&c11_once, [] { ++once_runs; });
      }),
      (Lines{"0 before o", "0 after o", "0 after o", "0 before f", "0 after f", "0 after f"}));
  EXPECT_EQ(once_runs, 2);
}

TEST(InterposedLocks, CallOnceThatThrowsRunsAgain) {
  std::once_flag flag;
  int runs = 0;
  Recorded().run([&] {
    const auto body = [&] {
      if (++runs == 1) throw 1;
    };
    EXPECT_THROW(std::call_once(flag, body), int);
    std::call_once(flag, body);
    std::call_once(flag, body);
  });
  EXPECT_EQ(runs, 2);
}

TEST(InterposedLocks, C11) {
  mtx_t mutex{};
  cnd_t condition{};
  Recorded recorded;
  recorded.name(&mutex, "m");
  recorded.name(&condition, "c");
  EXPECT_EQ(recorded.run([&] {
    mtx_init(&mutex, mtx_timed);
    cnd_init(&condition);
    mtx_lock(&mutex);
    EXPECT_EQ(mtx_trylock(&mutex), thrd_busy);
    const timespec until = soon(CLOCK_REALTIME);
    EXPECT_EQ(mtx_timedlock(&mutex, &until), thrd_timedout);
    EXPECT_EQ(cnd_timedwait(&condition, &mutex, &until), thrd_timedout);
    cnd_signal(&condition);
    cnd_broadcast(&condition);
    mtx_unlock(&mutex);
    cnd_destroy(&condition);
    mtx_destroy(&mutex);
  }),
            (Lines{"0 destroy m", "0 destroy c", "0 acquire m", "0 release m", "0 acquire m",
                   "0 cond-signal c", "0 cond-broadcast c", "0 release m", "0 destroy c",
                   "0 destroy m"}));
}

// Others can come in where it is, before a lock is taken and when it is free again; and threads
// begin with it.
TEST(InterposedLocks, NoiseIsBetweenThem) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  Recorded recorded;
  recorded.name(&mutex, "m");
  recorded.name(&lock, "l");
  recorded.name(&semaphore, "s");
  recorded.threads = true;
  fake_noise(true);
  const Lines lines = recorded.run([&] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    sem_post(&semaphore);
    sem_wait(&semaphore);
  });
  EXPECT_EQ(lines, (Lines{"0 noise", "0 acquire m", "0 release m", "0 noise", "0 noise",
                          "0 acquire-shared l", "0 release-shared l", "0 noise", "0 post s",
                          "0 noise", "0 noise", "0 wait s"}));
  const Lines threads = recorded.run([] {
    pthread_t thread{};
    pthread_create(&thread, nullptr, [](void* nothing) { return nothing; }, nullptr);
    pthread_join(thread, nullptr);
  });
  fake_noise(false);
  EXPECT_NE(std::find(threads.begin(), threads.end(), "1 begins with noise"), threads.end());
  EXPECT_NE(std::find(threads.begin(), threads.end(), "0 noise"), threads.end());
  EXPECT_EQ(recorded.run([&] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }),
            (Lines{"0 acquire m", "0 release m"}));
  sem_destroy(&semaphore);
}

}  // namespace
}  // namespace syndrome
