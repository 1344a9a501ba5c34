#include "enforce/infer/infer.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "event/labels.h"

namespace syndrome::enforce {
namespace {

constexpr std::uint32_t kNameless = UINT32_MAX - 1;

// A call that accesses more than that is no evidence that they belong together, but a loop over all
// there is.
constexpr std::size_t kMostMet = 64;

bool is_hex(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](const char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

/// "name+8": eight bytes into a global.
std::string_view without_offset(std::string_view name) {
  const std::size_t plus = name.rfind('+');
  if (plus == std::string_view::npos || plus + 1 == name.size()) return name;
  const bool digits = std::ranges::all_of(name.substr(plus + 1), [](const char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  return digits ? name.substr(0, plus) : name;
}

}  // namespace

InstanceName split_instance(std::string_view name) {
  std::size_t end = name.size();
  if (const std::size_t tilde = name.rfind('~'); tilde != std::string_view::npos) end = tilde;
  std::size_t cut = name.find('@');
  if (cut == std::string_view::npos || cut > end) {
    cut = end;
    // "table[]:table+8", but not "Account::balance".
    for (std::size_t i = end; i-- > 1;) {
      if (name[i] != ':') continue;
      if (name[i - 1] == ':') break;
      cut = i;
      break;
    }
  }
  std::string_view variable = name.substr(0, cut);
  // Memory that no site has a name for.
  const bool nameless = variable.size() >= 6 && is_hex(variable);
  return {nameless ? std::string_view() : without_offset(variable), name.substr(variable.size())};
}

std::string lock_name(std::string_view name) {
  return std::string(name.substr(0, name.find_first_of("@~")));
}

std::size_t Inference::PairHash::operator()(const PairIds& pair) const noexcept {
  std::uint64_t hash = pair.function;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  mix(pair.first.site * 4 + static_cast<std::uint64_t>(pair.first.kind));
  mix(pair.second.site * 4 + static_cast<std::uint64_t>(pair.second.kind));
  return static_cast<std::size_t>(hash);
}

std::uint32_t Inference::intern(const PairIds& pair) {
  const auto [at, added] = pair_ids_.try_emplace(pair, static_cast<std::uint32_t>(pairs_.size()));
  if (added) pairs_.push_back(pair);
  return at->second;
}

void Inference::take(const Batch& batch, const Names& names) {
  EventNumber number = batch.first;
  for (const Event& event : batch.events) apply(event, number++, names);
}

void Inference::apply(const Event& event, EventNumber number, const Names& names) {
  if (event.flags != 0) return;
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kRmw: access(event, names); return;
    case EventKind::kAcquire:
      thread(event.thread).held.push_back({event.lock().value, number});
      return;
    case EventKind::kRelease:
      std::erase_if(thread(event.thread).held,
                    [&event](const Held& held) { return held.lock == event.lock().value; });
      return;
    case EventKind::kEnter: enter(thread(event.thread), event, names); return;
    case EventKind::kExit: leave(thread(event.thread), event.label()); return;
    default: return;
  }
}

Inference::ThreadState& Inference::thread(ThreadId id) {
  if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
  return threads_[id.index()];
}

void Inference::enter(ThreadState& thread, const Event& event, const Names& names) {
  thread.functions.push_back(event.label().value);
  // A mark is no function: what it encloses belongs to the one around it.
  const bool mark = is_mark(names.label(event.label()));
  if (mark && !thread.stack.empty()) {
    keep(thread.stack.back());
    thread.stack.push_back(thread.stack.back());
    return;
  }
  std::uint32_t at = 0;
  if (free_.empty()) {
    at = static_cast<std::uint32_t>(activations_.size());
    activations_.emplace_back();
  } else {
    at = free_.back();
    free_.pop_back();
  }
  Activation& activation = activations_[at];
  activation.function = mark ? 0 : event.label().value;
  activation.site = event.site.value;
  activation.references = 1;
  activation.met.clear();
  activation.parent = kNone;
  activation.depth = 0;
  if (!thread.stack.empty()) {
    activation.parent = thread.stack.back();
    activation.depth = activations_[activation.parent].depth + 1;
    keep(activation.parent);
  }
  thread.stack.push_back(at);
}

void Inference::pop(ThreadState& thread) {
  drop(thread.stack.back());
  thread.stack.pop_back();
  thread.functions.pop_back();
}

void Inference::leave(ThreadState& thread, LabelId function) {
  if (thread.functions.empty()) return;
  if (function == LabelId()) return pop(thread);
  const auto found =
      std::ranges::find(thread.functions.rbegin(), thread.functions.rend(), function.value);
  if (found == thread.functions.rend()) return;
  const auto left = static_cast<std::size_t>(thread.functions.rend() - found) - 1;
  while (thread.functions.size() > left) pop(thread);
}

void Inference::drop(std::uint32_t activation) {
  while (activation != kNone && --activations_[activation].references == 0) {
    free_.push_back(activation);
    activation = activations_[activation].parent;
  }
}

Inference::Instance* Inference::instance(VarId variable, const Names& names) {
  if (variable.index() >= instance_of_.size()) instance_of_.resize(variable.index() + 1, kNone);
  std::uint32_t& known = instance_of_[variable.index()];
  if (known == kNameless) return nullptr;
  if (known != kNone) return &instances_[known];

  const InstanceName name = split_instance(names.variable(variable));
  if (name.variable.empty()) {
    known = kNameless;
    return nullptr;
  }
  take_sets(names);
  std::string shared(name.variable);
  std::string key;
  if (const std::string* group = groups_.name_of(name.variable); group != nullptr) {
    shared = *group;
    key = shared + std::string(name.instance);
  }
  if (!key.empty()) {
    const auto [at, added] =
        grouped_.try_emplace(key, static_cast<std::uint32_t>(instances_.size()));
    known = at->second;
    if (!added) return &instances_[known];
  }
  known = static_cast<std::uint32_t>(instances_.size());
  Instance& made = instances_.emplace_back();
  const auto [at, added] =
      by_name_.try_emplace(shared, static_cast<std::uint32_t>(variables_.size()));
  if (added) variables_.push_back({shared, {}, {}, {}});
  made.name = at->second;
  made.object =
      objects_.try_emplace(std::string(name.instance), static_cast<std::uint32_t>(objects_.size()))
          .first->second;
  return &made;
}

/// What is new of SYNDROME_ATOMIC_SET: a file's comes before its code runs.
void Inference::take_sets(const Names& names) {
  const StringTable& labels = names.table(Space::kLabel);
  for (; labels_taken_ < labels.size(); ++labels_taken_) {
    const std::optional<SetMember> member = set_member(labels[labels_taken_]);
    if (!member) continue;
    Group& members = sets_[std::string(member->set)];
    members.emplace_back(member->name);
    groups_.add(members);
  }
}

void Inference::meet(Activation& activation, std::uint32_t instance) {
  if (std::ranges::find(activation.met, instance) != activation.met.end()) return;
  const Instance& own = instances_[instance];
  variables_[own.name].cases.insert(activation.function);
  for (const std::uint32_t met : activation.met) {
    const Instance& other = instances_[met];
    if (other.object != own.object || other.name == own.name) continue;
    const auto [first, second] = std::minmax(own.name, other.name);
    variables_[first].together.insert(std::uint64_t{activation.function} << 32U | second);
  }
  if (activation.met.size() < kMostMet) activation.met.push_back(instance);
}

void Inference::access(const Event& event, const Names& names) {
  Instance* const variable = instance(event.var(), names);
  if (variable == nullptr) return;
  ThreadState& acting = thread(event.thread);
  const bool write = event.kind != EventKind::kRead;
  const Here here{event.site.value, write ? SpotKind::kWrite : SpotKind::kRead};
  Last* own = nullptr;
  for (Last& last : variable->lasts) {
    if (last.thread == event.thread) {
      own = &last;
    } else {
      (write ? last.remote_write : last.remote_read) = true;
    }
  }
  if (own != nullptr) pair(*variable, *own, acting, here);

  std::vector<std::uint32_t>& guards = variable->guards;
  if (!variable->guards_known) {
    variable->guards_known = true;
    for (const Held& held : acting.held) guards.push_back(held.lock);
  } else if (!guards.empty()) {
    std::erase_if(guards, [&acting](std::uint32_t lock) {
      return std::ranges::find(acting.held, lock, &Held::lock) == acting.held.end();
    });
  }
  const std::uint32_t now = acting.stack.empty() ? kNone : acting.stack.back();
  if (now != kNone && activations_[now].function != 0 && here.site != 0) {
    variables_[variable->name].accesses.insert(intern({activations_[now].function, here, here}));
  }
  if (correlate_ && now != kNone && activations_[now].function != 0) {
    meet(activations_[now], static_cast<std::uint32_t>(variable - instances_.data()));
  }
  if (own == nullptr) {
    own = &variable->lasts.emplace_back();
    own->thread = event.thread;
  }
  if (own->activation != now) {
    if (now != kNone) keep(now);
    drop(own->activation);
    own->activation = now;
  }
  own->here = here;
  own->remote_read = false;
  own->remote_write = false;
  own->held = acting.held;
}

void Inference::pair(Instance& instance, const Last& last, const ThreadState& thread, Here here) {
  if (thread.stack.empty() || last.activation == kNone) return;
  std::uint32_t a = last.activation;
  std::uint32_t b = thread.stack.back();
  Here first = last.here;
  Here second = here;
  const auto up = [this](std::uint32_t& at, Here& label) {
    label = {activations_[at].site, SpotKind::kCall};
    at = activations_[at].parent;
  };
  while (a != b) {
    if (a == kNone || b == kNone) return;
    const std::uint32_t depth_a = activations_[a].depth;
    const std::uint32_t depth_b = activations_[b].depth;
    if (depth_a >= depth_b) up(a, first);
    if (depth_b >= depth_a) up(b, second);
  }
  if (a == kNone || activations_[a].function == 0 || first.site == 0 || second.site == 0) return;

  const std::uint32_t id = intern({activations_[a].function, first, second});
  const AtomicType type = last.remote_write  ? AtomicType::kNone
                          : last.remote_read ? AtomicType::kRead
                                             : AtomicType::kExclusive;
  auto at = std::ranges::find(instance.pairs, id, &PairState::pair);
  if (at == instance.pairs.end()) {
    PairState& state = instance.pairs.emplace_back();
    state.pair = id;
    for (const Held& held : last.held) {
      if (std::ranges::find(thread.held, held) != thread.held.end()) {
        state.locks.push_back(held.lock);
      }
    }
    at = std::prev(instance.pairs.end());
  } else {
    std::erase_if(at->locks, [&](std::uint32_t lock) {
      const auto held = std::ranges::find(last.held, lock, &Held::lock);
      return held == last.held.end() || std::ranges::find(thread.held, *held) == thread.held.end();
    });
  }
  at->type = std::min(at->type, type);
  ++at->seen;
  // The same pairs come again and again.
  if (at != instance.pairs.begin()) std::iter_swap(at, std::prev(at));
}

Profile Inference::result(const Names& names) const {
  Profile profile;
  profile.runs = 1;
  const auto spot = [&names](Here here) {
    return Spot{std::string(names.site(SiteId(here.site))), here.kind};
  };
  const auto function = [&names](std::uint32_t label) {
    return std::string(names.label(LabelId(label)));
  };
  for (const VariableName& variable : variables_) {
    Variable& entry = profile.variables[variable.name];
    for (const std::uint32_t id : variable.accesses) {
      entry.accesses.insert({function(pairs_[id].function), spot(pairs_[id].first)});
    }
  }
  for (const Instance& instance : instances_) {
    if (instance.lasts.size() < 2) continue;
    Profile one;
    Variable& entry = one.variables[variables_[instance.name].name];
    entry.instances = 1;
    for (const std::uint32_t lock : instance.guards) {
      entry.guards.insert(lock_name(names.lock(LockId(lock))));
    }
    for (const PairState& state : instance.pairs) {
      const PairIds& ids = pairs_[state.pair];
      Pair pair{state.type, state.seen, {}};
      for (const std::uint32_t lock : state.locks) {
        if (std::ranges::find(instance.guards, lock) == instance.guards.end()) continue;
        pair.guards.insert(lock_name(names.lock(LockId(lock))));
      }
      entry.pairs.emplace(PairKey{function(ids.function), spot(ids.first), spot(ids.second)},
                          std::move(pair));
    }
    profile.merge(one);
  }
  std::erase_if(profile.variables, [](const auto& entry) { return entry.second.instances == 0; });
  return profile;
}

Companions Inference::companions(const Names& names) const {
  Companions result;
  for (const Instance& instance : instances_) {
    if (instance.lasts.size() >= 2) result.shared.insert(variables_[instance.name].name);
  }
  const auto function = [&names](std::uint64_t label) {
    return std::string(names.label(LabelId(static_cast<std::uint32_t>(label))));
  };
  for (const VariableName& variable : variables_) {
    for (const std::uint32_t label : variable.cases) {
      result.cases[variable.name].insert(function(label));
    }
    for (const std::uint64_t both : variable.together) {
      const std::string& other = variables_[both & UINT32_MAX].name;
      result.together[std::minmax(variable.name, other)].insert(function(both >> 32U));
    }
  }
  return result;
}

}  // namespace syndrome::enforce
