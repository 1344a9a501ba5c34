#include "check/atomicity/velodrome.h"

#include <algorithm>
#include <cassert>

namespace syndrome::check {

namespace {

/// Up to here an incoming list is scanned, above a set of it is kept: two cache lines of names,
/// and nearly no block of the generated traces has more live predecessors.
constexpr std::size_t kScanned = 16;

/// A slot gives back lists that grew beyond this when its node goes, so that one hub does not hold
/// memory for ever.
constexpr std::size_t kKeptCapacity = 64;

template <class T>
void empty(std::vector<T>& list) {
  if (list.capacity() > kKeptCapacity) {
    list = {};
  } else {
    list.clear();
  }
}

}  // namespace

// Events

void Velodrome::on_acquire_shared(const Event& e, EventNumber n) {
  sources_.clear();
  const Lock& lock = grown(locks_, e.target);
  if (alive(lock.releaser)) sources_.push_back(lock.releaser);
  transact(thread(e.thread), e.thread, n, Publishes::kNo);
}

void Velodrome::on_release_shared(const Event& e, EventNumber n) {
  sources_.clear();
  const Ref self = transact(thread(e.thread), e.thread, n, Publishes::kYes);
  insert(grown(locks_, e.target).shared, self);
}

void Velodrome::on_fork(const Event& e, EventNumber n) {
  sources_.clear();
  const Ref self = transact(thread(e.thread), e.thread, n, Publishes::kYes);
  thread(e.child()).last = self;
}

void Velodrome::on_join(const Event& e, EventNumber n) {
  sources_.clear();
  const Thread& child = thread(e.child());
  if (child.has_event && alive(child.last)) sources_.push_back(child.last);
  transact(thread(e.thread), e.thread, n, Publishes::kNo);
}

void Velodrome::on_begin(const Event& e, EventNumber) {
  Thread& t = thread(e.thread);
  const Ref block = new_node(e.thread);
  if (alive(t.last)) add_edge(t.last, block);
  t.last = block;
  t.in_block = true;
  t.has_event = true;
  t.fresh = false;
}

void Velodrome::on_end(const Event& e, EventNumber) {
  Thread& t = thread(e.thread);
  assert(t.in_block && alive(t.last));
  t.in_block = false;
  t.sources.reset();
  Node& block = node(t.last);
  block.finished = true;
  if (block.in_count == 0) collect(t.last.slot);
}

void Velodrome::on_barrier_arrive(const Event& e, EventNumber n) {
  sources_.clear();
  const Ref self = transact(thread(e.thread), e.thread, n, Publishes::kYes);
  const std::uint64_t round = barrier_rounds_.arrive(e.thread, e.barrier());
  Barrier& barrier = barriers_[e.barrier()];
  insert(barrier.rounds[round].arrived, self);
  const auto [at, is_new] = barrier.inside.try_emplace(e.thread, round);
  if (!is_new && at->second == round) return;
  if (!is_new) {
    // It never left the round before; it cannot any more.
    const auto before = barrier.rounds.find(at->second);
    if (--before->second.inside == 0) barrier.rounds.erase(before);
    at->second = round;
  }
  ++barrier.rounds[round].inside;
}

void Velodrome::on_barrier_leave(const Event& e, EventNumber n) {
  sources_.clear();
  const std::uint64_t round = barrier_rounds_.leave(e.thread, e.barrier());
  Barrier& barrier = barriers_[e.barrier()];
  const auto at = barrier.rounds.find(round);
  if (at != barrier.rounds.end()) {
    take_alive(at->second.arrived);
    if (barrier.inside.erase(e.thread) != 0 && --at->second.inside == 0) barrier.rounds.erase(at);
  }
  transact(thread(e.thread), e.thread, n, Publishes::kNo);
}

void Velodrome::on_post(const Event& e, EventNumber n) {
  sources_.clear();
  insert(grown(semaphores_, e.target), transact(thread(e.thread), e.thread, n, Publishes::kYes));
}

void Velodrome::on_wait(const Event& e, EventNumber n) {
  sources_.clear();
  take_alive(grown(semaphores_, e.target));
  transact(thread(e.thread), e.thread, n, Publishes::kNo);
}

void Velodrome::on_happens_before(const Event& e, EventNumber n) {
  sources_.clear();
  insert(grown(home_made_, e.target), transact(thread(e.thread), e.thread, n, Publishes::kYes));
}

void Velodrome::on_happens_after(const Event& e, EventNumber n) {
  sources_.clear();
  take_alive(grown(home_made_, e.target));
  transact(thread(e.thread), e.thread, n, Publishes::kNo);
}

void Velodrome::on_cond_signal(const Event& e, EventNumber n) {
  sources_.clear();
  insert(grown(conditions_, e.target), transact(thread(e.thread), e.thread, n, Publishes::kYes));
}

void Velodrome::on_cond_wait(const Event& e, EventNumber n) {
  sources_.clear();
  take_alive(grown(conditions_, e.target));
  transact(thread(e.thread), e.thread, n, Publishes::kNo);
}

// Transactions

Velodrome::Ref Velodrome::unary_after(Thread& t, ThreadId id, Publishes publishes) {
  t.has_event = true;
  const bool fresh = t.fresh;
  if (!alive(t.last)) {
    const Ref first = sources_.front();
    if (node(first).finished &&
        std::ranges::all_of(sources_, [&](Ref source) { return source == first; })) {
      ++shared_node_;
      t.last = first;
      t.fresh = false;
      return first;
    }
  } else if (node(t.last).finished) {
    const Ref last = t.last;
    std::erase_if(sources_, [&](Ref source) { return source == last || has_edge(source, last); });
    if (sources_.empty()) {
      ++shared_node_;
      t.fresh = fresh && publishes == Publishes::kNo;
      return last;
    }
    if (fresh && node(last).in.size() + sources_.size() <= kScanned) {
      assert(node(last).out.empty());
      ++shared_node_;
      node(last).place = ++back_;
      for (const Ref source : sources_) {
        if (node(source).last_target != last) add_edge(source, last);
      }
      t.fresh = publishes == Publishes::kNo;
      return last;
    }
    sources_.push_back(last);
  } else {
    sources_.push_back(t.last);
  }
  const Ref self = new_node(id);
  for (const Ref source : sources_) {
    if (node(source).last_target != self) add_edge(source, self);
  }
  node(self).finished = true;
  t.last = self;
  t.fresh = publishes == Publishes::kNo;
  return self;
}

void Velodrome::link_block(Ref source, Thread& t, EventNumber n) {
  const Ref target = t.last;
  if (t.sources ? t.sources->contains(source) : has_edge(source, target)) return;
  if (node(source).place > node(target).place && closes_cycle(source, target)) {
    if (violation_.event == 0) violation_ = {.event = n, .thread = node(target).owner};
    return;
  }
  add_edge(source, target);
  std::vector<Ref>& in = node(target).in;
  if (in.size() <= kScanned) return;
  const bool compact = in.size() > 2 * (node(target).in_count + kScanned);
  if (compact) std::erase_if(in, [&](Ref ref) { return !alive(ref); });
  if (!t.sources || compact) {
    t.sources = std::make_unique<std::unordered_set<Ref, HashRef>>(in.begin(), in.end());
  } else {
    t.sources->insert(source);
  }
}

// Graph

bool Velodrome::has_edge(Ref source, Ref target) {
  if (node(source).last_target == target) return true;
  const std::vector<Ref>& in = node(target).in;
  return in.size() <= kScanned && std::ranges::find(in, source) != in.end();
}

void Velodrome::add_edge(Ref source, Ref target) {
  Node& from = node(source);
  Node& to = node(target);
  assert(alive(source) && alive(target) && from.place < to.place);
  from.out.push_back(target.slot);
  from.last_target = target;
  to.in.push_back(source);
  ++to.in_count;
  ++edges_;
}

Velodrome::Ref Velodrome::new_node(ThreadId owner) {
  std::uint32_t slot = 0;
  if (free_nodes_.empty()) {
    slot = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    slot = free_nodes_.back();
    free_nodes_.pop_back();
  }
  Node& made = nodes_[slot];
  made.owner = owner;
  made.born = ++created_;
  made.place = ++back_;
  made.last_target = kNone;
  made.in_count = 0;
  made.finished = false;
  most_alive_ = std::max(most_alive_, live_nodes());
  return {.slot = slot, .generation = made.generation};
}

void Velodrome::collect(std::uint32_t slot) {
  doomed_.push_back(slot);
  while (!doomed_.empty()) {
    const std::uint32_t next = doomed_.back();
    doomed_.pop_back();
    Node& gone = nodes_[next];
    for (const std::uint32_t target : gone.out) {
      Node& successor = nodes_[target];
      if (--successor.in_count == 0 && successor.finished) doomed_.push_back(target);
    }
    empty(gone.out);
    empty(gone.in);
    ++collected_;
    // A generation that comes again could bring an old name back to life: such a slot retires,
    // with generation 0, which only kNone has, and kNone names another slot.
    if (++gone.generation != 0) free_nodes_.push_back(next);
  }
}

Velodrome::Step Velodrome::step_forward() {
  const std::vector<std::uint32_t>& out = nodes_[forward_.reached[forward_.head]].out;
  if (forward_.edge == out.size()) {
    forward_.edge = 0;
    return ++forward_.head == forward_.reached.size() ? Step::kExhausted : Step::kOn;
  }
  const std::uint32_t slot = out[forward_.edge++];
  Node& next = nodes_[slot];
  if (next.visit == stamp_ + 1) return Step::kMet;
  if (next.visit != stamp_) {
    next.visit = stamp_;
    forward_.reached.push_back(slot);
  }
  return Step::kOn;
}

Velodrome::Step Velodrome::step_backward() {
  const std::vector<Ref>& in = nodes_[backward_.reached[backward_.head]].in;
  if (backward_.edge == in.size()) {
    backward_.edge = 0;
    return ++backward_.head == backward_.reached.size() ? Step::kExhausted : Step::kOn;
  }
  const Ref ref = in[backward_.edge++];
  if (!alive(ref)) return Step::kOn;
  Node& next = node(ref);
  if (next.visit == stamp_) return Step::kMet;
  if (next.visit != stamp_ + 1) {
    next.visit = stamp_ + 1;
    backward_.reached.push_back(ref.slot);
  }
  return Step::kOn;
}

bool Velodrome::closes_cycle(Ref source, Ref target) {
  // The two searches that end at once, without a word.
  if (node(target).out.empty()) {
    node(target).place = ++back_;
    return false;
  }
  if (node(source).in_count == 0) {
    node(source).place = --front_;
    return false;
  }
  ++searches_;
  stamp_ += 2;
  node(target).visit = stamp_;
  node(source).visit = stamp_ + 1;
  forward_ = {.reached = std::move(forward_.reached)};
  forward_.reached.assign(1, target.slot);
  backward_ = {.reached = std::move(backward_.reached)};
  backward_.reached.assign(1, source.slot);
  const auto by_place = [&](std::uint32_t a, std::uint32_t b) {
    return nodes_[a].place < nodes_[b].place;
  };
  for (;;) {
    const Step ahead = step_forward();
    const Step back = ahead == Step::kOn ? step_backward() : ahead;
    if (ahead == Step::kOn && back == Step::kOn) continue;
    visited_ += forward_.reached.size() + backward_.reached.size();
    if (back == Step::kMet) return true;
    if (ahead == Step::kExhausted) {
      std::ranges::sort(forward_.reached, by_place);
      for (const std::uint32_t slot : forward_.reached) nodes_[slot].place = ++back_;
    } else {
      std::ranges::sort(backward_.reached, by_place);
      for (std::size_t i = backward_.reached.size(); i-- > 0;) {
        nodes_[backward_.reached[i]].place = --front_;
      }
    }
    return false;
  }
}

// Sets of names

void Velodrome::insert(Bag& bag, Ref ref) {
  if (!alive(ref)) return;
  bag.refs.push_back(ref);
  if (bag.refs.size() > 2 * bag.swept + kScanned) sweep(bag);
}

void Velodrome::sweep(Bag& bag) {
  ++sweep_;
  std::size_t kept = 0;
  for (const Ref ref : bag.refs) {
    if (!alive(ref)) continue;
    Thread& owner = thread(node(ref).owner);
    if (owner.sweep != sweep_) {
      owner.sweep = sweep_;
      owner.kept = kept;
      bag.refs[kept++] = ref;
    } else if (node(bag.refs[owner.kept]).born < node(ref).born) {
      bag.refs[owner.kept] = ref;
    }
  }
  bag.refs.erase(bag.refs.begin() + static_cast<std::ptrdiff_t>(kept), bag.refs.end());
  bag.swept = kept;
}

void Velodrome::take_alive(Bag& bag) {
  std::erase_if(bag.refs, [&](Ref ref) { return !alive(ref); });
  bag.swept = std::min(bag.swept, bag.refs.size());
  sources_.insert(sources_.end(), bag.refs.begin(), bag.refs.end());
}

void Velodrome::add_to_readers(Variable& x, Ref reader) {
  if (x.more == 0) {
    const Node& before = node(x.reader);
    if (before.owner == node(reader).owner) {
      if (before.born < node(reader).born) x.reader = reader;
      return;
    }
    if (free_bags_.empty()) {
      x.more = static_cast<std::uint32_t>(reader_bags_.size());
      reader_bags_.emplace_back();
    } else {
      x.more = free_bags_.back();
      free_bags_.pop_back();
    }
  }
  insert(reader_bags_[x.more], x.reader);
  x.reader = reader;
}

void Velodrome::take_more_readers(Variable& x) {
  Bag& more = reader_bags_[x.more];
  take_alive(more);
  empty(more.refs);
  more.swept = 0;
  free_bags_.push_back(x.more);
  x.more = 0;
}

std::vector<Stat> Velodrome::stats() const {
  return {
      {"nodes created", created_},
      {"nodes alive at most", most_alive_},
      {"nodes collected", collected_},
      {"edges added", edges_},
      {"cycle searches", searches_},
      {"nodes visited in searches", visited_},
      {"unary events without a node", without_node_},
      {"unary events that share a node", shared_node_},
  };
}

}  // namespace syndrome::check
