#include "enforce/infer/oracle.h"

#include <algorithm>
#include <random>

namespace syndrome::enforce {
namespace {

/// A label in one activation: which call of which function it stands in, counted over the trace.
struct Step {
  std::uint64_t activation = 0;
  std::string function;
  Spot spot;
};
/// Outermost first; the last step is the access itself.
using Context = std::vector<Step>;

struct Entry {
  ThreadId thread;
  bool write = false;
  Context context;
  std::set<std::pair<std::uint32_t, EventNumber>> locks;
};

/// What happened to one instance.
struct VariableTrace {
  std::string variable;
  std::string object;
  std::vector<Entry> entries;
};

/// The names that count as one with this one, in order.
std::set<std::string> names_with(const std::string& variable, const Names& names,
                                 const InferOptions& options) {
  std::map<std::string, std::set<std::string>> declared;
  for (std::size_t i = 0; i < names.table(Space::kLabel).size(); ++i) {
    const std::string label(names.table(Space::kLabel)[i]);
    if (!label.starts_with("atomic-set ")) continue;
    const std::size_t space = label.find(' ', 11);
    declared[label.substr(11, space - 11)].insert(label.substr(space + 1));
  }
  std::vector<std::set<std::string>> groups;
  for (const auto& [set, members] : declared) groups.push_back(members);
  for (const Group& group : options.together) groups.emplace_back(group.begin(), group.end());
  std::set<std::string> all = {variable};
  for (std::size_t before = 0; before != all.size();) {
    before = all.size();
    for (const std::set<std::string>& group : groups) {
      if (std::ranges::any_of(group, [&](const auto& name) { return all.contains(name); })) {
        all.insert(group.begin(), group.end());
      }
    }
  }
  return all;
}

struct Frontier {
  bool exists = false;
  PairKey pair;
};

// frontier(c1·l1, c2·l2): the labels of the innermost activation that both contexts have.
Frontier frontier(const Context& a, const Context& b) {
  Frontier found;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].activation != b[i].activation) break;
    found.exists = a[i].function != "" && a[i].spot.place != "" && b[i].spot.place != "";
    found.pair = {a[i].function, a[i].spot, b[i].spot};
  }
  return found;
}

std::vector<VariableTrace> variable_traces(std::span<const Event> events, const Names& names,
                                           const InferOptions& options) {
  struct Call {
    std::uint64_t activation;
    std::uint32_t label;
    std::string site;
  };
  std::map<std::uint32_t, std::vector<Call>> stacks;
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, EventNumber>>> held;
  std::map<std::string, VariableTrace> traces;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.flags != 0) continue;
    std::vector<Call>& stack = stacks[event.thread.value];
    auto& locks = held[event.thread.value];
    if (event.kind == EventKind::kEnter) {
      stack.push_back({i + 1, event.target, std::string(names.site(event.site))});
    } else if (event.kind == EventKind::kExit) {
      const bool open = event.target == 0
                            ? !stack.empty()
                            : std::ranges::find(stack, event.target, &Call::label) != stack.end();
      while (open && !stack.empty()) {
        const std::uint32_t label = stack.back().label;
        stack.pop_back();
        if (event.target == 0 || label == event.target) break;
      }
    } else if (event.kind == EventKind::kAcquire) {
      locks.emplace(event.target, i + 1);
    } else if (event.kind == EventKind::kRelease) {
      std::erase_if(locks, [&event](const auto& lock) { return lock.first == event.target; });
    } else if (event.kind <= EventKind::kRmw) {
      const InstanceName name = split_instance(names.variable(event.var()));
      if (name.variable.empty()) continue;
      std::string variable(name.variable);
      std::string instance(names.variable(event.var()));
      const std::set<std::string> all = names_with(variable, names, options);
      if (all.size() > 1) {
        variable.clear();
        for (const std::string& member : all) variable += (variable.empty() ? "" : "+") + member;
        instance = variable + std::string(name.instance);
      }
      Entry entry{event.thread, event.kind != EventKind::kRead, {}, locks};
      // Marks are no functions.
      std::vector<Call> calls;
      for (const Call& call : stack) {
        if (!is_mark(names.label(LabelId(call.label)))) calls.push_back(call);
      }
      for (std::size_t depth = 0; depth < calls.size(); ++depth) {
        const bool last = depth + 1 == calls.size();
        entry.context.push_back({calls[depth].activation,
                                 std::string(names.label(LabelId(calls[depth].label))),
                                 last ? Spot{std::string(names.site(event.site)),
                                             entry.write ? SpotKind::kWrite : SpotKind::kRead}
                                      : Spot{calls[depth + 1].site, SpotKind::kCall}});
      }
      auto& trace = traces[instance];
      trace.variable = variable;
      trace.object = name.instance;
      trace.entries.push_back(std::move(entry));
    }
  }
  std::vector<VariableTrace> result;
  for (auto& [instance, trace] : traces) result.push_back(std::move(trace));
  return result;
}

}  // namespace

