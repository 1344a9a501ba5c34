// verdict: clean
// blocks: read_twice
// output: done
// Copying and dropping a shared_ptr counts its owners with atomics; that is not what the block is
// about.
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

static int read_twice(const std::shared_ptr<const int>& shared) {
  const std::shared_ptr<const int> first = shared;
  std::this_thread::yield();
  const std::shared_ptr<const int> second = shared;
  return *first + *second;
}

int main() {
  auto shared = std::make_shared<const int>(21);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([shared] {
      for (int i = 0; i < 300; ++i) read_twice(shared);
    });
  }
  shared.reset();
  for (auto& thread : threads) thread.join();
  std::puts("done");
}
