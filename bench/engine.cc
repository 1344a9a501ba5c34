// What an access costs in the live engine (src/engine/), in nanoseconds, by what it meets in its
// cell: bench_engine [ROUNDS].

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "event/wire.h"

namespace {

using namespace syndrome;
using engine::Entry;
using wire::Word;

constexpr std::uint64_t kBytes = std::uint64_t{1} << 22;  // of memory that has cells
constexpr std::uint64_t kFew = 64;                        // granules
constexpr std::uint64_t kMany = kBytes / 8;

void* map(void*, std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

/// One function: a read and a write of 8 bytes each, which nothing connects, or a flow does.
struct Unit {
  unit::Header header;
  unit::Function function;
  std::array<unit::Site, 2> sites;
  unit::Flow flow;
};

std::unique_ptr<Unit> make_unit(bool connected) {
  auto made = std::make_unique<Unit>();
  made->header.magic = unit::kMagic;
  made->header.functions = 1;
  made->header.sites = 2;
  made->header.flows = connected ? 1 : 0;
  made->function.sites = 2;
  made->sites[0].kind = unit::SiteKind::kRead;
  made->sites[1].kind = unit::SiteKind::kWrite;
  made->sites[0].bytes = made->sites[1].bytes = 8;
  made->flow = {.from = 0, .to = 1, .how = unit::kFlowData};
  return made;
}

class Bench {
 public:
  Bench(bool connected, std::uint64_t rounds) : unit_(make_unit(connected)), rounds_(rounds) {
    engine::Host host;
    host.map = map;
    host.clear_cells = [](void*) {};
    host.pause = [](void*) {};
    cells_ = static_cast<Entry*>(map(nullptr, kBytes / 8 * sizeof(Entry) * engine::kLanes));
    if (cells_ == nullptr || !engine_->start(host, {cells_, kBytes - 1})) std::abort();
    engine_->announce(&unit_->header);
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i] = static_cast<engine::Thread*>(map(nullptr, sizeof(engine::Thread)));
      engine_->start(*threads_[i], i);
      engine_->enter(*threads_[i], &unit_->function, 0);
    }
  }

  /// Words of accesses to so many granules, in lines.
  void fill(std::uint64_t granules, std::uint32_t site) {
    words_.clear();
    for (std::uint64_t i = 0; i < granules; ++i) words_.push_back(wire::access(i * 8, site));
  }
  void pass(std::size_t thread) {
    for (std::size_t at = 0; at < words_.size(); at += 31) {
      const std::size_t end = std::min(words_.size(), at + 31);
      engine_->take(*threads_[thread], words_.data() + at, words_.data() + end);
    }
  }
  void locked_pass(std::size_t thread) {
    engine_->acquire(*threads_[thread], 0x100, false);
    pass(thread);
    engine_->release(*threads_[thread], 0x100, false);
  }
  void measure(std::string_view name, const std::function<void(std::uint64_t)>& round) {
    round(0);
    const std::uint64_t before = accesses();
    const std::clock_t start = std::clock();  // of the processor: the machine may be busy
    const std::uint64_t times = std::max<std::uint64_t>(1, rounds_ / words_.size());
    for (std::uint64_t i = 0; i < times; ++i) round(i);
    const double took = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    fmt::print("{:<52} {:6.1f}\n", name, took / static_cast<double>(accesses() - before));
  }
  std::uint64_t accesses() const {
    return threads_[0]->counters.accesses + threads_[1]->counters.accesses;
  }

 private:
  std::unique_ptr<Unit> unit_;
  std::unique_ptr<engine::Engine> engine_ = std::make_unique<engine::Engine>();
  Entry* cells_ = nullptr;
  std::array<engine::Thread*, 2> threads_{};
  std::vector<Word> words_;
  std::uint64_t rounds_;
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t rounds = 20'000'000;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), rounds);
  fmt::print("{:<52} {:>6}\n", "an access that meets", "ns");
  for (const bool connected : {false, true}) {
    Bench bench(connected, rounds);
    const std::string_view by = connected ? ", connected" : "";
    bench.fill(kFew, 1);
    bench.measure(fmt::format("itself{}", by), [&](std::uint64_t) { bench.pass(0); });
    bench.measure(fmt::format("its own of an older epoch{}", by),
                  [&](std::uint64_t) { bench.locked_pass(0); });
    bench.fill(kMany, 1);
    bench.measure(fmt::format("its own of an older epoch, 16 MiB of cells{}", by),
                  [&](std::uint64_t) { bench.locked_pass(0); });
    bench.fill(kFew, 2);
    bench.measure(fmt::format("those of another thread under one lock{}", by),
                  [&](std::uint64_t i) { bench.locked_pass(i % 2); });
  }
  return 0;
}
