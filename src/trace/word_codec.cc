#include "trace/word_codec.h"

#include <bit>
#include <cstring>

#include "event/wire.h"

static_assert(std::endian::native == std::endian::little, "differences are stored as they are");

namespace syndrome::trace {
namespace {

constexpr std::size_t kRunMax = 128;
constexpr unsigned kMiss = 0x80;
constexpr unsigned kUpperMiss = 0x40;
constexpr unsigned kLowerBytes = 6;

std::uint64_t fold(std::uint64_t difference) {  // 48 bits: 0, -1, 1, -2, …
  const auto wide = static_cast<std::int64_t>(difference << 16) >> 16;
  return ((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63)) &
         WordPredictor::kLowerMask;
}

std::uint64_t unfold(std::uint64_t folded) {
  return (folded >> 1) ^ (0 - (folded & 1));
}

}  // namespace

void WordPredictor::reset() {
  entries_.fill(Entry{0, 0, 0});
  upper_.fill(0);
  last_ = 0;
  context_ = 0;
}

inline void WordPredictor::learn(std::uint64_t word, std::size_t place) {
  const std::uint64_t lower = word & kLowerMask;
  const bool time = place == kTimePlace;
  upper_[time ? kTimePlace : last_] = static_cast<std::uint16_t>(word >> 48);
  last_ = time ? last_ : place;
  Entry& entry = entries_[place];
  const auto moved = static_cast<std::int32_t>(lower - entry.last);
  entry.step = moved == entry.seen ? moved : entry.step;
  entry.seen = moved;
  entry.last = lower;
  if (time) return;
  if ((word & wire::kOperandBit) != 0) {
    ++context_;
  } else if ((word & wire::kControlBit) != 0) {
    context_ = static_cast<std::uint32_t>((word * 0x9E3779B97F4A7C15u) >> 32);
  }
}

void WordEncoder::encode(std::span<const std::uint64_t> words, std::vector<std::byte>& out) {
  predictor_.reset();
  const std::size_t start = out.size();
  // One more than the longest code, because differences are stored eight bytes at a time.
  out.resize(start + words.size() * kMaxWordCode + 16);
  std::byte* to = out.data() + start;
  std::size_t run = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t word = words[i];
    const std::uint64_t upper = word >> 48;
    const std::size_t place = predictor_.place(upper, i);
    const std::uint64_t off = (word - predictor_.lower(place)) & WordPredictor::kLowerMask;
    const bool upper_right = predictor_.upper(i) == upper;
    predictor_.learn(word, place);
    if (off == 0 && upper_right) {
      ++run;
      continue;
    }
    for (; run > kRunMax; run -= kRunMax) *to++ = static_cast<std::byte>(kRunMax - 1);
    if (run > 0) *to++ = static_cast<std::byte>(run - 1);
    run = 0;
    const std::uint64_t folded = fold(off);
    const unsigned bytes = (static_cast<unsigned>(std::bit_width(folded)) + 7) / 8;
    *to++ = static_cast<std::byte>(kMiss | (upper_right ? 0 : kUpperMiss) | bytes);
    std::memcpy(to, &upper, 2);
    to += upper_right ? 0 : 2;
    std::memcpy(to, &folded, 8);
    to += bytes;
  }
  for (; run > kRunMax; run -= kRunMax) *to++ = static_cast<std::byte>(kRunMax - 1);
  if (run > 0) *to++ = static_cast<std::byte>(run - 1);
  out.resize(static_cast<std::size_t>(to - out.data()));
}

std::optional<std::string> WordDecoder::decode(std::span<const std::byte> codes,
                                               std::span<std::uint64_t> words) {
  predictor_.reset();
  std::size_t at = 0;
  std::size_t made = 0;
  while (at < codes.size()) {
    const auto code = std::to_integer<unsigned>(codes[at++]);
    if (code < kMiss) {
      if (words.size() - made < code + 1) return "more words than the chunk's header tells";
      for (unsigned i = 0; i <= code; ++i) {
        const std::uint64_t upper = predictor_.upper(made);
        const std::size_t place = predictor_.place(upper, made);
        const std::uint64_t word = (upper << 48) | predictor_.lower(place);
        predictor_.learn(word, place);
        words[made++] = word;
      }
      continue;
    }
    const unsigned bytes = code & 0x3f;
    const std::size_t size = bytes + ((code & kUpperMiss) != 0 ? 2 : 0);
    if (bytes > kLowerBytes) return "a code of words that does not exist";
    if (codes.size() - at < size) return "the codes of words end in the middle of one";
    if (made == words.size()) return "more words than the chunk's header tells";
    std::uint64_t upper = predictor_.upper(made);
    if ((code & kUpperMiss) != 0) {
      upper = std::to_integer<std::uint64_t>(codes[at]) |
              std::to_integer<std::uint64_t>(codes[at + 1]) << 8;
      at += 2;
    }
    std::uint64_t folded = 0;
    std::memcpy(&folded, codes.data() + at, bytes);
    at += bytes;
    const std::size_t place = predictor_.place(upper, made);
    const std::uint64_t lower =
        (predictor_.lower(place) + unfold(folded)) & WordPredictor::kLowerMask;
    const std::uint64_t word = (upper << 48) | lower;
    predictor_.learn(word, place);
    words[made++] = word;
  }
  if (made != words.size()) return "fewer words than the chunk's header tells";
  return std::nullopt;
}

}  // namespace syndrome::trace
