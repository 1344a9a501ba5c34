// What the programs of this folder share. They re-create, from their descriptions, the programs
// whose traces Sinha, Malik and Gupta (FMCAD 2012) analyse: as many threads and locks, and about as
// many accesses and events. They print nothing and end with 0.
//
// On POSIX threads alone, and inlined: what the C++ library would do inside is no part of the
// programs, and would be most of so short a trace.

#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace predictive {

struct Mutex {
  pthread_mutex_t native = PTHREAD_MUTEX_INITIALIZER;
};

class [[nodiscard]] Guard {
 public:
  [[gnu::always_inline]] explicit Guard(Mutex& mutex) : mutex_(&mutex) {
    pthread_mutex_lock(&mutex_->native);
  }
  [[gnu::always_inline]] ~Guard() { pthread_mutex_unlock(&mutex_->native); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Mutex* mutex_;
};

struct Condition {
  pthread_cond_t native = PTHREAD_COND_INITIALIZER;

  [[gnu::always_inline]] void wait(Mutex& mutex) { pthread_cond_wait(&native, &mutex.native); }
  [[gnu::always_inline]] void notify_one() { pthread_cond_signal(&native); }
  [[gnu::always_inline]] void notify_all() { pthread_cond_broadcast(&native); }
};

using Work = void (*)(std::size_t number);

constexpr std::size_t kMostThreads = 16;

/// Starts `count` threads that each run work(number); join() waits for them.
class Threads {
 public:
  [[gnu::always_inline]] void start(std::size_t count, Work work) {
    count_ = count;
    for (std::size_t i = 0; i < count; ++i) {
      starts_[i] = {work, i};
      pthread_create(&threads_[i], nullptr, run, &starts_[i]);
    }
  }
  [[gnu::always_inline]] void join() {
    for (std::size_t i = 0; i < count_; ++i) pthread_join(threads_[i], nullptr);
  }

 private:
  struct Start {
    Work work = nullptr;
    std::size_t number = 0;
  };
  static void* run(void* start) {
    const auto* const own = static_cast<const Start*>(start);
    own->work(own->number);
    return nullptr;
  }

  std::size_t count_ = 0;
  pthread_t threads_[kMostThreads] = {};
  Start starts_[kMostThreads];
};

[[gnu::always_inline]] inline void in_threads(std::size_t count, Work work) {
  Threads threads;
  threads.start(count, work);
  threads.join();
}

/// Threads meet; the last to come lets all go on.
class Meeting {
 public:
  explicit constexpr Meeting(int expected) : expected_(expected) {}
  void meet() {
    const Guard guard(mutex_);
    const int round = round_;
    if (++arrived_ == expected_) {
      arrived_ = 0;
      ++round_;
      all_.notify_all();
      return;
    }
    while (round == round_) all_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  Condition all_;
  int expected_;
  int arrived_ = 0;
  int round_ = 0;
};

}  // namespace predictive
