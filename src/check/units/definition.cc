#include "check/units/definition.h"

#include <algorithm>

#include "event/labels.h"
#include "spec/pattern.h"

namespace syndrome::check::units {

std::optional<std::size_t> innermost_common(const Snapshot& a, const Snapshot& b) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < a.stack.size() && i < b.stack.size(); ++i) {
    if (a.stack[i].begin != b.stack[i].begin) break;
    found = i;
  }
  return found;
}

std::optional<Snapshot> Stacks::take(const Event& event, EventNumber number, const Names& names) {
  if ((event.flags & kDropped) != 0) return std::nullopt;
  const bool counts = (event.flags & kNested) == 0;
  if (event.thread.index() >= threads_.size()) threads_.resize(event.thread.index() + 1);
  Thread& thread = threads_[event.thread.index()];
  switch (event.kind) {
    case EventKind::kEnter:
    case EventKind::kBegin: {
      Open open;
      open.function = {number, event};
      const std::string_view name = names.label(event.label());
      open.called_back = name == kCalledBackLabel;
      open.library = !open.called_back && spec::of_library(name);
      const auto function =
          std::ranges::find_if(thread.open.rbegin(), thread.open.rend(),
                               [](const Open& each) { return !each.transparent && !each.library; });
      const bool again = event.kind == EventKind::kBegin && function != thread.open.rend() &&
                         function->function.enter.target == event.target;
      open.transparent = open.called_back || is_mark(name) || name.empty() || again;
      if (open.library && name.starts_with("std::") &&
          ((name.find("future<") != std::string_view::npos &&
            name.find("__basic_future<") == std::string_view::npos &&
            (name.starts_with("std::future<") || name.starts_with("std::shared_future<")) &&
            name.find("::get(") != std::string_view::npos) ||
           (name.find("__basic_future<") != std::string_view::npos &&
            name.find("::wait") != std::string_view::npos))) {
        ++thread.waits;
      }
      thread.open.push_back(open);
      return std::nullopt;
    }
    case EventKind::kExit:
    case EventKind::kEnd:
      if (thread.open.empty()) return std::nullopt;
      if (const auto end = ends_.find(thread.open.back().function.begin); end != ends_.end()) {
        end->second = number;
      }
      thread.open.pop_back();
      return std::nullopt;
    case EventKind::kAcquire:
    case EventKind::kAcquireShared:
      if (counts) thread.held.try_emplace(event.lock(), number);
      return std::nullopt;
    case EventKind::kRelease:
    case EventKind::kReleaseShared:
      if (counts) thread.held.erase(event.lock());
      return std::nullopt;
    case EventKind::kFork:
    case EventKind::kJoin: ++thread.forks; return std::nullopt;
    case EventKind::kBarrierLeave:
    case EventKind::kWait:
    case EventKind::kCondWait: ++thread.waits; return std::nullopt;
    case EventKind::kThreadStop: {
      const std::uint32_t forks = thread.forks + 1;
      thread = {};
      thread.forks = forks;
      return std::nullopt;
    }
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kRmw: break;
    default: return std::nullopt;
  }
  Snapshot snapshot;
  snapshot.number = number;
  snapshot.event = event;
  snapshot.held = thread.held;
  snapshot.forks = thread.forks;
  snapshot.waits = thread.waits;
  // What the library was called for, while it runs: that is the step of the function below.
  SiteId library;
  bool in_library = false;
  for (const Open& open : thread.open) {
    if (open.called_back) {
      snapshot.stack.clear();
      snapshot.steps.clear();
      in_library = false;
    } else if (open.transparent) {
      continue;
    } else if (open.library) {
      if (!in_library && !snapshot.stack.empty()) {
        in_library = open.function.enter.site.value != 0;
        library = open.function.enter.site;
      }
    } else {
      if (!snapshot.stack.empty()) {
        snapshot.steps.push_back(in_library ? library : open.function.enter.site);
      }
      snapshot.stack.push_back(open.function);
      in_library = false;
    }
  }
  snapshot.steps.push_back(in_library ? library : event.site);
  return snapshot;
}

}  // namespace syndrome::check::units
