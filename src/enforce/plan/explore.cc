#include "enforce/plan/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

namespace syndrome::enforce {
namespace {

/// What a function has of one lock: its origins, and whether each needs it exclusively.
using Local = std::map<Origin, bool>;

struct Frame {
  std::uint32_t function = 0;
  NodeId node = 0;
  std::uint32_t acquired = 0;  // of the node's acquires, in order
  std::map<std::uint32_t, Local> locks;
};

/// A thread's hold on one lock, as the runtime's entry.
struct Hold {
  AtomicType mode = AtomicType::kNone;
  std::size_t frame = 0;
};

/// A thread's last access to a variable: the node in each frame that it still shares with it.
struct LastAccess {
  std::vector<NodeId> context;
  bool remote_read = false;
  bool remote_write = false;
};

struct ThreadModel {
  std::vector<Frame> frames;  // empty: it is done
  std::map<std::uint32_t, Hold> holds;
  std::map<std::string, LastAccess> last;
};

struct State {
  std::vector<ThreadModel> threads;
  std::map<std::string, std::size_t> owners;  // of the program's locks

  [[nodiscard]] std::string key() const {
    std::string text;
    const auto number = [&text](std::uint64_t value) {
      text += static_cast<char>(value & 0xff);
      text += static_cast<char>((value >> 8) & 0xff);
      text += static_cast<char>(value >> 24);
    };
    for (const ThreadModel& thread : threads) {
      for (const Frame& frame : thread.frames) {
        number(frame.function);
        number(frame.node);
        number(frame.acquired);
        for (const auto& [lock, local] : frame.locks) {
          for (const auto& [origin, exclusive] : local) {
            number(lock);
            number(origin);
            number(exclusive ? 1 : 0);
          }
        }
        text += '/';
      }
      text += '|';
      for (const auto& [lock, hold] : thread.holds) {
        number(lock);
        number(static_cast<std::uint64_t>(hold.mode));
        number(hold.frame);
      }
      text += '|';
      for (const auto& [variable, last] : thread.last) {
        text += variable;
        for (const NodeId node : last.context) number(node);
        text += static_cast<char>('0' + (last.remote_read ? 1 : 0) + (last.remote_write ? 2 : 0));
      }
      text += '#';
    }
    for (const auto& [lock, owner] : owners) {
      text += lock;
      number(owner);
    }
    return text;
  }
};

class Explorer {
 public:
  Explorer(const Program& program, const Profile& profile, const Plan& plan,
           std::uint64_t most_states, bool planned)
      : program_(program), most_states_(most_states), planned_(planned) {
    for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
      by_name_[program.functions[f].linkage] = f;
    }
    for (const PlannedPlace& place : plan.places) places_[place.function].push_back(&place);
    for (const auto& [name, variable] : profile.variables) {
      for (const auto& [key, pair] : variable.pairs) {
        if (pair.type == AtomicType::kNone || is_guarded(variable, pair)) continue;
        // Places are unique here.
        pairs_[{name, key.first.place, key.second.place}] = needed_for(key, pair);
      }
    }
    for (const PlannedLock& lock : plan.locks) {
      if (lock.dropped) lost_.insert(lock.variables.begin(), lock.variables.end());
    }
  }

  Exploration run(const std::vector<std::uint32_t>& threads) {
    State start;
    for (const std::uint32_t function : threads) {
      ThreadModel thread;
      thread.frames.push_back({function, 0, 0, {}});
      start.threads.push_back(std::move(thread));
    }
    for (ThreadModel& thread : start.threads) arrive(thread);
    seen_.insert(start.key());
    std::vector<std::pair<State, std::string>> work;
    work.emplace_back(std::move(start), "");
    while (!work.empty() && result_.wrong.empty()) {
      if (++result_.states > most_states_) {
        result_.whole = false;
        return result_;
      }
      const auto [state, path] = std::move(work.back());
      work.pop_back();
      bool moved = false;
      for (std::size_t t = 0; t < state.threads.size() && result_.wrong.empty(); ++t) {
        for (State& next : step(state, t)) {
          moved = true;
          if (!result_.wrong.empty()) {
            result_.wrong += "; schedule:" + path + fmt::format(" T{}", t);
            break;
          }
          if (!seen_.insert(next.key()).second) continue;
          work.emplace_back(std::move(next), path + fmt::format(" T{}@{}", t, where(state, t)));
        }
      }
      if (!moved && result_.wrong.empty()) check_stuck(state, path);
    }
    return result_;
  }

