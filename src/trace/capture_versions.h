// Which versions of each shard a recording has (event/wire.h, "Order"). Versions count up by one,
// but some may be missing; who knows them all beforehand need not wait for one that never comes.
//
// In a recording that was cut off, what is missing has happened, and what came after it must not
// seem to have come without it: then each version waits for the one before, and whoever waits for
// one that is not there is over.

#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "event/mix_hash.h"
#include "event/wire.h"

namespace syndrome::trace {

class CaptureVersions {
 public:
  static constexpr std::uint64_t kNoMore = UINT64_MAX;

  // Step 1.
  void add(std::size_t shard, std::uint64_t version);
  void seal(bool complete);

  // Step 2. Each shard stands at its smallest version first.

  /// The version that the shard waits for; kNoMore behind the last.
  [[nodiscard]] std::uint64_t awaited(std::size_t shard) const { return shards_[shard].next; }
  /// `version` has happened: the next larger one is awaited.
  void advance(std::size_t shard, std::uint64_t version);

  /// How many are missing between each shard's first and last, in a recording that is complete.
  [[nodiscard]] std::uint64_t missing() const { return missing_; }

 private:
  static constexpr unsigned kPageBits = 9;
  using Bits = std::array<std::uint64_t, 8>;
  struct Page {
    std::uint64_t key = 0;  // shard, and the version without its low bits
    Bits bits{};
  };
  struct Shard {
    std::uint64_t next = kNoMore;
    std::size_t page = 0;  // that `next` is in
    std::size_t end = 0;   // behind the shard's last page
  };
  [[nodiscard]] static constexpr std::uint64_t key_of(std::size_t shard, std::uint64_t version) {
    return (std::uint64_t{shard} << 52) | (version >> kPageBits);
  }
  void find_from(Shard& shard, std::uint64_t version);

  tsl::robin_map<std::uint64_t, std::size_t, MixHash> by_key_;
  std::vector<Page> pages_;
  std::array<Shard, wire::kShards> shards_;
  std::uint64_t missing_ = 0;
  bool complete_ = true;
};

}  // namespace syndrome::trace
