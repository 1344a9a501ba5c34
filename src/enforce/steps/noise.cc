#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <atomic>

#include "enforce/steps/steps.h"

namespace syndrome::steps {
namespace {

std::uint64_t own_seed = 0;
std::atomic<std::uint64_t> numbers{0};

__attribute__((tls_model("initial-exec"))) thread_local std::uint64_t number = 0;
__attribute__((tls_model("initial-exec"))) thread_local std::uint64_t points = 0;

std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace

void start_noise(std::uint64_t seed) {
  own_seed = seed;
}

// One point in four is a pause of 8 to 256 microseconds, short ones as likely as long ones: beside
// what a thread does between two points that is long, and a run with a hundred of them still takes
// milliseconds.
void make_noise() {
  if (number == 0) {
    number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
    prctl(PR_SET_TIMERSLACK, 1UL);
  }
  const std::uint64_t random = mix(mix(own_seed ^ (number << 32)) ^ ++points);
  if ((random & 3) != 0) return;
  const timespec pause{0, 1L << (13 + (random >> 8) % 6)};
  nanosleep(&pause, nullptr);
}

}  // namespace syndrome::steps
