#include "check/nondeterminism/search.h"

#include <algorithm>
#include <utility>

namespace syndrome::check {
namespace {

/// The last of these events of one thread that are among its first `count`; kNoIndex when none is.
Index last_among(const Order& order, std::span<const Index> events, std::uint32_t count) {
  const auto after =
      std::ranges::partition_point(events, [&](Index e) { return order.position(e) < count; });
  return after == events.begin() ? kNoIndex : *(after - 1);
}

}  // namespace

Search::Search(const Order& order, std::uint64_t effort)
    : order_(order),
      effort_(effort),
      scratch_(order.threads()),
      scratch2_(order.threads()),
      done_(order.threads()),
      waits_for_edge_(order.size()),
      locks_(order.locks()),
      written_(order.locations()),
      is_late_(order.threads()) {}

/// Takes e and what must come before it into the reordering. Whether that may be.
bool Search::grow(State& state, Index e) {
  order_.join(e, state.prefix.data());
  for (std::size_t t = 0; t < state.prefix.size(); ++t) {
    if (state.prefix[t] > question_->limit[t]) return false;
  }
  return true;
}

/// Closes the reordering under its edges and adds those of the last write. Whether it can be.
bool Search::settle(State& state) {
  for (bool more = true; more;) {
    more = false;
    for (const Edge& edge : state.edges) {
      if (!in(state, edge.to) || in(state, edge.from)) continue;
      if (!grow(state, edge.from)) return false;
      more = true;
    }
    if (question_->last_write == kNoIndex) continue;
    const std::uint32_t location = order_.object(question_->last_write);
    for (const OfThread& group : order_.writes().threads(location)) {
      if (group.thread == order_.thread(question_->last_write)) continue;  // its limit says so
      const Index other =
          last_among(order_, order_.writes().events(group), state.prefix[group.thread]);
      if (other == kNoIndex || reaches(state, other, question_->last_write)) continue;
      if (!add(state, {other, question_->last_write})) return false;
      more = true;
    }
  }
  return true;
}

/// What comes before e, itself included, by the trace's clocks and by the edges.
void Search::clock_of(const State& state, Index e, std::vector<std::uint32_t>& into) const {
  std::ranges::fill(into, 0U);
  order_.join(e, into.data());
  const std::size_t width = order_.threads();
  // The clocks of edges are closed: an edge that comes in through another adds nothing.
  for (std::size_t i = 0; i < state.edges.size(); ++i) {
    const Index to = state.edges[i].to;
    if (!order_.before(to, e)) continue;
    const std::uint32_t* const clock = state.clocks.data() + i * width;
    for (std::size_t t = 0; t < width; ++t) into[t] = std::max(into[t], clock[t]);
  }
}

bool Search::reaches(const State& state, Index a, Index b) {
  clock_of(state, b, scratch2_);
  return scratch2_[order_.thread(a)] > order_.position(a);
}

/// Whether the edge closes no cycle and takes in nothing that must not be.
bool Search::add(State& state, const Edge& edge) {
  const std::size_t width = order_.threads();
  left_ -= std::min<std::uint64_t>(left_, 1 + state.edges.size());
  clock_of(state, edge.from, scratch_);
  if (scratch_[order_.thread(edge.to)] > order_.position(edge.to)) return false;
  for (std::size_t i = 0; i < state.edges.size(); ++i) {
    std::uint32_t* const clock = state.clocks.data() + i * width;
    if (clock[order_.thread(edge.to)] <= order_.position(edge.to)) continue;
    for (std::size_t t = 0; t < width; ++t) clock[t] = std::max(clock[t], scratch_[t]);
  }
  state.edges.push_back(edge);
  state.clocks.insert(state.clocks.end(), scratch_.begin(), scratch_.end());
  return !in(state, edge.to) || in(state, edge.from) || grow(state, edge.from);
}

/// Whether the edge could be added.
bool Search::possible(const State& state, const Edge& edge) {
  if (edge.from == kNoIndex || edge.to == kNoIndex) return false;
  clock_of(state, edge.from, scratch_);
  if (scratch_[order_.thread(edge.to)] > order_.position(edge.to)) return false;
  for (std::size_t t = 0; t < scratch_.size(); ++t) {
    if (scratch_[t] > question_->limit[t]) return false;
  }
  return true;
}

/// Collects choices at scopes that the reordering leaves open. Whether there are any.
bool Search::open_choices(const State& state) {
  choices_.clear();
  for (std::uint32_t thread = 0; thread < order_.threads(); ++thread) {
    if (state.prefix[thread] == 0) continue;
    const Index last = order_.of_thread(thread)[state.prefix[thread] - 1];
    for (const std::uint32_t id : order_.held(last)) {
      const Scope& open = order_.scope(id);
      for (const OfThread& group : order_.acquires().threads(open.lock)) {
        if (group.thread == thread) continue;
        // The latest scope of the other thread that excludes this one; those before it come before
        // it.
        std::span<const Index> acquires = order_.acquires().events(group);
        Index acquire = last_among(order_, acquires, state.prefix[group.thread]);
        if (open.shared) {
          while (acquire != kNoIndex && order_.op(acquire) == Order::Op::kAcquireShared) {
            acquire = last_among(order_, acquires, order_.position(acquire));
          }
        }
        // One that was there before is either over or looked at from its own side.
        if (acquire == kNoIndex || acquire < open.acquire) continue;
        const Scope& other = order_.scope(order_.scope_of(acquire));
        if (other.release != kNoIndex && in(state, other.release) &&
            reaches(state, other.release, open.acquire)) {
          continue;
        }
        choices_.push_back({{open.release, other.acquire}, {other.release, open.acquire}});
      }
    }
  }
  return !choices_.empty();
}

/// The first event of the trace that some edge makes wait for a later one.
Index Search::first_to_wait(const State& state) const {
  Index first = kNoIndex;
  for (const Edge& edge : state.edges) {
    if (edge.from > edge.to && in(state, edge.to)) first = std::min(first, edge.to);
  }
  return first;
}

Answer Search::ask(const Question& question) {
  question_ = &question;
  ++counts_.questions;
  left_ = effort_;
  had_choices_ = false;
  depth_ = 0;
  if (states_.empty()) states_.resize(1);
  State& state = states_[0];
  state.prefix.assign(order_.threads(), 0);
  state.edges.clear();
  state.clocks.clear();
  for (std::size_t t = 0; t < order_.threads(); ++t) {
    if (question.wanted[t] == 0) continue;
    if (!grow(state, order_.of_thread(t)[question.wanted[t] - 1])) return Answer::kNo;
  }
  for (const Edge& edge : question.edges) {
    if (!add(state, edge)) return Answer::kNo;
  }
  if (!settle(state)) return Answer::kNo;
  const Answer answer = explore(0);
  if (had_choices_) ++counts_.with_choices;
  return answer;
}

/// Adds what the choices leave no choice about: kYes. None of them does: kUndecided.
Answer Search::force(State& state) {
  Answer answer = Answer::kUndecided;
  for (const Choice& choice : choices_) {
    const bool first = possible(state, choice.first);
    const bool second = possible(state, choice.second);
    left_ -= std::min<std::uint64_t>(left_, 1 + state.edges.size());
    if (first && second) continue;
    if (!first && !second) return Answer::kNo;
    if (!add(state, first ? choice.first : choice.second) || !settle(state)) return Answer::kNo;
    answer = Answer::kYes;
  }
  return answer;
}

/// Decides the state at this depth; after kYes, depth_ is where the reordering is.
Answer Search::explore(std::size_t depth) {
  while (true) {
    if (left_ == 0) return Answer::kUndecided;
    ++counts_.graphs;
    left_ -= std::min<std::uint64_t>(left_, order_.threads());
    if (!open_choices(states_[depth])) {
      start_ = first_to_wait(states_[depth]);
      depth_ = depth;
      if (start_ == kNoIndex || replay(states_[depth])) return Answer::kYes;
      if (left_ == 0) return Answer::kUndecided;
      blocked_choices(states_[depth]);
      if (choices_.empty()) return Answer::kUndecided;
    }
    const Answer forced = force(states_[depth]);
    if (forced == Answer::kNo) return Answer::kNo;
    if (forced == Answer::kYes) continue;

    had_choices_ = true;
    const Choice choice = choices_.front();
    if (states_.size() < depth + 2) states_.resize(depth + 2);
    states_[depth + 1] = states_[depth];
    if (add(states_[depth + 1], choice.first) && settle(states_[depth + 1])) {
      const Answer answer = explore(depth + 1);
      if (answer != Answer::kNo) return answer;
    }
    if (!add(states_[depth], choice.second) || !settle(states_[depth])) return Answer::kNo;
  }
}

void Search::start_replay(const State& state) {
  ++stamp_;
  replayed_.clear();
  late_.clear();
  std::ranges::fill(is_late_, std::uint8_t{0});
  for (const Edge& edge : state.edges) waits_for_edge_[edge.to] = 1;
  for (std::uint32_t t = 0; t < order_.threads(); ++t) {
    const std::vector<Index>& own = order_.of_thread(t);
    const auto before = std::ranges::lower_bound(own, start_) - own.begin();
    done_[t] = std::min(state.prefix[t], static_cast<std::uint32_t>(before));
    if (done_[t] == 0) continue;
    for (const std::uint32_t id : order_.held(own[done_[t] - 1])) {
      const Scope& scope = order_.scope(id);
      LockState& held = lock(scope.lock);
      ++(scope.shared ? held.shared : held.exclusive);
    }
  }
}

/// From start_ on; all before it is done as in the trace. Whether all events get through.
bool Search::replay(const State& state) {
  ++counts_.replays;
  Index end = 0;  // after the last event of the reordering
  for (std::size_t t = 0; t < order_.threads(); ++t) {
    if (state.prefix[t] != 0) end = std::max(end, order_.of_thread(t)[state.prefix[t] - 1] + 1);
  }
  counts_.replayed += end - start_;
  if (left_ < end - start_) {
    left_ = 0;
    return false;
  }
  left_ -= end - start_;
  start_replay(state);
  for (Index e = start_; e < end; ++e) {
    const std::uint32_t thread = order_.thread(e);
    if (done_[thread] != order_.position(e) || state.prefix[thread] <= done_[thread] ||
        is_late_[thread] != 0) {
      continue;
    }
    if (!step(state, e)) {
      is_late_[thread] = 1;
      late_.push_back(thread);
    } else if (!late_.empty()) {
      catch_up(state, e);
    }
  }
  catch_up(state, kNoIndex);
  for (const Edge& edge : state.edges) waits_for_edge_[edge.to] = 0;
  return late_.empty();
}

/// Lets the threads that wait go on, with their events up to `until`, for as long as one can.
void Search::catch_up(const State& state, Index until) {
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < late_.size();) {
      const std::uint32_t thread = late_[i];
      const std::vector<Index>& own = order_.of_thread(thread);
      bool blocked = false;
      while (done_[thread] < state.prefix[thread] && own[done_[thread]] <= until) {
        if (!step(state, own[done_[thread]])) {
          blocked = true;
          break;
        }
        more = true;
      }
      if (blocked) {
        ++i;
        continue;
      }
      is_late_[thread] = 0;
      late_[i] = late_.back();
      late_.pop_back();
    }
  }
}

