// lottery: a number is drawn and read again where it is announced; another draw comes in between.

#include <mutex>

#include "twins.h"

class Drum {
 public:
  int draw(bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    number_ = number_ * 5 + 3;
    if (!locked) twins::interrupted();
    return number_;
  }

 private:
  std::mutex mutex_;
  int number_ = 1;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Drum drum;
  std::thread player([&] { (void)drum.draw(fixed); });
  twins::wait_for_turn();
  (void)drum.draw(true);
  twins::turn_over();
  player.join();
}
