// Goes through the words of one thread (event/wire.h), record by record, and knows which functions
// are running. Words are untrusted: what makes no sense is passed over and counted.
//
// A program does not always leave its functions in order: exit(), longjmp and a kill leave some
// open. An exit of a function further down ends those above it as well; an exit of one that does
// not run is passed over.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "event/unit.h"
#include "event/wire.h"
#include "trace/capture_meta.h"

namespace syndrome::trace {

/// A kSync, taken apart.
struct SyncRecord {
  wire::Sync kind = wire::Sync::kFence;
  std::uint32_t call = 0;  // 1 + index of the site, 0: unknown
  std::uint64_t object = 0;
  std::uint64_t version = 0;  // 0: none
  std::uint64_t time = 0;
  std::uint64_t operand = 0;
};

/// A kLate, taken apart.
struct LateRecord {
  std::uint32_t slot = 0;
  std::uint64_t position = 0;
  std::uint64_t told = 0;  // the last position up to there that the slot has told of
  bool write = false;
  bool atomic = false;
  std::uint64_t address = 0;
  unsigned bytes = 0;      // 0: it only says what is before
  std::uint32_t site = 0;  // 1 + its index, 0: unknown
};

/// A kLateLock, taken apart.
struct LateLockRecord {
  std::uint32_t slot = 0;
  std::uint64_t position = 0;
  std::uint64_t told = 0;  // as above
  bool release = false;
  std::uint64_t object = 0;
  std::uint32_t site = 0;
  std::uint64_t version = 0;  // 0: none
};

/// A function that runs, or a scoped block that is open.
struct OpenFrame {
  std::uint32_t function = CaptureMeta::kNone;  // kNone: unknown, or a block
  std::uint32_t call = 0;                       // 1 + index of the site that called it, 0: unknown
  std::uint64_t mark = 0;   // function: wire::Control::kFrame; block: number of its label
  std::uint32_t value = 0;  // the visitor's
  std::uint32_t first = 0;  // the sites of the function, for a block of the one around it
  std::uint32_t count = 0;
  bool block = false;
  bool leaf = false;            // it ends after its next access; a signal handler may come before
  std::uint8_t block_kind = 0;  // wire::Block
};

enum class WalkStop : std::uint8_t {
  kMore,    // the words ended, maybe in the middle of a record: `at` is where it begins
  kPaused,  // the visitor asked for it; `at` is behind the time, or at the sync
};

/// A visitor has, in the order of the words:
///   void access(const unit::Site& site, std::uint32_t index, std::uint64_t address)
///   void range(std::uint32_t index or 0, bool write, std::uint64_t address, std::uint64_t bytes,
///              bool atomic)
///   void enter(OpenFrame&)        void exit(const OpenFrame&)     functions and blocks
///   bool time(std::uint64_t)      false: pause
///   bool sync(const SyncRecord&)  false: pause, and give it again
///   void locals(std::uint64_t address, std::uint64_t bytes)
/// and, for a process that follows its accesses itself,
///   bool place(std::uint32_t slot, std::uint64_t position)  false: pause, and give it again
///   bool late(const LateRecord&), late(const LateLockRecord&)   likewise
///   bool behind(std::uint32_t slot, std::uint64_t position)     likewise
/// and may have, to be spared the accesses of a loop when it says so of all its sites:
///   bool knows_run(std::uint32_t index, std::uint64_t address, std::int64_t stride,
///                  std::uint64_t rounds)
class ThreadWalk {
 public:
  explicit ThreadWalk(const CaptureMeta& meta) : meta_(&meta) {}

  template <class Visitor>
  WalkStop walk(std::span<const std::uint64_t> words, std::size_t& at, Visitor& visitor);

  /// Innermost last.
  [[nodiscard]] const std::vector<OpenFrame>& open() const { return open_; }
  /// For a visitor that changes the `value` of one.
  [[nodiscard]] OpenFrame& open_at(std::size_t index) { return open_[index]; }
  /// Words, sites and functions that the metadata does not know, exits without enters.
  [[nodiscard]] std::uint64_t odd() const { return odd_; }

 private:
  // A stack of that many functions is not a program's.
  static constexpr std::size_t kMaxDepth = std::size_t{1} << 20;

