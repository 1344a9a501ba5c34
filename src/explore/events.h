// Single events of a .syn file, from anywhere in it, and all of its names.
//
// Reads the chunks that an index knows of. May be used by several threads; the chunks that were
// looked at last are kept decoded.

#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/names.h"
#include "event/result.h"
#include "explore/index.h"
#include "trace/bytes_raw.h"
#include "trace/syn_chunks.h"

namespace syndrome::explore {

/// Where the chunks of events and names are, by going from header to header.
[[nodiscard]] Result<std::vector<ChunkPlace>> find_chunks(const std::string& path);

class EventFile {
 public:
  /// Reads the names. Of `chunks`, those of events stay to be read.
  [[nodiscard]] static Result<std::unique_ptr<EventFile>> open(const std::string& path,
                                                               std::vector<ChunkPlace> chunks);

  [[nodiscard]] const Names& names() const { return names_; }
  /// The number of the last one.
  [[nodiscard]] EventNumber events() const { return events_; }

  /// A chunk of events, decoded.
  struct Piece {
    EventNumber first = 0;
    std::vector<Event> events;
  };
  /// The one that has event `number`, from 1 to events().
  [[nodiscard]] Result<std::shared_ptr<const Piece>> piece_with(EventNumber number);

  /// Leads the events from … to - 1 past `take(number, event)`; stops when that says false.
  template <class Take>
  [[nodiscard]] Status each(EventNumber from, EventNumber to, Take take) {
    while (from < to && from <= events_) {
      const Result<std::shared_ptr<const Piece>> piece = piece_with(from);
      if (!piece) return piece.error();
      const std::vector<Event>& all = (*piece)->events;
      const EventNumber end = std::min<EventNumber>(to, (*piece)->first + all.size());
      for (; from < end; ++from) {
        if (!take(from, all[from - (*piece)->first])) return {};
      }
    }
    return {};
  }

 private:
  EventFile() = default;
  [[nodiscard]] Result<trace::Chunk> read_chunk(const ChunkPlace& place) const;
  [[nodiscard]] Status read_names(const std::vector<ChunkPlace>& chunks);
  [[nodiscard]] Result<std::shared_ptr<const Piece>> decode(const ChunkPlace& place) const;

  trace::Fd fd_;
  std::vector<ChunkPlace> places_;  // of events, ascending
  EventNumber events_ = 0;
  Names names_;
  trace::NameCounts counts_{};

  std::mutex mutex_;                              // guards what follows
  std::list<std::shared_ptr<const Piece>> kept_;  // last used first
};

}  // namespace syndrome::explore
