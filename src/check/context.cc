#include "check/context.h"

#include <algorithm>
#include <utility>

namespace syndrome::check {

ContextPass::ContextPass(std::span<const CheckResult> results) {
  for (const CheckResult& result : results) {
    for (const Finding& finding : result.findings) {
      for (const Witness& witness : finding.witnesses) {
        wanted_.push_back(witness.number);
        const std::size_t id = witness.event.thread.index();
        if (id >= involved_.size()) involved_.resize(id + 1);
        involved_[id] = true;
      }
    }
  }
  std::ranges::sort(wanted_);
  const auto rest = std::ranges::unique(wanted_);
  wanted_.erase(rest.begin(), rest.end());
}

bool ContextPass::worthwhile(const Counts& counts) {
  return counts.of(EventKind::kEnter) + counts.of(EventKind::kFork) +
             counts.of(EventKind::kAcquire) + counts.of(EventKind::kAcquireShared) +
             // Functions that the spec has made blocks were counted as those.
             counts.of(EventKind::kBegin) !=
         0;
}

void ContextPass::take(const Batch& batch) {
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    // The event's own effect comes after it: an acquire does not hold its lock yet.
    if (next_ < wanted_.size() && number == wanted_[next_]) {
      contexts_.at.emplace(number, snapshot(thread(event.thread)));
      if (++next_ == wanted_.size()) return;
    }
    apply(event, number);
    ++number;
  }
}

void ContextPass::apply(const Event& event, EventNumber number) {
  switch (event.kind) {
    case EventKind::kEnter:
      thread(event.thread).calls.push_back({event.label(), event.site});
      return;
    case EventKind::kExit: exit(thread(event.thread), event.label()); return;
    case EventKind::kAcquire:
    case EventKind::kAcquireShared: acquire(thread(event.thread), event, number); return;
    case EventKind::kRelease:
    case EventKind::kReleaseShared:
      release(thread(event.thread), event.lock(), event.kind == EventKind::kReleaseShared);
      return;
    case EventKind::kFork:
      if (event.child().index() < involved_.size() && involved_[event.child().index()]) {
        contexts_.creation.try_emplace(
            event.child().value,
            Creation{number, event.thread, event.site, snapshot(thread(event.thread))});
      }
      return;
    default: return;
  }
}

ContextPass::Thread& ContextPass::thread(ThreadId id) {
  if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
  return threads_[id.index()];
}

Context ContextPass::snapshot(const Thread& thread) {
  Context context;
  const std::size_t shown = std::min(thread.calls.size(), Contexts::kMaxFrames);
  context.stack.assign(thread.calls.rbegin(),
                       thread.calls.rbegin() + static_cast<std::ptrdiff_t>(shown));
  context.deeper = thread.calls.size() - shown;
  for (const HeldLock& held : thread.locks) {
    if (std::ranges::find(context.held, held.lock, &HeldLock::lock) == context.held.end()) {
      context.held.push_back(held);
    }
  }
  return context;
}

void ContextPass::exit(Thread& thread, LabelId function) {
  std::vector<Call>& calls = thread.calls;
  if (calls.empty()) return;
  if (function == LabelId() || calls.back().function == function) {
    calls.pop_back();
    return;
  }
  // Far below the top there is no exception to find, only an exit that was never entered: without
  // a limit, many of those in a deep recursion would take forever.
  constexpr std::size_t kMostUnwound = 4096;
  const std::size_t most = std::min(calls.size(), kMostUnwound);
  for (std::size_t i = 1; i < most; ++i) {
    if (calls[calls.size() - 1 - i].function != function) continue;
    calls.resize(calls.size() - 1 - i);
    return;
  }
}

void ContextPass::acquire(Thread& thread, const Event& event, EventNumber number) {
  HeldLock held{event.lock(), event.site, number, event.kind == EventKind::kAcquireShared, {}};
  const std::size_t known = std::min(thread.calls.size(), held.callers.size());
  for (std::size_t i = 0; i < known; ++i) {
    held.callers[i] = thread.calls[thread.calls.size() - 1 - i].site;
  }
  thread.locks.push_back(held);
}

void ContextPass::release(Thread& thread, LockId lock, bool shared) {
  std::vector<HeldLock>& locks = thread.locks;
  auto it = std::find_if(locks.rbegin(), locks.rend(), [&](const HeldLock& held) {
    return held.lock == lock && held.shared == shared;
  });
  if (it == locks.rend())
    it = std::ranges::find(locks.rbegin(), locks.rend(), lock, &HeldLock::lock);
  if (it != locks.rend()) locks.erase(std::next(it).base());
}

}  // namespace syndrome::check
