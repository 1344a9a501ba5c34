// Every sequence of words comes out as it went in, and no sequence of bytes does harm.

#include "trace/word_codec.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "event/wire.h"

namespace syndrome::trace {
namespace {

std::vector<std::uint64_t> loop(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words;
  std::uint64_t now = random() >> 6;
  for (std::size_t i = 0; words.size() < size; ++i) {
    if (words.size() % wire::kLineWords == 0)
      words.push_back(wire::time(now += 90 + random() % 20));
    words.push_back(wire::access(0x7f0000100000 + 8 * i, static_cast<std::uint32_t>(1 + i % 3)));
    if (random() % 20 == 0) words.push_back(random());
  }
  words.resize(size);
  return words;
}

TEST(WordCodec, GivesBackWhatItTook) {
  const auto encoder = std::make_unique<WordEncoder>();
  const auto decoder = std::make_unique<WordDecoder>();
  std::mt19937_64 random(1);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<std::uint64_t> words = loop(1 + random() % 3000, seed);
    if (seed % 4 == 0) {
      for (std::uint64_t& word : words) word = random();
    }
    std::vector<std::byte> codes;
    encoder->encode(words, codes);
    ASSERT_LE(codes.size(), words.size() * kMaxWordCode);
    std::vector<std::uint64_t> again(words.size());
    ASSERT_EQ(decoder->decode(codes, again), std::nullopt) << seed;
    ASSERT_EQ(again, words) << seed;
  }
}

TEST(WordCodec, TakesLittleForALoop) {
  std::vector<std::uint64_t> words;
  std::uint64_t now = 1000;
  for (std::uint64_t i = 0; words.size() < 32'000; ++i) {
    if (words.size() % wire::kLineWords == 0) words.push_back(wire::time(now += 100));
    words.push_back(wire::access(0x7f0000100000 + 8 * i, 1));
  }
  std::vector<std::byte> codes;
  std::make_unique<WordEncoder>()->encode(words, codes);
  EXPECT_LT(codes.size(), words.size() / 20);
}

TEST(WordCodec, RefusesWhatNoEncoderMakes) {
  const auto decoder = std::make_unique<WordDecoder>();
  std::vector<std::uint64_t> words(4);
  const auto decode = [&](std::vector<unsigned> bytes) {
    std::vector<std::byte> codes;
    for (const unsigned b : bytes) codes.push_back(static_cast<std::byte>(b));
    return decoder->decode(codes, words).value_or("");
  };
  EXPECT_EQ(decode({3}), "");
  EXPECT_EQ(decode({2}), "fewer words than the chunk's header tells");
  EXPECT_EQ(decode({4}), "more words than the chunk's header tells");
  EXPECT_EQ(decode({3, 0x80}), "more words than the chunk's header tells");
  EXPECT_EQ(decode({0x87}), "a code of words that does not exist");
  EXPECT_EQ(decode({0x82, 1}), "the codes of words end in the middle of one");
  EXPECT_EQ(decode({0xc0, 1}), "the codes of words end in the middle of one");
}

TEST(WordCodec, SurvivesAnyBytes) {
  const auto decoder = std::make_unique<WordDecoder>();
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> words(300);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> codes(random() % 200);
    for (std::byte& b : codes) b = static_cast<std::byte>(random());
    static_cast<void>(decoder->decode(codes, words));
  }
}

}  // namespace
}  // namespace syndrome::trace
