#include "check/failure/failure.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "spec/pattern.h"

namespace syndrome::check {

void OpenFunctions::exit(LabelId function) {
  if (function.value == 0) {
    if (!stack_.empty()) stack_.pop_back();
    return;
  }
  for (std::size_t i = stack_.size(); i-- > 0;) {
    if (stack_[i].function == function) {
      stack_.resize(i);
      return;
    }
  }
}

bool OpenFunctions::ends_with(LabelId function) const {
  if (function.value == 0) return stack_.size() == 1;
  const auto found =
      std::ranges::find(stack_.rbegin(), stack_.rend(), function, &OpenFunction::function);
  return found != stack_.rend() && found + 1 == stack_.rend();
}

const OpenFunction* OpenFunctions::around(EventNumber number) const {
  for (auto at = stack_.rbegin(); at != stack_.rend(); ++at) {
    if (at->own && at->enter < number) return &*at;
  }
  return nullptr;
}

bool OpenFunctions::is_outermost(const OpenFunction& function) const {
  const auto first = std::ranges::find(stack_, true, &OpenFunction::own);
  return first != stack_.end() && first->enter == function.enter;
}

bool OpenFunctions::has(EventNumber enter) const {
  return std::ranges::find(stack_, enter, &OpenFunction::enter) != stack_.end();
}

std::uint32_t OpenFunctions::entered_after(EventNumber number) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      stack_, [number](const OpenFunction& each) { return each.own && each.enter > number; }));
}

bool is_own(std::string_view function) {
  return !function.empty() && !is_mark(function) && !function.starts_with("extern ") &&
         !spec::of_library(function);
}

bool has_number(std::string_view thread, std::uint32_t number) {
  const std::string_view plain = thread.substr(0, thread.find(' '));
  return plain == (number == 0 ? std::string("main") : "T" + std::to_string(number));
}

void rank(std::vector<Explanation>& explanations) {
  const auto order = [](const Explanation& each) {
    const int kind = each.kind == ExplanationKind::kStaleRead ? 1 : each.outermost ? 2 : 0;
    return std::tuple(each.level, kind, ~each.read, each.read_event.target);
  };
  std::ranges::sort(explanations, {}, order);
  if (explanations.size() > kMostExplanations) explanations.resize(kMostExplanations);
}

FailureAnalysis::Thread& FailureAnalysis::thread(ThreadId id) {
  if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
  return threads_[id.index()];
}

void FailureAnalysis::find_thread(const Names& names) {
  const StringTable& table = names.table(Space::kThread);
  for (; looked_at_ < table.size(); ++looked_at_) {
    if (!failed_ && number_ && has_number(table[looked_at_], *number_)) {
      failed_ = ThreadId(static_cast<std::uint32_t>(looked_at_));
    }
  }
}

void FailureAnalysis::take(const Batch& batch, const Names& names) {
  find_thread(names);
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    EventNumber& first = thread(event.thread).first;
    if (first == 0) first = number;
    if (event.thread == failed_ && event.site.value != 0) {
      last_ = number;
      last_event_ = event;
    }
    switch (event.kind) {
      case EventKind::kRead: read(event, number); break;
      case EventKind::kWrite: write(event, number); break;
      case EventKind::kRmw:
        read(event, number);
        write(event, number);
        break;
      case EventKind::kFork:
        if (Thread& child = thread(event.child()); child.first == 0 && !child.creator) {
          child.creator = event.thread;
        }
        break;
      case EventKind::kEnter: enter(event, number, names); break;
      case EventKind::kExit: {
        Thread& acting = thread(event.thread);
        if (acting.open.ends_with(event.label())) acting.ended_with = acting.open;
        acting.open.exit(event.label());
        break;
      }
      default: break;
    }
    ++number;
  }
}

void FailureAnalysis::enter(const Event& event, EventNumber number, const Names& names) {
  if (event.target >= own_.size()) own_.resize(std::size_t{event.target} + 1);
  std::uint8_t& own = own_[event.target];
  if (own == 0) own = is_own(names.label(event.label())) ? 2 : 1;
  thread(event.thread).open.enter({event.label(), number, own == 2});
}

void FailureAnalysis::read(const Event& event, EventNumber number) {
  if (event.thread != failed_) return;
  if (event.target >= cells_.size()) cells_.resize(std::size_t{event.target} + 1);
  Cell& cell = cells_[event.target];
  if (cell.reads == 0) {
    reads_.emplace_back().variable = event.target;
    cell.reads = static_cast<std::uint32_t>(reads_.size());
  }
  Reads& reads = reads_[cell.reads - 1];
  reads.last = number;
  reads.last_event = event;
  reads.unchanged = true;
}

