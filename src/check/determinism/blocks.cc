#include "check/determinism/blocks.h"

#include <utility>

namespace syndrome::check::determinism {

std::uint8_t BlockRule::decide(std::uint32_t label, const Names& names) {
  const StringTable& labels = names.table(Space::kLabel);
  if (label >= labels.size()) return kDecided;
  if (label >= decisions_.size()) decisions_.resize(labels.size());
  unsigned bits = kDecided;
  if (label != 0) {
    const std::string_view name = labels[label];
    // The mapper of the spec may have made a begin of an enter: both are the function.
    if (options_.declared && options_.declared(name)) bits |= kBegin | kEnter;
    if (name.starts_with(kAnnotation)) bits |= kEnter;
  }
  decisions_[label] = static_cast<std::uint8_t>(bits);
  return decisions_[label];
}

void Blocks::enter(const Event& e, EventNumber n, const Names& names, BlockRule& rule) {
  Thread& state = thread(e.thread);
  switch (e.kind) {
    case EventKind::kBegin:
      ++state.begins;
      if (rule.opens(e, names)) open(state, e, n, false, state.begins);
      break;
    case EventKind::kEnter:
      ++state.functions;
      if (rule.opens(e, names)) open(state, e, n, true, state.functions);
      break;
    case EventKind::kEnd:
      if (!state.open.empty()) find_closing(state, false, state.begins);
      break;
    case EventKind::kExit:
      if (!state.open.empty()) find_closing(state, true, state.functions);
      break;
    default: break;
  }
}

void Blocks::leave(const Event& e) {
  switch (e.kind) {
    case EventKind::kEnd:
    case EventKind::kExit: {
      Thread& state = thread(e.thread);
      if (closing_ != kNoBlock) close(state);
      std::uint64_t& depth = e.kind == EventKind::kEnd ? state.begins : state.functions;
      if (depth > 0) --depth;
      break;
    }
    case EventKind::kFork: {
      const BlockIndex inherited = thread(e.thread).innermost;
      thread(e.child()).innermost = inherited;
      for (BlockIndex b = inherited; b != kNoBlock; b = blocks_[b].parent) ++blocks_[b].alive;
      break;
    }
    case EventKind::kJoin: die(e.child()); break;
    case EventKind::kThreadStop: die(e.thread); break;
    default: break;
  }
  opened_ = kNoBlock;
  closing_ = kNoBlock;
}

void Blocks::open(Thread& state, const Event& e, EventNumber n, bool function,
                  std::uint64_t depth) {
  BlockIndex index = 0;
  if (free_.empty()) {
    index = static_cast<BlockIndex>(blocks_.size());
    blocks_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Block& block = blocks_[index];
  const BlockIndex parent = state.innermost;
  block = {n, e, parent, index, 0, 1, 0};
  if (parent != kNoBlock) {
    block.outermost = blocks_[parent].outermost;
    block.depth = blocks_[parent].depth + 1;
    ++blocks_[parent].inner;
    ++nested_;
  }
  ++begun_;
  state.innermost = index;
  state.open.push_back({index, function, depth});
  opened_ = index;
}

void Blocks::find_closing(const Thread& state, bool function, std::uint64_t depth) {
  // What is open further out was opened at less depth, so this looks at few entries.
  for (std::size_t i = state.open.size(); i-- > 0;) {
    const Open& open = state.open[i];
    if (open.function != function) continue;
    if (open.depth == depth) closing_ = open.block;
    return;
  }
}

void Blocks::close(Thread& state) {
  bool last = false;
  while (!last) {
    const BlockIndex block = state.open.back().block;
    state.open.pop_back();
    last = block == closing_;
    state.innermost = blocks_[block].parent;
    --blocks_[block].alive;
    release(block);
  }
}

void Blocks::die(ThreadId id) {
  Thread& state = thread(id);
  if (state.dead) return;
  state.dead = true;
  BlockIndex b = state.innermost;
  state.innermost = kNoBlock;
  state.open.clear();
  for (BlockIndex each = b; each != kNoBlock; each = blocks_[each].parent) --blocks_[each].alive;
  if (b != kNoBlock) release(b);
}

/// Forgets the block, and those around it, if nothing can be in them any more.
void Blocks::release(BlockIndex block) {
  while (block != kNoBlock && blocks_[block].alive == 0 && blocks_[block].inner == 0) {
    const BlockIndex parent = blocks_[block].parent;
    blocks_[block].begin = 0;
    free_.push_back(block);
    if (parent != kNoBlock) --blocks_[parent].inner;
    block = parent;
  }
}

}  // namespace syndrome::check::determinism
