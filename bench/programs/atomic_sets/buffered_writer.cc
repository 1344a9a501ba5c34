// buffered writer: a writer fills a buffer and advances its size; another one writes in between, so
// that what it wrote is overwritten.

#include <mutex>

#include "twins.h"

class Buffer {
 public:
  void append(char c, bool locked) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (locked) guard.lock();
    const int at = size_;
    last_ = c;
    if (!locked) twins::interrupted();
    size_ = at + 1;
    written_ = written_ + 1;
  }

 private:
  std::mutex mutex_;
  char last_ = 0;
  int size_ = 0;
  int written_ = 0;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Buffer buffer;
  std::thread writer([&] { buffer.append('a', fixed); });
  twins::wait_for_turn();
  buffer.append('b', true);
  twins::turn_over();
  writer.join();
}
