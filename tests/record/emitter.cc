// Writes words that tell by themselves where they belong: the access words of a thread carry 1, 2,
// 3, … as their addresses.
//
//   emitter count THREADS N PROGRESS    each thread writes N words, and after each of them its
//   number
//                                       into its place in the (mapped) file PROGRESS
//   emitter locks THREADS N             takes one lock N times in each thread
//   emitter atomics THREADS N           N atomic additions; prints what each thread got
//   emitter threads N                   N threads one after another, each with one word
//   emitter exit CODE | abort | env | fork | errno

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "event/unit.h"
#include "event/wire.h"
#include "runtime/log.h"
#include "runtime/probes.h"

namespace {

using namespace syndrome;

struct alignas(16) Unit {
  unit::Header header;
  unit::Function function;
  unit::Site site;
  char strings[32];
};
constexpr std::uint32_t kStrings = offsetof(Unit, strings);
const Unit the_unit = {
    {unit::kMagic, wire::kAbi, sizeof(Unit), 1, 1, kStrings + 1, 0, 0},
    {kStrings + 12, kStrings + 1, 1, 0, 1, 0, 0, 0},
    {kStrings + 1, 1, 1, unit::SiteKind::kWrite, 0, 0, 0, 8, 0, 0},
    "\0emitter.cc\0main",
};

// As the pass writes it (runtime/probes.h).
[[gnu::always_inline]] inline void put(wire::Word word) {
  wire::Word* at = nullptr;
  __asm__ volatile(
      "movq %0, %1\n\t"
      "movq %2, (%1)\n\t"
      "addq $8, %0\n\t"
      "cmpb $0xf8, %b1\n\t"
      "jne 1f\n\t"
      "call *__syndrome_full@GOTPCREL(%%rip)\n"
      "1:"
      : "+m"(rt::__syndrome_thread.cursor), "=&r"(at)
      : "r"(word)
      : "cc", "memory");
}

void enter() {
  put(wire::control(wire::Control::kEnter, reinterpret_cast<std::uintptr_t>(&the_unit.function),
                    0));
}

template <class Body>
void in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

void count(int threads, std::uint64_t words, const char* progress_path) {
  const int fd = ::open(progress_path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ::ftruncate(fd, 4096) != 0) std::abort();
  auto* const progress = static_cast<volatile std::uint64_t*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  in_threads(threads, [=](int thread) {
    enter();
    for (std::uint64_t i = 1; i <= words; ++i) {
      put(wire::access(i, 1));
      progress[thread * 8] = i;
    }
  });
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<std::uint64_t> hot{0};

void atomics(int threads, std::uint64_t times) {
  std::vector<std::string> got(static_cast<std::size_t>(threads));
  in_threads(threads, [&, times](int thread) {
    std::string& text = got[static_cast<std::size_t>(thread)];
    for (std::uint64_t i = 0; i < times; ++i) {
      __syndrome_atomic_begin(&hot);
      const std::uint64_t value = hot.fetch_add(1);
      __syndrome_atomic_end(&hot, 1, static_cast<std::uint32_t>(wire::Sync::kAtomicRmw) | 8 << 8);
      text += std::to_string(value) + ' ';
    }
  });
  for (const std::string& text : got) std::printf("%s\n", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  __syndrome_unit(&the_unit, nullptr, 0);
  enter();
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [=](int i) { return argc > i ? std::atoll(argv[i]) : 0; };
  if (mode == "count")
    count(static_cast<int>(number(2)), static_cast<std::uint64_t>(number(3)), argv[4]);
  if (mode == "locks") {
    in_threads(static_cast<int>(number(2)), [=](int) {
      for (long long i = 0; i < number(3); ++i) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
      }
    });
  }
  if (mode == "atomics")
    atomics(static_cast<int>(number(2)), static_cast<std::uint64_t>(number(3)));
  if (mode == "threads") {
    for (long long i = 0; i < number(2); ++i) {
      in_threads(1, [](int) {
        enter();
        put(wire::access(1, 1));
      });
    }
  }
  if (mode == "exit") return static_cast<int>(number(2));
  if (mode == "abort") std::abort();
  if (mode == "env") {
    for (char** variable = environ; *variable != nullptr; ++variable) std::puts(*variable);
  }
  if (mode == "fork") {
    const pid_t child = ::fork();
    enter();
    if (child == 0) ::_exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  return 0;
}
