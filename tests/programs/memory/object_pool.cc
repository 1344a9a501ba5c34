// verdict: clean
// blocks: use
// output: 2000
// A pool of the program's own recycles objects without telling the allocator. The pool's lock hands
// the object over with all that was written to it.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct Buffer {
  int length = 0;
  int sum = 0;
  Buffer* next = nullptr;
};

static std::mutex pool_mutex;
static Buffer* pool = nullptr;

static Buffer* take() {
  const std::lock_guard guard(pool_mutex);
  if (pool == nullptr) return new Buffer;
  Buffer* buffer = pool;
  pool = buffer->next;
  return buffer;
}

static void give_back(Buffer* buffer) {
  const std::lock_guard guard(pool_mutex);
  buffer->next = pool;
  pool = buffer;
}

static bool use(Buffer* buffer, int value) {
  buffer->length = 2;
  buffer->sum = value;
  buffer->sum += value;
  return buffer->sum == buffer->length * value;
}

int main() {
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i, &good] {
      int count = 0;
      for (int round = 0; round < 500; ++round) {
        Buffer* buffer = take();
        count += use(buffer, i + round) ? 1 : 0;
        give_back(buffer);
      }
      good[static_cast<std::size_t>(i)] = count;
    });
  }
  for (auto& thread : threads) thread.join();
  while (pool != nullptr) delete take();
  std::printf("%d\n", good[0] + good[1] + good[2] + good[3]);
}
