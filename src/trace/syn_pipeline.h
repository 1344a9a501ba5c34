// Decodes the chunks of a .syn file in parallel and hands them out in the file's order.
//
// Shared state, and what guards it:
//   reader_                      whoever holds fetch_; chunks are read one after the other
//   fetched_, taken_, stop_      state_
//   a slot's `ready`             state_
//   the rest of a slot           before ready: the thread that fetched it; after: the consumer
// Slots are a ring: chunk number n is in slot n mod size, so a chunk is fetched only when the one
// that many before it has been released. That bounds memory.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "event/event.h"
#include "event/result.h"
#include "trace/syn_chunks.h"
#include "trace/syn_events.h"
#include "trace/syn_names.h"

namespace syndrome::trace {

class SynPipeline {
 public:
  struct Slot {
    Chunk chunk;
    ChunkReader::Outcome outcome = ChunkReader::Outcome::kChunk;
    std::optional<Error> error;
    std::uint64_t position = 0;  // bytes of the file that were read up to here
    std::vector<Event> events;   // of a chunk of events: the first chunk.header.count
    NameDecoder names;           // of a chunk of names
    EventDecoder decoder;
    bool ready = false;
  };

  /// With `workers` threads beside the caller's.
  SynPipeline(ChunkReader reader, unsigned workers);
  ~SynPipeline();
  SynPipeline(const SynPipeline&) = delete;
  SynPipeline& operator=(const SynPipeline&) = delete;

  /// The next chunk, the caller's until the next call. The last one has an error or an outcome
  /// other than kChunk: do not call again after it.
  [[nodiscard]] Slot& next();

 private:
  [[nodiscard]] bool has_room() const { return !ended_ && fetched_ - released_ < slots_.size(); }
  void work();
  void fetch(Slot& slot);
  static void decode(Slot& slot);

  std::vector<Slot> slots_;
  ChunkReader reader_;
  std::mutex fetch_;

  std::mutex state_;
  std::condition_variable room_;   // a slot was released, or stop_
  std::condition_variable ready_;  // a slot became ready
  std::uint64_t fetched_ = 0;      // chunks that someone has begun to fetch
  std::uint64_t taken_ = 0;        // chunks that the consumer has got
  std::uint64_t released_ = 0;     // and has done with
  bool ended_ = false;             // the last chunk has been fetched
  bool stop_ = false;

  std::vector<std::thread> workers_;
};

}  // namespace syndrome::trace
