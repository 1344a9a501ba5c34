// Threads: numbers, forks, joins and ends, whatever way a thread ends and whatever its pthread_t
// was before.

#include <errno.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <threads.h>

#include <algorithm>
#include <set>
#include <thread>

#include "recorded.h"

namespace syndrome {
namespace {

Recorded with_threads() {
  Recorded recorded;
  recorded.threads = true;
  return recorded;
}

TEST(InterposedThreads, ForkBeginEndJoin) {
  EXPECT_EQ(with_threads().run([] { std::thread([] {}).join(); }),
            (Lines{"0 fork 1", "1 begins", "1 ends", "0 join 1"}));
}

TEST(InterposedThreads, ResultAndArgumentPassThrough) {
  int value = 7;
  void* result = nullptr;
  with_threads().run([&] {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void* it) -> void* {
          ++*static_cast<int*>(it);
          return it;
        },
        &value);
    pthread_join(thread, &result);
  });
  EXPECT_EQ(value, 8);
  EXPECT_EQ(result, &value);
}

TEST(InterposedThreads, ExitAndC11) {
  EXPECT_EQ(with_threads().run([] {
    pthread_t thread;
    pthread_create(&thread, nullptr, [](void*) -> void* { pthread_exit(nullptr); }, nullptr);
    pthread_join(thread, nullptr);
    thrd_t c11;
    thrd_create(&c11, [](void*) -> int { thrd_exit(5); }, nullptr);
    int result = 0;
    EXPECT_EQ(thrd_join(c11, &result), thrd_success);
    EXPECT_EQ(result, 5);
  }),
            (Lines{"0 fork 1", "1 begins", "1 ends", "0 join 1", "0 fork 2", "2 begins", "2 ends",
                   "0 join 2"}));
}

TEST(InterposedThreads, JoinsThatFailRecordNothing) {
  EXPECT_EQ(with_threads()
                .run([] {
                  std::thread thread([] {
                    const timespec moment{0, 20'000'000};
                    nanosleep(&moment, nullptr);
                  });
                  EXPECT_EQ(pthread_tryjoin_np(thread.native_handle(), nullptr), EBUSY);
                  const timespec past{1, 0};
                  EXPECT_EQ(pthread_timedjoin_np(thread.native_handle(), nullptr, &past),
                            ETIMEDOUT);
                  thread.join();
                  EXPECT_EQ(pthread_join(pthread_self(), nullptr), EDEADLK);
                })
                .back(),
            "0 join 1");
}

TEST(InterposedThreads, AFailedCreationIsReported) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 46);
  int result = 0;
  with_threads().run([&] {
    pthread_t thread;
    result = pthread_create(&thread, &attributes, [](void*) -> void* { return nullptr; }, nullptr);
  });
  EXPECT_EQ(result, EAGAIN);
  pthread_attr_destroy(&attributes);
}

// Destructors of thread_local variables and of the program's keys belong to the thread.
pthread_mutex_t at_end = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t rounds_key;

struct LocksAtEnd {
  bool used = false;
  ~LocksAtEnd() {
    pthread_mutex_lock(&at_end);
    pthread_mutex_unlock(&at_end);
  }
};
thread_local LocksAtEnd locks_at_end;

TEST(InterposedThreads, EndComesAfterDestructors) {
  pthread_key_create(&rounds_key, [](void* value) {
    const auto left = reinterpret_cast<std::uintptr_t>(value);
    pthread_mutex_lock(&at_end);
    pthread_mutex_unlock(&at_end);
    if (left > 1) pthread_setspecific(rounds_key, reinterpret_cast<void*>(left - 1));
  });
  Recorded recorded = with_threads();
  recorded.name(&at_end, "m");
  const Lines lines = recorded.run([] {
    std::thread([] {
      locks_at_end.used = true;
      pthread_setspecific(rounds_key, reinterpret_cast<void*>(2));
    }).join();
  });
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "1 acquire m"), 3);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[lines.size() - 2], "1 ends");
  pthread_key_delete(rounds_key);
}

TEST(InterposedThreads, TenThousandOverARunEachJoinedByItsNumber) {
  constexpr int kWaves = 1250;
  constexpr int kAtOnce = 8;
  const Lines lines = with_threads().run([] {
    for (int wave = 0; wave < kWaves; ++wave) {
      std::thread threads[kAtOnce];
      for (std::thread& thread : threads) thread = std::thread([] {});
      for (std::thread& thread : threads) thread.join();
    }
  });
  std::set<std::string> joined;
  for (const std::string& line : lines) {
    if (line.starts_with("0 join ")) joined.insert(line);
  }
  EXPECT_EQ(joined.size(), std::size_t{kWaves} * kAtOnce);
}

TEST(InterposedThreads, DetachedThreadsLeaveTheTableUsable) {
  const Lines lines = with_threads().run([] {
    for (int i = 0; i < 500; ++i) {
      std::thread([] {}).detach();
      std::thread([] {}).join();
    }
    const timespec moment{0, 50'000'000};
    nanosleep(&moment, nullptr);
  });
  int joined = 0;
  for (const std::string& line : lines) {
    if (!line.starts_with("0 join ")) continue;
    EXPECT_EQ(line, "0 join " + std::to_string(2 * ++joined));
  }
  EXPECT_EQ(joined, 500);
}

TEST(InterposedThreads, NamesAreSeen) {
  char before[16];
  pthread_getname_np(pthread_self(), before, sizeof before);
  EXPECT_EQ(with_threads().run([] {
    pthread_setname_np(pthread_self(), "worker");
    prctl(PR_SET_NAME, "other");
  }),
            (Lines{"0 is called w…", "0 is called o…"}));
  pthread_setname_np(pthread_self(), before);
}

// The stack of a thread is new memory, and only its own: the range lies around its variables.
TEST(InterposedThreads, StackIsNewMemory) {
  static std::uintptr_t local = 0;
  static std::size_t real_bytes = 0;
  static void* real_low = nullptr;
  Recorded recorded = with_threads();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{256} << 10}) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (bytes != 0) pthread_attr_setstacksize(&attributes, bytes);
    Recorded again = with_threads();
    const auto body = [&] {
      pthread_t thread;
      pthread_create(
          &thread, &attributes,
          [](void*) -> void* {
            int here = 0;
            local = reinterpret_cast<std::uintptr_t>(&here);
            pthread_attr_t own;
            pthread_getattr_np(pthread_self(), &own);
            pthread_attr_getstack(&own, &real_low, &real_bytes);
            pthread_attr_destroy(&own);
            return nullptr;
          },
          nullptr);
      pthread_join(thread, nullptr);
    };
    again.run(body);
    const std::uintptr_t low = again.stack_low;
    EXPECT_LE(low, local);
    EXPECT_GT(low + again.stack_bytes, local);
    // Never beyond the mapping, whose lowest part is the guard page.
    EXPECT_GE(low + 4096, reinterpret_cast<std::uintptr_t>(real_low));
    EXPECT_LE(low + again.stack_bytes,
              reinterpret_cast<std::uintptr_t>(real_low) + real_bytes + 4096);
    pthread_attr_destroy(&attributes);
  }
}

}  // namespace
}  // namespace syndrome