/// Whether all that has to come before e by the fixed order, by couples and by edges is done.
bool Search::in_order(const State& state, Index e) const {
  for (const Index earlier : order_.waits_for(e)) {
    if (!is_done(earlier)) return false;
  }
  if (Order::is_read(order_.op(e)) && order_.writer(e) != kNoIndex && !is_done(order_.writer(e))) {
    return false;
  }
  if (waits_for_edge_[e] != 0) {
    for (const Edge& edge : state.edges) {
      if (edge.to == e && !is_done(edge.from)) return false;
    }
  }
  return true;
}

Search::LockState& Search::lock(std::uint32_t id) {
  LockState& state = locks_[id];
  if (state.stamp != stamp_) state = {stamp_, 0, 0};
  return state;
}

/// The last write to a location among the events of the reordering that come before `end` in the
/// trace.
Index Search::written_before(const State& state, std::uint32_t location, Index end) const {
  const std::span<const Index> all = order_.all_writes(location);
  auto at = std::ranges::lower_bound(all, end);
  while (at != all.begin()) {
    if (in(state, *--at)) return *at;
  }
  return kNoIndex;
}

Index& Search::written(const State& state, std::uint32_t location) {
  Written& entry = written_[location];
  if (entry.stamp != stamp_) entry = {stamp_, written_before(state, location, start_)};
  return entry.last;
}

