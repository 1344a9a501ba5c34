// verdict: clean
// blocks: Table::find, Table::insert
// output: 200 entries
// Many readers and a writer over a std::map; two readers' blocks that overlap take nothing from
// each other.
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

class Table {
 public:
  bool find(int key) const {
    const std::shared_lock guard(mutex_);
    const auto found = entries_.find(key);
    return found != entries_.end() && found->second == key * 2;
  }
  void insert(int key) {
    const std::unique_lock guard(mutex_);
    entries_.emplace(key, key * 2);
  }
  std::size_t size() const {
    const std::shared_lock guard(mutex_);
    return entries_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<int, int> entries_;
};

int main() {
  Table table;
  const auto read = [&table] {
    for (int i = 0; i < 200; ++i) (void)table.find(i);
  };
  std::thread one(read), two(read);
  for (int i = 0; i < 200; ++i) table.insert(i);
  one.join();
  two.join();
  std::printf("%zu entries\n", table.size());
}
