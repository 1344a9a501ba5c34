// A window: the last words of all threads of a process in flight (runtime/session.h, Mode), as the
// words of a recording.
//
// Rings go round at different times, so their oldest words are of different times. An order that
// went through a thread whose words are gone would be lost, and what it ordered would seem to race.
// So all threads are cut at one moment: what is left out of one thread comes before everything that
// is left of it, and nothing that is left has happened before, by any order of the program, what is
// left out. First by time: from when on every ring has everything. Then by versions (event/wire.h,
// "Order"), since a time may be taken long after the version: who is behind in its shard of one
// that was left out is left out, too. Likewise at the end, when the threads run on while their
// rings are copied.
//
// A loop of thousands of accesses is one record. So that a window takes bounded time to check, the
// cut is also where all threads together have made a million accesses since.
//
// Each thread begins with what was open there (event/open_words.h). Of a barrier at which somebody
// had arrived and not left, it is not known which round those who have left it are in. So in the
// window whoever leaves such a barrier comes behind all who have arrived before: more order than
// there was, never less.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "event/result.h"
#include "event/wire.h"
#include "runtime/session.h"
#include "trace/capture_writer.h"

namespace syndrome::record {

class Window {
 public:
  explicit Window(std::uint64_t ring_words) : ring_words_(ring_words) {}

  /// Of a process that runs: from when on rings may lack something, see end_of_all().
  void end_at(std::uint64_t time) { end_ = time; }

  /// Copies what the ring has, also what is not published. Its thread may go on meanwhile: what it
  /// may have written over is left out.
  void add(const rt::RingHeader& ring, const wire::Word* words, const rt::FlightPages& pages);

  /// After the last add().
  void cut();

  /// Of each thread that has anything left, its words from the beginning. After cut().
  [[nodiscard]] Status write(trace::CaptureWriter& writer) const;

  /// Whether the beginning of the run is missing.
  [[nodiscard]] bool is_cut() const { return begin_ != 0; }
  /// Time stamp counter: of the cut, and of the last word that is left.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t last() const;
  [[nodiscard]] std::uint64_t words() const;
  [[nodiscard]] std::uint64_t threads() const { return threads_.size(); }

 private:
  struct SyncAt {
    std::size_t begin;  // of its record, in the thread's words
    std::size_t end;
    std::uint64_t version;
    std::size_t shard;
  };
  struct Thread {
    std::uint32_t number = 0;
    bool whole = false;  // from the thread's own beginning on
    wire::OpenWords open{};
    std::vector<wire::Word> words;
    std::vector<SyncAt> syncs;
    std::size_t from = 0;  // what is left of the words
    std::size_t to = 0;
  };
  [[nodiscard]] std::vector<wire::Word> first_words(const Thread& thread) const;
  void split(std::span<const wire::Word> words, std::uint64_t begin, const wire::OpenWords& open);
  void find_syncs(Thread& thread);
  void bound();
  void cut_beginning();
  void loosen_barriers();
  void cut_end();

  std::uint64_t ring_words_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = UINT64_MAX;
  std::vector<Thread> threads_;
};

/// From when on a ring that is copied after this call may lack what its thread has done.
[[nodiscard]] std::uint64_t end_of_all(std::span<const rt::RingHeader* const> rings);

}  // namespace syndrome::record
