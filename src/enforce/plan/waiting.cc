#include "enforce/plan/waiting.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace syndrome::enforce {
namespace {

// Linkage names; of C++ the beginning, as parameters vary.
constexpr std::array<std::string_view, 42> kWaits = {
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "cnd_wait",
    "cnd_timedwait",
    "pthread_barrier_wait",
    "pthread_join",
    "pthread_timedjoin_np",
    "pthread_clockjoin_np",
    "thrd_join",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "poll",
    "ppoll",
    "select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "sleep",
    "usleep",
    "nanosleep",
    "clock_nanosleep",
    "thrd_sleep",
    "sched_yield",
    "thrd_yield",
    "pthread_yield",
    "pause",
    "sigsuspend",
    "sigwait",
    "sigwaitinfo",
    "sigtimedwait",
    // libevent, which polls
    "event_base_loop",
    "event_base_dispatch",
    "event_loop",
    "event_dispatch",
    "_ZNSt18condition_variable4wait",
    "_ZNSt22condition_variable_any4wait",
    "_ZNSt11this_thread5yield",
    "_ZNSt11this_thread9sleep_for",
    "_ZNSt11this_thread11sleep_until",
    "_ZNSt6thread4join",
};

bool is_wait(std::string_view name) {
  return std::ranges::any_of(kWaits, [name](std::string_view known) {
    return known.starts_with("_Z") ? name.starts_with(known) : name == known;
  });
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

std::vector<std::vector<bool>> waiting_calls(const Program& program, const CallGraph& calls) {
  std::vector<std::vector<bool>> waits(program.functions.size());
  std::vector<std::uint32_t> work;
  const auto mark = [&](std::uint32_t f, NodeId node) {
    if (!goes_on(program.functions[f].nodes, node)) return;
    if (std::ranges::find(waits[f], true) == waits[f].end()) work.push_back(f);
    waits[f][node] = true;
  };
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    const std::vector<Node>& nodes = program.functions[f].nodes;
    waits[f].resize(nodes.size());
    for (NodeId node = 0; node < nodes.size(); ++node) {
      if (nodes[node].kind == Node::Kind::kCall &&
          std::ranges::any_of(nodes[node].callees, is_wait)) {
        mark(f, node);
      }
    }
  }
  while (!work.empty()) {
    const std::uint32_t waiting = work.back();
    work.pop_back();
    for (const std::uint32_t f : calls.callers(waiting)) {
      for (const auto& [node, callees] : calls.calls_of(f)) {
        if (program.functions[f].nodes[node].indirect || waits[f][node] ||
            std::ranges::find(callees, waiting) == callees.end()) {
          continue;
        }
        mark(f, node);
      }
    }
  }
  return waits;
}

}  // namespace syndrome::enforce
