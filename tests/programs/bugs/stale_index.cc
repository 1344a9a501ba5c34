// verdict: violated
// blocks: rename
// output: wrong entry renamed
// A position found under the lock is used under the lock, but not under the same one: the entries
// have moved.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "turns.h"

static Turn found = turn_make(), erased = turn_make();

class Directory {
 public:
  std::size_t find(int id) {
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] == id) return i;
    }
    return ids_.size();
  }
  void set(std::size_t index, int id) {
    const std::lock_guard guard(mutex_);
    if (index < ids_.size()) ids_[index] = id;
  }
  void erase_first() {
    const std::lock_guard guard(mutex_);
    ids_.erase(ids_.begin());
  }
  int at(std::size_t index) {
    const std::lock_guard guard(mutex_);
    return ids_[index];
  }

 private:
  std::mutex mutex_;
  std::vector<int> ids_ = {1, 2, 3, 4};
};

static void rename(Directory& directory, int from, int to) {
  const std::size_t index = directory.find(from);
  turn_give(&found);
  turn_take(&erased);
  directory.set(index, to);
}

int main() {
  Directory directory;
  std::thread other([&directory] {
    turn_take(&found);
    directory.erase_first();
    turn_give(&erased);
  });
  rename(directory, 2, 20);
  other.join();
  std::puts(directory.at(0) == 20 ? "right entry renamed" : "wrong entry renamed");
}
