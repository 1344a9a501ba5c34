// Reads a trace and does nothing with it: the limit for every check of that file.
//
//   bench_decode FILE         prints how many events there are

#include <fmt/format.h>

#include <cstdint>

#include "trace/input.h"

int main(int argc, char** argv) {
  using namespace syndrome;
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_decode FILE\n");
    return 2;
  }
  Result<trace::Input> input = trace::Input::open(argv[1]);
  if (!input) {
    fmt::print(stderr, "{}: {}\n", argv[1], input.error().message);
    return 2;
  }
  auto source = input->read();
  if (!source) {
    fmt::print(stderr, "{}: {}\n", argv[1], source.error().message);
    return 2;
  }
  std::uint64_t events = 0;
  while (true) {
    const Result<Batch> batch = (*source)->next();
    if (!batch) {
      fmt::print(stderr, "{}: {}\n", argv[1], batch.error().message);
      return 2;
    }
    if (batch->empty()) break;
    events += batch->events.size();
  }
  fmt::print("{}\n", events);
  return 0;
}