 private:
  [[nodiscard]] std::string where(const State& state, std::size_t t) const {
    const Frame& frame = state.threads[t].frames.back();
    return program_.functions[frame.function].nodes[frame.node].place;
  }

  struct Acquire {
    std::uint32_t lock = 0;
    HeldOrigin origin;
  };
  [[nodiscard]] std::vector<Acquire> acquires_at(const Frame& frame) const {
    std::vector<Acquire> list;
    const auto found = places_.find(frame.function);
    if (found == places_.end() || !planned_) return list;
    for (const PlannedPlace* place : found->second) {
      for (const HeldOrigin& origin : place->placement.ops(frame.node).acquires) {
        list.push_back({place->lock, origin});
      }
    }
    return list;
  }

  /// Gives back what the node that a thread has come to asks for.
  void arrive(ThreadModel& thread) const {
    Frame& frame = thread.frames.back();
    frame.acquired = 0;
    const auto found = places_.find(frame.function);
    if (found == places_.end() || !planned_) return;
    for (const PlannedPlace* place : found->second) {
      Local& local = frame.locks[place->lock];
      const NodeOps& ops = place->placement.ops(frame.node);
      for (const Origin origin : ops.releases) local.erase(origin);
      for (const Origin origin : ops.degrades) {
        if (const auto at = local.find(origin); at != local.end()) at->second = false;
      }
      settle(thread, place->lock, local);
      if (local.empty()) frame.locks.erase(place->lock);
    }
  }

  void settle(ThreadModel& thread, std::uint32_t lock, const Local& local) const {
    const auto hold = thread.holds.find(lock);
    if (hold == thread.holds.end() || hold->second.frame != thread.frames.size()) return;
    if (local.empty()) {
      thread.holds.erase(hold);
    } else if (std::ranges::none_of(local, [](const auto& entry) { return entry.second; })) {
      hold->second.mode = AtomicType::kRead;
    }
  }

  /// Whether the thread could take its next lock.
  static bool acquire(State& state, std::size_t t, const Acquire& wanted) {
    ThreadModel& thread = state.threads[t];
    Local& local = thread.frames.back().locks[wanted.lock];
    const bool exclusive = wanted.origin.mode == AtomicType::kExclusive;
    const bool have = exclusive ? std::ranges::any_of(local, [](const auto& e) { return e.second; })
                                : !local.empty();
    if (!have) {
      const auto hold = thread.holds.find(wanted.lock);
      if (hold == thread.holds.end() || hold->second.mode < wanted.origin.mode) {
        for (std::size_t other = 0; other < state.threads.size(); ++other) {
          if (other == t) continue;
          const auto theirs = state.threads[other].holds.find(wanted.lock);
          if (theirs == state.threads[other].holds.end()) continue;
          if (exclusive || theirs->second.mode == AtomicType::kExclusive) return false;
        }
        if (hold == thread.holds.end()) {
          thread.holds[wanted.lock] = {wanted.origin.mode, thread.frames.size()};
        } else {
          hold->second.mode = wanted.origin.mode;
        }
      }
    }
    bool& mode = local.try_emplace(wanted.origin.origin, false).first->second;
    mode |= exclusive;
    return true;
  }

