// What is kept of a trace so that any part of it can be shown at once: how much happened where,
// where its chunks are, and what was going on at some of its events.
//
// It is built once, in one pass over the events, and kept beside the trace (explore/index_file.h).
// Its size is bounded by a part of the trace's: see the constants.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "event/event.h"
#include "explore/density.h"
#include "explore/follower.h"
#include "trace/syn_format.h"

namespace syndrome::explore {

/// Buckets to begin with. Of generated traces (8 threads, 2.6 bytes an event) a count takes about
/// 1.6 bytes in the file, and a bucket has 60 of them: 0.5% of the trace.
inline constexpr std::uint64_t kFirstWidth = 8192;
/// 8 bytes each in memory, and up to a third more for the levels above.
inline constexpr std::size_t kMostCounts = std::size_t{4} << 20U;
/// Between checkpoints, to begin with: what a chunk has, so that looking at few events costs little
/// more than decoding the chunk that they are in.
inline constexpr std::uint64_t kFirstStride = 65536;
/// Blocks and waits in all checkpoints together, 24 bytes each in memory.
inline constexpr std::size_t kMostOpen = std::size_t{1} << 20U;
/// Events that one sketch is about.
inline constexpr std::uint64_t kSketchEvents = 65536;

/// Which targets some events may have: a set of hashes. A filter in front of looking: what it has
/// not is not there; what it has may be.
struct Sketch {
  // 2,048 bits: 256 bytes of 170,000 that the events take. Good up to some 500 different targets.
  std::array<std::uint64_t, 32> bits{};

  static std::uint64_t hash(Space space, std::uint32_t id) {
    std::uint64_t x = (std::uint64_t{static_cast<std::uint8_t>(space)} << 32U | id) + 1;
    x *= 0x9e3779b97f4a7c15U;
    x ^= x >> 32U;
    x *= 0xd6e8feb86659fd93U;
    return x ^ x >> 29U;
  }
  void add(std::uint64_t hash) {
    bits[hash >> 6U & 31U] |= std::uint64_t{1} << (hash & 63U);
    bits[hash >> 22U & 31U] |= std::uint64_t{1} << (hash >> 16U & 63U);
  }
  [[nodiscard]] bool may_have(std::uint64_t hash) const {
    return (bits[hash >> 6U & 31U] >> (hash & 63U) & 1U) != 0 &&
           (bits[hash >> 22U & 31U] >> (hash >> 16U & 63U) & 1U) != 0;
  }
  friend bool operator==(const Sketch&, const Sketch&) = default;
};

/// Where a chunk is in a .syn file. Only those of events and names are of interest.
struct ChunkPlace {
  bool names = false;
  std::uint8_t space = 0;    // of names
  std::uint32_t count = 0;   // events or names
  std::uint64_t offset = 0;  // of its header
  EventNumber first = 0;     // of events: the first one's number
  friend bool operator==(const ChunkPlace&, const ChunkPlace&) = default;
};

/// What is going on right before an event, that the events behind it do not tell.
struct Checkpoint {
  std::vector<OpenBlock> blocks;  // ascending by thread
  std::vector<Wait> waits;        // after < event <= until; ascending by `until`
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

struct Index {
  std::uint64_t events = 0;
  std::uint64_t threads = 0;            // how many have a name
  std::string format;                   // of the trace: "syn", "recording", "std", …
  std::vector<std::string> warnings;    // of its reader
  Level base;                           // events <= base.width * base.size()
  std::uint64_t stride = kFirstStride;  // checkpoint i is before event i * stride + 1
  std::vector<Checkpoint> checkpoints;  // at least one
  std::vector<Sketch> sketches;         // of kSketchEvents events each
  std::vector<ChunkPlace> chunks;       // ascending by offset

  friend bool operator==(const Index&, const Index&) = default;
};

/// Makes all of an index but where the chunks are.
class IndexBuilder {
 public:
  explicit IndexBuilder(std::uint64_t first_width = kFirstWidth,
                        std::size_t most_counts = kMostCounts,
                        std::uint64_t first_stride = kFirstStride,
                        std::size_t most_open = kMostOpen);

  /// Batches in the trace's order, from its first event on.
  void take(const Batch& batch);
  [[nodiscard]] Index finish();

 private:
  void checkpoint();
  void add_wait(const Wait& wait);

  Index index_;
  std::size_t most_open_;
  std::size_t open_ = 0;  // blocks and waits in all checkpoints
  Follower follower_;
  DensityBuilder density_;
};

}  // namespace syndrome::explore
