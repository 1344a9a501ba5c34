// Goes through the words of one thread as ThreadWalk does, for whoever has to look at all of them
// quickly and passes most of them over: a frame is few bytes, and a site is one number.
//
// The *outer call* is the outermost function or block of a thread that can be a unit of work
// (FunctionRole).
//
// What makes no sense, and what only odd programs do, is not dealt with: failed() then, and the
// caller takes ThreadWalk.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "event/unit.h"
#include "event/wire.h"
#include "trace/capture_meta.h"
#include "trace/capture_reader.h"

namespace syndrome::trace {

/// What a scan has to know of the metadata, shared by all scans.
class ScanTables {
 public:
  ScanTables(const CaptureMeta& meta, FindUnitRole role);

  struct Site {
    std::uint32_t bits = 0;
    static constexpr std::uint32_t kReads = 1u << 28;
    static constexpr std::uint32_t kWrites = 1u << 29;
    static constexpr std::uint32_t kOfContainer = 1u << 30;  // may_be_of_container()
    static constexpr std::uint32_t kTellsObject = 1u << 31;  // of a class that has containers

    [[nodiscard]] std::uint32_t bytes() const { return bits & (kReads - 1); }  // 0: no access
    static constexpr std::uint32_t kObject = kReads | kWrites;  // and no bytes
    [[nodiscard]] bool reads() const { return (bits & kReads) != 0; }
    [[nodiscard]] bool writes() const { return (bits & kWrites) != 0; }
  };
  [[nodiscard]] const Site* sites() const { return sites_.data(); }
  [[nodiscard]] const CaptureMeta& meta() const { return *meta_; }
  /// 0 when the site does not tell of an object (object_key).
  [[nodiscard]] std::uint64_t object_at(std::uint32_t site, std::uint64_t address) const;

  /// Each function's is decided once, by who comes first. Also says that it was called.
  [[nodiscard]] FunctionRole role(std::uint32_t function) const {
    const std::uint8_t known = roles_[function].load(std::memory_order_relaxed);
    return known != 0 ? static_cast<FunctionRole>(known - 1) : decide(function);
  }
  /// Whether it may be one of std::future, whose end says that someone has waited.
  [[nodiscard]] bool may_wait(std::uint32_t function) const { return waits_[function]; }
  [[nodiscard]] bool was_called(std::uint32_t function) const {
    return roles_[function].load(std::memory_order_relaxed) != 0;
  }

 private:
  [[nodiscard]] FunctionRole decide(std::uint32_t function) const;

  const CaptureMeta* meta_;
  FindUnitRole role_;
  std::vector<bool> waits_;
  std::vector<Site> sites_;
  std::vector<std::uint32_t> owners_;  // by site: its function
  std::set<std::string_view> types_;   // the last parts of all classes that names of sites have
  std::unique_ptr<std::atomic<std::uint8_t>[]> roles_;  // 0: not decided
};

/// A function or block that is open.
struct ScanFrame {
  wire::Word word = 0;  // that entered it; 0: a block
  std::uint64_t mark = 0;
  std::uint32_t first = 0;  // its sites
  std::uint32_t count = 0;
  std::uint32_t function = CaptureMeta::kNone;
  std::uint8_t block_kind = 0;
  FunctionRole role = FunctionRole::kDeclared;  // kNever for what a thread begins with
  bool told = false;                            // the visitor's
  std::array<wire::Word, 4> objects{};          // that it works on, the first few; 0: no more
};

/// A kSync, as it lies in the words.
struct ScanSync {
  std::span<const wire::Word> record;
  wire::Sync kind = wire::Sync::kFence;

  [[nodiscard]] std::uint64_t value(std::size_t i) const {
    return 1 + i < record.size() ? wire::value_of(record[1 + i]) : 0;
  }
  [[nodiscard]] std::uint64_t object() const { return value(0); }
  [[nodiscard]] std::uint64_t version() const { return value(1); }
  [[nodiscard]] std::uint64_t time() const { return value(2); }
  [[nodiscard]] std::uint64_t operand() const { return value(3); }
};

/// An access of a loop's.
struct ScanRun {
  ScanTables::Site site;
  std::uint64_t address = 0;
  std::int64_t stride = 0;
  std::uint64_t count = 0;

