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
constexpr U64 kFromLast = 8;
constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kMaxLine = 1 + 4 * kGroups;
constexpr std::size_t kMaxOffs = 8 * kLineWords;
constexpr std::array<std::uint8_t, 16> kLength = {0, 1, 2, 3, 4, 6, 8, 0, 0, 1, 2, 3, 4, 6, 8, 0};
constexpr unsigned kNoCode = 7;  // these of the lower three bits

/// What a word means for the places of those that follow, by the same arithmetic as in four().
SYNDROME_INLINE U64 trait(U64 word) {
  const U64 upper = word >> wire::kTopShift;
  const U64 control = 0 - ((word >> wire::kAddressBits) & 1);
  return (upper << 1) + (upper << 3) + ((word ^ (word >> 5)) & control);
}

struct Lines {
  // Traits of the kBefore words before the line, then of its own. One more for a whole vector.
  alignas(32) std::array<U64, WordPlaces::kBefore + kLineWords> traits{};
  alignas(32) std::array<U64, kLineWords + 4> places{};  // of the first word, and three unused
  alignas(32) std::array<U64, 2 * kLineWords> before{};  // what stood at the places
  alignas(32) std::array<U64, kLineWords> offs{};
  alignas(32) std::array<U64, kLineWords> lengths{};
};