Profile infer_by_definition(std::span<const Event> events, const Names& names,
                            const InferOptions& options) {
  Profile profile;
  profile.runs = 1;
  std::map<std::string, std::set<Access>> accesses;
  for (const auto& [variable, object, trace] : variable_traces(events, names, options)) {
    std::set<std::uint32_t> threads;
    for (const Entry& entry : trace) {
      threads.insert(entry.thread.value);
      if (entry.context.empty() || entry.context.back().spot.place.empty()) continue;
      accesses[variable].insert({entry.context.back().function, entry.context.back().spot});
    }
    if (threads.size() < 2) continue;
    // (LockSet)
    std::set<std::uint32_t> guards;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      std::set<std::uint32_t> locks;
      for (const auto& lock : trace[i].locks) locks.insert(lock.first);
      if (i == 0) guards = locks;
      std::erase_if(guards, [&locks](std::uint32_t lock) { return !locks.contains(lock); });
    }
    // (Exclusive), (Read), (None)
    std::map<PairKey, AtomicType> types;
    std::map<PairKey, std::uint64_t> seen;
    std::map<PairKey, std::set<std::uint32_t>> locks_of;
    for (std::size_t j = 0; j < trace.size(); ++j) {
      for (std::size_t i = j; i-- > 0;) {
        if (trace[i].thread != trace[j].thread) continue;
        const Frontier found = frontier(trace[i].context, trace[j].context);
        if (found.exists) {
          AtomicType type = AtomicType::kExclusive;
          for (std::size_t k = i + 1; k < j; ++k) {
            type = std::min(type, trace[k].write ? AtomicType::kNone : AtomicType::kRead);
          }
          std::set<std::uint32_t> both;
          for (const auto& lock : trace[i].locks) {
            if (trace[j].locks.contains(lock)) both.insert(lock.first);
          }
          if (const auto [at, is_new] = types.try_emplace(found.pair, type); is_new) {
            locks_of[found.pair] = both;
          } else {
            at->second = std::min(at->second, type);
            std::erase_if(locks_of[found.pair],
                          [&both](std::uint32_t lock) { return !both.contains(lock); });
          }
          ++seen[found.pair];
        }
        break;
      }
    }
    // One instance's; the profile has what all of them have.
    Variable one;
    one.instances = 1;
    for (const std::uint32_t lock : guards) one.guards.insert(lock_name(names.lock(LockId(lock))));
    for (const auto& [key, type] : types) {
      Pair& pair = one.pairs[key];
      pair.type = type;
      pair.seen = seen[key];
      for (const std::uint32_t lock : locks_of[key]) {
        if (guards.contains(lock)) pair.guards.insert(lock_name(names.lock(LockId(lock))));
      }
    }
    const auto [at, is_new] = profile.variables.try_emplace(variable, one);
    if (is_new) continue;
    Variable& all = at->second;
    ++all.instances;
    std::erase_if(all.guards, [&one](const auto& name) { return !one.guards.contains(name); });
    for (const auto& [key, pair] : one.pairs) {
      const auto [known, added] = all.pairs.try_emplace(key, pair);
      if (added) continue;
      known->second.type = std::min(known->second.type, pair.type);
      known->second.seen += pair.seen;
      std::erase_if(known->second.guards,
                    [&p = pair](const auto& name) { return !p.guards.contains(name); });
    }
  }
  for (auto& [name, variable] : profile.variables) variable.accesses = accesses[name];
  return profile;
}

