// verdict: clean
// blocks: stamp
// output: 2000 stamped, 4 left
// A lock-free stack hands nodes round; who has popped one owns its plain fields. (The head has a
// counter, so that a node that went and came back is noticed.)
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

struct Node {
  std::atomic<std::uint32_t> next{0};
  int stamps = 0;
  int last = 0;
};
static Node nodes[5];  // 0 is "none"
static std::atomic<std::uint64_t> head{0};

static void push(std::uint32_t node) {
  std::uint64_t old = head.load(std::memory_order_relaxed);
  std::uint64_t fresh = 0;
  do {
    nodes[node].next.store(static_cast<std::uint32_t>(old), std::memory_order_relaxed);
    fresh = (((old >> 32) + 1) << 32) | node;
  } while (!head.compare_exchange_weak(old, fresh, std::memory_order_release,
                                       std::memory_order_relaxed));
}

static std::uint32_t pop() {
  std::uint64_t old = head.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(old) != 0) {
    const std::uint32_t next =
        nodes[static_cast<std::uint32_t>(old)].next.load(std::memory_order_relaxed);
    const std::uint64_t fresh = (((old >> 32) + 1) << 32) | next;
    if (head.compare_exchange_weak(old, fresh, std::memory_order_acquire,
                                   std::memory_order_acquire)) {
      return static_cast<std::uint32_t>(old);
    }
  }
  return 0;
}

static void stamp(Node& node, int who) {
  node.last = who;
  node.stamps = node.stamps + 1;
  node.last = -who;
}

int main() {
  for (std::uint32_t i = 1; i <= 4; ++i) push(i);
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500;) {
        const std::uint32_t node = pop();
        if (node == 0) continue;
        stamp(nodes[node], t);
        push(node);
        ++i;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  int stamps = 0, left = 0;
  while (const std::uint32_t node = pop()) {
    stamps += nodes[node].stamps;
    ++left;
  }
  std::printf("%d stamped, %d left\n", stamps, left);
}