/// One line, of which the first `count` words count.
template <bool kWhole>
SYNDROME_INLINE void encode_line(const U64* words, std::size_t count, U64* table, Lines& line,
                                 std::byte*& offs, std::byte*& codes) {
  constexpr std::size_t kBefore = WordPlaces::kBefore;
  // 1. Where each word stands.
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
  line.places[0] = 2 * WordPlaces::kTime;
  for (std::size_t i = 0; i < kBefore; ++i) line.traits[i] = line.traits[kOthers + i];
  // 2. What stands there, and the word instead.
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kLineWords; ++i) {
    Two& entry = *reinterpret_cast<Two*>(table + line.places[i]);
    const Two before = entry;
    *reinterpret_cast<Two*>(&line.before[2 * i]) = before;
    entry = Two{words[i], words[i]} - __builtin_shufflevector(before, Two{0, 0}, 1, 2);
  }
  // 3. How far it is off, and how many bytes that takes.
  Four all{};
  std::array<bool, kLineWords / 8> off{};
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kLineWords; i += 8) {
    Four any{};
#pragma GCC unroll 2
    for (std::size_t k = i; k < i + 8; k += 4) {
      const auto* const before = reinterpret_cast<const Two*>(&line.before[2 * k]);
      const Four even = __builtin_shufflevector(before[0], before[2], 0, 1, 2, 3);
      const Four odd = __builtin_shufflevector(before[1], before[3], 0, 1, 2, 3);
      const Four step = __builtin_shufflevector(even, odd, 0, 4, 2, 6);
      const Four last = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
      const Four moved = *reinterpret_cast<const Four*>(words + k) - last;
      const Four beside = moved - step;
      const Four from_last = (moved << 1) ^ (0 - (moved >> 63));
      const Four from_step = (beside << 1) ^ (0 - (beside >> 63));
      // Halves, because vectors compare as signed numbers.
      const Four nearer = (Four)((SignedFour)(from_last >> 1) < (SignedFour)(from_step >> 1));
      Four offs4 = (from_last & nearer) | (from_step & ~nearer);
      Four flags = nearer & kFromLast;
      if constexpr (!kWhole) {
        const Four number = Four{0, 1, 2, 3} + k;
        const Four counts = (Four)((SignedFour)number < static_cast<std::int64_t>(count));
        offs4 &= counts;
        flags &= counts;
      }
      const SignedFour s = (SignedFour)offs4;
      const Four huge = (Four)(s < 0);
      const Four over6 = (Four)(s > 0xffff'ffff'ffff) | huge;
      const Four over4 = (Four)(s > 0xffff'ffff) | huge;
      const Four code = 0 - ((Four)(s > 0) + (Four)(s > 0xff) + (Four)(s > 0xffff) +
                             (Four)(s > 0xff'ffff) + over4 + over6 + (huge << 2));
      *reinterpret_cast<Four*>(line.offs.data() + k) = offs4;
      *reinterpret_cast<Four*>(line.lengths.data() + k) = code - over4 - over6;
      all |= (code | flags) << k;
      any |= offs4;
    }
    off[i / 8] = ((any[0] | any[1]) | (any[2] | any[3])) != 0;
  }
  // 4. Out with it: eight bytes each, of which the next one leaves those that count.
  for (std::size_t i = 0; i < kLineWords; i += 8) {
    if (!off[i / 8]) continue;
#pragma GCC unroll 8
    for (std::size_t k = i; k < i + 8; ++k) {
      std::memcpy(offs, &line.offs[k], 8);
      offs += line.lengths[k];
    }
  }
  std::byte* const head = codes++;
  unsigned mask = static_cast<unsigned>(all[0] & 15);
  all[0] &= ~U64{15};
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

SYNDROME_INLINE Ends encode_words(std::span<const U64> words, U64* table, std::byte* offs,
                                  std::byte* codes) {
  Lines line;
  const std::size_t whole = words.size() / kLineWords * kLineWords;
  for (std::size_t i = 0; i < whole; i += kLineWords) {
    encode_line<true>(words.data() + i, kLineWords, table, line, offs, codes);
  }
  if (whole < words.size()) {
    std::array<U64, kLineWords> rest{};
    std::copy(words.begin() + static_cast<std::ptrdiff_t>(whole), words.end(), rest.begin());
    encode_line<false>(rest.data(), words.size() - whole, table, line, offs, codes);
  }
  return {offs, codes};
}

Ends encode_anywhere(std::span<const U64> words, U64* table, std::byte* offs, std::byte* codes) {
  return encode_words(words, table, offs, codes);
}
#if SYNDROME_WITH_AVX2
__attribute__((target("avx2"))) Ends encode_with_avx2(std::span<const U64> words, U64* table,
                                                      std::byte* offs, std::byte* codes) {
  return encode_words(words, table, offs, codes);
}
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
#endif

}  // namespace

std::span<const std::byte> WordEncoder::encode(std::span<const U64> words) {
  places_.table.fill(0);
  const std::size_t lines = (words.size() + kLineWords - 1) / kLineWords;
  const std::size_t max_codes = lines * kMaxLine;
  // Eight more, because distances are stored eight bytes at a time, and four for the last group.
  const std::size_t room = kSizeBytes + words.size() * 8 + 8 + max_codes;
  if (room > room_) {
    room_ = room;
    out_ = std::make_unique_for_overwrite<std::byte[]>(room);
    codes_ = std::make_unique_for_overwrite<std::byte[]>(room);
  }
  std::byte* const offs = out_.get() + kSizeBytes;
#if SYNDROME_WITH_AVX2
  const auto run = has_avx2 ? encode_with_avx2 : encode_anywhere;
#else
  const auto run = encode_anywhere;
#endif
  const Ends ends = run(words, places_.table.data(), offs, codes_.get());
  const auto size = static_cast<std::uint32_t>(ends.offs - offs);
  std::memcpy(out_.get(), &size, kSizeBytes);
  const auto codes = static_cast<std::size_t>(ends.codes - codes_.get());
  std::memcpy(ends.offs, codes_.get(), codes);
  return {out_.get(), kSizeBytes + size + codes};
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
    groups[0] |= head & 15;
    // One look at the bounds for each line: behind the last distances there are zeros to read.
    const std::byte* from = offs.data();
    if (offs.size() < copy.size()) {
      copy.fill(std::byte{0});
      std::copy(offs.begin(), offs.end(), copy.begin());
      from = copy.data();
    }
    const std::byte* const begin = from;
    const std::size_t count = std::min(kLineWords, words.size() - start);
    U64 sum = 0;  // of the traits, that of the last word left out
    for (std::size_t i = 1; i < kBefore; ++i)
      sum += traits[kBefore - 1 - i] << (WordPlaces::kShift * i);
    U64 last_trait = traits[kBefore - 1];
    unsigned wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const U64 place = i == 0 ? 2 * WordPlaces::kTime : (sum + last_trait) & kPlaceMask;
      const unsigned code = groups[i % 4] & 15;
      groups[i % 4] >>= 4;
      wrong |= (code & 7) == kNoCode ? 1u : 0u;
      const unsigned length = kLength[code];
      U64 off = 0;
      std::memcpy(&off, from, 8);
      off &= length == 8 ? ~U64{0} : (U64{1} << (8 * length)) - 1;
      from += length;
      const U64 last = table[place + 1];
      const U64 step = table[place] & ((U64{code} >> 3) - 1);
      const U64 word = last + step + ((off >> 1) ^ (0 - (off & 1)));
      table[place] = word - last;
      table[place + 1] = word;
      words[start + i] = word;
      if (i == 0) continue;
      const U64 oldest = traits[i - 1] << (WordPlaces::kShift * (kBefore - 1));
      sum = (sum + last_trait - oldest) << WordPlaces::kShift;
      last_trait = trait(word);
      traits[kBefore - 1 + i] = last_trait;
    }
    for (std::size_t i = 0; i < kBefore; ++i) traits[i] = traits[kOthers + i];
    const auto used = static_cast<std::size_t>(from - begin);
    if (wrong != 0) return "a code of words that does not exist";
    if ((groups[0] | groups[1] | groups[2] | groups[3]) != 0) {
      return "more words than the chunk's header tells";
    }
    if (used > offs.size()) return kTooShort;
    offs = offs.subspan(used);
  }
  if (!offs.empty() || !codes.empty()) return "more words than the chunk's header tells";
  return std::nullopt;
}

}  // namespace syndrome::trace
