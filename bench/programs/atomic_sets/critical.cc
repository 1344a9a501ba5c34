// critical: a section that is meant to be exclusive by a variable that says whose turn it is, and
// is not.

#include <mutex>

#include "twins.h"

class Section {
 public:
  void run(int who, bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    inside_ = who;
    if (!locked) twins::interrupted();
    if (inside_ == who) inside_ = 0;
  }

 private:
  std::mutex mutex_;
  int inside_ = 0;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Section section;
  std::thread first([&] { section.run(1, fixed); });
  twins::wait_for_turn();
  section.run(2, true);
  twins::turn_over();
  first.join();
}
