// What defaults and annotations mean in a program: each case forces one schedule, in which the
// first thread is interrupted in the middle. `PROGRAM CASE`; which ones have a violation is said
// there.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "twins.h"

/// The whole of `second` comes where `first` calls twins::interrupted().
template <class First, class Second>
void interleave(First first, Second second) {
  std::thread thread([&] { first(); });
  twins::wait_for_turn();
  second();
  twins::turn_over();
  thread.join();
}

// Two variables are a set because the program says so, and a function is a unit of work for it:
// violated.
SYNDROME_ATOMIC_SET(money) int checking = 0;
SYNDROME_ATOMIC_SET(money) int savings = 0;
int visits = 0;  // not one of them

SYNDROME_UNIT(money) void transfer() {
  ++visits;
  --checking;
  twins::interrupted();
  ++savings;
}
SYNDROME_UNIT(money) int total() {
  return checking + savings + visits;
}

// Some fields of a class are a set: violated for those, and not with the others.
struct Order {
  SYNDROME_ATOMIC_SET(sum) int price = 0;
  SYNDROME_ATOMIC_SET(sum) int tax = 0;
  int seen = 0;

  void raise() {
    seen = 1;
    price = 100;
    twins::interrupted();
    tax = 19;
  }
  int read() { return price + tax; }
  int look() { return seen + price; }
};

// A container that is a member belongs to its owner's set: violated.
class Shop {
 public:
  void add(int item) {
    {
      const std::lock_guard guard(mutex_);
      items_.push_back(item);
    }
    twins::interrupted();
    const std::lock_guard guard(mutex_);
    ++count_;
  }
  bool consistent() {
    const std::lock_guard guard(mutex_);
    return static_cast<int>(items_.size()) == count_;
  }

 private:
  std::mutex mutex_;
  std::vector<int> items_;
  int count_ = 0;
};

// Also where the first to access it is a function of the library that the program does not call:
// violated.
class Line {
 public:
  void add(int who) {
    waiting_.push_front(who);
    twins::interrupted();
    ++count_;
  }
  bool consistent() const { return static_cast<int>(waiting_.size()) == count_; }

 private:
  std::deque<int> waiting_;
  int count_ = 0;
};
Line line;

// What code without probes calls back is a unit by itself; called directly, it is part of who calls
// it: `called` is violated, `called-back` is not.
SYNDROME_NO_PROBES void library(void (*handler)(void*), void* argument) {
  handler(argument);
}

class Loop {
 public:
  void run(bool back) {
    for (int round = 0; round < 2; ++round) {
      if (back) {
        library(&Loop::handle, this);
      } else {
        handle(this);
      }
      twins::interrupted();
    }
  }
  static void handle(void* loop) {
    auto* const self = static_cast<Loop*>(loop);
    self->handled_ = self->handled_ + 1;
  }

 private:
  int handled_ = 0;
};

// A wait that times out lets others in as one that is woken does; giving the lock back for a while
// does not: `timeout` is clean, `unlocked` is violated.
class Mailbox {
 public:
  int poll(bool waits) {
    std::unique_lock lock(mutex_);
    const int before = letters_;
    if (waits) {
      if (write(twins::state().go[1], "g", 1) != 1) std::abort();
      (void)arrived_.wait_for(lock, std::chrono::milliseconds(300));
    } else {
      lock.unlock();
      twins::interrupted();
      lock.lock();
    }
    return letters_ - before;
  }
  void deliver() {
    const std::lock_guard guard(mutex_);
    ++letters_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  int letters_ = 0;
};

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  twins::start(0, argv);
  if (which == "globals") interleave(transfer, total);
  Order order;
  if (which == "fields") interleave([&] { order.raise(); }, [&] { order.read(); });
  if (which == "other-fields") interleave([&] { order.raise(); }, [&] { order.look(); });
  Shop shop;
  if (which == "container") interleave([&] { shop.add(1); }, [&] { shop.consistent(); });
  if (which == "deque") interleave([&] { line.add(1); }, [&] { line.consistent(); });
  Loop loop;
  for (const bool back : {false, true}) {
    if (which == (back ? "called-back" : "called")) {
      interleave([&] { loop.run(back); }, [&] { Loop::handle(&loop); });
    }
  }
  Mailbox mailbox;
  for (const bool waits : {false, true}) {
    if (which == (waits ? "timeout" : "unlocked")) {
      interleave([&] { mailbox.poll(waits); }, [&] { mailbox.deliver(); });
    }
  }
}