/// A read of `write` that is still to come, other than `besides`; kNoIndex when there is none.
Index Search::pending_reader(const State& state, Index write, std::uint32_t location,
                             Index besides) const {
  const std::size_t key = write != kNoIndex ? write : order_.size() + location;
  for (const OfThread& group : order_.readers().threads(key)) {
    const std::uint32_t done = done_[group.thread];
    if (done >= state.prefix[group.thread]) continue;
    const std::span<const Index> events = order_.readers().events(group);
    auto next =
        std::ranges::partition_point(events, [&](Index e) { return order_.position(e) < done; });
    if (next != events.end() && *next == besides) ++next;
    if (next != events.end() && in(state, *next)) return *next;
  }
  return kNoIndex;
}

/// Does e, the next event of its thread, if it can come now.
bool Search::step(const State& state, Index e) {
  using Op = Order::Op;
  if (!in_order(state, e)) return false;
  switch (order_.op(e)) {
    case Op::kNothing:
    case Op::kRead: break;
    case Op::kWrite:
    case Op::kRmw: {
      const std::uint32_t location = order_.object(e);
      Index& last = written(state, location);
      if (pending_reader(state, last, location, e) != kNoIndex) return false;
      last = e;
      break;
    }
    case Op::kAcquire: {
      LockState& held = lock(order_.object(e));
      if (held.exclusive != 0 || held.shared != 0) return false;
      held.exclusive = 1;
      break;
    }
    case Op::kAcquireShared: {
      LockState& held = lock(order_.object(e));
      if (held.exclusive != 0) return false;
      ++held.shared;
      break;
    }
    case Op::kRelease: lock(order_.object(e)).exclusive = 0; break;
    case Op::kReleaseShared: --lock(order_.object(e)).shared; break;
  }
  ++done_[order_.thread(e)];
  replayed_.push_back(e);
  return true;
}

