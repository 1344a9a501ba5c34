// verdict: violated
// blocks: Cache::get
// output: computed 2 times
// A cache is filled on demand, under a lock that is given up while the value is computed: two
// threads compute it.
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "turns.h"

static Turn missed = turn_make(), filled = turn_make();

class Cache {
 public:
  int get(int key, bool slow) {
    {
      const std::lock_guard guard(mutex_);
      if (entries_ > 0) return values_[key];  // <- here
    }
    if (slow) {
      turn_give(&missed);
      turn_take(&filled);
    }
    const std::lock_guard guard(mutex_);
    values_[key] = key * key;
    entries_ += 1;  // <- here
    return values_[key];
  }
  int entries() const { return entries_; }

 private:
  std::mutex mutex_;
  std::map<int, int> values_;
  int entries_ = 0;
};

int main() {
  Cache cache;
  std::thread other([&cache] {
    turn_take(&missed);
    cache.get(3, false);
    turn_give(&filled);
  });
  cache.get(3, true);
  other.join();
  std::printf("computed %d times\n", cache.entries());
}
