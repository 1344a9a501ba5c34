#include "report/timeline.h"

#include <fmt/format.h>

#include <optional>

#include "report/quoted.h"
#include "report/story.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

// Processes of the format: Perfetto shows one group of tracks for each.
constexpr int kThreads = 1;
constexpr int kLocks = 2;

std::string named(int process, std::uint64_t track, std::string_view kind, std::string_view name) {
  return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", kind,
                     process, track, report::quoted(name));
}

/// Tracks are numbered from 1: 0 stands for the process.
std::uint64_t track(std::uint32_t id) {
  return std::uint64_t{id} + 1;
}

template <class State>
State& at(std::vector<State>& states, std::uint32_t id) {
  if (id >= states.size()) states.resize(std::size_t{id} + 1);
  return states[id];
}

}  // namespace

Timeline::Timeline(std::span<const Report> findings) {
  std::size_t number = 0;
  std::uint64_t flow = 0;
  for (const Report& report : findings) {
    for (const CheckReport& entry : report.checks) {
      for (const Finding& finding : entry.findings) {
        ++number;
        for (const check::Edge& edge : arrows_of(finding)) {
          ++flow;
          marks_.insert({edge.from, {number, true, flow}});
          marks_.insert({edge.to, {number, false, flow}});
        }
      }
    }
  }
}

void Timeline::put(std::string& out, const std::string& object) {
  out += first_ ? "\n" : ",\n";
  out += object;
  first_ = false;
}

void Timeline::begin(std::string& out) {
  out += R"({"displayTimeUnit":"ms","traceEvents":[)";
  put(out, named(kThreads, 0, "process_name", "threads"));
  put(out, named(kLocks, 0, "process_name", "locks"));
}

void Timeline::take(const Batch& batch, const Names& names, std::string& out) {
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    one(batch.first + i, batch.events[i], names, out);
  }
}

void Timeline::one(EventNumber number, const Event& event, const Names& names, std::string& out) {
  last_ = number;
  ThreadState& thread = at(threads_, event.thread.value);
  if (!thread.named) {
    thread.named = true;
    thread.name = thread_words(names.thread(event.thread));
    put(out, named(kThreads, track(event.thread.value), "thread_name", thread.name));
  }
  const std::optional<Space> space = target_space(event.kind);
  const std::string_view target = space ? names.of(*space, event.target) : std::string_view();
  const std::string words = says(event.kind, target);
  const std::string where =
      fmt::format(R"("ts":{},"pid":{},"tid":{})", number, kThreads, track(event.thread.value));
  const std::string about = fmt::format(R"("args":{{"event":{},"place":{}}})", number,
                                        report::quoted(names.site(event.site)));
  switch (event.kind) {
    case EventKind::kBegin:
    case EventKind::kEnter:
      ++thread.depth;
      put(out, fmt::format(R"({{"ph":"B","cat":"{}","name":{},{},{}}})",
                           event.kind == EventKind::kBegin ? "block" : "function",
                           report::quoted(target.empty() ? "block" : target), where, about));
      break;
    case EventKind::kEnd:
    case EventKind::kExit:
      if (thread.depth == 0) break;
      --thread.depth;
      put(out, fmt::format(R"({{"ph":"E",{}}})", where));
      break;
    case EventKind::kAcquire: take_lock(number, event, thread, names, out); [[fallthrough]];
    default:
      if (event.kind == EventKind::kRelease) release_lock(number, event, out);
      put(out, fmt::format(R"({{"ph":"i","s":"t","name":{},{},{}}})", report::quoted(words), where,
                           about));
  }
  mark(number, event, words, out);
  thread.last = number;
}

/// Who held it since, and whether this thread stood still until the other one let go.
void Timeline::take_lock(EventNumber number, const Event& event, const ThreadState& thread,
                         const Names& names, std::string& out) {
  LockState& lock = at(locks_, event.target);
  if (!lock.named) {
    lock.named = true;
    lock.name = names.of(Space::kLock, event.target);
    put(out, named(kLocks, track(event.target), "thread_name", lock.name));
  }
  if (lock.released > thread.last && thread.last != 0 && lock.holder != event.thread.value) {
    put(out, fmt::format(
                 R"({{"ph":"X","cat":"wait","name":{},"ts":{}.25,"dur":{}.5,"pid":{},"tid":{}}})",
                 report::quoted(fmt::format("waits for lock {}, which {} has", lock.name,
                                            threads_[lock.holder].name)),
                 thread.last, number - thread.last - 1, kThreads, track(event.thread.value)));
  }
  if (lock.open) return;
  lock.open = true;
  lock.holder = event.thread.value;
  put(out, fmt::format(R"({{"ph":"B","cat":"lock","name":{},"ts":{},"pid":{},"tid":{}}})",
                       report::quoted(thread.name), number, kLocks, track(event.target)));
}

void Timeline::release_lock(EventNumber number, const Event& event, std::string& out) {
  LockState& lock = at(locks_, event.target);
  if (!lock.open || lock.holder != event.thread.value) return;
  lock.open = false;
  lock.released = number;
  put(out, fmt::format(R"({{"ph":"E","ts":{},"pid":{},"tid":{}}})", number, kLocks,
                       track(event.target)));
}

/// A short slice for the event, because flows lead from slice to slice.
void Timeline::mark(EventNumber number, const Event& event, const std::string& words,
                    std::string& out) {
  const auto [from, to] = marks_.equal_range(number);
  if (from == to) return;
  const std::string where =
      fmt::format(R"("ts":{}.125,"pid":{},"tid":{})", number, kThreads, track(event.thread.value));
  put(out, fmt::format(R"({{"ph":"X","cat":"finding","name":{},"dur":0.5,{}}})",
                       report::quoted(fmt::format("finding {}: {}", from->second.finding, words)),
                       where));
  for (auto each = from; each != to; ++each) {
    const Mark& mark = each->second;
    put(out, fmt::format(R"({{"ph":"{}",{}"cat":"finding","name":"finding {}","id":{},{}}})",
                         mark.leaves ? "s" : "f", mark.leaves ? "" : R"("bp":"e",)", mark.finding,
                         mark.flow, where));
  }
}

void Timeline::end(std::string& out) {
  const EventNumber after = last_ + 1;
  for (std::size_t id = 0; id < threads_.size(); ++id) {
    for (; threads_[id].depth > 0; --threads_[id].depth) {
      put(out, fmt::format(R"({{"ph":"E","ts":{},"pid":{},"tid":{}}})", after, kThreads, id + 1));
    }
  }
  for (std::size_t id = 0; id < locks_.size(); ++id) {
    if (!locks_[id].open) continue;
    put(out, fmt::format(R"({{"ph":"E","ts":{},"pid":{},"tid":{}}})", after, kLocks, id + 1));
  }
  out += "\n]}\n";
}

}  // namespace syndrome::report
