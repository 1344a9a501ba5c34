// verdict: clean
// blocks: StripedMap::add, StripedMap::find, StripedMap::erase
// args: 2000
// output: 2000 operations, all counted
// A hash map with chains, under 16 locks that share the buckets out: threads add, look up and
// erase.
//
//   hashmap [OPERATIONS]
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class StripedMap {
 public:
  explicit StripedMap(std::size_t buckets) : buckets_(buckets) {}

  /// Adds to the value of a key, which is 0 at first.
  void add(std::uint64_t key, long by) {
    const std::size_t bucket = bucket_of(key);
    const std::lock_guard guard(lock_of(bucket));
    for (Node* node = buckets_[bucket].get(); node != nullptr; node = node->next.get()) {
      if (node->key == key) {
        node->value += by;
        return;
      }
    }
    buckets_[bucket] = std::make_unique<Node>(Node{key, by, std::move(buckets_[bucket])});
  }

  long find(std::uint64_t key) {
    const std::size_t bucket = bucket_of(key);
    const std::lock_guard guard(lock_of(bucket));
    for (const Node* node = buckets_[bucket].get(); node != nullptr; node = node->next.get()) {
      if (node->key == key) return node->value;
    }
    return 0;
  }

  /// What the key had.
  long erase(std::uint64_t key) {
    const std::size_t bucket = bucket_of(key);
    const std::lock_guard guard(lock_of(bucket));
    for (std::unique_ptr<Node>* link = &buckets_[bucket]; *link != nullptr; link = &(*link)->next) {
      if ((*link)->key != key) continue;
      const std::unique_ptr<Node> gone = std::move(*link);
      *link = std::move(gone->next);
      return gone->value;
    }
    return 0;
  }

 private:
  struct Node {
    std::uint64_t key;
    long value;
    std::unique_ptr<Node> next;
  };
  struct alignas(64) Stripe {
    std::mutex mutex;
  };

  [[nodiscard]] std::size_t bucket_of(std::uint64_t key) const {
    return (key * 0x9E3779B97F4A7C15U >> 20U) % buckets_.size();
  }
  std::mutex& lock_of(std::size_t bucket) { return stripes_[bucket % stripes_.size()].mutex; }

  std::array<Stripe, 16> stripes_;
  std::vector<std::unique_ptr<Node>> buckets_;
};

static long work(StripedMap& map, std::uint64_t seed, std::size_t operations, std::uint64_t keys) {
  std::uint64_t state = seed;
  long balance = 0;  // added minus erased
  for (std::size_t i = 0; i < operations; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t key = (state >> 33U) % keys;
    switch ((state >> 58U) % 8) {
      case 0: balance -= map.erase(key); break;
      case 1:
      case 2:
      case 3:
        map.add(key, 1);
        ++balance;
        break;
      default:
        if (map.find(key) < 0) std::abort();
    }
  }
  return balance;
}

int main(int argc, char** argv) {
  const std::size_t operations = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 5'000'000;
  constexpr std::uint64_t kKeys = 20'000;
  StripedMap map(8192);
  std::atomic<long> balance{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&map, &balance, t, operations] {
      balance.fetch_add(work(map, t + 1, operations / 4, kKeys), std::memory_order_relaxed);
    });
  }
  for (auto& thread : threads) thread.join();
  long left = 0;
  for (std::uint64_t key = 0; key < kKeys; ++key) left += map.erase(key);
  std::printf("%zu operations, %s\n", operations,
              left == balance.load() ? "all counted" : "some lost");
  return left == balance.load() ? 0 : 1;
}
