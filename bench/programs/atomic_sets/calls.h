// Collections are tried as the paper tried them: threads that make random calls.
//
//   PROGRAM                      its bug, in a schedule that is forced
//   PROGRAM small|full [fixed]   5 threads of 100 calls, or 10 of 10,000

#pragma once

#include <cstring>
#include <thread>
#include <vector>

#include "twins.h"

namespace twins {

struct Load {
  int threads = 0;  // 0: no random calls
  int calls = 0;
};

SYNDROME_NO_PROBES inline Load load(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "small") == 0) return {5, 100};
  if (argc > 1 && std::strcmp(argv[1], "full") == 0) return {10, 10'000};
  return {};
}

/// Numbers that only their thread draws.
class Random {
 public:
  SYNDROME_NO_PROBES explicit Random(unsigned seed) : state_(seed * 2654435761U + 1) {}
  SYNDROME_NO_PROBES int below(int bound) {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<int>((state_ >> 8U) % static_cast<unsigned>(bound));
  }

 private:
  unsigned state_;
};

/// call(random) again and again, in each thread.
template <class Call>
void random_calls(const Load& load, Call call) {
  std::vector<std::thread> threads;
  for (int i = 0; i < load.threads; ++i) {
    threads.emplace_back([i, &load, &call] {
      Random random(static_cast<unsigned>(i) + 1);
      for (int n = 0; n < load.calls; ++n) call(random);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace twins
