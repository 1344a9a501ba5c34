// Two threads that allocate and free 50,000 objects as fast as they can, millions a second. Memory
// that one thread frees is soon the other's: that is no race.
#include "fault.h"

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct Node {
  std::uint64_t number;
  Node* next;
};

std::uint64_t churn(unsigned count) {
  std::uint64_t sum = 0;
  std::unique_ptr<Node> last[16];
  for (unsigned i = 0; i < count; ++i) {
    std::unique_ptr<Node>& place = last[i % 16];
    place.reset(new Node{i, nullptr});
    sum += place->number;
  }
  return sum;
}

}  // namespace

int main() {
  race_before();
  std::uint64_t sums[2];
  std::vector<std::thread> threads;
  for (std::uint64_t& sum : sums) threads.emplace_back([&sum] { sum = churn(25'000); });
  for (std::thread& thread : threads) thread.join();
  race_after();
  std::printf("%llu %d\n", static_cast<unsigned long long>(sums[0] + sums[1]), guarded);
  return 3;
}
