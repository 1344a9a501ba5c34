#include "check/atomic_sets/definition.h"

#include <algorithm>
#include <ranges>

namespace syndrome::check::atomic_sets {
namespace {

/// Whether a thread is not where it was when it does such a thing: what it gave back before, it did
/// not give back in a wait.
bool changes_place(EventKind kind) {
  switch (kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kRmw:
    case EventKind::kBegin:
    case EventKind::kEnd:
    case EventKind::kEnter:
    case EventKind::kExit:
    case EventKind::kAcquire:
    case EventKind::kAcquireShared: return true;
    default: return false;
  }
}

}  // namespace

std::span<const UnitsByDefinition::Assigned> UnitsByDefinition::take(const Event& event,
                                                                     EventNumber number,
                                                                     const Names& names) {
  assigned_.clear();
  ended_.clear();
  if (event.flags != 0) return {};
  const auto given_back = given_back_.find(event.thread);
  const bool takes_again = given_back != given_back_.end() && event.site.value != 0 &&
                           given_back->second == GivenBack{event.target, event.site};
  if (changes_place(event.kind)) given_back_.erase(event.thread);
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kRmw:
      come_to(stack(event.thread), event.site);
      access(event, number, names);
      break;
    case EventKind::kBegin: enter(event, number, names, true); break;
    case EventKind::kEnter:
      come_to(stack(event.thread), event.site);
      enter(event, number, names, false);
      break;
    case EventKind::kEnd: leave(stack(event.thread), true); break;
    case EventKind::kExit: leave(stack(event.thread), false); break;
    case EventKind::kThreadStop: end_all(stack(event.thread)); break;
    case EventKind::kJoin:
      end_all(stack(event.child()));
      if (!span_threads_) wait(stack(event.thread));
      break;
    case EventKind::kBarrierLeave:
    case EventKind::kWait:
    case EventKind::kCondWait: wait(stack(event.thread)); break;
    case EventKind::kAcquire:
    case EventKind::kAcquireShared:
      if (takes_again) wait(stack(event.thread));
      if (Stack& open = stack(event.thread); !open.empty()) {
        hold(open.back(), event.target, event.site);
      }
      break;
    case EventKind::kRelease:
    case EventKind::kReleaseShared:
      given_back_[event.thread] = {event.target, event.site};
      for (Frame& frame : stack(event.thread) | std::views::reverse) {
        if (std::erase(frame.held, event.target) == 0) continue;
        if (frame.held.empty()) frame.anew = 0;
        break;
      }
      break;
    case EventKind::kFork: {
      if (!span_threads_ || !stack(event.child()).empty()) break;
      Stack heir;
      for (const Frame& frame : stack(event.thread)) {
        const bool is_unit =
            frame.block || frame.label.for_all || !frame.label.sets.empty() || !frame.part.empty();
        if (is_unit) heir.push_back(frame);
      }
      for (Frame& frame : heir) frame.inherited = true;
      stack(event.child()) = std::move(heir);
      break;
    }
    default: break;
  }
  return assigned_;
}

UnitsByDefinition::Stack& UnitsByDefinition::stack(ThreadId thread) {
  if (thread.index() >= stacks_.size()) stacks_.resize(thread.index() + 1);
  return stacks_[thread.index()];
}

void UnitsByDefinition::access(const Event& event, EventNumber number, const Names& names) {
  const SetRule::Sets sets = sets_.of(event.target, names);
  const bool atomic = event.order != MemoryOrder::kPlain || event.kind == EventKind::kRmw;
  if (atomic && !sets.counts_atomics) return;
  for (const Membership& where : sets.in) {
    Frame* const frame = owner(stack(event.thread), where.set);
    if (frame == nullptr) {
      assigned_.push_back({where, {number, event.thread}, {}, 0});
    } else if (frame->owned.contains(where.set)) {
      assigned_.push_back({where, {frame->begin, frame->thread}, frame->first, frame->begin});
    } else {
      if (frame->part_begin == 0) frame->part_begin = number;
      assigned_.push_back({where, {frame->part_begin, frame->thread}, frame->first, frame->begin});
    }
  }
}

/// The open function or block that the set's accesses belong to; the set is entered there.
UnitsByDefinition::Frame* UnitsByDefinition::owner(Stack& stack, std::uint32_t set) {
  for (Frame& frame : stack) {
    if (frame.owned.contains(set)) return &frame;
    if (frame.part.contains(set) && !is_behind_gap(stack, frame)) return &frame;
  }
  for (Frame& frame : stack) {
    const bool declared = is_declared(frame, set);
    if (!declared && !is_default(stack, frame, set)) continue;
    (declared ? frame.owned : frame.part).insert(set);
    return &frame;
  }
  return nullptr;
}

bool UnitsByDefinition::is_declared(const Frame& frame, std::uint32_t set) {
  if (frame.block || frame.label.for_all) return true;
  return std::ranges::any_of(frame.label.sets,
                             [&](std::uint32_t word) { return sets_.is_called(set, word); });
}

