// verdict: clean
// blocks: Config::sum, make_config
// output: made 1, 4 x 42
// Double-checked initialization done right: a pointer stored with release and loaded with acquire.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct Config {
  int first = 0, second = 0;
  int sum() const { return first + second; }
};
static std::atomic<Config*> instance{nullptr};
static std::mutex mutex;
static int made = 0;

static Config* make_config() {
  auto* config = new Config;
  config->first = 40;
  config->second = 2;
  ++made;
  return config;
}

static Config* get() {
  Config* config = instance.load(std::memory_order_acquire);
  if (config != nullptr) return config;
  const std::lock_guard guard(mutex);
  config = instance.load(std::memory_order_relaxed);
  if (config == nullptr) {
    config = make_config();
    instance.store(config, std::memory_order_release);
  }
  return config;
}

int main() {
  std::vector<std::thread> threads;
  int results[4] = {};
  for (int& result : results) {
    threads.emplace_back([&result] {
      for (int i = 0; i < 100; ++i) result = get()->sum();
    });
  }
  for (auto& thread : threads) thread.join();
  const bool same = results[0] == 42 && results[1] == 42 && results[2] == 42 && results[3] == 42;
  std::printf("made %d, 4 x %d\n", made, same ? 42 : -1);
  delete instance.load();
}
