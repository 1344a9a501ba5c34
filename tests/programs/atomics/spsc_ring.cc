// verdict: clean
// blocks: make, check
// output: 3000
// A ring for one producer and one consumer: slots are reused as fast as they are freed, and nothing
// but two indices orders the plain elements.
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>

struct Element {
  long value = 0, twice = 0;
};

class Ring {
 public:
  Element* slot_to_fill() {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == slots_.size()) return nullptr;
    return &slots_[tail % slots_.size()];
  }
  void filled() {
    tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  Element* slot_to_use() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return nullptr;
    return &slots_[head % slots_.size()];
  }
  void used() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  std::array<Element, 8> slots_;
  std::atomic<std::size_t> head_ = 0, tail_ = 0;
};

static void make(Element& element, long value) {
  element.value = value;
  element.twice = 2 * element.value;
}

static bool check(Element& element, long value) {
  const bool good = element.value == value && element.twice == 2 * value;
  element = {};
  return good;
}

int main() {
  Ring ring;
  std::thread producer([&ring] {
    for (long i = 0; i < 3000;) {
      if (Element* slot = ring.slot_to_fill()) {
        make(*slot, i++);
        ring.filled();
      } else {
        std::this_thread::yield();
      }
    }
  });
  int good = 0;
  for (long i = 0; i < 3000;) {
    if (Element* slot = ring.slot_to_use()) {
      good += check(*slot, i++) ? 1 : 0;
      ring.used();
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
  std::printf("%d\n", good);
}