  std::vector<State> step(const State& from, std::size_t t) {
    if (from.threads[t].frames.empty()) return {};
    const Frame& frame = from.threads[t].frames.back();
    const std::vector<Acquire> acquires = acquires_at(frame);
    State state = from;
    if (frame.acquired < acquires.size()) {
      if (!acquire(state, t, acquires[frame.acquired])) return {};
      ++state.threads[t].frames.back().acquired;
      return {std::move(state)};
    }
    const Node& node = program_.functions[frame.function].nodes[frame.node];
    if (node.op == Node::LockOp::kAcquire) {
      if (state.owners.contains(node.lock)) return {};
      state.owners[node.lock] = t;
    } else if (node.op == Node::LockOp::kRelease) {
      state.owners.erase(node.lock);
    } else if (node.kind == Node::Kind::kAccess) {
      access(state, t, node);
    } else if (node.kind == Node::Kind::kCall && !node.callees.empty()) {
      state.threads[t].frames.push_back({by_name_.at(node.callees.front()), 0, 0, {}});
      arrive(state.threads[t]);
      return {std::move(state)};
    }
    return move_on(state, t);
  }

  /// The node is done: every way on from it.
  std::vector<State> move_on(State& state, std::size_t t) {
    ThreadModel& thread = state.threads[t];
    while (true) {
      const Frame& frame = thread.frames.back();
      const std::vector<NodeId>& next = program_.functions[frame.function].nodes[frame.node].next;
      if (!next.empty()) {
        std::vector<State> states;
        for (const NodeId to : next) {
          State copy = state;
          copy.threads[t].frames.back().node = to;
          arrive(copy.threads[t]);
          states.push_back(std::move(copy));
        }
        return states;
      }
      if (std::ranges::any_of(frame.locks, [](const auto& e) { return !e.second.empty(); })) {
        result_.wrong =
            fmt::format("{} ends with a lock held", program_.functions[frame.function].name);
      }
      thread.frames.pop_back();
      for (auto at = thread.last.begin(); at != thread.last.end();) {
        if (at->second.context.size() > thread.frames.size()) {
          at->second.context.resize(thread.frames.size());
        }
        at = at->second.context.empty() ? thread.last.erase(at) : std::next(at);
      }
      if (thread.frames.empty()) return {std::move(state)};
    }
  }

  void access(State& state, std::size_t t, const Node& node) {
    for (std::size_t other = 0; other < state.threads.size(); ++other) {
      if (other == t) continue;
      const auto theirs = state.threads[other].last.find(node.variable);
      if (theirs == state.threads[other].last.end()) continue;
      (node.writes ? theirs->second.remote_write : theirs->second.remote_read) = true;
    }
    ThreadModel& thread = state.threads[t];
    LastAccess now;
    for (const Frame& frame : thread.frames) now.context.push_back(frame.node);
    if (const auto last = thread.last.find(node.variable); last != thread.last.end()) {
      const std::size_t depth = last->second.context.size() - 1;
      const Function& function = program_.functions[thread.frames[depth].function];
      const auto pair =
          pairs_.find({node.variable, function.nodes[last->second.context[depth]].place,
                       function.nodes[now.context[depth]].place});
      if (pair != pairs_.end() && !lost_.contains(node.variable) &&
          (last->second.remote_write ||
           (pair->second == AtomicType::kExclusive && last->second.remote_read))) {
        result_.wrong = fmt::format(
            "{} pair of {} from {} to {} is torn apart by a {} of another thread",
            name_of(pair->second), node.variable, function.nodes[last->second.context[depth]].place,
            function.nodes[now.context[depth]].place, last->second.remote_write ? "write" : "read");
      }
    }
    thread.last[node.variable] = std::move(now);
  }