  /// 1 + index in CaptureMeta::sites, 0 when the function has no such site.
  [[nodiscard]] std::uint32_t site_index(std::uint32_t number) const {
    return number - 1 < count_ ? first_ + number : 0;
  }

  template <class Visitor>
  void push(const OpenFrame& pushed, Visitor& visitor) {
    if (open_.size() >= kMaxDepth) {
      ++odd_;
      return;
    }
    search_steps_ += 16;
    OpenFrame& frame = open_.emplace_back(pushed);
    leaf_ = frame.leaf;
    if (!frame.block && frame.function != CaptureMeta::kNone) {
      first_ = frame.first = meta_->functions[frame.function].first;
      count_ = frame.count = meta_->functions[frame.function].count;
    } else if (frame.block) {
      frame.first = first_;
      frame.count = count_;
    } else {
      first_ = count_ = 0;
    }
    visitor.enter(frame);
  }
  /// The visitor is asked while the frame is still there.
  template <class Visitor>
  void pop_to(std::size_t size, Visitor& visitor) {
    while (open_.size() > size) {
      visitor.exit(open_.back());
      open_.pop_back();
    }
    find_function();
  }
  void find_function() {
    first_ = open_.empty() ? 0 : open_.back().first;
    count_ = open_.empty() ? 0 : open_.back().count;
    leaf_ = !open_.empty() && open_.back().leaf;
  }
  /// Whether a search for the frame that ends may look further down. One that finds it pays for
  /// itself, because what is above is over; those that find nothing have 16 steps for each enter.
  [[nodiscard]] bool may_search() { return search_steps_ > 0 && --search_steps_ > 0; }
  template <class Visitor>
  void exit_function(std::uint64_t address, Visitor& visitor);
  template <class Visitor>
  void resume(std::uint64_t mark, Visitor& visitor);
  template <class Visitor>
  void run(std::span<const std::uint64_t> record, Visitor& visitor);
  template <class Visitor>
  void end_block(const SyncRecord& record, Visitor& visitor);
  [[nodiscard]] std::uint32_t function_at(std::uint64_t address) {
    Known& known = known_[(address >> 5) % std::size(known_)];
    if (known.address != address) known = {address, meta_->function_at(address)};
    return known.function;
  }

  struct Known {
    std::uint64_t address = 0;
    std::uint32_t function = CaptureMeta::kNone;
  };

  const CaptureMeta* meta_;
  std::vector<OpenFrame> open_;
  std::uint32_t first_ = 0;  // sites of the innermost function
  std::uint32_t count_ = 0;
  std::uint32_t wide_ = 0;  // upper bits of the next site
  bool leaf_ = false;       // of the innermost function: OpenFrame::leaf
  std::uint64_t odd_ = 0;
  std::uint64_t search_steps_ = std::uint64_t{1} << 20;
  Known known_[256];
};

template <class Visitor>
void ThreadWalk::exit_function(std::uint64_t address, Visitor& visitor) {
  const std::uint32_t function = function_at(address);
  if (!open_.empty() && !open_.back().block && open_.back().function == function) [[likely]] {
    pop_to(open_.size() - 1, visitor);
    return;
  }
  for (std::size_t i = open_.size(); i-- > 0 && may_search();) {
    if (open_[i].block || open_[i].function != function) continue;
    search_steps_ += open_.size() - i;
    pop_to(i, visitor);
    return;
  }
  ++odd_;
}

template <class Visitor>
void ThreadWalk::resume(std::uint64_t mark, Visitor& visitor) {
  for (std::size_t i = open_.size(); i-- > 0 && may_search();) {
    if (open_[i].block || open_[i].mark != mark) continue;
    search_steps_ += open_.size() - i;
    pop_to(i + 1, visitor);
    return;
  }
  ++odd_;
}

template <class Visitor>
void ThreadWalk::end_block(const SyncRecord& record, Visitor& visitor) {
  for (std::size_t i = open_.size(); i-- > 0 && may_search();) {
    if (!open_[i].block) break;  // it belongs to the function that opened it
    if (open_[i].block_kind != static_cast<std::uint8_t>(record.operand)) continue;
    pop_to(i, visitor);
    return;
  }
  ++odd_;
}

template <class Visitor>
void ThreadWalk::run(std::span<const std::uint64_t> record, Visitor& visitor) {
  const std::size_t sites = wire::top_of(record[0]) & 0xf;
  const std::size_t rest = wire::top_of(record[0]) >> 4;
  const std::uint64_t rounds = wire::payload_of(record[0]) >> 4;
  if (sites == 0 || sites > wire::kMaxRunSites || rest > sites || rounds > wire::kMaxRounds) {
    ++odd_;
    return;
  }
  struct Access {
    std::uint32_t index;
    std::uint64_t address;
    std::int64_t stride;
  };
  std::array<Access, wire::kMaxRunSites> accesses;
  const auto first = record.last(sites);
  for (std::size_t i = 0; i < sites; ++i) {
    accesses[i] = {
        .index = site_index(wire::top_of(first[i])),
        .address = wire::address_of(first[i]),
        .stride = wire::stride_of(wire::value_of(record[1 + i / wire::kStridesInWord]), i)};
    if (wire::is_control(first[i]) || accesses[i].index == 0) {
      ++odd_;
      return;
    }
  }
  if constexpr (requires { visitor.knows_run(0u, 0ul, 0l, 0ul); }) {
    bool known = true;
    for (std::size_t i = 0; i < sites; ++i) {
      known &= visitor.knows_run(accesses[i].index, accesses[i].address, accesses[i].stride,
                                 rounds + (i < rest ? 1 : 0));
    }
    if (known) return;
  }
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    const std::size_t count = round < rounds ? sites : rest;
    for (Access& access : std::span(accesses).first(count)) {
      visitor.access(meta_->sites[access.index - 1], access.index,
                     access.address & wire::kAddressMask);
      access.address += static_cast<std::uint64_t>(access.stride);
    }
  }
}

