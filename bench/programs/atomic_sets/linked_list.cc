// linked list: two threads append; both read the same tail, and one of the nodes is lost.

#include <mutex>

#include "twins.h"

struct Node {
  Node* next = nullptr;
};

class List {
 public:
  void append(Node* node, bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    Node* const last = tail_;
    if (!locked) twins::interrupted();
    last->next = node;
    tail_ = node;
  }

 private:
  std::mutex mutex_;
  Node head_;
  Node* tail_ = &head_;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  List list;
  Node one, two;
  std::thread adder([&] { list.append(&one, fixed); });
  twins::wait_for_turn();
  list.append(&two, true);
  twins::turn_over();
  adder.join();
}