  // Threads that wait for the program's locks among themselves would do so without us.
  void check_stuck(const State& state, const std::string& path) {
    std::set<std::size_t> original;
    std::set<std::size_t> ours;
    for (std::size_t t = 0; t < state.threads.size(); ++t) {
      if (state.threads[t].frames.empty()) continue;
      const Frame& frame = state.threads[t].frames.back();
      (frame.acquired < acquires_at(frame).size() ? ours : original).insert(t);
    }
    if (ours.empty()) return;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t t : original) {
        const Frame& frame = state.threads[t].frames.back();
        const Node& node = program_.functions[frame.function].nodes[frame.node];
        const std::size_t owner = state.owners.at(node.lock);
        if (state.threads[owner].frames.empty() || original.contains(owner)) continue;
        original.erase(t);
        changed = true;
        break;
      }
    }
    if (!original.empty()) return;
    result_.wrong = "our locks make threads wait for each other; schedule:" + path;
    for (const std::size_t t : ours)
      result_.wrong += fmt::format(" (T{} at {})", t, where(state, t));
  }

  const Program& program_;
  std::uint64_t most_states_;
  bool planned_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::map<std::uint32_t, std::vector<const PlannedPlace*>> places_;
  std::map<std::tuple<std::string, std::string, std::string>, AtomicType> pairs_;
  std::set<std::string> lost_;
  std::set<std::string> seen_;
  Exploration result_;
};

/// Structured code: every lock that is taken is given back.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  PlanSample run() {
    variables_ = 1 + below(2);
    locks_ = below(3);
    const std::uint32_t helpers = below(3);
    exact_ = below(3) != 0;
    for (std::uint32_t f = 0; f < helpers + 1 + below(2); ++f) {
      helpers_ = std::min(f, helpers);
      entry_ = f >= helpers;
      sample_.program.functions.push_back(function(f));
    }
    const auto functions = static_cast<std::uint32_t>(sample_.program.functions.size());
    const std::uint32_t threads = below(5) == 0 ? 3 : 2;
    for (std::uint32_t t = 0; t < threads; ++t) {
      sample_.threads.push_back(helpers + below(functions - helpers));
    }
    make_profile();
    return std::move(sample_);
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  NodeId node(Node made) {
    made.place = fmt::format("f{}.c:{} f{}", number_, function_.nodes.size() + 1, number_);
    function_.nodes.push_back(std::move(made));
    return static_cast<NodeId>(function_.nodes.size()) - 1;
  }
  void lead(std::vector<NodeId>& ends, NodeId to) {
    for (const NodeId end : ends) function_.nodes[end].next.push_back(to);
    ends = {to};
  }

  Function function(std::uint32_t number) {
    number_ = number;
    function_ = {};
    function_.linkage = function_.name = fmt::format("f{}", number);
    left_ = entry_ ? 3 + below(5) : 1 + below(3);
    std::vector<NodeId> ends = {node({})};
    while (left_ > 0) statement(ends, 0);
    Node exit;
    exit.kind = Node::Kind::kExit;
    lead(ends, node(exit));
    return function_;
  }

  void statement(std::vector<NodeId>& ends, unsigned depth) {
    const std::uint32_t what = left_ == 0 ? 0 : below(depth < 3 ? 11 : 6);
    if (left_ > 0) --left_;
    if (what < 6) {
      Node access;
      access.kind = Node::Kind::kAccess;
      access.writes = below(2) == 0;
      access.reads = !access.writes;
      access.variable = below(variables_) == 0 ? "x" : "y";
      access.exact = exact_;
      lead(ends, node(access));
    } else if (what == 6 && helpers_ > 0) {
      Node call;
      call.kind = Node::Kind::kCall;
      call.callees = {fmt::format("f{}", below(helpers_))};
      lead(ends, node(call));
    } else if (what < 9 && locks_ > 0) {
      Node lock;
      lock.kind = Node::Kind::kCall;
      lock.op = Node::LockOp::kAcquire;
      lock.lock = fmt::format("m{}", below(locks_));
      if (std::ranges::count(open_, lock.lock) != 0) return statement(ends, depth + 1);
      open_.push_back(lock.lock);
      lead(ends, node(lock));
      do statement(ends, depth + 1);
      while (left_ > 0 && below(2) == 0);
      lock.op = Node::LockOp::kRelease;
      lead(ends, node(lock));
      open_.pop_back();
    } else if (what == 9) {
      const NodeId branch = node({});
      lead(ends, branch);
      std::vector<NodeId> other = {branch};
      statement(ends, depth + 1);
      if (below(2) == 0 && left_ > 0) statement(other, depth + 1);
      for (const NodeId end : other) {
        if (std::ranges::count(ends, end) == 0) ends.push_back(end);
      }
    } else {
      const NodeId head = node({});
      lead(ends, head);
      statement(ends, depth + 1);
      lead(ends, head);
    }
  }

  [[nodiscard]] bool touches(const Node& node, const std::string& variable) const {
    if (node.kind == Node::Kind::kAccess) return node.variable == variable;
    for (const std::string& callee : node.callees) {
      for (const Function& called : sample_.program.functions) {
        if (called.linkage != callee) continue;
        if (std::ranges::any_of(called.nodes,
                                [&](const Node& inner) { return touches(inner, variable); })) {
          return true;
        }
      }
    }
    return false;
  }

  static Spot spot(const Node& node) {
    if (node.kind == Node::Kind::kCall) return {node.place, SpotKind::kCall};
    return {node.place, node.writes ? SpotKind::kWrite : SpotKind::kRead};
  }

  void make_profile() {
    sample_.profile.runs = 1;
    for (const char* const name : {"x", "y"}) {
      if (name[0] == 'y' && variables_ == 1) continue;
      Variable variable;
      variable.instances = 1;
      for (const Function& function : sample_.program.functions) {
        for (const Node& first : function.nodes) {
          if (!touches(first, name)) continue;
          if (first.kind == Node::Kind::kAccess) {
            variable.accesses.insert({function.name, spot(first)});
          }
          for (const Node& second : function.nodes) {
            if (!touches(second, name) || below(5) < 3) continue;
            const AtomicType type = below(2) == 0 ? AtomicType::kRead : AtomicType::kExclusive;
            variable.pairs[{function.name, spot(first), spot(second)}] = {type, 1, {}};
          }
        }
      }
      if (!variable.pairs.empty()) sample_.profile.variables[name] = std::move(variable);
    }
  }

  std::mt19937_64 random_;
  PlanSample sample_;
  Function function_;
  std::uint32_t number_ = 0;
  std::uint32_t variables_ = 1;
  std::uint32_t locks_ = 0;
  std::uint32_t helpers_ = 0;
  std::uint32_t left_ = 0;
  bool exact_ = true;
  bool entry_ = false;
  std::vector<std::string> open_;
};

}  // namespace