template <class Visitor>
WalkStop ThreadWalk::walk(std::span<const std::uint64_t> words, std::size_t& walked,
                          Visitor& visitor) {
  using wire::Control;
  // Not the caller's own, which the compiler would store for every word.
  std::size_t at = walked;
  const auto stop = [&](WalkStop why) {
    walked = at;
    return why;
  };
  while (at < words.size()) {
    const std::uint64_t word = words[at];
    if (!wire::is_control(word)) {
      ++at;
      std::uint32_t number = wire::top_of(word);
      if (wide_ != 0) [[unlikely]]
        number |= std::exchange(wide_, 0);
      const std::uint32_t index = site_index(number);
      if (index != 0) [[likely]] {
        visitor.access(meta_->sites[index - 1], index, wire::address_of(word));
      } else {
        ++odd_;
      }
      if (leaf_) pop_to(open_.size() - 1, visitor);
      continue;
    }
    switch (wire::kind_of(word)) {
      case Control::kPad: ++at; break;
      case Control::kEnter:
      case Control::kLeaf: {
        ++at;
        OpenFrame frame;
        frame.function = function_at(wire::payload_of(word));
        frame.call = site_index(wire::top_of(word));
        if (frame.function == CaptureMeta::kNone) ++odd_;
        frame.leaf = wire::kind_of(word) == Control::kLeaf;
        push(frame, visitor);
        break;
      }
      case Control::kExit:
        ++at;
        exit_function(wire::payload_of(word), visitor);
        break;
      case Control::kTime:
        ++at;
        if (!visitor.time(wire::time_of(word))) return stop(WalkStop::kPaused);
        break;
      case Control::kWide:
        ++at;
        wide_ = wire::top_of(word) << 16;
        break;
      case Control::kFrame:
        ++at;
        if (!open_.empty()) open_.back().mark = wire::payload_of(word);
        break;
      case Control::kResume:
        ++at;
        resume(wire::payload_of(word), visitor);
        break;
      case Control::kRange:
      case Control::kLocals: {
        if (words.size() - at < 3) return stop(WalkStop::kMore);
        const std::uint64_t address = wire::value_of(words[at + 1]);
        const std::uint64_t bytes = wire::value_of(words[at + 2]);
        at += 3;
        if (address > wire::kAddressMask || bytes == 0 || bytes > wire::kAddressMask) {
          ++odd_;
        } else if (wire::kind_of(word) == Control::kLocals) {
          visitor.locals(address, bytes);
        } else {
          visitor.range(site_index(wire::top_of(word)), (word & 0x10) != 0, address, bytes,
                        (word & 0x40) != 0);
        }
        break;
      }
      case Control::kPlace:
        if constexpr (requires { visitor.place(0u, 0ul); }) {
          if (!visitor.place(wire::top_of(word) & wire::kSlotMask, wire::position_of(word))) {
            return stop(WalkStop::kPaused);
          }
        } else {
          ++odd_;
        }
        ++at;
        break;
      case Control::kLate: {
        if (words.size() - at < wire::kLateWords) return stop(WalkStop::kMore);
        if constexpr (requires { visitor.late(LateRecord{}); }) {
          LateRecord record;
          const std::uint32_t top = wire::top_of(word);
          const std::uint64_t where = wire::value_of(words[at + 1]);
          record.slot = top & wire::kSlotMask;
          record.position = wire::position_of(word);
          record.write = (top & wire::kLateWrite) != 0;
          record.atomic = (top & wire::kLateAtomic) != 0;
          record.address = where & wire::kAddressMask;
          record.bytes = static_cast<unsigned>(where >> 48) & 0xf;
          record.site =
              meta_->site_of_unit(wire::value_of(words[at + 2]), wire::value_of(words[at + 3]));
          record.told = wire::value_of(words[at + 4]);
          if (!visitor.late(record)) return stop(WalkStop::kPaused);
        } else {
          ++odd_;
        }
        at += wire::kLateWords;
        break;
      }
      case Control::kLateLock: {
        if (words.size() - at < wire::kLateLockWords) return stop(WalkStop::kMore);
        if constexpr (requires { visitor.late(LateLockRecord{}); }) {
          LateLockRecord record;
          const std::uint32_t top = wire::top_of(word);
          record.slot = top & wire::kSlotMask;
          record.position = wire::position_of(word);
          record.release = (top & wire::kLateRelease) != 0;
          record.object = wire::value_of(words[at + 1]);
          record.site =
              meta_->site_of_unit(wire::value_of(words[at + 2]), wire::value_of(words[at + 3]));
          record.told = wire::value_of(words[at + 4]);
          record.version = wire::value_of(words[at + 5]);
          if (!visitor.late(record)) return stop(WalkStop::kPaused);
        } else {
          ++odd_;
        }
        at += wire::kLateLockWords;
        break;
      }
      case Control::kBehind:
        if constexpr (requires { visitor.behind(0u, 0ul); }) {
          if (!visitor.behind(wire::top_of(word) & wire::kSlotMask, wire::position_of(word))) {
            return stop(WalkStop::kPaused);
          }
        } else {
          ++odd_;
        }
        ++at;
        break;
      case Control::kSync: {
        const std::size_t operands = wire::operands_of(word);
        if (words.size() - at <= operands) return stop(WalkStop::kMore);
        // A handler that was left by longjmp came before all of them were written.
        std::size_t whole = 0;
        while (whole < operands && (words[at + 1 + whole] & wire::kOperandBit) != 0) ++whole;
        if (whole != operands) {
          ++odd_;
          at += 1 + whole;
          break;
        }
        const auto value = [&](std::size_t i) {
          return i < operands ? wire::value_of(words[at + 1 + i]) : 0;
        };
        SyncRecord record;
        record.kind = wire::sync_of(word);
        record.call = site_index(wire::top_of(word));
        record.object = value(0);
        record.version = value(1);
        record.time = value(2);
        record.operand = value(3);
        if (static_cast<std::size_t>(record.kind) >= wire::kSyncCount ||
            (operands < 3 && operands != 1)) {
          ++odd_;
          at += 1 + operands;
          break;
        }
        if (!visitor.sync(record)) return stop(WalkStop::kPaused);
        at += 1 + operands;
        if (record.kind == wire::Sync::kBlockBegin) {
          OpenFrame frame;
          frame.block = true;
          frame.call = record.call;
          frame.mark = record.object;
          frame.block_kind = static_cast<std::uint8_t>(record.operand);
          push(frame, visitor);
        } else if (record.kind == wire::Sync::kBlockEnd) {
          end_block(record, visitor);
        }
        break;
      }
      case Control::kRun: {
        const std::size_t length = wire::run_words(wire::top_of(word) & 0xf);
        if (words.size() - at < length) return stop(WalkStop::kMore);
        run(words.subspan(at, length), visitor);
        at += length;
        break;
      }
      default:
        ++at;
        ++odd_;
        break;
    }
  }
  return stop(WalkStop::kMore);
}

}  // namespace syndrome::trace
