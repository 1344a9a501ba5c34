// Compares every way to decide atomicity with the oracle on random traces, for as long as it is
// told: atomicity_fuzz [COUNT [SEED]]. Without SEED, one is taken from the clock and printed.
//
// Exit code: 0 all agree, 1 a disagreement (printed, shrunk, as STD text), 2 a wrong call.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "check/atomicity/differential.h"

namespace {

using syndrome::check::differential_engines;
using syndrome::check::first_disagreement;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const auto start = std::chrono::steady_clock::now();
  const auto count = argc > 1 ? number(argv[1]) : std::optional<std::uint64_t>(500'000);
  const auto seed = argc > 2 ? number(argv[2])
                             : std::optional<std::uint64_t>(static_cast<std::uint64_t>(
                                   std::chrono::system_clock::now().time_since_epoch().count()));
  if (argc > 3 || !count || !seed) {
    std::fputs("usage: atomicity_fuzz [COUNT [SEED]]\n", stderr);
    return 2;
  }

  std::printf("%llu random traces from seed %llu; the oracle against",
              static_cast<unsigned long long>(*count), static_cast<unsigned long long>(*seed));
  const char* separator = " ";
  for (const auto& engine : differential_engines()) {
    std::printf("%s%s", separator, std::string(engine.name).c_str());
    separator = ", ";
  }
  std::printf("\n");
  std::fflush(stdout);

  std::uint64_t violated = 0;
  const auto found = first_disagreement(*seed, *count, &violated, [&](std::uint64_t done) {
    if (done % 50'000 != 0 || done == 0) return;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%llu done, %llu violate, %.0f s\n", static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(violated), seconds.count());
    std::fflush(stdout);
  });
  if (found) {
    std::printf("%s", found->c_str());
    return 1;
  }
  std::printf("all agree; %llu of them violate\n", static_cast<unsigned long long>(violated));
  return 0;
}
