#include "check/failure/oracle.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace syndrome::check {
namespace {

bool is_access(const Event& event) {
  return event.kind <= EventKind::kRmw;
}
bool writes(const Event& event) {
  return event.kind == EventKind::kWrite || event.kind == EventKind::kRmw;
}
bool reads(const Event& event) {
  return event.kind == EventKind::kRead || event.kind == EventKind::kRmw;
}

class Oracle {
 public:
  Oracle(std::span<const Event> events, const Names& names, ThreadId failed)
      : events_(events), names_(names), failed_(failed) {}

  Failure explain() const {
    Failure failure;
    failure.thread = failed_;
    for (EventNumber n = 1; n <= events_.size(); ++n) {
      if (at(n).thread != failed_ || at(n).site.value == 0) continue;
      failure.last = n;
      failure.last_event = at(n);
    }
    const std::vector<OpenFunction> open = open_in_failed();
    if (!open.empty()) failure.function = open.back().function;
    for (const std::uint32_t variable : recent_variables()) {
      for (EventNumber n = events_.size(); n > 0; --n) {
        if (at(n).thread != failed_ || !is_read_of(n, variable)) continue;
        std::optional<Explanation> found = explain(n);
        if (!found) continue;
        found->level = static_cast<std::uint32_t>(std::ranges::count_if(
            open, [n](const OpenFunction& each) { return each.enter > n; }));
        failure.explanations.push_back(*found);
        break;
      }
    }
    rank(failure.explanations);
    return failure;
  }

 private:
  [[nodiscard]] const Event& at(EventNumber number) const { return events_[number - 1]; }
  [[nodiscard]] bool is_read_of(EventNumber n, std::uint32_t variable) const {
    return is_access(at(n)) && reads(at(n)) && at(n).target == variable;
  }
  [[nodiscard]] bool is_write_of(EventNumber n, std::uint32_t variable) const {
    return is_access(at(n)) && writes(at(n)) && at(n).target == variable;
  }

  /// Own functions that are open in the thread before the event `number`, innermost last.
  [[nodiscard]] std::vector<OpenFunction> open_before(ThreadId thread, EventNumber number) const {
    std::vector<OpenFunction> all;
    for (EventNumber n = 1; n < number && n <= events_.size(); ++n) {
      if (at(n).thread != thread) continue;
      if (at(n).kind == EventKind::kEnter) {
        all.push_back({at(n).label(), n, is_own(names_.label(at(n).label()))});
      }
      if (at(n).kind != EventKind::kExit || all.empty()) continue;
      const auto found = std::ranges::find(all.rbegin(), all.rend(), at(n).label(),
                                           &OpenFunction::function);
      if (at(n).target == 0) {
        all.pop_back();
      } else if (found != all.rend()) {
        all.erase(found.base() - 1, all.end());
      }
    }
    if (thread == failed_ && number > events_.size()) empty_at_end_ = all.empty();
    std::erase_if(all, [](const OpenFunction& each) { return !each.own; });
    return all;
  }

  /// At the end; of a thread that has returned from everything, before its last return.
  [[nodiscard]] std::vector<OpenFunction> open_in_failed() const {
    std::vector<OpenFunction> open = open_before(failed_, events_.size() + 1);
    if (!empty_at_end_) return open;
    // The last exit that closed anything.
    EventNumber last = 0;
    std::size_t depth = 0;
    for (EventNumber n = 1; n <= events_.size(); ++n) {
      if (at(n).thread != failed_) continue;
      if (at(n).kind == EventKind::kEnter) ++depth;
      if (at(n).kind == EventKind::kExit && depth > 0 && opened_before(n)) {
        last = n;
        depth = count_open(n + 1);
      }
    }
    return last == 0 ? open : open_before(failed_, last);
  }
  [[nodiscard]] std::size_t count_open(EventNumber number) const {
    std::vector<LabelId> all;
    for (EventNumber n = 1; n < number; ++n) {
      if (at(n).thread != failed_) continue;
      if (at(n).kind == EventKind::kEnter) all.push_back(at(n).label());
      if (at(n).kind != EventKind::kExit || all.empty()) continue;
      const auto found = std::ranges::find(all.rbegin(), all.rend(), at(n).label());
      if (at(n).target == 0) all.pop_back();
      else if (found != all.rend()) all.erase(found.base() - 1, all.end());
    }
    return all.size();
  }
  [[nodiscard]] bool opened_before(EventNumber n) const { return count_open(n) > count_open(n + 1); }

