// verdict: clean
// blocks: Index::add, Index::longest
// output: 100 words, longest 100
// std::vector, std::map and std::unordered_map rearrange their memory under a lock while others
// wait for it: what is freed in one block is allocated in the next one, by another thread.
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

class Index {
 public:
  void add(int length) {
    const std::lock_guard guard(mutex_);
    words_.emplace_back(static_cast<std::size_t>(length), 'x');
    by_length_[length].push_back(words_.size() - 1);
    seen_[length] += 1;
    if (length % 10 == 0) seen_.erase(length);
  }
  std::size_t longest() {
    const std::lock_guard guard(mutex_);
    if (by_length_.empty()) return 0;
    return words_[by_length_.rbegin()->second.front()].size();
  }
  std::size_t words() const { return words_.size(); }

 private:
  std::mutex mutex_;
  std::vector<std::string> words_;
  std::map<int, std::vector<std::size_t>> by_length_;
  std::unordered_map<int, int> seen_;
};

int main() {
  Index index;
  std::thread odd([&index] {
    for (int i = 1; i < 100; i += 2) index.add(i);
  });
  std::thread even([&index] {
    for (int i = 2; i <= 100; i += 2) index.add(i);
  });
  for (int i = 0; i < 100; ++i) (void)index.longest();
  odd.join();
  even.join();
  std::printf("%zu words, longest %zu\n", index.words(), index.longest());
}
