// What is open in a thread at some place in its words (event/wire.h): the functions that run, the
// locks that it has, the barriers that it waits at. Whoever begins to read in the middle of a
// thread's words begins with this.
//
// Used inside the program (runtime/live.h), with no memory but its own and no call, and by the
// process beside it (record/window.h). The rules for functions are those of trace/capture_walk.h.

#pragma once

#include <cstddef>
#include <cstdint>

#include "event/wire.h"

namespace syndrome::wire {

/// How many words the record has that begins at `word`; more than there are up to `end` when it is
/// cut off there.
[[nodiscard]] constexpr std::size_t record_words(const Word* word, const Word* end) {
  if (!is_control(*word)) return 1;
  switch (kind_of(*word)) {
    case Control::kRange:
    case Control::kLocals: return 3;
    case Control::kSync: {
      // A handler that was left by longjmp came before all operands were written.
      const std::size_t operands = operands_of(*word);
      const auto left = static_cast<std::size_t>(end - word) - 1;
      for (std::size_t i = 0; i < operands && i < left; ++i) {
        if ((word[1 + i] & kOperandBit) == 0) return 1 + i;
      }
      return 1 + operands;
    }
    case Control::kRun: return run_words(top_of(*word) & 0xf);
    case Control::kLate: return kLateWords;
    case Control::kLateLock: return kLateLockWords;
    default: return 1;
  }
}

struct OpenWords {
  /// Of more, the innermost ones are known.
  static constexpr std::uint64_t kFunctions = 256;
  static constexpr std::uint32_t kLocks = 32;
  static constexpr std::uint32_t kBarriers = 4;
  /// In `mark`: this is a scoped block; then its kind, and in the low half the number of its label.
  static constexpr Word kBlock = Word{1} << 63;
  static constexpr unsigned kBlockKindShift = 32;

  struct Function {
    Word word;  // kEnter or kLeaf; of a block, its kSync
    Word mark;  // of kFrame; 0: none
  };
  struct Lock {
    Word object;
    Word shared;
  };

  std::uint32_t thread;
  std::uint32_t locks;
  std::uint32_t barriers;
  std::uint32_t leaf;  // the innermost function ends after its next access
  /// Functions first … depth are known; number i is in functions[i % kFunctions].
  std::uint64_t depth;
  std::uint64_t first;
  Word wide;  // a kWide whose access has not come; 0: none
  Function functions[kFunctions];
  Lock held[kLocks];
  Word arrived[kBarriers];

  /// Nothing is open in the thread with this number.
  void begin(std::uint32_t number) {
    thread = number;
    locks = barriers = leaf = 0;
    depth = first = 0;
    wide = 0;
  }

  /// The thread has written these words, which are whole records.
  void take(const Word* word, const Word* end) {
    while (word < end) {
      if (!is_control(*word)) {
        ++word;
        wide = 0;
        if (leaf != 0) pop_to(depth - 1);
        continue;
      }
      word += take_control(word, end);
    }
  }

  /// Gives the words that a reader must have first to `append`, one after another: functions and
  /// locks. (Of barriers it is not known who else has left the round.)
  template <class Write>
  void write(const Write& append) const {
    for (std::uint64_t i = first; i < depth; ++i) {
      const Function& function = functions[i % kFunctions];
      if ((function.mark & kBlock) != 0) {
        const Word operands[] = {function.mark & 0xffffffff, 0, 0,
                                 (function.mark & ~kBlock) >> kBlockKindShift};
        append(function.word);
        for (const Word each : operands) append(operand(each));
        continue;
      }
      append(function.word);
      if (function.mark != 0) append(control(Control::kFrame, function.mark, 0));
    }
    for (std::uint32_t i = 0; i < locks; ++i) {
      append(sync(held[i].shared != 0 ? Sync::kAcquireShared : Sync::kAcquire, 1, 0));
      append(operand(held[i].object));
    }
    if (wide != 0) append(wide);
  }