  /// visit(address, bytes) for pieces that cover what it accesses, and maybe what lies between.
  template <class Visit>
  void each(const Visit& visit) const {
    if (count == 0) return;
    const std::uint64_t bytes = site.bytes();
    if (stride >= -8 && stride <= 8) {
      const auto length = static_cast<std::uint64_t>(stride < 0 ? -stride : stride) * (count - 1);
      visit((stride < 0 ? address - length : address) & wire::kAddressMask, length + bytes);
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      visit((address + i * static_cast<std::uint64_t>(stride)) & wire::kAddressMask, bytes);
    }
  }
};

/// Whether it is a function of the program.
[[nodiscard]] inline bool is_own(const ScanFrame& frame) {
  return frame.word != 0 && frame.role != FunctionRole::kLibrary;
}

/// `Derived` has, in the order of the words, and may use frames(), in_call() and leaf():
///   void on_access(Word word, Word wide or 0, Site site, std::uint32_t index, address)
///   void on_object(Word word)                  that the innermost function works on
///   void on_range(std::span<const Word> record, address, bytes, bool write)
///   void on_run(std::span<const Word> record, std::span<const ScanRun> accesses)
///   void on_sync(const ScanSync&)           before a block is pushed, behind one that was popped
///   void on_time(Word word)                 void on_locals(std::span<const Word>, address, bytes)
///   void on_frame(Word word)                void on_resume(Word word)
///   void on_push()                          the innermost frame is new
///   void on_pop(Word word)                  it is about to go; 0: without a word of its own
///   void on_call_begin(), on_call_end()     the outer one, behind on_push(), on_pop()
template <class Derived>
class WordScan {
 public:
  /// `first_thread`: what its first function is, is not what a thread begins with.
  WordScan(const ScanTables& tables, bool first_thread)
      : tables_(&tables), first_thread_(first_thread) {}

  /// How many words it has gone through: all, but for a record at the end that is not whole.
  std::size_t scan(std::span<const wire::Word> words);
  /// Behind the last words.
  void finish() {
    while (!frames_.empty() && !failed_) pop(0);
  }
  [[nodiscard]] bool failed() const { return failed_; }

 protected:
  [[nodiscard]] std::vector<ScanFrame>& frames() { return frames_; }
  [[nodiscard]] bool in_call() const { return call_ != kNoCall; }
  [[nodiscard]] bool leaf() const { return leaf_; }
  void fail() { failed_ = true; }
  const ScanTables& tables() const { return *tables_; }

 private:
  static constexpr std::size_t kMaxDepth = std::size_t{1} << 16;
  static constexpr std::size_t kNoCall = SIZE_MAX;

  [[nodiscard]] Derived& self() { return static_cast<Derived&>(*this); }
  void enter(wire::Word word);
  void exit(wire::Word word);
  void resume(wire::Word word);
  void push(const ScanFrame& frame, bool begins_call);
  void pop(wire::Word word);
  void find_sites() {
    first_ = frames_.empty() ? 0 : frames_.back().first;
    count_ = frames_.empty() ? 0 : frames_.back().count;
  }
  [[nodiscard]] std::uint32_t function_at(std::uint64_t address) {
    Known& known = known_[(address >> 5) % std::size(known_)];
    if (known.address != address) known = {address, tables_->meta().function_at(address)};
    return known.function;
  }
  void run(std::span<const wire::Word> record);
  void sync(std::span<const wire::Word> record);

  struct Known {
    std::uint64_t address = 0;
    std::uint32_t function = CaptureMeta::kNone;
  };

