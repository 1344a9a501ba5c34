// Damaged files for each reader of what comes from outside: readers_fuzz [COUNT [SEED [KIND…]]].
// Each must be refused or read, in little time and memory; run it with the asan preset as well.
//
// Prints the slowest of each kind. Exit code: 0 all were survived, 1 a good file was refused, one
// took longer than kMostSeconds or too much memory, 2 a wrong call. After a crash, the last line
// says how to have it again.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_main.h"
#include "fuzz/reader_seeds.h"

extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace syndrome::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

// What a security review asks for: no input of a few kilobytes may do more.
constexpr double kMostSeconds = 20;
constexpr long kMostKilobytes = 2L << 20;

// For the last words.
std::atomic<std::uint64_t> g_seed{0};
std::atomic<const char*> g_kind{""};

void say_which() {
  char line[128];
  const int length = std::snprintf(line, sizeof line, "readers_fuzz 1 %llu %s\n",
                                   static_cast<unsigned long long>(g_seed.load()), g_kind.load());
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

extern "C" void on_crash(int signal) {
  say_which();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

class Damage {
 public:
  Damage(std::uint64_t seed, const ReaderKind& kind, const std::vector<std::string>& seeds)
      : random_(seed), kind_(kind), seeds_(seeds) {}

  std::string make() {
    std::string bytes = seeds_[below(seeds_.size())];
    const std::size_t changes = 1 + below(below(4) == 0 ? 40 : 4);
    for (std::size_t i = 0; i < changes; ++i) change(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  void change(std::string& bytes) {
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(bytes.size() - at, 64) + 1);
    switch (below(9)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1U << below(8)));
        return;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random_());
        return;
      case 2: bytes.erase(at, length); return;
      case 3: bytes.insert(below(bytes.size() + 1), bytes.substr(at, length)); return;
      case 4: bytes.resize(at); return;
      case 5: {
        const std::string& other = seeds_[below(seeds_.size())];
        bytes.insert(at, other.substr(below(other.size()), 1 + below(200)));
        return;
      }
      case 6: {
        // A number at the edge of something.
        static constexpr std::uint64_t kEdges[] = {
            0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, ~std::uint64_t{0}};
        const std::uint64_t edge = kEdges[below(std::size(kEdges))];
        const std::size_t size = std::size_t{1} << below(4);
        if (bytes.size() - at >= size) std::memcpy(bytes.data() + at, &edge, size);
        return;
      }
      case 7: {
        std::string many;
        const std::string piece = bytes.substr(at, length);
        for (std::size_t i = below(200); i > 0; --i) many += piece;
        bytes.insert(at, many);
        return;
      }
      default:
        if (!kind_.words.empty()) {
          bytes.insert(at, kind_.words[below(kind_.words.size())]);
        } else if (at < bytes.size()) {
          bytes[at] = static_cast<char>(bytes[at] + 1);
        }
    }
  }

  std::mt19937_64 random_;
  const ReaderKind& kind_;
  const std::vector<std::string>& seeds_;
};

/// Whether all was well.
bool fuzz(const ReaderKind& kind, std::uint64_t count, std::uint64_t first) {
  const std::vector<std::string> seeds = kind.seeds();
  g_kind = kind.name.data();
  for (const std::string& seed : seeds) {
    if (kind.read(seed)) continue;
    std::printf("%s: a good file is refused\n", kind.name.data());
    return false;
  }
  double slowest = 0;
  std::uint64_t slow_seed = first;
  std::uint64_t good = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    g_seed = seed;
    const std::string bytes = Damage(seed, kind, seeds).make();
    const Clock::time_point start = Clock::now();
    good += kind.read(bytes) ? 1 : 0;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds > slowest) {
      slowest = seconds;
      slow_seed = seed;
    }
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%-13s %llu damaged files, %llu read all the same; slowest %.3f s (seed %llu)\n",
              kind.name.data(), static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(good), slowest,
              static_cast<unsigned long long>(slow_seed));
  std::fflush(stdout);
  return slowest <= kMostSeconds && usage.ru_maxrss <= kMostKilobytes;
}

int run(int argc, char** argv) {
  const auto count = argc > 1 ? number(argv[1]) : std::optional<std::uint64_t>(50'000);
  const auto seed = argc > 2 ? number(argv[2])
                             : std::optional<std::uint64_t>(static_cast<std::uint64_t>(
                                   std::chrono::system_clock::now().time_since_epoch().count()));
  std::vector<std::string_view> wanted(argv + std::min(argc, 3), argv + argc);
  std::vector<const ReaderKind*> kinds;
  for (const ReaderKind& kind : reader_kinds()) {
    const auto named = std::ranges::find(wanted, kind.name);
    if (argc <= 3 || named != wanted.end()) kinds.push_back(&kind);
    if (named != wanted.end()) wanted.erase(named);
  }
  if (!count || !seed || !wanted.empty()) {
    std::fprintf(stderr, "usage: readers_fuzz [COUNT [SEED [KIND…]]]\nkinds:");
    for (const ReaderKind& kind : reader_kinds()) std::fprintf(stderr, " %s", kind.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, on_crash);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(say_which);
  std::printf("%llu damaged files of each kind from seed %llu\n",
              static_cast<unsigned long long>(*count), static_cast<unsigned long long>(*seed));
  std::fflush(stdout);
  bool well = true;
  for (const ReaderKind* kind : kinds) well &= fuzz(*kind, *count, *seed);
  std::printf(well ? "all survived\n" : "NOT all is well\n");
  return well ? 0 : 1;
}

}  // namespace
}  // namespace syndrome::fuzz

int main(int argc, char** argv) {
  try {
    return syndrome::fuzz::run(argc, argv);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%s\n", thrown.what());
    syndrome::fuzz::say_which();
    return 1;
  }
}
