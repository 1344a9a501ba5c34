#include "check/functions.h"

#include <algorithm>

#include "spec/pattern.h"

namespace syndrome::check {

FunctionSurvey::Thread& FunctionSurvey::thread(ThreadId id) {
  if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
  return threads_[id.index()];
}

FunctionSurvey::Label& FunctionSurvey::label(std::uint32_t id, const Names& names) {
  if (id >= labels_.size()) labels_.resize(std::size_t{id} + 1);
  Label& result = labels_[id];
  if (!result.known) {
    result.known = true;
    result.library = spec::of_library(names.label(LabelId(id)));
  }
  return result;
}

void FunctionSurvey::take(const Batch& batch, const Names& names) {
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    switch (event.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
      case EventKind::kRmw: access(event, number); break;
      case EventKind::kEnter:
      case EventKind::kBegin: open(event, number, names); break;
      case EventKind::kExit: close(thread(event.thread), thread(event.thread).functions); break;
      case EventKind::kEnd: close(thread(event.thread), thread(event.thread).blocks); break;
      default: break;
    }
    ++number;
  }
}

void FunctionSurvey::open(const Event& event, EventNumber number, const Names& names) {
  Label& of = label(event.target, names);
  Thread& by = thread(event.thread);
  bool counts = true;
  if (event.kind == EventKind::kBegin) {
    of.marked = true;
    counts = by.functions.empty() || by.functions.back().label != event.target;
    by.blocks.push_back({event.target, counts, number});
  } else {
    if (!of.library) {
      of.entry |= event.thread.index() != 0 && by.own == 0;
      ++by.own;
    }
    by.functions.push_back({event.target, true, number});
  }
  if (!counts) return;
  ++of.calls;
  if (of.threads != 0 && of.last == event.thread) return;
  of.last = event.thread;
  const std::uint64_t pair = (std::uint64_t{event.target} << 32U) | event.thread.value;
  if (ran_in_.insert(pair).second) ++of.threads;
}

void FunctionSurvey::close(Thread& by, std::vector<Open>& stack) {
  if (stack.empty()) return;
  const Open last = stack.back();
  stack.pop_back();
  if (last.counts && last.number < by.disturbed) ++labels_[last.label].contended;
  if (&stack == &by.functions && !labels_[last.label].library) --by.own;
}

void FunctionSurvey::access(const Event& event, EventNumber number) {
  const std::size_t id = event.var().index();
  if (id >= variables_.size()) variables_.resize(std::max(id + 1, 2 * variables_.size()));
  std::vector<Access>& accesses = variables_[id];
  const bool reads = event.kind != EventKind::kWrite;
  const bool writes = event.kind != EventKind::kRead;
  // Of two conflicting accesses, a call of either thread contains both when it was entered before
  // the earlier one and is still open: now, at the later one.
  std::size_t mine = accesses.size();
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].thread == event.thread) {
      mine = i;
      continue;
    }
    const EventNumber other =
        writes ? std::max(accesses[i].read, accesses[i].write) : accesses[i].write;
    if (other == 0) continue;
    for (const ThreadId each : {event.thread, accesses[i].thread}) {
      Thread& disturbed = thread(each);
      disturbed.disturbed = std::max(disturbed.disturbed, other);
    }
  }
  if (mine == accesses.size()) {
    if (accesses.size() == kMostThreads) accesses.pop_back();
    accesses.push_back({event.thread, 0, 0});
    mine = accesses.size() - 1;
  }
  const auto begin = accesses.begin();
  std::rotate(begin, begin + static_cast<std::ptrdiff_t>(mine),
              begin + static_cast<std::ptrdiff_t>(mine) + 1);
  if (reads) accesses.front().read = number;
  if (writes) accesses.front().write = number;
}

std::map<std::string, FunctionUse> FunctionSurvey::result(const Names& names) {
  for (Thread& each : threads_) {
    while (!each.functions.empty()) close(each, each.functions);
    while (!each.blocks.empty()) close(each, each.blocks);
  }
  std::map<std::string, FunctionUse> result;
  for (std::size_t i = 1; i < labels_.size(); ++i) {
    const Label& each = labels_[i];
    if (each.known && !each.library) result.emplace(names.label(LabelId(i)), each);
  }
  return result;
}

}  // namespace syndrome::check