  const ScanTables* tables_;
  std::vector<ScanFrame> frames_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  wire::Word wide_ = 0;
  std::size_t own_ = 0;  // frames that are the program's functions
  std::size_t call_ = kNoCall;
  bool first_thread_;
  bool leaf_ = false;
  bool failed_ = false;
  Known known_[256];
};

template <class Derived>
void WordScan<Derived>::push(const ScanFrame& frame, bool begins_call) {
  if (frames_.size() == kMaxDepth) return fail();
  frames_.push_back(frame);
  own_ += is_own(frame) ? 1 : 0;
  find_sites();
  self().on_push();
  if (begins_call && call_ == kNoCall) {
    call_ = frames_.size() - 1;
    self().on_call_begin();
  }
}

template <class Derived>
void WordScan<Derived>::pop(wire::Word word) {
  self().on_pop(word);
  own_ -= is_own(frames_.back()) ? 1 : 0;
  frames_.pop_back();
  if (call_ == frames_.size()) {
    call_ = kNoCall;
    self().on_call_end();
  }
  find_sites();
}

template <class Derived>
void WordScan<Derived>::enter(wire::Word word) {
  ScanFrame frame;
  frame.function = function_at(wire::payload_of(word));
  if (frame.function == CaptureMeta::kNone || leaf_ || wide_ != 0) return fail();
  const CapturedFunction& function = tables_->meta().functions[frame.function];
  frame.word = word;
  frame.first = function.first;
  frame.count = function.count;
  frame.role = tables_->role(frame.function);
  const bool begins_thread = frame.role != FunctionRole::kLibrary && own_ == 0 && !first_thread_;
  if (begins_thread && frame.role != FunctionRole::kDeclared) frame.role = FunctionRole::kNever;
  push(frame, frame.role >= FunctionRole::kAccessor);
  leaf_ = wire::kind_of(word) == wire::Control::kLeaf;
}

template <class Derived>
void WordScan<Derived>::exit(wire::Word word) {
  const std::uint32_t function = function_at(wire::payload_of(word));
  if (function == CaptureMeta::kNone || leaf_) return fail();
  std::size_t at = frames_.size();
  while (at > 0 && frames_[at - 1].function != function) --at;
  if (at == 0) return fail();
  while (frames_.size() > at) pop(0);
  pop(word);
}

template <class Derived>
void WordScan<Derived>::resume(wire::Word word) {
  std::size_t at = frames_.size();
  while (at > 0 && (frames_[at - 1].word == 0 || frames_[at - 1].mark != wire::payload_of(word))) {
    --at;
  }
  if (at == 0 || leaf_) return fail();
  while (frames_.size() > at) pop(0);
  self().on_resume(word);
}

template <class Derived>
void WordScan<Derived>::run(std::span<const wire::Word> record) {
  const std::size_t sites = wire::top_of(record[0]) & 0xf;
  const std::size_t rest = wire::top_of(record[0]) >> 4;
  const std::uint64_t rounds = wire::payload_of(record[0]) >> 4;
  if (sites == 0 || sites > wire::kMaxRunSites || rest > sites || rounds > wire::kMaxRounds) {
    return fail();
  }
  ScanRun accesses[wire::kMaxRunSites];
  const auto first = record.last(sites);
  for (std::size_t i = 0; i < sites; ++i) {
    const std::uint32_t number = wire::top_of(first[i]);
    if (wire::is_control(first[i]) || number - 1 >= count_) return fail();
    accesses[i] = {tables_->sites()[first_ + number - 1], wire::address_of(first[i]),
                   wire::stride_of(wire::value_of(record[1 + i / wire::kStridesInWord]), i),
                   rounds + (i < rest ? 1 : 0)};
  }
  self().on_run(record, std::span(accesses, sites));
}

template <class Derived>
void WordScan<Derived>::sync(std::span<const wire::Word> record) {
  const ScanSync sync{record, wire::sync_of(record[0])};
  if (static_cast<std::size_t>(sync.kind) >= wire::kSyncCount || record.size() < 4) return fail();
  if (sync.kind == wire::Sync::kBlockEnd) {
    const bool open = !frames_.empty() && frames_.back().word == 0 &&
                      frames_.back().block_kind == static_cast<std::uint8_t>(sync.operand());
    if (!open) return fail();
    pop(0);
  }
  self().on_sync(sync);
  if (sync.kind == wire::Sync::kBlockBegin) {
    ScanFrame frame;
    frame.first = first_;
    frame.count = count_;
    frame.block_kind = static_cast<std::uint8_t>(sync.operand());
    push(frame, true);
  }
}

template <class Derived>
std::size_t WordScan<Derived>::scan(std::span<const wire::Word> words) {
  using wire::Control;
  std::size_t at = 0;
  while (at < words.size() && !failed_) {
    const wire::Word word = words[at];
    if (!wire::is_control(word)) {
      ++at;
      std::uint32_t number = wire::top_of(word);
      if (wide_ != 0) number |= wire::top_of(wide_) << 16;
      if (number - 1 >= count_) {
        fail();
        break;
      }
      const std::uint32_t index = first_ + number - 1;
      const ScanTables::Site site = tables_->sites()[index];
      if (site.bytes() != 0) {
        self().on_access(word, wide_, site, index, wire::address_of(word));
      } else if (site.bits == ScanTables::Site::kObject) {
        self().on_object(word);
      } else if (leaf_) {
        fail();
      }
      wide_ = 0;
      if (leaf_) {
        leaf_ = false;
        pop(0);
      }
      continue;
    }
    std::size_t length = 1;
    switch (wire::kind_of(word)) {
      case Control::kSync: length = 1 + wire::operands_of(word); break;
      case Control::kRange:
      case Control::kLocals: length = 3; break;
      case Control::kRun: length = wire::run_words(wire::top_of(word) & 0xf); break;
      default: break;
    }
    if (words.size() - at < length) break;
    if (length > 1 && leaf_) {
      fail();
      break;
    }
    const std::span<const wire::Word> record = words.subspan(at, length);
    at += length;
    switch (wire::kind_of(word)) {
      case Control::kPad: break;
      case Control::kEnter:
      case Control::kLeaf: enter(word); break;
      case Control::kExit: exit(word); break;
      case Control::kTime: self().on_time(word); break;
      case Control::kWide: wide_ = word; break;
      case Control::kFrame:
        if (frames_.empty() || frames_.back().word == 0 || leaf_) {
          fail();
        } else {
          frames_.back().mark = wire::payload_of(word);
          self().on_frame(word);
        }
        break;
      case Control::kResume: resume(word); break;
      case Control::kRange:
      case Control::kLocals: {
        const std::uint64_t address = wire::value_of(record[1]);
        const std::uint64_t bytes = wire::value_of(record[2]);
        if (address > wire::kAddressMask || bytes == 0 || bytes > wire::kAddressMask) {
          fail();
        } else if (wire::kind_of(word) == Control::kLocals) {
          self().on_locals(record, address, bytes);
        } else {
          self().on_range(record, address, bytes, (word & 0x10) != 0);
        }
        break;
      }
      case Control::kSync: sync(record); break;
      case Control::kRun: run(record); break;
      default: fail(); break;
    }
  }
  return at;
}

}  // namespace syndrome::trace
