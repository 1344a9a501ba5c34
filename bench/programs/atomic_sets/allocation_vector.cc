// allocation vector: a free block is looked for in one synchronized call and marked in the next;
// who calls them both is what ought to be one.

#include <mutex>

#include "twins.h"

class AllocationVector {
 public:
  int free_block() {
    const std::lock_guard guard(mutex_);
    for (int i = 0; i < kBlocks; ++i) {
      if (!used_[i]) return i;
    }
    return -1;
  }
  void mark(int block) {
    const std::lock_guard guard(mutex_);
    used_[block] = true;
    last_ = block;
  }
  int take() {
    const std::lock_guard guard(mutex_);
    if (used_[0] && used_[1]) return -1;
    last_ = used_[0] ? 1 : 0;
    used_[last_] = true;
    return last_;
  }

 private:
  static constexpr int kBlocks = 2;
  std::mutex mutex_;
  bool used_[kBlocks] = {};
  int last_ = -1;
};

// The paper wished for this: a unit of work for what its parameter points to.
SYNDROME_UNIT() int allocate(AllocationVector& vector) {
  const int block = vector.free_block();
  twins::interrupted();
  if (block >= 0) vector.mark(block);
  return block;
}

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  AllocationVector vector;
  std::thread other([&] {
    if (fixed)
      vector.take();
    else
      allocate(vector);
  });
  twins::wait_for_turn();
  if (fixed) {
    vector.take();
  } else {
    vector.mark(vector.free_block());
  }
  twins::turn_over();
  other.join();
}
