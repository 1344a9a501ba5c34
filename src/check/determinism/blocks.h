// Which deterministic blocks each event is in, while a trace passes.
//
// A block is what one thread does from its begin to its end, and all that the threads do that are
// forked inside of it, for as long as they live. So blocks form a tree: a block that begins inside
// of another one lies in it as a whole. The blocks that an event is in are the innermost one, its
// parent, and so on.
//
// A begin or enter opens a block when the rule says so; its end or exit closes it. An end or exit
// belongs to the innermost begin or enter of its thread that is open.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "event/names.h"

namespace syndrome::check::determinism {

/// Which begins and enters are deterministic blocks: decided once for each label.
class BlockRule {
 public:
  struct Options {
    /// Whether a function or label of this name was declared deterministic (spec). None: nobody
    /// declared any.
    std::function<bool(std::string_view)> declared;
    /// Every begin … end is a block: a trace in which nothing says which ones are meant.
    bool every_begin = true;
  };

  explicit BlockRule(Options options) : options_(std::move(options)) {}

  [[nodiscard]] bool opens(const Event& e, const Names& names) {
    if (e.kind == EventKind::kBegin && options_.every_begin) return true;
    return (decision(e.target, names) & (e.kind == EventKind::kBegin ? kBegin : kEnter)) != 0;
  }

  /// How reports call an annotated function: "deterministic sort(int)" is enter's own word for it.
  static constexpr std::string_view kAnnotation = "deterministic ";

 private:
  enum Decision : std::uint8_t { kUndecided = 0, kDecided = 1, kBegin = 2, kEnter = 4 };
  [[nodiscard]] std::uint8_t decision(std::uint32_t label, const Names& names) {
    if (label < decisions_.size() && decisions_[label] != kUndecided) [[likely]]
      return decisions_[label];
    return decide(label, names);
  }
  [[nodiscard]] std::uint8_t decide(std::uint32_t label, const Names& names);

  Options options_;
  std::vector<std::uint8_t> decisions_;
};

using BlockIndex = std::uint32_t;
inline constexpr BlockIndex kNoBlock = std::numeric_limits<BlockIndex>::max();

struct Block {
  EventNumber begin = 0;  // names the block: no two have the same
  Event begin_event;
  BlockIndex parent = kNoBlock;
  BlockIndex outermost = kNoBlock;  // itself, when it has no parent
  std::uint32_t depth = 0;          // how many blocks it is in
  /// Threads that may still have an event in it: the one that began it, until it ends the block or
  /// dies; and those forked inside of it, until they die (stop, or are joined).
  std::uint32_t alive = 0;
  std::uint32_t inner = 0;  // blocks inside of it that are still known
};

class Blocks {
 public:
  /// Before an event is looked at: opens the block that it begins, and finds the one that it ends.
  void enter(const Event& e, EventNumber n, const Names& names, BlockRule& rule);
  /// In place of enter() and leave(), for an enter or exit that begins and ends no block; false:
  /// it may, and nothing was done.
  [[nodiscard]] bool pass_function(const Event& e, const Names& names, BlockRule& rule) {
    Thread& state = thread(e.thread);
    if (e.kind == EventKind::kEnter) {
      if (rule.opens(e, names)) return false;
      ++state.functions;
      return true;
    }
    if (!state.open.empty() &&
        (!state.open.back().function || state.open.back().depth == state.functions)) {
      return false;
    }
    if (state.functions > 0) --state.functions;
    return true;
  }
  /// After it was looked at: closes, forks, lets threads die.
  void leave(const Event& e);

  /// The innermost block of what the thread does now; kNoBlock outside of all blocks.
  [[nodiscard]] BlockIndex innermost(ThreadId thread) const {
    return thread.index() < threads_.size() ? threads_[thread.index()].innermost : kNoBlock;
  }
  /// Valid as long as the block can have more events.
  [[nodiscard]] const Block& operator[](BlockIndex block) const { return blocks_[block]; }

  // Between enter() and leave():
  /// The block that this event begins; kNoBlock when it begins none.
  [[nodiscard]] BlockIndex opened() const { return opened_; }
  /// The block that this event ends, with all blocks of the thread inside of it.
  [[nodiscard]] BlockIndex closing() const { return closing_; }
  /// The thread that this event ends, by its stop or its first join, if any.
  [[nodiscard]] bool dies(ThreadId thread) const {
    return thread.index() >= threads_.size() || !threads_[thread.index()].dead;
  }

  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  [[nodiscard]] std::uint64_t nested() const { return nested_; }

 private:
  struct Open {
    BlockIndex block;
    bool function;        // opened by an enter
    std::uint64_t depth;  // open functions, or open begins, of the thread with this one
  };
  struct Thread {
    BlockIndex innermost = kNoBlock;
    bool dead = false;
    std::uint64_t functions = 0;  // open enters
    std::uint64_t begins = 0;     // open begins
    std::vector<Open> open;       // begun by this thread itself, innermost last
  };

  [[nodiscard]] Thread& thread(ThreadId id) {
    if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
    return threads_[id.index()];
  }
  void open(Thread& state, const Event& e, EventNumber n, bool function, std::uint64_t depth);
  void find_closing(const Thread& state, bool function, std::uint64_t depth);
  void close(Thread& state);
  void die(ThreadId id);
  void release(BlockIndex block);

  std::vector<Thread> threads_;
  std::vector<Block> blocks_;
  std::vector<BlockIndex> free_;
  BlockIndex opened_ = kNoBlock;
  BlockIndex closing_ = kNoBlock;
  std::uint64_t begun_ = 0;
  std::uint64_t nested_ = 0;
};

}  // namespace syndrome::check::determinism
