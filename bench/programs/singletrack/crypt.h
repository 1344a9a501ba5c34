// IDEA, encrypted and decrypted again; each thread has a part of the text.

#pragma once

#include <array>

#include "program.h"

namespace cipher {

constexpr std::size_t kThreads = 4;
constexpr std::size_t kBlock = 8;
constexpr std::size_t kRounds = 8;
constexpr std::size_t kKeys = 6 * kRounds + 4;

using Text = std::vector<std::uint8_t>;
using UserKey = std::array<std::uint16_t, 8>;
using Keys = std::array<std::uint16_t, kKeys>;

constexpr std::uint32_t kModulus = 65537;

// 0 stands for 2^16.
inline std::uint16_t times(std::uint32_t a, std::uint32_t b) {
  if (a == 0) a = kModulus - 1;
  if (b == 0) b = kModulus - 1;
  return static_cast<std::uint16_t>(std::uint64_t{a} * b % kModulus);
}

/// By Fermat: x^(p-2).
SYNDROME_DETERMINISTIC inline std::uint16_t inverse(std::uint16_t x) {
  std::uint16_t result = 1;
  for (std::uint32_t bit = 1U << 15U; bit != 0; bit >>= 1U) {
    result = times(result, result);
    if (((kModulus - 2) & bit) != 0) result = times(result, x);
  }
  return result;
}

/// The user's 128 bits, rotated by 25 after each eight keys.
SYNDROME_DETERMINISTIC inline void make_encryption_keys(const UserKey& user, Keys& keys) {
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::size_t bit = i / 8 * 25 + i % 8 * 16;
    const std::uint32_t pair =
        static_cast<std::uint32_t>(user[bit / 16 % 8]) << 16U | user[(bit / 16 + 1) % 8];
    keys[i] = static_cast<std::uint16_t>(pair >> (16 - bit % 16));
  }
}

SYNDROME_DETERMINISTIC inline void make_decryption_keys(const Keys& from, Keys& keys) {
  const auto minus = [](std::uint16_t x) { return static_cast<std::uint16_t>(-x); };
  for (std::size_t round = 0; round <= kRounds; ++round) {
    const std::size_t at = 6 * round;
    const std::size_t back = 6 * (kRounds - round);
    // Between the first and the last round the two in the middle have changed places.
    const bool outer = round == 0 || round == kRounds;
    keys[at] = inverse(from[back]);
    keys[at + 1] = minus(from[back + (outer ? 1 : 2)]);
    keys[at + 2] = minus(from[back + (outer ? 2 : 1)]);
    keys[at + 3] = inverse(from[back + 3]);
    if (round == kRounds) break;
    keys[at + 4] = from[back - 2];
    keys[at + 5] = from[back - 1];
  }
}

inline void one_block(const std::uint8_t* in, std::uint8_t* out, const Keys& keys) {
  std::array<std::uint16_t, 4> x;
  for (std::size_t i = 0; i < 4; ++i) {
    x[i] = static_cast<std::uint16_t>(in[2 * i] << 8U | in[2 * i + 1]);
  }
  const auto sum = [](std::uint16_t a, std::uint16_t b) {
    return static_cast<std::uint16_t>(a + b);
  };
  for (std::size_t at = 0; at < 6 * kRounds; at += 6) {
    x[0] = times(x[0], keys[at]);
    x[1] = sum(x[1], keys[at + 1]);
    x[2] = sum(x[2], keys[at + 2]);
    x[3] = times(x[3], keys[at + 3]);
    const std::uint16_t even = times(x[0] ^ x[2], keys[at + 4]);
    const std::uint16_t odd = times(sum(x[1] ^ x[3], even), keys[at + 5]);
    const std::uint16_t both = sum(even, odd);
    x[0] ^= odd;
    x[3] ^= both;
    const std::uint16_t second = x[1] ^ both;
    x[1] = x[2] ^ odd;
    x[2] = second;
  }
  const std::array<std::uint16_t, 4> y = {times(x[0], keys[kKeys - 4]), sum(x[2], keys[kKeys - 3]),
                                          sum(x[1], keys[kKeys - 2]), times(x[3], keys[kKeys - 1])};
  for (std::size_t i = 0; i < 4; ++i) {
    out[2 * i] = static_cast<std::uint8_t>(y[i] >> 8U);
    out[2 * i + 1] = static_cast<std::uint8_t>(y[i]);
  }
}

SYNDROME_DETERMINISTIC inline void cipher_part(const Text& in, Text& out, const Keys& keys,
                                               Part part) {
  for (std::size_t block = part.from; block < part.to; ++block) {
    one_block(&in[block * kBlock], &out[block * kBlock], keys);
  }
}

SYNDROME_DETERMINISTIC inline void cipher_all(const Text& in, Text& out, const Keys& keys) {
  in_parallel(kThreads, [&](std::size_t id) {
    cipher_part(in, out, keys, Part(in.size() / kBlock, id, kThreads));
  });
}

SYNDROME_DETERMINISTIC inline bool kernel(const Text& plain, const Keys& encrypt,
                                          const Keys& decrypt) {
  Text hidden(plain.size());
  Text back(plain.size());
  cipher_all(plain, hidden, encrypt);
  cipher_all(hidden, back, decrypt);
  return back == plain && hidden != plain;
}

/// The example of the cipher's inventors.
SYNDROME_DETERMINISTIC inline bool known_answer() {
  Keys keys;
  make_encryption_keys({1, 2, 3, 4, 5, 6, 7, 8}, keys);
  const std::array<std::uint8_t, kBlock> plain = {0, 0, 0, 1, 0, 2, 0, 3};
  std::array<std::uint8_t, kBlock> hidden;
  one_block(plain.data(), hidden.data(), keys);
  return hidden == std::array<std::uint8_t, kBlock>{0x11, 0xFB, 0xED, 0x2B, 0x01, 0x98, 0x6D, 0xE5};
}

SYNDROME_DETERMINISTIC inline bool run(const Call& call) {
  Random random(136506717);
  UserKey user;
  for (std::uint16_t& part : user) part = static_cast<std::uint16_t>(random.bits());
  Keys encrypt;
  Keys decrypt;
  make_encryption_keys(user, encrypt);
  make_decryption_keys(encrypt, decrypt);
  Text plain(call.pick<std::size_t>(2'000, 300'000, 3'000'000) / kBlock * kBlock);
  for (std::uint8_t& letter : plain) letter = static_cast<std::uint8_t>(random.bits());
  return kernel(plain, encrypt, decrypt) && known_answer();
}

}  // namespace cipher
