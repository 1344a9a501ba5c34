// Packing the words of a recording: as predictable as an inner loop is, and as little as a program
// that jumps about in its memory.

#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <vector>

#include "event/wire.h"
#include "trace/word_codec.h"

namespace syndrome::bench {
namespace {

constexpr std::size_t kWords = 32'768;  // half a ring
constexpr std::size_t kChunks = 16;     // more than the caches near a core hold

/// `surprises`: of 100 accesses, so many are anywhere in 8 MB, at any of 12 sites.
std::vector<std::uint64_t> stream(std::int64_t surprises) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> words;
  std::uint64_t now = 1'000'000;
  for (std::uint64_t i = 0; words.size() < kWords * kChunks; ++i) {
    if (words.size() % wire::kLineWords == 0) {
      words.push_back(wire::time(now += 90 + random() % 20));
    }
    const bool jump = static_cast<std::int64_t>(random() % 100) < surprises;
    const std::uint64_t offset = jump ? random() % (1u << 20) * 8 : 8 * (i / 6);
    const auto site = static_cast<std::uint32_t>(jump ? random() % 12 : i % 6);
    words.push_back(
        wire::access(0x7f00'0000'0000 + (std::uint64_t{site} << 24) + offset, 1 + site));
  }
  return words;
}

void encode_words(benchmark::State& state) {
  const std::vector<std::uint64_t> words = stream(state.range(0));
  const auto encoder = std::make_unique<trace::WordEncoder>();
  std::size_t bytes = 0;
  while (state.KeepRunning()) {
    bytes = 0;
    for (std::size_t i = 0; i < words.size(); i += kWords) {
      bytes += encoder->encode(std::span(words).subspan(i, kWords)).size();
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(words.size()));
  state.counters["bytes/word"] = static_cast<double>(bytes) / static_cast<double>(words.size());
}

void decode_words(benchmark::State& state) {
  const std::vector<std::uint64_t> words = stream(state.range(0));
  const auto encoder = std::make_unique<trace::WordEncoder>();
  std::vector<std::vector<std::byte>> chunks;
  for (std::size_t i = 0; i < words.size(); i += kWords) {
    const auto codes = encoder->encode(std::span(words).subspan(i, kWords));
    chunks.emplace_back(codes.begin(), codes.end());
  }
  const auto decoder = std::make_unique<trace::WordDecoder>();
  std::vector<std::uint64_t> room(kWords);
  while (state.KeepRunning()) {
    for (const auto& codes : chunks) {
      if (decoder->decode(codes, room)) return state.SkipWithError("codes that do not decode");
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(words.size()));
}

BENCHMARK(encode_words)->Arg(0)->Arg(5)->Arg(30)->Arg(100)->ArgName("surprises");
BENCHMARK(decode_words)->Arg(0)->Arg(5)->Arg(30)->Arg(100)->ArgName("surprises");

}  // namespace
}  // namespace syndrome::bench