  /// Those that another thread writes, in the order of the failed thread's last read of each.
  [[nodiscard]] std::vector<std::uint32_t> recent_variables() const {
    std::vector<std::uint32_t> found;
    for (EventNumber n = events_.size(); n > 0 && found.size() < kMostVariables; --n) {
      if (at(n).thread != failed_ || !is_access(at(n)) || !reads(at(n))) continue;
      const std::uint32_t variable = at(n).target;
      bool others = false;
      for (EventNumber m = 1; m <= events_.size(); ++m) {
        others |= is_write_of(m, variable) && at(m).thread != failed_;
      }
      if (others && std::ranges::find(found, variable) == found.end()) found.push_back(variable);
    }
    return found;
  }

  [[nodiscard]] std::optional<Explanation> explain(EventNumber read) const {
    const std::uint32_t variable = at(read).target;
    EventNumber before = read - 1;
    while (before > 0 && !is_write_of(before, variable)) --before;
    // An rmw writes itself.
    EventNumber after = at(read).kind == EventKind::kRmw ? read : read + 1;
    while (after <= events_.size() && !is_write_of(after, variable)) ++after;
    EventNumber first = 1;
    while (at(first).thread != failed_) ++first;
    const bool given = before != 0 && before <= first && made_by(failed_, at(before).thread);
    const bool foreign = before != 0 && at(before).thread != failed_ && !given;

    Explanation found;
    found.read = read;
    found.read_event = at(read);
    if (after > events_.size()) {
      if (!foreign) return std::nullopt;
      const std::vector<OpenFunction> open = open_before(at(before).thread, after + 1);
      if (!set_function(found, open, before)) return std::nullopt;
      set_write(found, ExplanationKind::kDirtyRead, before);
      found.open = true;
      return found;
    }
    if (at(after).thread == failed_) return std::nullopt;
    const std::vector<OpenFunction> open = open_before(at(after).thread, after);
    const bool again = foreign && at(before).thread == at(after).thread;
    if (again && set_function(found, open, before) && !found.outermost) {
      set_write(found, ExplanationKind::kDirtyRead, before);
    } else {
      found.function = LabelId();
      found.outermost = false;
      set_write(found, ExplanationKind::kStaleRead, after);
      set_function(found, open, after);
    }
    if (found.function.value != 0) {
      for (const OpenFunction& each : open_before(at(after).thread, events_.size() + 1)) {
        found.open |= each.enter == entered_;
      }
    }
    return found;
  }

  /// Whether `maker` created the thread, or who did, and so on.
  [[nodiscard]] bool made_by(ThreadId thread, ThreadId maker) const {
    std::vector<ThreadId> seen;
    while (std::ranges::find(seen, thread) == seen.end()) {
      seen.push_back(thread);
      const auto fork = std::ranges::find_if(events_, [thread](const Event& event) {
        return event.thread == thread ||
               (event.kind == EventKind::kFork && event.child() == thread);
      });
      if (fork == events_.end() || fork->thread == thread) return false;
      if (fork->thread == maker) return true;
      thread = fork->thread;
    }
    return false;
  }

  /// The innermost function around the event.
  bool set_function(Explanation& found, const std::vector<OpenFunction>& open,
                    EventNumber event) const {
    for (auto each = open.rbegin(); each != open.rend(); ++each) {
      if (each->enter > event) continue;
      found.function = each->function;
      found.outermost = each->enter == open.front().enter;
      entered_ = each->enter;
      return true;
    }
    return false;
  }
  void set_write(Explanation& found, ExplanationKind kind, EventNumber write) const {
    found.kind = kind;
    found.write = write;
    found.write_event = at(write);
  }

  std::span<const Event> events_;
  const Names& names_;
  ThreadId failed_;
  mutable EventNumber entered_ = 0;
  mutable bool empty_at_end_ = false;
};

}  // namespace

Failure explain_by_definition(std::span<const Event> events, const Names& names,
                              std::uint32_t thread) {
  for (const Event& event : events) {
    if (has_number(names.thread(event.thread), thread)) {
      return Oracle(events, names, event.thread).explain();
    }
  }
  return {};
}

}  // namespace syndrome::check