/// Whether the frame has called code without probes that has called back.
bool UnitsByDefinition::is_behind_gap(const Stack& stack, const Frame& frame) {
  return std::any_of(stack.begin() + (&frame - stack.data()), stack.end(),
                     [](const Frame& each) { return each.label.called_back; });
}

bool UnitsByDefinition::is_default(const Stack& stack, Frame& frame, std::uint32_t set) {
  const auto is_function = [](const Frame& each) {
    return !each.block && !each.label.library && !each.label.annotation;
  };
  if (only_declared_ && !sets_.is_declared(set)) return false;
  if (!is_function(frame) || frame.label.never || frame.entry || frame.inherited ||
      is_behind_gap(stack, frame)) {
    return false;
  }
  const bool of_class = frame.label.type != 0 && sets_.has_class(set, frame.label.type);
  if (of_class && (frame.self.empty() || frame.self.contains(set) || frame.label.copies)) {
    frame.self.insert(set);
    return true;
  }
  const auto innermost = std::find_if(stack.rbegin(), stack.rend(), is_function);
  return &*innermost == &frame;
}

void UnitsByDefinition::hold(Frame& frame, std::uint32_t lock, SiteId place) {
  if (frame.inherited) return;
  const bool anew = frame.held.empty() && !frame.rounds.empty();
  frame.held.push_back(lock);
  if (place.value == 0) return;
  if (anew) {
    frame.anew = place.value;
    frame.before = frame.places;
  }
  if (frame.rounds.contains(place.value)) begin_round(frame);
  frame.rounds.insert(place.value);
}

void UnitsByDefinition::begin_round(Frame& frame) {
  if (!frame.part.empty()) frame.part_begin = 0;
  frame.part.clear();
  frame.rounds.clear();
  frame.places.clear();
  frame.anew = 0;
}

void UnitsByDefinition::come_to(Stack& stack, SiteId place) {
  if (stack.empty() || place.value == 0) return;
  Frame& frame = stack.back();
  const bool own = !frame.block && !frame.label.library && !frame.label.annotation;
  if (!own || frame.inherited || frame.rounds.empty()) return;
  if (const std::uint32_t anew = frame.anew; anew != 0 && frame.before.contains(place.value)) {
    begin_round(frame);
    frame.rounds.insert(anew);
  }
  if (frame.places.size() < kMostPlacesOfARound) frame.places.insert(place.value);
}

void UnitsByDefinition::wait(Stack& stack) {
  for (Frame& frame : stack | std::views::reverse) {
    // What is declared goes on, and so does what is around it.
    if (frame.block || frame.label.for_all || !frame.label.sets.empty()) return;
    if (frame.inherited || frame.part.empty()) continue;
    frame.part.clear();
    frame.part_begin = 0;
  }
}

void UnitsByDefinition::enter(const Event& event, EventNumber number, const Names& names,
                              bool block) {
  Stack& open = stack(event.thread);
  Frame frame;
  frame.begin = number;
  frame.part_begin = number;
  frame.thread = event.thread;
  frame.first = event;
  frame.block = block;
  if (!block) {
    frame.label = units_.of(event.target, names);
    const bool inner = std::ranges::any_of(open, [](const Frame& each) {
      return !each.block && !each.inherited && !each.label.library && !each.label.annotation;
    });
    frame.entry = !inner && event.thread.value != 0;
    if (frame.label.annotation && !open.empty()) {
      // The function around it, with or without its being a block as well.
      auto outer = open.rbegin();
      if (outer->block && open.size() > 1) ++outer;
      const bool function = !outer->block && !outer->label.annotation;
      if (function && outer->first.site == event.site && number - outer->begin <= 3 &&
          outer->part.empty() && outer->part_begin == outer->begin && !outer->label.for_all) {
        frame.begin = outer->begin;
        frame.first = outer->first;
        outer->part_begin = 0;
      }
    }
  }
  open.push_back(std::move(frame));
}

void UnitsByDefinition::leave(Stack& stack, bool block) {
  for (std::size_t i = stack.size(); i-- > 0;) {
    if (stack[i].block != block || stack[i].inherited) continue;
    const Frame over = stack[i];
    end(over);
    stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
    if (i == 0) return;
    // What it returns with, its caller has taken.
    const SiteId place = block ? SiteId() : over.first.site;
    for (const std::uint32_t lock : over.held) hold(stack[i - 1], lock, place);
    if (!block && over.label.waits) wait(stack);
    return;
  }
}

void UnitsByDefinition::end(const Frame& frame) {
  if (!frame.inherited) ended_.push_back(frame.begin);
}

void UnitsByDefinition::end_all(Stack& stack) {
  for (const Frame& frame : stack) end(frame);
  stack.clear();
}

}  // namespace syndrome::check::atomic_sets
