#include "trace/word_codec.h"

#include <algorithm>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "distances are stored as they are");

#if defined(__x86_64__) && !defined(__AVX2__)
#define SYNDROME_WITH_AVX2 1
#else
#define SYNDROME_WITH_AVX2 0
#endif
#if defined(__AVX2__)
#define SYNDROME_ALWAYS_WIDE true
#else
#define SYNDROME_ALWAYS_WIDE false
#endif
#define SYNDROME_INLINE inline __attribute__((always_inline))

namespace syndrome::trace {
namespace {

using wire::kLineWords;
using U64 = std::uint64_t;
// Four words at once; compilers make two of two from it for processors without AVX2. Never an
// argument, because how it is passed depends on the processor.
using Four [[gnu::vector_size(32), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;
using SignedFour [[gnu::vector_size(32)]] = std::int64_t;
using Two [[gnu::vector_size(16), gnu::aligned(16), gnu::may_alias]] = std::uint64_t;

static_assert(kLineWords == 32, "eight codes of four bits are a group, four groups a line");
constexpr std::size_t kGroups = 4;
constexpr std::size_t kOthers = kLineWords - 1;  // words of a line that are no time
constexpr U64 kPlaceMask = 2 * (WordPlaces::kTime - 1);
constexpr unsigned kFromLast = 8;
constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kMaxLine = 1 + 4 * kGroups;
constexpr std::size_t kMaxOffs = 8 * kLineWords;
constexpr std::array<std::uint8_t, 16> kLength = {0, 1, 2, 3, 4, 6, 8, 0, 0, 1, 2, 3, 4, 6, 8, 0};
constexpr std::array<U64, 16> kLengthMask = [] {
  std::array<U64, 16> masks{};
  for (std::size_t i = 0; i < masks.size(); ++i) {
    masks[i] = kLength[i] == 8 ? ~U64{0} : (U64{1} << (8 * kLength[i])) - 1;
  }
  return masks;
}();
constexpr unsigned kNoCode = 7;  // these of the lower three bits

/// What a word means for the places of those that follow, by the same arithmetic as in
/// encode_line().
SYNDROME_INLINE U64 trait(U64 word) {
  const U64 upper = word >> wire::kTopShift;
  const auto control =
      static_cast<U64>(static_cast<std::int64_t>(word << (63 - wire::kAddressBits)) >> 63);
  return (upper << 1) + (upper << 3) + ((word ^ (word >> 5)) & control);
}

struct Distance {
  U64 off;
  unsigned code;
};

/// The same as encode_line() does with four.
SYNDROME_INLINE Distance distance(U64 moved, U64 beside) {
  const auto fold = [](U64 off) { return (off << 1) ^ (0 - (off >> 63)); };
  const U64 from_last = fold(moved);
  const U64 from_step = fold(beside);
  const bool nearer = from_last < from_step;
  const U64 off = nearer ? from_last : from_step;
  constexpr std::array<std::uint8_t, 9> kCodes = {0, 1, 2, 3, 4, 5, 5, 6, 6};
  const unsigned code = kCodes[(static_cast<unsigned>(std::bit_width(off)) + 7) / 8];
  return {off, code | (nearer ? kFromLast : 0)};
}

struct Lines {
  // Traits of the kBefore words before the line, then of its own. One more for a whole vector.
  alignas(32) std::array<U64, WordPlaces::kBefore + kLineWords> traits{};
  alignas(32) std::array<U64, kLineWords + 4> places{};  // not of the first; three unused
  alignas(32) std::array<U64, 8> offs{};
  alignas(32) std::array<U64, 8> lengths{};
};

/// Puts `word` at a place, and gives the {step, last} that were there.
SYNDROME_INLINE Two exchange(U64* table, U64 place, U64 word) {
  Two& entry = *reinterpret_cast<Two*>(table + place);
  const Two before = entry;
  entry = Two{word, word} - __builtin_shufflevector(before, Two{0, 0}, 1, 2);
  return before;
}

/// One line, of which the first `count` words count. kWide: the processor compares four at a time.
template <bool kWhole, bool kWide>
SYNDROME_INLINE void encode_line(const U64* words, std::size_t count, U64* table, Lines& line,
                                 std::byte*& offs, std::byte*& codes) {
  constexpr std::size_t kBefore = WordPlaces::kBefore;
  // Where each word stands.
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kLineWords; i += 4) {
    const std::size_t at = std::min(i, kOthers - 4);  // the last four overlap with those before
    const Four word = *reinterpret_cast<const Four*>(words + 1 + at);
    const Four upper = word >> wire::kTopShift;
    const Four control = 0 - ((word >> wire::kAddressBits) & 1);
    *reinterpret_cast<Four*>(line.traits.data() + kBefore + at) =
        (upper << 1) + (upper << 3) + ((word ^ (word >> 5)) & control);
  }
  for (std::size_t i = 0; i < kLineWords; i += 4) {
    const U64* const last = line.traits.data() + kBefore - 1 + i;
    Four place = *reinterpret_cast<const Four*>(last);
#pragma GCC unroll 8
    for (std::size_t back = 1; back < kBefore; ++back) {
      place += *reinterpret_cast<const Four*>(last - back) << (WordPlaces::kShift * back);
    }
    *reinterpret_cast<Four*>(line.places.data() + 1 + i) = place & kPlaceMask;
  }
  for (std::size_t i = 0; i < kBefore; ++i) line.traits[i] = line.traits[kOthers + i];

  const Two before_time = exchange(table, 2 * WordPlaces::kTime, words[0]);
  const U64 passed = words[0] - before_time[1];
  const Distance time = distance(passed, passed - before_time[0]);
  std::memcpy(offs, &time.off, 8);
  offs += kLength[time.code];

  // Eight words at a time: what stood there before them and, when it was not a step away, how far
  // off that is, and how many bytes this takes.
  Four all{};
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kLineWords; i += 8) {
    Four moved[2];  // arrays of the library would lose the alignment
    Four beside[2];
#pragma GCC unroll 2
    for (std::size_t h = 0; h < 2; ++h) {
      const std::size_t k = i + 4 * h;
      const Two first =
          k == 0 ? Two{0, words[0]} : exchange(table, line.places[k], words[k]);  // done above
      const Two second = exchange(table, line.places[k + 1], words[k + 1]);
      const Two third = exchange(table, line.places[k + 2], words[k + 2]);
      const Two fourth = exchange(table, line.places[k + 3], words[k + 3]);
      const Four even = __builtin_shufflevector(first, third, 0, 1, 2, 3);
      const Four odd = __builtin_shufflevector(second, fourth, 0, 1, 2, 3);
      const Four step = __builtin_shufflevector(even, odd, 0, 4, 2, 6);
      const Four last = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
      moved[h] = *reinterpret_cast<const Four*>(words + k) - last;
      beside[h] = moved[h] - step;
      if constexpr (!kWhole) {
        const Four number = Four{0, 1, 2, 3} + k;
        const Four counts = (Four)((SignedFour)number < static_cast<std::int64_t>(count));
        moved[h] &= counts;
        beside[h] &= counts;
      }
    }
    const Four any = beside[0] | beside[1];
    if (((any[0] | any[1]) | (any[2] | any[3])) == 0) continue;
    if constexpr (!kWide) {
      for (std::size_t k = 0; k < 8; ++k) {
        const Distance word = distance(moved[k / 4][k % 4], beside[k / 4][k % 4]);
        std::memcpy(offs, &word.off, 8);
        offs += kLength[word.code];
        all[k % 4] |= U64{word.code} << (i + k / 4 * 4);
      }
      continue;
    }
#pragma GCC unroll 2
    for (std::size_t h = 0; h < 2; ++h) {
      const Four from_last = (moved[h] << 1) ^ (0 - (moved[h] >> 63));
      const Four from_step = (beside[h] << 1) ^ (0 - (beside[h] >> 63));
      // Halves, because vectors compare as signed numbers.
      const Four nearer = (Four)((SignedFour)(from_last >> 1) < (SignedFour)(from_step >> 1));
      const Four off = (from_last & nearer) | (from_step & ~nearer);
      const auto s = (SignedFour)off;
      const Four huge = (Four)(s < 0);
      const Four over6 = (Four)(s > 0xffff'ffff'ffff) | huge;
      const Four over4 = (Four)(s > 0xffff'ffff) | huge;
      const Four code = 0 - ((Four)(s > 0) + (Four)(s > 0xff) + (Four)(s > 0xffff) +
                             (Four)(s > 0xff'ffff) + over4 + over6 + (huge << 2));
      *reinterpret_cast<Four*>(line.offs.data() + 4 * h) = off;
      *reinterpret_cast<Four*>(line.lengths.data() + 4 * h) = code - over4 - over6;
      all |= (code | (nearer & kFromLast)) << (i + 4 * h);
    }
    // Eight bytes each; the next one leaves those that count.
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      std::memcpy(offs, &line.offs[k], 8);
      offs += line.lengths[k];
    }
  }
  std::byte* const head = codes++;
  unsigned mask = time.code;
#pragma GCC unroll 4
  for (std::size_t g = 0; g < kGroups; ++g) {
    const auto group = static_cast<std::uint32_t>(all[g]);
    std::memcpy(codes, &group, 4);
    codes += group != 0 ? 4 : 0;
    mask |= (group != 0 ? 1u : 0u) << (4 + g);
  }
  *head = static_cast<std::byte>(mask);
}

struct Ends {
  std::byte* offs;
  std::byte* codes;
};

template <bool kWide>
SYNDROME_INLINE Ends encode_words(std::span<const U64> words, U64* table, std::byte* offs,
                                  std::byte* codes) {
  Lines line;
  const std::size_t whole = words.size() / kLineWords * kLineWords;
  for (std::size_t i = 0; i < whole; i += kLineWords) {
    encode_line<true, kWide>(words.data() + i, kLineWords, table, line, offs, codes);
  }
  if (whole < words.size()) {
    std::array<U64, kLineWords> rest{};
    std::copy(words.begin() + static_cast<std::ptrdiff_t>(whole), words.end(), rest.begin());
    encode_line<false, kWide>(rest.data(), words.size() - whole, table, line, offs, codes);
  }
  return {offs, codes};
}

Ends encode_anywhere(std::span<const U64> words, U64* table, std::byte* offs, std::byte* codes) {
  return encode_words<SYNDROME_ALWAYS_WIDE>(words, table, offs, codes);
}
#if SYNDROME_WITH_AVX2
__attribute__((target("avx2"))) Ends encode_with_avx2(std::span<const U64> words, U64* table,
                                                      std::byte* offs, std::byte* codes) {
  return encode_words<true>(words, table, offs, codes);
}
const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
#endif

}  // namespace

std::span<std::byte> WordEncoder::encode(std::span<const U64> words, std::size_t front) {
  places_.table.fill(0);
  const std::size_t lines = (words.size() + kLineWords - 1) / kLineWords;
  const std::size_t max_codes = lines * kMaxLine;
  // Eight more, because distances are stored eight bytes at a time, and four for the last group.
  const std::size_t room = front + kSizeBytes + words.size() * 8 + 8 + max_codes;
  if (room > room_) {
    room_ = room;
    out_ = std::make_unique_for_overwrite<std::byte[]>(room);
    codes_ = std::make_unique_for_overwrite<std::byte[]>(room);
  }
  std::byte* const offs = out_.get() + front + kSizeBytes;
#if SYNDROME_WITH_AVX2
  const auto run = kHasAvx2 ? encode_with_avx2 : encode_anywhere;
#else
  const auto run = encode_anywhere;
#endif
  const Ends ends = run(words, places_.table.data(), offs, codes_.get());
  const auto size = static_cast<std::uint32_t>(ends.offs - offs);
  std::memcpy(out_.get() + front, &size, kSizeBytes);
  const auto codes = static_cast<std::size_t>(ends.codes - codes_.get());
  std::memcpy(ends.offs, codes_.get(), codes);
  return {out_.get(), front + kSizeBytes + size + codes};
}

std::optional<std::string> WordDecoder::decode(std::span<const std::byte> codes,
                                               std::span<U64> words) {
  constexpr std::size_t kBefore = WordPlaces::kBefore;
  constexpr const char* kTooShort = "the codes of words end in the middle of one";
  places_.table.fill(0);
  U64* const table = places_.table.data();
  std::uint32_t size = 0;
  if (codes.size() < kSizeBytes) return kTooShort;
  std::memcpy(&size, codes.data(), kSizeBytes);
  codes = codes.subspan(kSizeBytes);
  if (codes.size() < size) return kTooShort;
  std::span<const std::byte> offs = codes.first(size);
  codes = codes.subspan(size);

  std::array<U64, kBefore + kLineWords> traits{};
  std::array<std::byte, kMaxOffs + 8> copy{};
  for (std::size_t start = 0; start < words.size(); start += kLineWords) {
    if (codes.empty()) return "fewer words than the chunk's header tells";
    const auto head = std::to_integer<unsigned>(codes[0]);
    codes = codes.subspan(1);
    std::array<std::uint32_t, kGroups> groups{};
    if (codes.size() < 4 * static_cast<std::size_t>(std::popcount(head >> 4))) return kTooShort;
    for (std::size_t g = 0; g < kGroups; ++g) {
      if ((head >> (4 + g) & 1) == 0) continue;
      std::memcpy(&groups[g], codes.data(), 4);
      codes = codes.subspan(4);
    }
    // One look at the bounds for each line: behind the last distances there are zeros to read.
    const std::byte* from = offs.data();
    if (offs.size() < copy.size()) {
      copy.fill(std::byte{0});
      std::copy(offs.begin(), offs.end(), copy.begin());
      from = copy.data();
    }
    const std::byte* const begin = from;
    const std::size_t count = std::min(kLineWords, words.size() - start);
    U64* const line = words.data() + start;
    U64 sum = 0;  // of the traits, that of the last word left out
    for (std::size_t i = 1; i < kBefore; ++i) {
      sum += traits[kBefore - 1 - i] << (WordPlaces::kShift * i);
    }
    U64 last_trait = traits[kBefore - 1];
    const auto remember = [&](std::size_t i) {
      const U64 oldest = traits[i - 1] << (WordPlaces::kShift * (kBefore - 1));
      sum = (sum + last_trait - oldest) << WordPlaces::kShift;
      last_trait = trait(line[i]);
      traits[kBefore - 1 + i] = last_trait;
    };
    // Here {next, last}: what is expected at the place, so that a word waits for less.
    const auto put = [&](U64 place, unsigned code) {
      const unsigned length = kLength[code];
      U64 off = 0;
      std::memcpy(&off, from, 8);
      off &= kLengthMask[code];
      from += length;
      const U64 last = table[place + 1];
      const U64 base = code >= kFromLast ? last : table[place];
      const U64 word = base + ((off >> 1) ^ (0 - (off & 1)));
      table[place] = 2 * word - last;
      table[place + 1] = word;
      return word;
    };
    line[0] = put(2 * WordPlaces::kTime, head & 15);
    unsigned wrong = (head & 7) == kNoCode ? 1u : 0u;
    if (head >> 4 == 0) {
      for (std::size_t i = 1; i < count; ++i) {
        const U64 place = (sum + last_trait) & kPlaceMask;
        const U64 word = table[place];
        table[place] = 2 * word - table[place + 1];
        table[place + 1] = word;
        line[i] = word;
        remember(i);
      }
    } else {
      for (std::size_t i = 1; i < count; ++i) {
        const unsigned code = groups[i % 4] >> (i / 4 * 4) & 15;
        wrong |= (code & 7) == kNoCode ? 1u : 0u;
        line[i] = put((sum + last_trait) & kPlaceMask, code);
        remember(i);
      }
      for (std::size_t i = count; i < kLineWords; ++i) {
        if ((groups[i % 4] >> (i / 4 * 4) & 15) != 0) {
          return "more words than the chunk's header tells";
        }
      }
      if ((groups[0] & 15) != 0) return "a code of words that does not exist";
    }
    for (std::size_t i = 0; i < kBefore; ++i) traits[i] = traits[kOthers + i];
    const auto used = static_cast<std::size_t>(from - begin);
    if (wrong != 0) return "a code of words that does not exist";
    if (used > offs.size()) return kTooShort;
    offs = offs.subspan(used);
  }
  if (!offs.empty() || !codes.empty()) return "more words than the chunk's header tells";
  return std::nullopt;
}

}  // namespace syndrome::trace
