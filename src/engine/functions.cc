// Engine: which functions run in a thread.

#include "engine/engine.h"

namespace syndrome::engine {

void Engine::enter(Thread& thread, const unit::Function* function, std::uint32_t call, bool leaf) {
  const Inside inside(*this, thread);
  const Node* const node = contexts_.child(units_, thread.node, function, call);
  const std::uint32_t depth = thread.depth++;
  if (depth >= Thread::kFrames) {  // nothing is known of what is further in
    thread.node = contexts_.root();
    return;
  }
  thread.node = node;
  if (node->matters) {
    boundary(thread);
    if (thread.open_since == kNever) {
      thread.open_since = thread.epoch;
      thread.open_depth = depth;
      set_floor(thread);
    }
  }
  thread.frames[depth] = {node, function, 0, thread.epoch, leaf};
}

void Engine::pop_to(Thread& thread, std::uint32_t depth) {
  thread.depth = depth;
  thread.node = depth == 0                 ? contexts_.root()
                : depth <= Thread::kFrames ? thread.frames[depth - 1].node
                                           : contexts_.root();
  if (thread.open_since == kNever || thread.open_depth < depth) return;
  thread.open_since = kNever;
  set_floor(thread);
}

void Engine::exit(Thread& thread, const unit::Function* function) {
  constexpr std::uint32_t kLook = 4096;  // frames that were left by longjmp or an exception
  const Inside inside(*this, thread);
  if (thread.depth > Thread::kFrames) return pop_to(thread, thread.depth - 1);
  for (std::uint32_t i = 0; i < thread.depth && i < kLook; ++i) {
    const std::uint32_t depth = thread.depth - 1 - i;
    if (thread.frames[depth].function == function) return pop_to(thread, depth);
  }
  ++thread.counters.odd;
}

void Engine::frame(Thread& thread, std::uint64_t mark) {
  if (thread.depth - 1 < Thread::kFrames) thread.frames[thread.depth - 1].mark = mark;
}

void Engine::resume(Thread& thread, std::uint64_t mark) {
  const Inside inside(*this, thread);
  std::uint32_t depth = thread.depth < Thread::kFrames ? thread.depth : Thread::kFrames;
  for (; depth > 0; --depth) {
    if (thread.frames[depth - 1].mark == mark) return pop_to(thread, depth);
  }
  ++thread.counters.odd;
}

}  // namespace syndrome::engine
