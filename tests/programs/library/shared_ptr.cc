// verdict: clean
// blocks: Holder::current, Holder::replace, sum
// output: 0 torn
// Readers take a std::shared_ptr under a lock and read without it; the last one to let go frees it,
// wherever that is, and the next object gets its memory.
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Prices {
  int values[4] = {};
};

static int sum(const Prices& prices) {
  return prices.values[0] + prices.values[1] + prices.values[2] + prices.values[3];
}

class Holder {
 public:
  std::shared_ptr<const Prices> current() {
    const std::lock_guard guard(mutex_);
    return prices_;
  }
  void replace(std::shared_ptr<const Prices>& fresh) {
    const std::lock_guard guard(mutex_);
    prices_.swap(fresh);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Prices> prices_ = std::make_shared<Prices>();
};

int main() {
  Holder holder;
  int torn[2] = {0, 0};
  std::vector<std::thread> readers;
  for (int& mine : torn) {
    readers.emplace_back([&holder, &mine] {
      for (int i = 0; i < 200; ++i) {
        const std::shared_ptr<const Prices> prices = holder.current();
        if (sum(*prices) % 4 != 0) mine = 1;
      }
    });
  }
  for (int i = 1; i <= 100; ++i) {
    auto prices = std::make_shared<Prices>();
    for (int& value : prices->values) value = i;
    std::shared_ptr<const Prices> fresh = std::move(prices);
    holder.replace(fresh);
  }
  for (auto& reader : readers) reader.join();
  std::printf("%d torn\n", torn[0] + torn[1]);
}
