// Who takes the words of a process instead of a file: what checks the program while it runs
// (live/).

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "event/result.h"
#include "event/wire.h"

namespace syndrome::record {

class Taker {
 public:
  virtual ~Taker() = default;
  Taker() = default;
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  /// The next bytes of the metadata (event/wire.h), cut anywhere.
  [[nodiscard]] virtual Status meta(std::span<const std::byte> bytes) = 0;
  /// The next words of a thread, cut anywhere. They are the caller's again when it returns.
  [[nodiscard]] virtual Status words(std::uint32_t thread, std::span<const wire::Word> words) = 0;
  /// Everything has been handed over that was there when the round began, the metadata first.
  /// Whether it needs words of some thread to go on, published or not.
  [[nodiscard]] virtual Result<bool> end_of_round() = 0;
  /// The functions that are blocks, by their addresses in the program, of the metadata that has
  /// come since the last time.
  [[nodiscard]] virtual std::vector<std::uint64_t> new_blocks() = 0;
  /// No more words of this thread will come.
  virtual void ended(std::uint32_t thread) = 0;
  /// The process is over; so many of its blocks are not in its words. Bytes that were written for
  /// it.
  [[nodiscard]] virtual Result<std::uint64_t> close(std::uint64_t left_out_blocks) = 0;
};

/// For the process whose trace would be the file `output`; in the recorder, which is a process of
/// its own.
using MakeTaker = std::function<Result<std::unique_ptr<Taker>>(const std::string& output)>;

}  // namespace syndrome::record
