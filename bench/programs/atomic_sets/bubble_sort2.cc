// bubble sort, the second: a pass reads the array while another thread's pass moves what it reads.

#include <mutex>

#include "twins.h"

class Numbers {
 public:
  void pass(bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    if (first_ > second_) exchange();
  }
  bool sorted(bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    const int first = first_;
    if (!locked) twins::interrupted();
    return first <= second_;
  }

 private:
  void exchange() {
    const int first = first_;
    first_ = second_;
    second_ = first;
  }
  std::mutex mutex_;
  int first_ = 2;
  int second_ = 1;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Numbers numbers;
  std::thread looker([&] { (void)numbers.sorted(fixed); });
  twins::wait_for_turn();
  numbers.pass(fixed);
  twins::turn_over();
  looker.join();
}
