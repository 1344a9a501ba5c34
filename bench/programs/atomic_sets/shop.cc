// shop: whether there is an item is asked in one synchronized call, and it is sold in the next. Who
// calls them both is what ought to be one; the spec says so here, not the program.

#include <mutex>
#include <vector>

#include "twins.h"

class Shelf {
 public:
  bool empty() {
    const std::lock_guard guard(mutex_);
    return items_.empty();
  }
  void sell() {
    const std::lock_guard guard(mutex_);
    if (!items_.empty()) items_.pop_back();
  }

 private:
  std::mutex mutex_;
  std::vector<int> items_ = {1};
};

class Customer {
 public:
  explicit Customer(Shelf& shelf) : shelf_(&shelf) {}
  void buy() {
    if (shelf_->empty()) return;
    twins::interrupted();
    shelf_->sell();
  }

 private:
  Shelf* shelf_;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Shelf shelf;
  Customer customer(shelf);
  std::thread buyer([&] { fixed ? shelf.sell() : customer.buy(); });
  twins::wait_for_turn();
  shelf.sell();
  twins::turn_over();
  buyer.join();
}
