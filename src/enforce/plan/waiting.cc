#include "enforce/plan/waiting.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace syndrome::enforce {
namespace {

// Linkage names; of C++ the beginning, as parameters vary.
constexpr std::array kLetsGo = std::to_array<std::string_view>(
    {"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_wait",
     "cnd_timedwait", "pthread_barrier_wait", "pthread_join", "pthread_timedjoin_np",
     "pthread_clockjoin_np", "thrd_join", "poll", "ppoll", "select", "pselect", "epoll_wait",
     "epoll_pwait",
     // libevent, which polls
     "event_base_loop", "event_base_dispatch", "event_loop", "event_dispatch",
     "_ZNSt18condition_variable4wait", "_ZNSt22condition_variable_any4wait", "_ZNSt6thread4join"});
// A semaphore may be free, as a lock is; who sleeps keeps its locks.
constexpr std::array kMayWait = std::to_array<std::string_view>(
    {"sem_wait", "sem_timedwait", "sem_clockwait", "sleep", "usleep", "nanosleep",
     "clock_nanosleep", "thrd_sleep", "sched_yield", "thrd_yield", "pthread_yield", "pause",
     "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait", "_ZNSt11this_thread5yield",
     "_ZNSt11this_thread9sleep_for", "_ZNSt11this_thread11sleep_until"});

Waits waits_of(const std::vector<std::string>& callees) {
  const auto is_one_of = [&callees](const auto& list) {
    return std::ranges::any_of(callees, [&list](const std::string& name) {
      return std::ranges::any_of(list, [&name](std::string_view known) {
        return known.starts_with("_Z") ? name.starts_with(known) : name == known;
      });
    });
  };
  if (is_one_of(kLetsGo)) return Waits::kSurely;
  return is_one_of(kMayWait) ? Waits::kMaybe : Waits::kNever;
}

/// What a call of a function comes to whose calls wait like that.
Waits waits_in(const std::vector<Node>& nodes, const std::vector<Waits>& waits) {
  if (std::ranges::count(waits, Waits::kNever) == std::ssize(waits)) return Waits::kNever;
  std::vector<bool> seen(nodes.size());
  std::vector<NodeId> work = {0};
  while (!work.empty()) {
    const NodeId at = work.back();
    work.pop_back();
    if (seen[at] || waits[at] == Waits::kSurely) continue;
    seen[at] = true;
    if (nodes[at].kind == Node::Kind::kExit) return Waits::kMaybe;
    work.insert(work.end(), nodes[at].next.begin(), nodes[at].next.end());
  }
  return Waits::kSurely;
}

/// Whether anything comes after the node: a failed assertion may do what it likes, and then the
/// program ends.
bool goes_on(const std::vector<Node>& nodes, NodeId node) {
  std::vector<bool> seen(nodes.size());
  std::vector<NodeId> work = {node};
  while (!work.empty()) {
    const NodeId at = work.back();
    work.pop_back();
    if (nodes[at].kind == Node::Kind::kExit) return true;
    for (const NodeId to : nodes[at].next) {
      if (to == node) return true;
      if (!seen[to]) work.push_back(to);
      seen[to] = true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::vector<Waits>> waiting_calls(const Program& program, const CallGraph& calls) {
  std::vector<std::vector<Waits>> waits(program.functions.size());
  std::vector<Waits> known(program.functions.size(), Waits::kNever);
  std::vector<std::uint32_t> work;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    const std::vector<Node>& nodes = program.functions[f].nodes;
    waits[f].resize(nodes.size(), Waits::kNever);
    for (NodeId node = 0; node < nodes.size(); ++node) {
      if (nodes[node].kind != Node::Kind::kCall || nodes[node].indirect) continue;
      waits[f][node] = waits_of(nodes[node].callees);
      if (waits[f][node] != Waits::kNever && !goes_on(nodes, node)) waits[f][node] = Waits::kNever;
    }
    work.push_back(f);
  }
  // What is known of a function only grows, and so does what is known of its callers.
  while (!work.empty()) {
    const std::uint32_t waiting = work.back();
    work.pop_back();
    const Waits now = waits_in(program.functions[waiting].nodes, waits[waiting]);
    if (now == known[waiting]) continue;
    known[waiting] = now;
    for (const std::uint32_t f : calls.callers(waiting)) {
      const std::vector<Node>& nodes = program.functions[f].nodes;
      bool grew = false;
      for (const auto& [node, callees] : calls.calls_of(f)) {
        if (nodes[node].indirect || std::ranges::find(callees, waiting) == callees.end() ||
            waits[f][node] >= now || !goes_on(nodes, node)) {
          continue;
        }
        // A library may call what it is given, or not.
        waits[f][node] =
            callees.size() == 1 && nodes[node].callees.size() == 1 ? now : Waits::kMaybe;
        grew = true;
      }
      if (grew) work.push_back(f);
    }
  }
  return waits;
}

}  // namespace syndrome::enforce
