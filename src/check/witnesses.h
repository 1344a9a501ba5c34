// Collects what a report says about the events of findings: the event itself, the block around it
// and the locks held. Part of every verifier's own look at the trace.

#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/finding.h"
#include "event/event.h"

namespace syndrome::check {

class Witnesses {
 public:
  /// The numbers of the events that matter, in any order.
  explicit Witnesses(std::vector<EventNumber> wanted) : wanted_(std::move(wanted)) {
    std::ranges::sort(wanted_);
    const auto rest = std::ranges::unique(wanted_);
    wanted_.erase(rest.begin(), rest.end());
    seen_.reserve(wanted_.size());
  }

  /// All events have been seen, and the blocks around them have ended.
  [[nodiscard]] bool satisfied() const { return next_ == wanted_.size() && open_ == 0; }

  /// The next event, well-formed; not one that is kDropped. Whether it is wanted.
  bool take(const Event& event, EventNumber number) {
    if (event.thread.index() >= threads_.size()) threads_.resize(event.thread.index() + 1);
    Thread& thread = threads_[event.thread.index()];
    const bool outermost = (event.flags & kNested) == 0;
    if (outermost) before(event, number, thread);
    const bool wanted = next_ < wanted_.size() && wanted_[next_] == number;
    if (wanted) see(event, number, thread);
    if (outermost) after(event, number, thread);
    return wanted;
  }

  /// None when the trace has no such event, or nobody wanted it.
  [[nodiscard]] const Witness* find(EventNumber number) const {
    const auto at = std::ranges::lower_bound(seen_, number, {}, &Witness::number);
    return at != seen_.end() && at->number == number ? &*at : nullptr;
  }

  /// Gives the finding its witnesses: these events, ascending, each once.
  void add_to(Finding& finding, std::vector<EventNumber> numbers) const {
    std::ranges::sort(numbers);
    const auto rest = std::ranges::unique(numbers);
    numbers.erase(rest.begin(), rest.end());
    finding.witnesses.clear();
    for (const EventNumber number : numbers) {
      const Witness* const witness = find(number);
      if (witness == nullptr) continue;
      finding.witnesses.push_back(*witness);
      const auto end = ends_.find(witness->block);
      if (end != ends_.end()) finding.witnesses.back().block_end = end->second;
    }
  }

 private:
  struct Thread {
    EventNumber block = 0;
    Event block_begin;
    bool of_interest = false;  // an event of the open block is wanted
    std::vector<LockId> locks;
  };

  static void before(const Event& event, EventNumber number, Thread& thread) {
    if (event.kind == EventKind::kBegin) {
      thread.block = number;
      thread.block_begin = event;
    } else if (event.kind == EventKind::kAcquire || event.kind == EventKind::kAcquireShared) {
      thread.locks.push_back(event.lock());
    }
  }

  void see(const Event& event, EventNumber number, Thread& thread) {
    Witness witness;
    witness.number = number;
    witness.event = event;
    witness.block = thread.block;
    witness.block_begin = thread.block_begin;
    witness.locks = thread.locks;
    seen_.push_back(std::move(witness));
    ++next_;
    if (thread.block != 0 && !thread.of_interest) {
      thread.of_interest = true;
      ++open_;
    }
  }

  void after(const Event& event, EventNumber number, Thread& thread) {
    if (event.kind == EventKind::kEnd) {
      if (thread.of_interest) {
        ends_.emplace(thread.block, number);
        thread.of_interest = false;
        --open_;
      }
      thread.block = 0;
    } else if (event.kind == EventKind::kRelease || event.kind == EventKind::kReleaseShared) {
      const auto held = std::find(thread.locks.rbegin(), thread.locks.rend(), event.lock());
      if (held != thread.locks.rend()) thread.locks.erase(std::next(held).base());
    }
  }

  std::vector<EventNumber> wanted_;  // ascending
  std::size_t next_ = 0;
  std::vector<Witness> seen_;                          // as wanted_
  std::size_t open_ = 0;                               // blocks of interest that have not ended
  std::unordered_map<EventNumber, EventNumber> ends_;  // of blocks of interest, by their begin
  std::vector<Thread> threads_;
};

/// Says so in the result when a verifier has not accepted so many findings of its check.
inline void note_rejected(std::size_t rejected, CheckResult& result) {
  if (rejected == 0) return;
  result.complete = false;
  result.notes.push_back(std::to_string(rejected) +
                         " findings were not accepted by the verifier and are not shown: this is "
                         "an error in Syndrome, please report it with the trace");
}

/// Leaves of the findings what the verifier accepts, with their witnesses.
template <class Verifier>
void keep_accepted(Verifier& verifier, CheckResult& result) {
  const std::size_t before = result.findings.size();
  std::erase_if(result.findings, [&verifier](Finding& finding) {
    if (verifier.reject(finding)) return true;
    verifier.add_witnesses(finding);
    return false;
  });
  note_rejected(before - result.findings.size(), result);
}

}  // namespace syndrome::check