Exploration explore(const Program& program, const Profile& profile, const Plan& plan,
                    const std::vector<std::uint32_t>& threads, std::uint64_t most_states,
                    bool planned) {
  return Explorer(program, profile, plan, most_states, planned).run(threads);
}

PlanSample random_plan_sample(std::uint64_t seed) {
  return Generator(seed).run();
}

std::string first_wrong_plan(std::uint64_t first, std::uint64_t count, PlanTally& tally) {
  // Four in five samples have fewer.
  constexpr std::uint64_t kMostStates = 2'500;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const PlanSample sample = random_plan_sample(seed);
    // Two locks in a cycle are many for some, two pairs in a function for others.
    PlanOptions options;
    if (seed % 3 == 0) options.most_in_cycle = 1;
    if (seed % 4 == 1) options.most_apart = 1;
    const Result<Plan> plan = make_plan(sample.program, sample.profile, options);
    if (!plan) return fmt::format("seed {}: {}", seed, plan.error().message);
    ++tally.samples;
    if (!plan->hoisted.empty()) ++tally.hoisted;
    if (std::ranges::any_of(plan->locks, &PlannedLock::dropped)) ++tally.given_up;
    const Exploration found =
        explore(sample.program, sample.profile, *plan, sample.threads, kMostStates);
    tally.states += found.states;
    if (!found.whole) ++tally.unfinished;
    if (!found.wrong.empty()) {
      return fmt::format("seed {}: {}\n{}", seed, found.wrong, to_text(*plan, sample.program));
    }
    const Exploration before =
        explore(sample.program, sample.profile, *plan, sample.threads, kMostStates / 4, false);
    if (!before.wrong.empty()) ++tally.broken_before;
  }
  return {};
}

}  // namespace syndrome::enforce
