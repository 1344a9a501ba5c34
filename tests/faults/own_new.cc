// operator new and delete of the program's own, on top of malloc and with a list of free blocks.
#include "fault.h"

#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace {
std::mutex mutex;
void* blocks;
}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes <= 64) {
    const std::lock_guard lock(mutex);
    if (blocks != nullptr) {
      void* const block = blocks;
      blocks = *static_cast<void**>(block);
      return block;
    }
  }
  void* const memory = std::malloc(bytes < 64 ? 64 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t bytes) noexcept {
  if (bytes > 64) return std::free(memory);
  const std::lock_guard lock(mutex);
  *static_cast<void**>(memory) = blocks;
  blocks = memory;
}

int main() {
  race_before();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 500; ++k) {
        int* const object = new int(k);
        auto* const large = new char[static_cast<std::size_t>(20 + *object)];
        large[0] = 'x';
        delete[] large;
        delete object;
      }
      in_order();
    });
  }
  for (std::thread& thread : threads) thread.join();
  race_after();
  std::printf("%d\n", guarded);
  return 3;
}
