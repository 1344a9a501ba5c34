#include "trace/syn_pipeline.h"

#include <cassert>

namespace syndrome::trace {

// One slot for each worker to fill, one that is ready, and one with the consumer.
SynPipeline::SynPipeline(ChunkReader reader, unsigned workers)
    : slots_(workers == 0 ? 1 : workers + 2), reader_(std::move(reader)) {
  workers_.reserve(workers);
  for (unsigned i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
}

SynPipeline::~SynPipeline() {
  {
    const std::lock_guard lock(state_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

/// Reads the next chunk into the slot. Called with fetch_ held.
void SynPipeline::fetch(Slot& slot) {
  slot.error.reset();
  auto outcome = reader_.next(slot.chunk);
  slot.position = reader_.position();
  if (outcome) {
    slot.outcome = *outcome;
  } else {
    slot.error = outcome.error();
  }
}

void SynPipeline::decode(Slot& slot) {
  if (slot.error || slot.outcome != ChunkReader::Outcome::kChunk) return;
  const Chunk& chunk = slot.chunk;
  const ChunkHeader& header = chunk.header;
  if (Status status = verify(chunk); !status) {
    slot.error = status.error();
    return;
  }
  std::optional<std::string> fault;
  if (header.type == kEventsChunk) {
    if (slot.events.size() < header.count) slot.events.resize(header.count);
    fault = slot.decoder.decode(header, chunk.bytes(), chunk.names,
                                std::span(slot.events).first(header.count));
  } else if (header.type == kNamesChunk) {
    fault = slot.names.decode(header, chunk.bytes());
  }
  if (fault) slot.error = damage(chunk, chunk.offset + kChunkHeaderBytes, *fault);
}

void SynPipeline::work() {
  for (;;) {
    std::unique_lock fetch_lock(fetch_);
    Slot* slot = nullptr;
    {
      std::unique_lock lock(state_);
      room_.wait(lock, [this] { return stop_ || ended_ || has_room(); });
      if (stop_ || ended_) return;
      slot = &slots_[fetched_++ % slots_.size()];
    }
    fetch(*slot);
    if (slot->error || slot->outcome != ChunkReader::Outcome::kChunk) {
      const std::lock_guard lock(state_);
      ended_ = true;
    }
    fetch_lock.unlock();
    decode(*slot);
    {
      const std::lock_guard lock(state_);
      slot->ready = true;
    }
    ready_.notify_one();
  }
}

SynPipeline::Slot& SynPipeline::next() {
  std::unique_lock lock(state_);
  if (taken_ > released_) {
    slots_[released_++ % slots_.size()].ready = false;
    room_.notify_one();
  }
  Slot& head = slots_[taken_ % slots_.size()];
  while (!head.ready) {
    // Rather than wait, the caller decodes a chunk itself, if there is one to fetch and nobody is
    // at it. Without workers that is always so.
    std::unique_lock fetch_lock(fetch_, std::defer_lock);
    if (!has_room() || !fetch_lock.try_lock()) {
      assert(!workers_.empty());
      ready_.wait(lock);
      continue;
    }
    Slot& slot = slots_[fetched_++ % slots_.size()];
    lock.unlock();
    fetch(slot);
    const bool last = slot.error || slot.outcome != ChunkReader::Outcome::kChunk;
    if (last) {
      lock.lock();
      ended_ = true;
      lock.unlock();
      room_.notify_all();
    }
    fetch_lock.unlock();
    decode(slot);
    lock.lock();
    slot.ready = true;
  }
  ++taken_;
  return head;
}

}  // namespace syndrome::trace
