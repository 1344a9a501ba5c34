// Numbers in the margin are the lines of Algorithm 1.

#include "check/atomicity/aerodrome_literal.h"

#include <algorithm>

namespace syndrome::check {
namespace {

using Clock = AerodromeLiteral::Clock;

void join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

bool before(const Clock& a, const Clock& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > (i < b.size() ? b[i] : 0)) return false;
  }
  return true;
}

}  // namespace

AerodromeLiteral::Thread& AerodromeLiteral::thread(ThreadId t) {
  const auto [entry, is_new] = threads_.try_emplace(t);
  if (is_new) {  // 3
    entry->second.clock.resize(t.index() + 1);
    entry->second.clock[t.index()] = 1;
  }
  return entry->second;
}

AerodromeLiteral::Thread& AerodromeLiteral::acted(ThreadId t) {
  Thread& state = thread(t);
  state.acted = true;
  return state;
}

void AerodromeLiteral::check_and_get(const Clock& clk, ThreadId t, EventNumber n) {
  Thread& state = thread(t);
  if (before(state.begin, clk) && state.active && violation_.event == 0) {  // 10
    violation_ = {n, t};                                                    // 11
  }
  join(state.clock, clk);  // 12
}

void AerodromeLiteral::on_acquire(const Event& e, EventNumber n) {
  on_acquire_shared(e, n);
  observe(e, n, Space::kLock);
}

void AerodromeLiteral::on_acquire_shared(const Event& e, EventNumber n) {
  acted(e.thread);
  Last& last = releases_[e.lock()];
  if (last.thread != e.thread) check_and_get(last.clock, e.thread, n);  // 14, 15
}

void AerodromeLiteral::on_release(const Event& e, EventNumber) {
  releases_[e.lock()] = {acted(e.thread).clock, e.thread};  // 17, 18
}

void AerodromeLiteral::on_release_shared(const Event& e, EventNumber n) {
  publish(e, n, Space::kLock);
}

void AerodromeLiteral::on_fork(const Event& e, EventNumber) {
  join(thread(e.child()).clock, acted(e.thread).clock);  // 20
}

void AerodromeLiteral::on_join(const Event& e, EventNumber n) {
  acted(e.thread);
  const Thread& child = thread(e.child());
  if (child.acted) check_and_get(child.clock, e.thread, n);  // 22
}

void AerodromeLiteral::on_read(const Event& e, EventNumber n) {
  const Thread& t = acted(e.thread);
  const Last& last = writes_[e.var()];
  if (last.thread != e.thread) check_and_get(last.clock, e.thread, n);  // 24, 25
  reads_[{e.thread, e.var()}] = t.clock;                                // 26
}

void AerodromeLiteral::on_write(const Event& e, EventNumber n) {
  const Thread& t = acted(e.thread);
  Last& last = writes_[e.var()];
  if (last.thread != e.thread) check_and_get(last.clock, e.thread, n);  // 28, 29
  for (const auto& [key, clock] : reads_) {                             // 30
    const auto& [u, x] = key;
    if (x == e.var() && u != e.thread) check_and_get(clock, e.thread, n);  // 31
  }
  last = {t.clock, e.thread};  // 32, 33
}

void AerodromeLiteral::on_begin(const Event& e, EventNumber) {
  Thread& t = acted(e.thread);
  ++t.clock[e.thread.index()];  // 35
  t.begin = t.clock;            // 36
  t.active = true;
}

void AerodromeLiteral::on_end(const Event& e, EventNumber n) {
  acted(e.thread);
  end(e.thread, n);
}

void AerodromeLiteral::end(ThreadId t, EventNumber n) {
  const Thread& ended = thread(t);
  const auto update = [&](Clock& clock) {
    if (before(ended.begin, clock)) join(clock, ended.clock);
  };
  for (auto& [u, state] : threads_) {                                                  // 38
    if (u != t && before(ended.begin, state.clock)) check_and_get(ended.clock, u, n);  // 39, 40
  }
  for (auto& [lock, last] : releases_) update(last.clock);  // 41, 42
  for (auto& [x, last] : writes_) update(last.clock);       // 43, 44
  for (auto& [key, clock] : reads_) update(clock);          // 45, 46
  for (auto& [channel, clocks] : channels_) {
    for (auto& [u, clock] : clocks) update(clock);
  }
  thread(t).active = false;
}

void AerodromeLiteral::finish(EventNumber last) {
  for (const auto& [t, state] : threads_) {
    if (state.active) end(t, last);
  }
}

void AerodromeLiteral::on_barrier_arrive(const Event& e, EventNumber n) {
  publish(e, n, Space::kBarrier, rounds_.arrive(e.thread, e.barrier()));
}

void AerodromeLiteral::on_barrier_leave(const Event& e, EventNumber n) {
  observe(e, n, Space::kBarrier, rounds_.leave(e.thread, e.barrier()));
}

void AerodromeLiteral::publish(const Event& e, EventNumber, Space space, std::uint64_t round) {
  channels_[{space, e.target, round}][e.thread] = acted(e.thread).clock;
}

void AerodromeLiteral::observe(const Event& e, EventNumber n, Space space, std::uint64_t round) {
  acted(e.thread);
  for (const auto& [u, clock] : channels_[{space, e.target, round}]) {
    if (u != e.thread) check_and_get(clock, e.thread, n);
  }
}

}  // namespace syndrome::check
