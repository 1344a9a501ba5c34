// What the text of the program says of two ways, as the rule of units asks it (check/units/rule.h):
// which function makes both accesses or has them made, whether they are in different steps of it,
// and how those are connected. By ways alone, without the run; so each answer is found once.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/cell.h"
#include "engine/contexts.h"

namespace syndrome::engine {

class Pairs {
 public:
  using Answer = std::uint64_t;
  enum Flag : Answer {
    kValid = 1,
    kDiffers = 2,  // in different steps of one function
    // The depth of the function's node: bits 2 to 10.
    // One location. e1 reads:
    kData = 1u << 11,
    kAddress = 1u << 12,
    kControl = 1u << 13,
    kReset = 1u << 14,
    // e1 writes:
    kSource = 1u << 15,
    kReread = 1u << 16,
    kFirstAlsoReads = 1u << 17,
    // Two locations, both read or both written:
    kTwoReads = 1u << 18,
    kTwoWrites = 1u << 19,
    // e1 is a check:
    kCheck = 1u << 20,
    /// Of the thread that comes in between: it puts both together.
    kTogether = 1u << 21,
    /// e1 looks again for e2: what was read before it does not decide.
    kLooks = 1u << 22,
  };
  static constexpr Answer kStale = kData | kAddress | kControl | kReset;

  [[nodiscard]] static std::uint32_t depth(Answer answer) {
    return static_cast<std::uint32_t>(answer >> 2) & 0x1ff;
  }

  [[nodiscard]] bool start(const Host& host) {
    memo_ = static_cast<std::atomic<std::uint64_t>*>(
        host.map(host.context, sizeof(std::atomic<std::uint64_t>) * kMemo));
    return memo_ != nullptr;
  }
  [[nodiscard]] Answer of(const Contexts& contexts, std::uint32_t first, std::uint32_t second) {
    const std::uint32_t index = (first ^ (second * 0x9E3779B1u)) & (kMemo - 1);
    // With its index, the upper bits of `first` and all of `second` say which pair it is.
    const std::uint64_t tag = ((std::uint64_t{first} >> kMemoBits << kWayBits) | second)
                              << kAnswerBits;
    const std::uint64_t known = memo_[index].load(std::memory_order_relaxed);
    constexpr std::uint64_t kAnswer = (std::uint64_t{1} << kAnswerBits) - 1;
    if ((known & ~kAnswer) == tag && (known & kValid) != 0) return known & kAnswer;
    const Answer found = find(contexts, first, second);
    memo_[index].store(tag | found, std::memory_order_relaxed);
    return found;
  }

  /// The function of a pair that differs, and its steps.
  struct Steps {
    const Node* node = nullptr;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  [[nodiscard]] static Steps steps(const Contexts& contexts, std::uint32_t first,
                                   std::uint32_t second);

 private:
  static constexpr unsigned kMemoBits = 16;
  static constexpr std::uint32_t kMemo = 1u << kMemoBits;
  static constexpr unsigned kAnswerBits = 36;
  static_assert(2 * kWayBits - kMemoBits + kAnswerBits <= 64);

  [[nodiscard]] static Answer find(const Contexts& contexts, std::uint32_t first,
                                   std::uint32_t second);

  std::atomic<std::uint64_t>* memo_ = nullptr;
};

}  // namespace syndrome::engine
