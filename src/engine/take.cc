// Engine: the words of a thread (event/wire.h), taken apart. Words are the runtime's own; what
// makes no sense is passed over and counted.

#include "engine/engine.h"

namespace syndrome::engine {

using wire::Control;
using wire::Word;

void Engine::take_access(Thread& thread, std::uint64_t address, std::uint32_t site) {
  const SiteInfo* const info = thread.node->site(site);
  if (info == nullptr) {
    ++thread.counters.odd;
    return;
  }
  switch (info->kind) {
    case unit::SiteKind::kCall:
    case unit::SiteKind::kObject:
    case unit::SiteKind::kAtomic: return;
    default: break;
  }
  const bool write =
      info->kind != unit::SiteKind::kRead && info->kind != unit::SiteKind::kRangeRead;
  const Way how = way(thread, site, write, false);
  if (((address & 7) + info->bytes) <= 8 && info->bytes != 0) [[likely]] {
    one(thread, how, address, info->bytes);
  } else {
    several(thread, how, address, info->bytes);
  }
}

void Engine::take_run(Thread& thread, const Word* record) {
  const std::size_t sites = wire::top_of(record[0]) & 0xf;
  const std::size_t rest = wire::top_of(record[0]) >> 4;
  const std::uint64_t rounds = wire::payload_of(record[0]) >> 4;
  if (sites == 0 || sites > wire::kMaxRunSites || rest > sites || rounds > wire::kMaxRounds) {
    ++thread.counters.odd;
    return;
  }
  // Site after site: they are of one epoch, and others see the run as a whole.
  const Word* const first = record + wire::run_words(sites) - sites;
  for (std::size_t i = 0; i < sites; ++i) {
    const std::uint64_t times = rounds + (i < rest ? 1 : 0);
    if (times == 0) continue;
    const Word strides = wire::value_of(record[1 + i / wire::kStridesInWord]);
    run(thread, wire::address_of(first[i]), wire::stride_of(strides, i), times,
        wire::top_of(first[i]));
  }
}

void Engine::take_sync(Thread& thread, const Word* record, unsigned operands) {
  const std::uint32_t call = wire::top_of(record[0]);
  const Word object = operands > 0 ? wire::value_of(record[1]) : 0;
  const Word operand = operands > 3 ? wire::value_of(record[4]) : 0;
  const auto order = static_cast<Order>((operand >> 8) & 7);
  switch (wire::sync_of(record[0])) {
    case wire::Sync::kThreadStart: break;  // start() and stop() are the host's
    case wire::Sync::kThreadStop: break;
    case wire::Sync::kFork: fork(thread, object); break;
    case wire::Sync::kJoin: join(thread, object); break;
    case wire::Sync::kAcquire: acquire(thread, object, false); break;
    case wire::Sync::kRelease: release(thread, object, false); break;
    case wire::Sync::kAcquireShared: acquire(thread, object, true); break;
    case wire::Sync::kReleaseShared: release(thread, object, true); break;
    case wire::Sync::kBarrierArrive: arrive(thread, object); break;
    case wire::Sync::kBarrierLeave: leave(thread, object); break;
    case wire::Sync::kPost: post(thread, object); break;
    case wire::Sync::kWait: wait(thread, object); break;
    case wire::Sync::kCondWait: waited(thread); break;
    case wire::Sync::kCondSignal:
    case wire::Sync::kCondBroadcast: break;
    case wire::Sync::kAlloc: reset(thread, object, operand); break;
    case wire::Sync::kFree: free(thread, object, operand, call); break;
    case wire::Sync::kAtomicLoad:
      atomic(thread, Atomic::kLoad, object, operand & 0xff, order, call);
      break;
    case wire::Sync::kAtomicStore:
      atomic(thread, Atomic::kStore, object, operand & 0xff, order, call);
      break;
    case wire::Sync::kAtomicRmw:
      atomic(thread, Atomic::kRmw, object, operand & 0xff, order, call);
      break;
    case wire::Sync::kFence: fence(thread, order); break;
    case wire::Sync::kHappensBefore: happens_before(thread, object); break;
    case wire::Sync::kHappensAfter: happens_after(thread, object); break;
    case wire::Sync::kBlockBegin:
    case wire::Sync::kBlockEnd: break;
    case wire::Sync::kDestroy: destroy(object); break;
    case wire::Sync::kOrdered: break;
    default: ++thread.counters.odd; break;
  }
}

void Engine::take(Thread& thread, const Word* begin, const Word* end) {
  const Inside inside(*this, thread);
  const auto has = [&](std::size_t words) {
    return static_cast<std::size_t>(end - begin) >= words;
  };
  while (begin != end) {
    const Word word = *begin;
    if (!wire::is_control(word)) {
      ++begin;
      take_access(thread, wire::address_of(word), wire::top_of(word) | thread.wide);
      thread.wide = 0;
      if (thread.depth - 1 < Thread::kFrames && thread.frames[thread.depth - 1].leaf) {
        pop_to(thread, thread.depth - 1);
      }
      continue;
    }
    const auto function = reinterpret_cast<const unit::Function*>(wire::payload_of(word));
    switch (wire::kind_of(word)) {
      case Control::kPad:
      case Control::kTime: ++begin; break;
      case Control::kEnter:
      case Control::kLeaf:
        enter(thread, function, wire::top_of(word), wire::kind_of(word) == Control::kLeaf);
        ++begin;
        break;
      case Control::kExit:
        exit(thread, function);
        ++begin;
        break;
      case Control::kWide:
        thread.wide = wire::top_of(word) << 16;
        ++begin;
        break;
      case Control::kFrame:
        frame(thread, wire::payload_of(word));
        ++begin;
        break;
      case Control::kResume:
        resume(thread, wire::payload_of(word));
        ++begin;
        break;
      case Control::kRange:
      case Control::kLocals: {
        if (!has(3)) return;
        const Word address = wire::value_of(begin[1]);
        const Word bytes = wire::value_of(begin[2]);
        if (address > wire::kAddressMask || bytes > wire::kAddressMask - address) {
          ++thread.counters.odd;
        } else if (wire::kind_of(word) == Control::kLocals) {
          reset(thread, address, bytes);
        } else {
          range(thread, address, bytes, (word & 0x10) != 0, (word & 0x40) != 0, wire::top_of(word));
        }
        begin += 3;
        break;
      }
      case Control::kSync: {
        const unsigned operands = wire::operands_of(word);
        if (!has(1 + operands)) return;
        take_sync(thread, begin, operands);
        begin += 1 + operands;
        break;
      }
      case Control::kRun: {
        const std::size_t words = wire::run_words(wire::top_of(word) & 0xf);
        if (!has(words)) return;
        take_run(thread, begin);
        begin += words;
        break;
      }
      default:
        ++thread.counters.odd;
        ++begin;
        break;
    }
  }
}

}  // namespace syndrome::engine