void FailureAnalysis::write(const Event& event, EventNumber number) {
  if (event.target >= cells_.size()) cells_.resize(std::size_t{event.target} + 1);
  Cell& cell = cells_[event.target];
  const bool other = event.thread != failed_;
  if (cell.reads != 0) {
    Reads& reads = reads_[cell.reads - 1];
    if (reads.unchanged && other) changed(reads, cell, event, number);
    reads.unchanged = false;
  }
  cell.write = number;
  cell.writer = event.thread;
  cell.site = event.site;
  cell.kind = event.kind;
  cell.order = event.order;
  cell.others |= other;
}

/// Whether the write can be one that its thread had not finished with: not the failed thread's own,
/// and not what it was given.
bool FailureAnalysis::half_done(const Cell& cell) const {
  if (cell.write == 0 || cell.writer == failed_) return false;
  if (cell.write > threads_[failed_->index()].first) return true;
  std::optional<ThreadId> above = threads_[failed_->index()].creator;
  // A damaged trace may have a circle.
  for (std::size_t i = 0; above && i < threads_.size(); ++i) {
    if (*above == cell.writer) return false;
    above = threads_[above->index()].creator;
  }
  return true;
}

/// Another thread writes what the failed one has read: after which write, `before` says.
void FailureAnalysis::changed(Reads& reads, const Cell& before, const Event& event,
                              EventNumber number) {
  const OpenFunctions& open = thread(event.thread).open;
  Explanation found;
  found.read = reads.last;
  found.read_event = reads.last_event;
  const OpenFunction* function = nullptr;
  if (half_done(before) && before.writer == event.thread) {
    function = open.around(before.write);
    if (function != nullptr && open.is_outermost(*function)) function = nullptr;
  }
  if (function != nullptr) {
    found.kind = ExplanationKind::kDirtyRead;
    found.write = before.write;
    found.write_event = write_of(before, reads.variable);
  } else {
    found.kind = ExplanationKind::kStaleRead;
    found.write = number;
    found.write_event = event;
    function = open.around(number);
  }
  reads.enter = function == nullptr ? 0 : function->enter;
  if (function != nullptr) {
    found.function = function->function;
    found.outermost = open.is_outermost(*function);
  }
  reads.past = found;
}

Event FailureAnalysis::write_of(const Cell& cell, std::uint32_t variable) const {
  Event event;
  event.thread = cell.writer;
  event.target = variable;
  event.site = cell.site;
  event.kind = cell.kind;
  event.order = cell.order;
  return event;
}

/// The nearest read of the variable that can explain something.
std::optional<Explanation> FailureAnalysis::explain(const Reads& reads) const {
  const Cell& cell = cells_[reads.variable];
  if (reads.unchanged && half_done(cell)) {
    const OpenFunctions& open = threads_[cell.writer.index()].open;
    if (const OpenFunction* const function = open.around(cell.write)) {
      Explanation found;
      found.kind = ExplanationKind::kDirtyRead;
      found.read = reads.last;
      found.read_event = reads.last_event;
      found.write = cell.write;
      found.write_event = write_of(cell, reads.variable);
      found.function = function->function;
      found.open = true;
      found.outermost = open.is_outermost(*function);
      return found;
    }
  }
  if (!reads.past) return std::nullopt;
  std::optional<Explanation> found = reads.past;
  found->open = reads.enter != 0 &&
                threads_[found->write_event.thread.index()].open.has(reads.enter);
  return found;
}

Failure FailureAnalysis::result() const {
  Failure failure;
  failure.thread = failed_;
  if (!failed_ || failed_->index() >= threads_.size()) return failure;
  const Thread& failed = threads_[failed_->index()];
  // A thread that has returned from all of its functions failed in the last one.
  const OpenFunctions& open = failed.open.empty() ? failed.ended_with : failed.open;
  failure.last = last_;
  failure.last_event = last_event_;
  if (const OpenFunction* const function = open.around(~EventNumber{0})) {
    failure.function = function->function;
  }
  std::vector<const Reads*> recent;
  for (const Reads& each : reads_) {
    if (cells_[each.variable].others) recent.push_back(&each);
  }
  std::ranges::sort(recent, std::ranges::greater(), &Reads::last);
  if (recent.size() > kMostVariables) recent.resize(kMostVariables);
  for (const Reads* const each : recent) {
    std::optional<Explanation> found = explain(*each);
    if (!found) continue;
    found->level = open.entered_after(found->read);
    failure.explanations.push_back(*found);
  }
  rank(failure.explanations);
  return failure;
}

}  // namespace syndrome::check
