// The words of a recording without those that cannot matter (CaptureSelection), made before any of
// them is put in order, named, or turned into an event: in one tight loop over each thread's words
// that finds out what is shared, and in a second one that writes what is kept.
//
// What stays:
//   accesses that touch a granule with conflicts (CaptureShared)
//   synchronization, blocks, and what else is an event; but allocating, freeing and new locals only
//     where a granule has conflicts
//   functions with something of that in them, annotated ones, and those of std::future, which wait;
//     and one behind a release, because taking the same lock again right behind it would look like
//     a wait that timed out
//   times, if something comes behind them
// It is read like the words of any thread, in the same order.
//
// For atomic sets alone (CaptureSelection::role), accesses that are *alone* do not make a granule
// one with conflicts: what the first thread does before there are others, and when they are over,
// but for what is in a call that goes on beside them. (They still may be the ones that tell what an
// object is, so of each thread and byte one stays.) Then whole calls are left out: capture_sweep.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "event/wire.h"
#include "trace/capture_index.h"
#include "trace/capture_meta.h"
#include "trace/capture_reader.h"
#include "trace/capture_shared.h"
#include "trace/huge_allocator.h"

namespace syndrome::trace {

class CaptureReduced {
 public:
  /// Null when the recording was cut off, has what no recorder writes, or takes too much room:
  /// then all of it has to be read.
  [[nodiscard]] static std::shared_ptr<const CaptureReduced> make(const std::string& path,
                                                                  const CaptureIndex& index,
                                                                  const CaptureMeta& meta,
                                                                  const CaptureSelection& selection,
                                                                  unsigned jobs);

  /// Of the thread with this place in the index.
  [[nodiscard]] std::span<const wire::Word> words(std::size_t thread) const {
    return words_[thread];
  }
  [[nodiscard]] const CaptureShared& shared() const { return shared_; }
  /// Functions that were called, whether they are in the words or not.
  [[nodiscard]] const std::vector<std::uint32_t>& called() const { return called_; }
  /// Objects of classes with containers, for CaptureNames::know_object().
  [[nodiscard]] const std::vector<std::uint64_t>& objects() const { return objects_; }
  /// Versions that no thread has (CaptureVersions::missing).
  [[nodiscard]] std::uint64_t missing() const { return missing_; }
  /// Of all words that were left.
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const auto& words : words_) all += words.size();
    return all;
  }

 private:
  friend class CaptureReducer;
  CaptureShared shared_;
  std::vector<HugeVector<wire::Word>> words_;
  std::vector<std::uint32_t> called_;
  std::vector<std::uint64_t> objects_;
  std::uint64_t missing_ = 0;
};

}  // namespace syndrome::trace