 private:
  std::size_t take_control(const Word* word, const Word* end) {
    const std::size_t length = record_words(word, end);
    if (length > static_cast<std::size_t>(end - word)) return static_cast<std::size_t>(end - word);
    switch (kind_of(*word)) {
      case Control::kEnter: push(*word, 0); break;
      case Control::kLeaf:
        push(*word, 0);
        leaf = 1;
        break;
      case Control::kExit: exit(payload_of(*word)); break;
      case Control::kWide: wide = *word; break;
      case Control::kFrame:
        if (depth > first) functions[(depth - 1) % kFunctions].mark = payload_of(*word);
        break;
      case Control::kResume: resume(payload_of(*word)); break;
      case Control::kSync: take_sync(word, length); break;
      default: break;
    }
    return length;
  }

  void push(Word word, Word mark) {
    leaf = 0;
    functions[depth % kFunctions] = {word, mark};
    ++depth;
    if (depth - first > kFunctions) first = depth - kFunctions;
  }
  void pop_to(std::uint64_t count) {
    depth = count;
    if (first > depth) first = depth;
    leaf = depth > first && is_leaf(functions[(depth - 1) % kFunctions]) ? 1 : 0;
  }
  [[nodiscard]] static bool is_leaf(const Function& function) {
    return (function.mark & kBlock) == 0 && kind_of(function.word) == Control::kLeaf;
  }
  void exit(Word address) {
    for (std::uint64_t i = depth; i > first; --i) {
      const Function& function = functions[(i - 1) % kFunctions];
      if ((function.mark & kBlock) == 0 && payload_of(function.word) == address) {
        return pop_to(i - 1);
      }
    }
    // One that is not known any more.
    if (depth == first && first != 0) pop_to(first - 1);
  }
  void resume(Word mark) {
    for (std::uint64_t i = depth; i > first; --i) {
      if (functions[(i - 1) % kFunctions].mark == mark) return pop_to(i);
    }
  }

  void take_sync(const Word* word, std::size_t length) {
    if (length < 2) return;
    const Word object = value_of(word[1]);
    const Word operand = length > 4 ? value_of(word[4]) : 0;
    switch (sync_of(*word)) {
      case Sync::kAcquire: lock(object, 0); break;
      case Sync::kAcquireShared: lock(object, 1); break;
      case Sync::kRelease: unlock(object, 0); break;
      case Sync::kReleaseShared: unlock(object, 1); break;
      case Sync::kBarrierArrive:
        leave(object);
        if (barriers == kBarriers) leave(arrived[0]);
        arrived[barriers++] = object;
        break;
      case Sync::kBarrierLeave: leave(object); break;
      case Sync::kBlockBegin:
        push(*word, kBlock | (operand << kBlockKindShift) | (object & 0xffffffff));
        break;
      case Sync::kBlockEnd:
        for (std::uint64_t i = depth; i > first; --i) {
          const Word mark = functions[(i - 1) % kFunctions].mark;
          if ((mark & kBlock) == 0) break;
          if ((mark & ~kBlock) >> kBlockKindShift == operand) {
            pop_to(i - 1);
            break;
          }
        }
        break;
      default: break;
    }
  }
  void lock(Word object, Word shared) {
    if (locks < kLocks) held[locks++] = {object, shared};
  }
  void unlock(Word object, Word shared) {
    for (std::uint32_t i = locks; i > 0; --i) {
      if (held[i - 1].object != object || held[i - 1].shared != shared) continue;
      for (; i < locks; ++i) held[i - 1] = held[i];
      --locks;
      return;
    }
  }
  void leave(Word barrier) {
    for (std::uint32_t i = 0; i < barriers; ++i) {
      if (arrived[i] != barrier) continue;
      for (; i + 1 < barriers; ++i) arrived[i] = arrived[i + 1];
      --barriers;
      return;
    }
  }
};

}  // namespace syndrome::wire