Companions companions_by_definition(std::span<const Event> events, const Names& names,
                                    const InferOptions& options) {
  Companions result;
  const std::vector<VariableTrace> traces = variable_traces(events, names, options);
  const auto place = [](const Entry& entry) -> const Step* {
    return entry.context.empty() || entry.context.back().function.empty() ? nullptr
                                                                          : &entry.context.back();
  };
  for (const VariableTrace& one : traces) {
    for (const Entry& entry : one.entries) {
      if (entry.thread != one.entries.front().thread) result.shared.insert(one.variable);
      const Step* const here = place(entry);
      if (here == nullptr) continue;
      result.cases[one.variable].insert(here->function);
      for (const VariableTrace& other : traces) {
        if (other.object != one.object || other.variable <= one.variable) continue;
        for (const Entry& theirs : other.entries) {
          const Step* const there = place(theirs);
          if (there == nullptr || there->activation != here->activation) continue;
          result.together[{one.variable, other.variable}].insert(here->function);
        }
      }
    }
  }
  return result;
}

InferSample random_infer_sample(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  InferSample sample;
  Names& names = sample.names;
  const std::uint32_t threads = 2 + below(2);
  const std::uint32_t locks = 1 + below(3);
  const std::uint32_t sites = 2 + below(4);
  for (std::uint32_t t = 0; t < threads; ++t)
    names.table(Space::kThread).append("T" + std::to_string(t));
  for (const char* name :
       {"x", "S::a@6000", "S::a@7000", "S::b@6000", "S::b@7000", "x~2", "600010", "y"}) {
    names.table(Space::kVariable).append(name);
  }
  for (const char* name : {"m", "S::m@6000", "S::m@7000"}) names.table(Space::kLock).append(name);
  for (const char* name : {"f", "g()", "unit U"}) names.table(Space::kLabel).append(name);
  if (seed % 5 == 0) {
    for (const char* name : {"atomic-set P S::a", "atomic-set P S::b", "atomic-set Q y"}) {
      names.table(Space::kLabel).append(name);
    }
  }
  for (std::uint32_t s = 1; s <= sites; ++s) {
    names.table(Space::kSite).append("a.c:" + std::to_string(s) + ":1 f");
  }
  std::vector<std::uint32_t> owner(locks, UINT32_MAX);
  std::vector<std::vector<std::uint32_t>> open(threads);
  const std::uint32_t events = 10 + below(50);
  const std::uint32_t calls = 1 + below(4);
  const auto emit = [&](EventKind kind, std::uint32_t thread, std::uint32_t target) {
    Event event;
    event.kind = kind;
    event.thread = ThreadId(thread);
    event.target = target;
    event.site = SiteId(below(8) == 0 ? 0 : 1 + below(sites));
    sample.events.push_back(event);
  };
  for (std::uint32_t i = 0; i < events; ++i) {
    const std::uint32_t t = below(threads);
    const std::uint32_t what = below(12);
    // Some are disciplined: x is accessed under a lock only.
    if (seed % 4 == 0 && what > 7 && owner[0] == UINT32_MAX) {
      emit(EventKind::kAcquire, t, 0);
      for (std::uint32_t accesses = 1 + below(3); accesses > 0; --accesses) {
        emit(below(2) == 0 ? EventKind::kRead : EventKind::kWrite, t, 0);
      }
      emit(EventKind::kRelease, t, 0);
      continue;
    }
    if (what < calls && open[t].size() < 4) {
      open[t].push_back(1 + below(3));
      emit(EventKind::kEnter, t, open[t].back());
    } else if (what < calls + 2 && !open[t].empty()) {
      // An exit may leave several functions, and 0 is the innermost one.
      const std::uint32_t which = below(static_cast<std::uint32_t>(open[t].size()) + 1);
      const std::uint32_t label = which == open[t].size() ? 0 : open[t][which];
      emit(EventKind::kExit, t, label);
      while (open[t].back() != label && label != 0) open[t].pop_back();
      open[t].pop_back();
    } else if (what == 10) {
      const std::uint32_t l = below(locks);
      if (owner[l] == UINT32_MAX) {
        owner[l] = t;
        emit(EventKind::kAcquire, t, l);
      } else {
        emit(EventKind::kRelease, owner[l], l);
        owner[l] = UINT32_MAX;
      }
    } else {
      const EventKind kinds[] = {EventKind::kRead, EventKind::kRead, EventKind::kWrite,
                                 EventKind::kRmw};
      emit(kinds[below(4)], t, seed % 4 == 0 ? 1 + below(7) : below(8));
    }
  }
  return sample;
}

}  // namespace syndrome::enforce
