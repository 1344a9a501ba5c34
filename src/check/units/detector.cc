#include "check/units/detector.h"

#include <algorithm>
#include <ranges>

namespace syndrome::check::units {
namespace {

bool is_access(EventKind kind) {
  return kind == EventKind::kRead || kind == EventKind::kWrite || kind == EventKind::kRmw;
}

/// 1 … 5 (check/patterns.h).
std::uint8_t pattern_of(bool first_writes, bool other_writes, bool second_writes) {
  if (!first_writes) return second_writes ? 1 : 2;
  if (!second_writes) return 4;
  return other_writes ? 5 : 3;
}

/// Likewise 6 … 14, by the order of e1, x (v at e1's location), y (v at e2's) and e2, the last.
std::uint8_t pattern_of(bool writes, bool other_writes, EventNumber first, EventNumber x,
                        EventNumber y) {
  if (y < first) return writes ? (other_writes ? 8 : 13) : 14;
  const bool in_order = x < y;
  if (!writes) return in_order ? 11 : 12;
  if (other_writes) return in_order ? 6 : 7;
  return in_order ? 9 : 10;
}

std::uint64_t run_key(ContextId context, SiteId step) {
  return (std::uint64_t{context} << 32) | step.value;
}

/// Whether the activation makes both accesses itself. Two calls with a common argument are mostly
/// two operations with one key, and not two halves of one.
bool is_own(const Activation& unit, const Access& first, const Access& second) {
  return first.context == unit.context && second.context == unit.context;
}

/// Whether two accesses of one step belong to the same execution of it, as far as is known: an
/// insertion in the first round says nothing of the rounds after it.
bool in_one_execution(const Activation& unit, const Access& first, const Access& second) {
  if (is_own(unit, first, second)) return true;
  return std::ranges::any_of(first.in, [&](EventNumber begin) {
    return begin > unit.begin && std::ranges::find(second.in, begin) != second.in.end();
  });
}

}  // namespace

void Detector::take(const Batch& batch, const Names& names) {
  flow_.grow(names.layout());
  EventNumber number = batch.first;
  for (const Event& event : batch.events) {
    if (is_access(event.kind)) {
      if ((event.flags & kDropped) == 0) access(event, number, names);
    } else {
      activations_.take(event, number, names);
      switch (event.kind) {
        case EventKind::kAcquire:
        case EventKind::kAcquireShared:
        case EventKind::kRelease:
        case EventKind::kReleaseShared:
          if (event.thread.index() < threads_.size()) {
            threads_[event.thread.index()].locks = locks_of(event.thread);
          }
          break;
        default: break;
      }
    }
    ++number;
  }
}

void Detector::access(const Event& event, EventNumber number, const Names& names) {
  ++counts_.accesses;
  const VarId variable = event.var();
  if (variable.index() >= locations_.size()) locations_.resize(variable.index() + 1);
  if (event.thread.index() >= threads_.size()) {
    threads_.resize(event.thread.index() + 1);
    threads_.back().locks = locks_of(event.thread);
  }
  Location& location = locations_[variable.index()];
  Thread& thread = threads_[event.thread.index()];

  Now now;
  now.names = &names;
  now.variable = variable;
  now.open = activations_.open(event.thread);
  Access& access = now.access;
  access.number = number;
  access.thread = event.thread;
  access.step = activations_.step(event.thread, event.site);
  access.context = now.open.empty() ? 0 : now.open.back().context;
  access.epoch = activations_.epoch(event.thread);
  access.waits = activations_.waits(event.thread);
  access.locks = thread.locks;
  const std::span<const Hold> holds = activations_.holds(event.thread);
  if (!holds.empty()) access.hold = holds.front().since;
  for (std::size_t i = 0; i < access.in.size() && i < now.open.size(); ++i) {
    access.in[i] = now.open[now.open.size() - 1 - i].begin;
  }
  for (std::size_t i = now.open.size(); i-- > 0 && i + access.in.size() >= now.open.size();) {
    const std::span<const ObjectId> objects = activations_.objects(event.thread, i);
    if (objects.empty()) continue;
    access.object = objects.front();
    access.has_object = true;
    break;
  }
  access.write = event.kind != EventKind::kRead;
  access.rmw = event.kind == EventKind::kRmw;
  access.atomic = event.kind == EventKind::kRmw || event.order != MemoryOrder::kPlain;

  follow_runs(thread, now);
  if (!now.open.empty()) {
    if (access.write && access.hold != 0) serve(now, thread);
    if (location.foreign(event.thread) != 0 && !access.rmw) look_at_one(now, location, thread);
    look_at_pairs(now, location, thread);
    if (!access.atomic) look_at_checks(now, location, thread);
  }
  if (event.kind == EventKind::kRmw) {
    Access read = access;
    read.write = false;
    keep(location, read);
  }
  keep(location, access);
  keep_recent(thread, variable, access);
  if (access.write && access.hold != 0) keep_written(thread, variable, access);
  if (location.last_thread != event.thread) {
    location.other = location.last;
    location.last_thread = event.thread;
  }
  location.last = number;
}

void Detector::serve(const Now& now, Thread& thread) {
  for (Recent& recent : thread.recent) {
    const Access& read = recent.access;
    if (read.write || read.served || read.number == 0 || read.hold != now.access.hold) continue;
    const Activation* const both = around(now, read);
    if (both == nullptr) continue;
    const std::uint32_t how = flow_.how(step_in(*both, read), step_in(*both, now.access));
    if ((how & unit::kFlowControl) == 0) continue;
    Found object;
    if (recent.variable != now.variable && !in_one_object(now, *both, recent.variable, object)) {
      continue;
    }
    recent.access.served = true;
    for (Access& way : locations_[recent.variable.index()].ways) {
      if (way.number == read.number && !way.write) way.served = true;
    }
  }
}

void Detector::keep(Location& location, const Access& access) {
  const auto same = std::ranges::find_if(location.ways, [&](const Access& way) {
    return way.thread == access.thread && way.context == access.context &&
           way.step == access.step && way.write == access.write;
  });
  if (same != location.ways.end()) {
    *same = access;
    return;
  }
  if (location.ways.size() == kMostWays) {
    location.ways.erase(std::ranges::min_element(location.ways, {}, &Access::number));
  }
  location.ways.push_back(access);
}

void Detector::keep_written(Thread& thread, VarId variable, const Access& access) {
  if (thread.sections[thread.section].hold != access.hold) {
    thread.section = (thread.section + 1) % kSections;
    thread.sections[thread.section].hold = access.hold;
    thread.sections[thread.section].written.clear();
  }
  std::vector<VarId>& written = thread.sections[thread.section].written;
  if (written.size() < kMostWritten && std::ranges::find(written, variable) == written.end()) {
    written.push_back(variable);
  }
}

void Detector::keep_recent(Thread& thread, VarId variable, const Access& access) {
  Recent* place = &thread.recent.front();
  for (Recent& recent : thread.recent) {
    if (recent.variable == variable && recent.access.context == access.context &&
        recent.access.step == access.step && recent.access.write == access.write) {
      place = &recent;
      break;
    }
    if (recent.access.number < place->access.number) place = &recent;
  }
  *place = {variable, access};
}

std::uint32_t Detector::locks_of(ThreadId thread) {
  std::vector<LockId> locks;
  for (const Hold& hold : activations_.holds(thread)) locks.push_back(hold.lock);
  std::ranges::sort(locks);
  const auto [known, is_new] =
      lock_sets_.try_emplace(std::move(locks), static_cast<std::uint32_t>(locks_.size()));
  if (is_new) locks_.push_back(known->first);
  return known->second;
}

bool Detector::has_lock(const Access& access, LockId lock) const {
  return std::ranges::binary_search(locks_[access.locks], lock);
}

const Activation* Detector::around(const Now& now, const Access& access) {
  for (const Activation& activation : now.open | std::views::reverse) {
    if (activation.begin <= access.number) return &activation;
  }
  return nullptr;
}

SiteId Detector::step_in(const Activation& activation, const Access& access) const {
  SiteId step = access.step;
  for (ContextId at = access.context; at != activation.context && at != 0;
       at = activations_.around(at)) {
    step = activations_.call(at);
  }
  return step;
}

bool Detector::reaches(const Activation& activation, const Access& access) const {
  SiteId step = access.step;
  for (ContextId at = access.context; at != activation.context && at != 0;
       at = activations_.around(at)) {
    if (!flow_.reaches_result(step)) return false;
    step = activations_.call(at);
  }
  return true;
}

const Hold* Detector::held_against(const Access& first, const Access& other) const {
  for (const Hold& hold : activations_.holds(first.thread)) {
    if (hold.since < first.number && !has_lock(other, hold.lock)) return &hold;
  }
  return nullptr;
}

bool Detector::is_rechecked(const Now& now, const Location& location, SiteId from,
                            const Access& first, const Access& other) const {
  for (const Access& read : location.ways) {
    if (read.write || read.thread != first.thread || read.number <= first.number) continue;
    const Activation* const both = around(now, read);
    if (both == nullptr || !reaches(*both, read)) continue;
    const SiteId step = step_in(*both, read);
    if (step == from) continue;
    // A later check: that one counts, and is judged by itself.
    const std::uint32_t how = flow_.how(step, step_in(*both, now.access));
    if ((how & (unit::kFlowControl | unit::kFlowCompared)) != 0) return true;
    const bool in_section =
        read.number > other.number &&
        std::ranges::any_of(activations_.holds(first.thread), [&](const Hold& hold) {
          return hold.since < read.number && hold.since > first.number;
        });
    if (in_section && !now.access.write && flow_.decides(step)) return true;
  }
  return false;
}

void Detector::look_at_one(const Now& now, const Location& location, const Thread& thread) {
  const Access& second = now.access;
  const EventNumber foreign = location.foreign(second.thread);
  for (const Access& first : location.ways) {
    if (first.thread != second.thread || first.number >= foreign || first.epoch != second.epoch) {
      continue;
    }
    const Activation* const unit = around(now, first);
    if (unit == nullptr) continue;
    const SiteId from = step_in(*unit, first);
    const SiteId to = step_in(*unit, second);
    if (from == to) continue;  // two rounds of a loop
    OneLocation candidate;
    candidate.first_writes = first.write;
    candidate.second_writes = second.write;
    candidate.how = flow_.how(from, to);
    if (!is_own(*unit, first, second)) candidate.how &= ~std::uint32_t{unit::kFlowSource};
    // What a call is given need not have to do with what it reads.
    if (!second.write && !is_steered(*unit, second)) {
      candidate.how &= ~std::uint32_t{unit::kFlowData | unit::kFlowPointer};
    }
    candidate.reaches = reaches(*unit, first);
    candidate.atomic = first.atomic || second.atomic;
    candidate.waited = first.waits != second.waits;
    candidate.re_reads = !second.write && flow_.decides(second.step);
    candidate.served = first.served;
    candidate.whole = std::ranges::any_of(location.ways, [&](const Access& access) {
      return access.write && step_in(*unit, access) == from &&
             in_one_execution(*unit, first, access);
    });
    Judgement best;
    const Access* best_other = nullptr;
    const Hold* best_hold = nullptr;
    for (const Access& other : location.ways) {
      if (other.thread == second.thread || other.number <= first.number) continue;
      if (!other.write && !(first.write && second.write)) continue;
      ++counts_.candidates;
      const Hold* const hold = held_against(first, other);
      candidate.held = hold != nullptr;
      candidate.rechecked = !first.write && is_rechecked(now, location, from, first, other);
      candidate.updates = std::ranges::any_of(location.ways, [&](const Access& read) {
        return read.thread == second.thread && !read.write && read.number > other.number &&
               read.in[0] == second.in[0] && read.hold == second.hold &&
               (flow_.how(read.step, second.step) & unit::kFlowData) != 0;
      });
      candidate.added = other.rmw || std::ranges::any_of(location.ways, [&](const Access& read) {
                          return read.thread == other.thread && !read.write &&
                                 read.number < other.number && read.in[0] == other.in[0] &&
                                 other.hold != 0 && read.hold == other.hold;
                        });
      const Judgement judgement = judge(candidate);
      if (judgement.tier <= best.tier) continue;
      best = judgement;
      best_other = &other;
      best_hold = hold;
    }
    if (best_other == nullptr) continue;
    if (best.tier > Tier::kPossible && in_earlier_round(*unit, from, first, thread)) continue;
    Found found;
    found.judgement = best;
    found.pattern = pattern_of(first.write, best_other->write, second.write);
    found.events = {first.number, best_other->number, second.number, 0};
    found.first = found.second = now.variable;
    found.function = unit->function;
    found.unit = unit->begin;
    found.other = best_other->in[0] != 0 ? best_other->in[0] : best_other->number;
    found.from = from;
    found.to = to;
    if (best.link == Link::kHold) found.lock = best_hold->lock;
    report(found);
  }
}

void Detector::look_at_pairs(const Now& now, const Location& location, const Thread& thread) {
  if (location.foreign(now.access.thread) == 0) return;
  for (const Recent& recent : thread.recent) {
    const Access& first = recent.access;
    if (first.number == 0 || recent.variable == now.variable || first.write != now.access.write ||
        first.epoch != now.access.epoch || first.waits != now.access.waits) {
      continue;
    }
    if (locations_[recent.variable.index()].foreign(first.thread) <= first.number) continue;
    look_at_pair(now, location, recent, thread);
  }
}

void Detector::look_at_pair(const Now& now, const Location& location, const Recent& recent,
                            const Thread& thread) {
  const Access& first = recent.access;
  const Access& second = now.access;
  const Activation* const unit = around(now, first);
  if (unit == nullptr) return;
  const SiteId from = step_in(*unit, first);
  const SiteId to = step_in(*unit, second);
  if (from == to) return;
  const Layout& layout = now.names->layout();
  TwoLocations candidate;
  candidate.writes = second.write;
  candidate.how = flow_.how(from, to);
  candidate.own = is_own(*unit, first, second);
  candidate.re_reads = !second.write && flow_.decides(second.step);
  candidate.reaches = reaches(*unit, first) && reaches(*unit, second);
  candidate.atomic = first.atomic || second.atomic;
  candidate.both_atomic = first.atomic && second.atomic;
  candidate.compared =
      candidate.atomic && (flow_.is_compared(first.step) || flow_.is_compared(second.step) ||
                           flow_.compares(first.step) || flow_.compares(second.step));

  Found found;
  const bool own_object = in_one_object(now, *unit, recent.variable, found);
  const Location& other_location = locations_[recent.variable.index()];
  // Each of the steps is an operation of its own, on both.
  if (has_come(*unit, from, second.thread, second.write, location) ||
      has_come(*unit, to, second.thread, second.write, other_location)) {
    return;
  }
  for (const Access& x : other_location.ways) {
    if (x.thread == second.thread || x.number <= first.number) continue;
    if (!x.write && !second.write) continue;
    // Read again behind x: what was read first does not matter any more.
    const bool fresh = std::ranges::any_of(other_location.ways, [&](const Access& again) {
      return again.thread == second.thread && !again.write && again.number > x.number;
    });
    if (!second.write && fresh) continue;
    for (const Access& y : location.ways) {
      if (y.thread != x.thread || y.write != x.write) continue;
      const bool one_section = x.hold != 0 && x.hold == y.hold;
      const Common both = common(x, y);
      if (!one_section && both.activation == 0) continue;
      ++counts_.candidates;
      candidate.same_object = own_object || in_object_of(x, recent.variable, now.variable, layout);
      candidate.other_writes = x.write;
      candidate.other_section = one_section;
      candidate.other_own = both.own;
      candidate.other_source = (both.how & unit::kFlowSource) != 0;
      candidate.other_joins =
          (both.how & (unit::kFlowJoined | unit::kFlowAddress)) == unit::kFlowJoined;
      candidate.other_follows =
          x.number < y.number &&
          (both.how & (unit::kFlowDecides | unit::kFlowAddress)) == unit::kFlowDecides;
      const Hold* const hold = held_against(first, x);
      candidate.held = hold != nullptr;
      const Judgement judgement = judge(candidate);
      if (judgement.tier == Tier::kNone) continue;
      if (judgement.tier > Tier::kPossible && in_earlier_round(*unit, from, first, thread)) return;
      if (judgement.link == Link::kOther && looks_again(now, first, thread)) return;
      found.judgement = judgement;
      found.pattern = pattern_of(second.write, x.write, first.number, x.number, y.number);
      found.swapped = y.number < first.number;
      found.events = {first.number, x.number, y.number, second.number};
      std::ranges::sort(found.events);
      found.first = found.swapped ? now.variable : recent.variable;
      found.second = found.swapped ? recent.variable : now.variable;
      found.function = unit->function;
      found.unit = unit->begin;
      found.other = both.activation != 0 ? both.activation : x.in[0] != 0 ? x.in[0] : x.number;
      found.from = from;
      found.to = to;
      if (judgement.link == Link::kHold) found.lock = hold->lock;
      report(found);
      return;
    }
  }
}

void Detector::look_at_checks(const Now& now, const Location& location, const Thread& thread) {
  const EventNumber last = location.foreign(now.access.thread);
  if (last <= now.open.front().begin) return;
  const auto y = std::ranges::find(location.ways, last, &Access::number);
  if (y == location.ways.end() || y->hold == 0 || y->atomic) return;
  if (!y->write && !now.access.write) return;
  const Thread& other = threads_[y->thread.index()];
  const auto section = std::ranges::find(other.sections, y->hold, &Section::hold);
  if (section == other.sections.end()) return;
  for (const VarId variable : section->written) {
    if (variable == now.variable) continue;
    const std::vector<Access>& ways = locations_[variable.index()].ways;
    const auto x = std::ranges::find_if(ways, [&](const Access& access) {
      return access.thread == y->thread && access.write && access.hold == y->hold;
    });
    if (x == ways.end() || x->atomic) continue;
    for (const Access& first : ways) {
      if (first.thread != now.access.thread || first.write || first.atomic || first.served ||
          first.number >= x->number || first.epoch != now.access.epoch ||
          first.waits != now.access.waits) {
        continue;
      }
      if (look_at_check(now, variable, first, *x, *y, thread)) return;
    }
  }
}

bool Detector::look_at_check(const Now& now, VarId variable, const Access& first, const Access& x,
                             const Access& y, const Thread& thread) {
  const Access& second = now.access;
  const Activation* const unit = around(now, first);
  if (unit == nullptr) return false;
  CheckThenAct candidate;
  Found found;
  found.from = step_in(*unit, first);
  found.to = step_in(*unit, second);
  candidate.how = flow_.how(found.from, found.to);
  constexpr std::uint32_t kConnected = unit::kFlowDecides | unit::kFlowAddress;
  if (found.from == found.to || (candidate.how & kConnected) == 0) return false;
  candidate.writes = second.write;
  ++counts_.candidates;
  candidate.reaches = reaches(*unit, first);
  candidate.same_object = in_one_object(now, *unit, variable, found) ||
                          in_object_of(x, variable, now.variable, now.names->layout());
  candidate.rechecked = looks_again(now, first, thread);
  found.judgement = judge(candidate);
  if (found.judgement.tier == Tier::kNone) return false;
  if (in_earlier_round(*unit, found.from, first, thread)) return false;
  found.events = {first.number, x.number, y.number, second.number};
  found.first = variable;
  found.second = now.variable;
  found.function = unit->function;
  found.unit = unit->begin;
  const EventNumber activation = common(x, y).activation;
  found.other = activation != 0 ? activation : x.in[0] != 0 ? x.in[0] : x.number;
  report(found);
  return true;
}

bool Detector::has_come(const Activation& unit, SiteId step, ThreadId thread, bool write,
                        const Location& location) const {
  return std::ranges::any_of(location.ways, [&](const Access& access) {
    return access.thread == thread && access.write == write && access.number >= unit.begin &&
           step_in(unit, access) == step;
  });
}

void Detector::follow_runs(Thread& thread, const Now& now) {
  const Access& access = now.access;
  if (thread.context == access.context && thread.step == access.step) return;
  thread.context = access.context;
  thread.step = access.step;
  SiteId step = access.step;
  ContextId context = access.context;
  for (;;) {
    SiteId& last = thread.last_step[context];
    if (last != step) {
      last = step;
      thread.run[run_key(context, step)] = access.number;
    }
    if (context == 0) break;
    step = activations_.call(context);
    context = activations_.around(context);
  }
}

bool Detector::in_earlier_round(const Activation& unit, SiteId step, const Access& first,
                                const Thread& thread) {
  const auto run = thread.run.find(run_key(unit.context, step));
  return run != thread.run.end() && first.number < run->second;
}

bool Detector::is_steered(const Activation& unit, const Access& access) const {
  SiteId step = access.step;
  for (ContextId at = access.context; at != unit.context && at != 0; at = activations_.around(at)) {
    if (!flow_.is_steered(step)) return false;
    step = activations_.call(at);
  }
  return true;
}

bool Detector::looks_again(const Now& now, const Access& first, const Thread& thread) const {
  for (const Recent& recent : thread.recent) {
    const Access& read = recent.access;
    if (read.write || read.number <= first.number || read.hold == 0 ||
        read.hold != now.access.hold || read.hold < first.number) {
      continue;
    }
    if (locations_[recent.variable.index()].foreign(read.thread) < first.number) continue;
    const Activation* const both = around(now, read);
    if (both == nullptr) continue;
    const std::uint32_t how = flow_.how(step_in(*both, read), step_in(*both, now.access));
    if ((how & (unit::kFlowControl | unit::kFlowCompared)) != 0) return true;
  }
  return false;
}

bool Detector::in_one_object(const Now& now, const Activation& unit, VarId other,
                             Found& found) const {
  const Layout& layout = now.names->layout();
  const auto index = static_cast<std::size_t>(&unit - now.open.data());
  for (const ObjectId object : activations_.objects(now.access.thread, index)) {
    if (object.index() >= layout.objects.size()) continue;
    const Extent& extent = layout.objects[object.index()];
    if (!layout.belongs(other, extent) || !layout.belongs(now.variable, extent)) continue;
    found.object = object;
    found.has_object = true;
    return true;
  }
  const Region* const global = layout.global_of(now.variable);
  return global != nullptr && global == layout.global_of(other);
}

bool Detector::in_object_of(const Access& access, VarId one, VarId other, const Layout& layout) {
  if (!access.has_object || access.object.index() >= layout.objects.size()) return false;
  const Extent& extent = layout.objects[access.object.index()];
  return layout.belongs(one, extent) && layout.belongs(other, extent);
}

Detector::Common Detector::common(const Access& x, const Access& y) const {
  Common both;
  SiteId x_step = x.step;
  ContextId x_context = x.context;
  for (std::size_t i = 0; i < x.in.size() && x.in[i] != 0; ++i) {
    SiteId y_step = y.step;
    ContextId y_context = y.context;
    for (std::size_t k = 0; k < y.in.size() && y.in[k] != 0; ++k) {
      if (x.in[i] == y.in[k]) {
        constexpr std::uint32_t kBoth = unit::kFlowJoined | unit::kFlowSource | unit::kFlowAddress;
        both.activation = x.in[i];
        both.own = i == 0 && k == 0;
        both.how = flow_.how(x_step, y_step) | (flow_.how(y_step, x_step) & kBoth);
        return both;
      }
      y_step = activations_.call(y_context);
      y_context = activations_.around(y_context);
    }
    x_step = activations_.call(x_context);
    x_context = activations_.around(x_context);
  }
  return both;
}

void Detector::report(Found found) {
  // The same steps, however often; a pattern of two locations is another matter than one of one.
  std::uint64_t key = (std::uint64_t{found.from.value} << 32) | found.to.value;
  key = key * 0x9E3779B97F4A7C15u + found.function.value * 32 + found.pattern;
  const auto [group, is_new] = groups_.try_emplace(key, found_.size());
  if (is_new) {
    found_.push_back(found);
    return;
  }
  Found& known = found_[group->second];
  found.count = known.count + 1;
  if (found.judgement.tier > known.judgement.tier) {
    known = found;
  } else {
    known.count = found.count;
  }
}

}  // namespace syndrome::check::units
