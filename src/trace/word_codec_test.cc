// Every sequence of words comes out as it went in, and no sequence of bytes does harm.

#include "trace/word_codec.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

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
    const auto codes = encoder->encode(words);
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
  const auto encoder = std::make_unique<WordEncoder>();
  EXPECT_LT(encoder->encode(words).size(), words.size() / 20);
}

TEST(WordCodec, TakesLittleForCallsFromSeveralSites) {
  // What follows an exit is told by who called.
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; words.size() < 32'000; ++i) {
    const auto put = [&](std::uint64_t word) {
      if (words.size() % wire::kLineWords == 0) words.push_back(wire::time(100 * words.size()));
      words.push_back(word);
    };
    for (std::uint32_t site = 1; site <= 4; ++site) {
      put(wire::control(wire::Control::kEnter, 0x5555'0000'1230, 10 + site));
      put(wire::access(0x7ffe'0000'1000, 1));
      put(wire::control(wire::Control::kExit, 0x5555'0000'1230, 0));
      put(wire::access(0x7f00'0010'0000 + 8 * i + std::uint64_t{4096} * site, site));
    }
  }
  const auto encoder = std::make_unique<WordEncoder>();
  EXPECT_LT(encoder->encode(words).size(), words.size() / 20);
}

// The formats page's rules, word by word: what the fast encoder must agree with.
std::vector<std::uint64_t> decode_slowly(std::span<const std::byte> codes, std::size_t count) {
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint64_t>(codes[at]); };
  std::size_t off = 4;
  std::size_t at = 4 + (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24);
  struct Place {
    std::uint64_t last = 0, step = 0;
  };
  std::map<std::uint64_t, Place> places;
  std::deque<std::uint64_t> before(5, 0);  // traits, the last word's first
  std::vector<std::uint64_t> words;
  std::vector<unsigned> line;
  while (words.size() < count) {
    const std::size_t in_line = words.size() % 32;
    if (in_line == 0) {
      line.assign(32, 0);
      const std::uint64_t head = byte(at++);
      for (std::size_t g = 0; g < 4; ++g) {
        if ((head >> (4 + g) & 1) == 0) continue;
        for (std::size_t k = 0; k < 8; ++k) {
          line[g + 4 * k] = static_cast<unsigned>(byte(at + k / 2) >> (k % 2 * 4)) & 15;
        }
        at += 4;
      }
      line[0] = static_cast<unsigned>(head & 15);
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < before.size(); ++i) sum += before[i] << i;
    Place& place = places[in_line == 0 ? 2048 : sum / 2 % 2048];
    constexpr std::size_t kLengths[] = {0, 1, 2, 3, 4, 6, 8};
    std::uint64_t folded = 0;
    for (std::size_t i = 0; i < kLengths[line[in_line] % 8]; ++i) folded |= byte(off + i) << 8 * i;
    off += kLengths[line[in_line] % 8];
    const std::uint64_t difference = folded % 2 == 0 ? folded / 2 : ~(folded / 2);
    const std::uint64_t expected = place.last + (line[in_line] >= 8 ? 0 : place.step);
    const std::uint64_t word = expected + difference;
    place = {word, word - place.last};
    words.push_back(word);
    if (in_line == 0) continue;
    const std::uint64_t own = (word >> 47) % 2 == 1 ? word ^ word >> 5 : 0;
    before.push_front(10 * (word >> 48) + own);
    before.pop_back();
  }
  return words;
}

TEST(WordCodec, IsAsDescribed) {
  const auto encoder = std::make_unique<WordEncoder>();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::uint64_t> words = loop(1000 + seed, seed);
    ASSERT_EQ(decode_slowly(encoder->encode(words), words.size()), words) << seed;
  }
}

TEST(WordCodec, RefusesWhatNoEncoderMakes) {
  const auto decoder = std::make_unique<WordDecoder>();
  std::vector<std::uint64_t> words(4);
  const auto decode = [&](const std::vector<unsigned>& bytes) {
    std::vector<std::byte> codes;
    for (const unsigned b : bytes) codes.push_back(static_cast<std::byte>(b));
    return decoder->decode(codes, words).value_or("");
  };
  constexpr const char* kCut = "the codes of words end in the middle of one";
  EXPECT_EQ(decode({0, 0, 0, 0, 0}), "");
  EXPECT_EQ(decode({1, 0, 0, 0, 9, 1}), "");
  EXPECT_EQ(decode({0, 0, 0}), kCut);
  EXPECT_EQ(decode({2, 0, 0, 0, 9}), kCut);
  EXPECT_EQ(decode({0, 0, 0, 0}), "fewer words than the chunk's header tells");
  EXPECT_EQ(decode({0, 0, 0, 0, 0x10, 1, 0, 0}), kCut);
  EXPECT_EQ(decode({1, 0, 0, 0, 9, 2}), kCut);
  EXPECT_EQ(decode({0, 0, 0, 0, 7}), "a code of words that does not exist");
  EXPECT_EQ(decode({0, 0, 0, 0, 15}), "a code of words that does not exist");
  constexpr const char* kMore = "more words than the chunk's header tells";
  EXPECT_EQ(decode({0, 0, 0, 0, 0, 0}), kMore);                 // a second line
  EXPECT_EQ(decode({1, 0, 0, 0, 9, 0}), kMore);                 // a distance of no word
  EXPECT_EQ(decode({0, 0, 0, 0, 0x20, 0x10, 0, 0, 0}), kMore);  // a code of word 5
}

TEST(WordCodec, SurvivesAnyBytes) {
  const auto decoder = std::make_unique<WordDecoder>();
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> words(300);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> codes(random() % 200);
    for (std::byte& b : codes) b = static_cast<std::byte>(random());
    // Half of them with a size that may be right.
    if (i % 2 == 0 && codes.size() >= 4) {
      codes[0] = static_cast<std::byte>(random() % codes.size());
      codes[1] = codes[2] = codes[3] = std::byte{0};
    }
    static_cast<void>(decoder->decode(codes, words));
  }
}

}  // namespace
}  // namespace syndrome::trace
