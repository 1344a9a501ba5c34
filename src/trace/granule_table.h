// A value for each granule of 8 bytes of a recorded program's memory: two loads to find it, no
// hash. Memory is taken for what is used, by pages of the system; both levels are zero at first.
//
// Several threads may use it together if T is one that they may (std::atomic_ref).

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace syndrome::trace {

template <class T>
class GranuleTable {
 public:
  GranuleTable() : top_(static_cast<Chunk*>(std::calloc(kTop, sizeof(Chunk)))) {}
  GranuleTable(const GranuleTable&) = delete;
  GranuleTable& operator=(const GranuleTable&) = delete;
  ~GranuleTable() {
    if (chunks_.load() != 0) {
      for (std::size_t i = 0; i < kTop; ++i) {
        // A page of the upper level that nobody wrote to would be read in for nothing.
        if (i % kGroup == 0 && !used_[i / kGroup].load(std::memory_order_relaxed)) {
          i += kGroup - 1;
          continue;
        }
        std::free(top_[i]);
      }
    }
    std::free(top_);
  }

  /// Null: there is none, all 0.
  [[nodiscard]] T* find(std::uint64_t granule) const {
    if (top_ == nullptr || granule >= kGranules) return nullptr;
    T* const chunk = std::atomic_ref(top_[granule >> kChunkBits]).load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + granule % kInChunk;
  }
  /// Whether one of these granules' values is such that is(value); those that are not there are not
  /// asked about. A thread's stack that is freed is a million granules.
  template <class Is>
  bool any(std::uint64_t first, std::uint64_t last, const Is& is) const {
    for (std::uint64_t granule = first; granule <= last;) {
      const std::uint64_t end = std::min(last, granule | (kInChunk - 1));
      if (T* const from = find(granule)) {
        T* const to = from + (end - granule);
        for (T* value = from; value <= to; ++value) {
          if (is(*value)) return true;
        }
      }
      granule = end + 1;
    }
    return false;
  }
  /// Null: there is no room.
  [[nodiscard]] T* make(std::uint64_t granule) {
    T* const known = find(granule);
    return known != nullptr ? known : make_slowly(granule);
  }

 private:
  using Chunk = T*;
  static constexpr unsigned kChunkBits = 18;
  static constexpr std::size_t kInChunk = std::size_t{1} << kChunkBits;
  static constexpr std::uint64_t kGranules = std::uint64_t{1} << 44;
  static constexpr std::size_t kTop = kGranules >> kChunkBits;
  static constexpr std::size_t kGroup = 4096 / sizeof(Chunk);
  /// Two megabytes of the program's memory each, all over the place.
  static constexpr std::uint32_t kMostChunks = 1u << 12;

  [[nodiscard]] T* make_slowly(std::uint64_t granule) {
    if (top_ == nullptr || granule >= kGranules) return nullptr;
    if (chunks_.fetch_add(1) >= kMostChunks) return nullptr;
    T* fresh = static_cast<T*>(std::calloc(kInChunk, sizeof(T)));
    if (fresh == nullptr) return nullptr;
    const std::size_t at = granule >> kChunkBits;
    used_[at / kGroup].store(true, std::memory_order_relaxed);
    T* other = nullptr;
    if (!std::atomic_ref(top_[at]).compare_exchange_strong(other, fresh)) {
      std::free(fresh);
      fresh = other;
    }
    return fresh + granule % kInChunk;
  }

  Chunk* top_;
  std::unique_ptr<std::atomic<bool>[]> used_ = std::make_unique<std::atomic<bool>[]>(kTop / kGroup);
  std::atomic<std::uint32_t> chunks_ = 0;
};

}  // namespace syndrome::trace
