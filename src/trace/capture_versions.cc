#include "trace/capture_versions.h"

#include <algorithm>
#include <bit>

namespace syndrome::trace {

// A version has 63 bits, so without its low 9 and below the shard's 12 there are two too many: a
// version above 2^61 is no count of anything.
static_assert(wire::kShardBits == 12);

void CaptureVersions::add(std::size_t shard, std::uint64_t version) {
  if (version >> 60 != 0) return;
  const std::uint64_t key = key_of(shard, version);
  const auto [at, is_new] = by_key_.try_emplace(key, pages_.size());
  if (is_new) pages_.push_back({key, {}});
  pages_[at->second].bits[(version >> 6) & 7] |= std::uint64_t{1} << (version & 63);
}

void CaptureVersions::seal(bool complete) {
  by_key_ = {};
  complete_ = complete;
  if (!complete) {
    pages_ = {};
    for (Shard& shard : shards_) shard.next = 1;
    return;
  }
  std::sort(pages_.begin(), pages_.end(),
            [](const Page& a, const Page& b) { return a.key < b.key; });
  constexpr std::uint64_t kPageMask = (std::uint64_t{1} << 52) - 1;
  for (std::size_t i = 0; i < pages_.size();) {
    const auto number = static_cast<std::size_t>(pages_[i].key >> 52);
    Shard& shard = shards_[number];
    shard.page = i;
    std::uint64_t have = 0;
    std::size_t end = i;
    for (; end < pages_.size() && pages_[end].key >> 52 == number; ++end) {
      for (const std::uint64_t bits : pages_[end].bits) {
        have += static_cast<unsigned>(std::popcount(bits));
      }
    }
    shard.end = end;
    find_from(shard, (pages_[i].key & kPageMask) << kPageBits);
    const Page& last = pages_[end - 1];
    unsigned top = 7;
    while (last.bits[top] == 0) --top;
    const std::uint64_t largest = ((last.key & kPageMask) << kPageBits) + std::uint64_t{top} * 64 +
                                  static_cast<unsigned>(std::bit_width(last.bits[top])) - 1;
    missing_ += largest - shard.next + 1 - have;
    i = end;
  }
}

void CaptureVersions::find_from(Shard& shard, std::uint64_t version) {
  constexpr std::uint64_t kPageMask = (std::uint64_t{1} << 52) - 1;
  for (; shard.page < shard.end; ++shard.page) {
    const Page& page = pages_[shard.page];
    const std::uint64_t base = (page.key & kPageMask) << kPageBits;
    std::uint64_t offset = version > base ? version - base : 0;
    while (offset < (1u << kPageBits)) {
      const std::uint64_t bits = page.bits[offset >> 6] >> (offset & 63);
      if (bits != 0) {
        shard.next = base + offset + static_cast<unsigned>(std::countr_zero(bits));
        return;
      }
      offset = (offset | 63) + 1;
    }
  }
  shard.next = kNoMore;
}

void CaptureVersions::advance(std::size_t number, std::uint64_t version) {
  Shard& shard = shards_[number];
  if (shard.next == kNoMore || version < shard.next) return;
  if (!complete_) {
    shard.next = version + 1;
    return;
  }
  find_from(shard, version + 1);
}

}  // namespace syndrome::trace