/// The choices at which the replay has come to a stop.
void Search::blocked_choices(const State& state) {
  choices_.clear();
  for (const Edge& edge : state.edges) waits_for_edge_[edge.to] = 1;
  for (const std::uint32_t thread : late_) {
    const Index e = order_.of_thread(thread)[done_[thread]];
    if (!in_order(state, e)) continue;
    if (Order::is_write(order_.op(e))) {
      const std::uint32_t location = order_.object(e);
      const Index last = written(state, location);
      const Index reader = pending_reader(state, last, location, e);
      if (reader != kNoIndex) choices_.push_back({{e, last}, {reader, e}});
      continue;
    }
    const Scope& own = order_.scope(order_.scope_of(e));
    for (std::uint32_t other = 0; other < order_.threads(); ++other) {
      if (other == thread || done_[other] == 0) continue;
      for (const std::uint32_t id : order_.held(order_.of_thread(other)[done_[other] - 1])) {
        const Scope& held = order_.scope(id);
        if (held.lock != own.lock || !exclude(held, own)) continue;
        choices_.push_back({{own.release, held.acquire}, {held.release, own.acquire}});
      }
    }
  }
  for (const Edge& edge : state.edges) waits_for_edge_[edge.to] = 0;
}

std::vector<Index> Search::schedule() const {
  std::vector<Index> all;
  const Index end = std::min<Index>(start_, static_cast<Index>(order_.size()));
  for (Index e = 0; e < end; ++e) {
    if (in(state(), e)) all.push_back(e);
  }
  if (start_ != kNoIndex) all.insert(all.end(), replayed_.begin(), replayed_.end());
  return all;
}

Index Search::last_write(std::uint32_t location) const {
  if (start_ != kNoIndex && written_[location].stamp == stamp_) return written_[location].last;
  return written_before(state(), location, kNoIndex);
}

}  // namespace syndrome::check
