// The main program of a fuzzer: NAME [COUNT [SEED]]. Without SEED, one is taken from the clock and
// printed.
//
// Exit code: 0 all agree, 1 a disagreement (printed, shrunk, as STD text), 2 a wrong call.

#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace syndrome::fuzz {

/// As first_disagreement of a check: seeds from the first argument on, so many of them; counts the
/// traces with something to find.
using Compare = std::optional<std::string> (*)(std::uint64_t first, std::uint64_t count,
                                               std::uint64_t* found,
                                               const std::function<void(std::uint64_t)>& progress);

inline std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `what` is compared with the oracle; `found` says what a trace with something to find does.
inline int fuzz_main(int argc, char** argv, const char* name, std::uint64_t usual_count,
                     const std::string& what, const char* found_word, Compare compare) {
  using Clock = std::chrono::steady_clock;
  using Number = unsigned long long;
  const Clock::time_point start = Clock::now();
  const auto count = argc > 1 ? number(argv[1]) : std::optional<std::uint64_t>(usual_count);
  const auto seed = argc > 2 ? number(argv[2])
                             : std::optional<std::uint64_t>(static_cast<std::uint64_t>(
                                   std::chrono::system_clock::now().time_since_epoch().count()));
  if (argc > 3 || !count || !seed) {
    std::fprintf(stderr, "usage: %s [COUNT [SEED]]\n", name);
    return 2;
  }
  std::printf("%llu random traces from seed %llu; the oracle against %s\n",
              static_cast<Number>(*count), static_cast<Number>(*seed), what.c_str());
  std::fflush(stdout);

  std::uint64_t found = 0;
  const auto disagreement = compare(*seed, *count, &found, [&](std::uint64_t done) {
    if (done % 50'000 != 0 || done == 0) return;
    const std::chrono::duration<double> seconds = Clock::now() - start;
    std::printf("%llu done, %llu %s, %.0f s\n", static_cast<Number>(done),
                static_cast<Number>(found), found_word, seconds.count());
    std::fflush(stdout);
  });
  if (disagreement) {
    std::printf("%s", disagreement->c_str());
    return 1;
  }
  std::printf("all agree; %llu of them %s\n", static_cast<Number>(found), found_word);
  return 0;
}

}  // namespace syndrome::fuzz
