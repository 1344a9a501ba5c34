// airline tickets: whether there are seats left is asked, and then one is sold, without a lock over
// both.

#include <mutex>

#include "twins.h"

class Flight {
 public:
  void sell() {
    const std::lock_guard guard(mutex_);
    if (sold_ == kSeats) return;
    ++sold_;
    if (sold_ == kSeats) stop_ = true;
  }
  void sell_unlocked() {
    if (stop_ || sold_ == kSeats) return;
    twins::interrupted();
    ++sold_;
    if (sold_ == kSeats) stop_ = true;
  }

 private:
  static constexpr int kSeats = 2;
  std::mutex mutex_;
  int sold_ = 1;
  bool stop_ = false;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Flight flight;
  std::thread agent([&] { fixed ? flight.sell() : flight.sell_unlocked(); });
  twins::wait_for_turn();
  flight.sell();
  twins::turn_over();
  agent.join();
}
