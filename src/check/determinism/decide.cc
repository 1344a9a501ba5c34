#include "check/determinism/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "event/sources.h"

namespace syndrome::check::determinism {
namespace {

/// "bank.cc:12" of "src/bank.cc:12:5 Account::get".
std::string_view short_place(std::string_view site) {
  const std::size_t line = site.find(':');
  if (line == std::string_view::npos) return {};
  const std::size_t end = std::min(site.find_first_not_of("0123456789", line + 1), site.size());
  const std::size_t folder = site.rfind('/', line);
  const std::size_t begin = folder == std::string_view::npos ? 0 : folder + 1;
  return site.substr(begin, end - begin);
}

}  // namespace

Decide::Decide(Options options)
    : options_(std::move(options)),
      rule_(options_.blocks),
      conflicts_(blocks_,
                 [this](const FoundConflict& found) {
                   if (violation_ == 0) violation_ = found.later;
                 }),
      flat_(reach_, blocks_),
      crossings_(blocks_, {}) {}

void Decide::take(const Batch& batch, const Names& names) {
  if (const std::size_t threads = names.table(Space::kThread).size(); last_.size() < threads) {
    last_.resize(threads);
    settled_.resize(threads);
  }
  variables_ = names.table(Space::kVariable).size();
  switch (options_.look) {
    case Look::kFiltered: return run<Look::kFiltered>(batch, names);
    case Look::kRacy: return run<Look::kRacy>(batch, names);
    case Look::kAll: return run<Look::kAll>(batch, names);
  }
}

template <Decide::Look look>
void Decide::run(const Batch& batch, const Names& names) {
  // As check/analysis.h: far enough for a miss of the last-level cache.
  constexpr std::size_t kAhead = 16;
  EventNumber n = batch.first;
  for (std::size_t i = 0; i < batch.events.size(); ++i, ++n) {
    const Event& e = batch.events[i];
    if constexpr (look == Look::kFiltered) {
      if (i + kAhead < batch.events.size()) detector_.soon(batch.events[i + kAhead]);
    }
    if ((e.flags & kDropped) != 0) [[unlikely]]
      continue;
    if (e.thread.index() >= last_.size()) [[unlikely]] {
      last_.resize(e.thread.index() + 1);
      settled_.resize(last_.size());
    }
    last_[e.thread.index()] = n;
    if (violation_ != 0) [[unlikely]] {  // only last() is still of interest
      if (options_.stop_at_first) return;
      continue;
    }
    if (e.kind <= EventKind::kRmw) [[likely]] {
      ++accesses_;
      if constexpr (look == Look::kFiltered) detector_.access(e, n);
      if (look != Look::kAll && !looked_at(e)) [[likely]] {
        ++skipped_;
        if (!settled_[e.thread.index()]) settle(e, n);
        continue;
      }
    } else if (e.kind == EventKind::kEnter || e.kind == EventKind::kExit) {
      function(e, n, names);
      continue;
    } else if constexpr (look == Look::kFiltered) {
      feed_detector(e, n);
    }
    blocks_.enter(e, n, names, rule_);
    event(e, n, names);
  }
}

/// Most functions are no blocks: then this is as little of an event as an access that is skipped.
void Decide::function(const Event& e, EventNumber n, const Names& names) {
  if (blocks_.pass_function(e, names, rule_)) {
    if (e.kind == EventKind::kEnter) note_source(e, names);
    if (!settled_[e.thread.index()]) settle(e, n);
    return;
  }
  blocks_.enter(e, n, names, rule_);
  if (e.kind == EventKind::kEnter) note_source(e, names);
  event(e, n, names);
}

void Decide::settle(const Event& e, EventNumber n) {
  note_outside(e);
  flat_.pass(e, n);
  crossings_.pass(e, n);
  settled_[e.thread.index()] = true;
}

void Decide::event(const Event& e, EventNumber n, const Names& names) {
  settled_[e.thread.index()] = false;
  if (const BlockIndex opened = blocks_.opened(); opened != kNoBlock) {
    if (blocks_[opened].parent == kNoBlock) root_ = e.thread;
  }
  if (e.kind <= EventKind::kRmw) {
    conflicts_.access(e, n);
  } else {
    conflicts_.take(e, n);
  }
  flat_.take(e, n);
  crossings_.take(e, n, names);
  note_outside(e);
  blocks_.leave(e);
  if (violation_ == 0 && reach_.violation().event != 0) violation_ = n;
}

void Decide::note_source(const Event& e, const Names& names) {
  if (e.target < known_labels_.size() && known_labels_[e.target]) return;
  if (blocks_.innermost(e.thread) == kNoBlock) return;
  if (e.target >= known_labels_.size()) {
    known_labels_.resize(std::max<std::size_t>(names.table(Space::kLabel).size(), e.target + 1));
  }
  known_labels_[e.target] = true;
  const std::string_view name = sources::name_of(names.label(e.label()));
  if (name.empty() || !named_sources_.insert(std::string(name)).second) return;
  if (sources_.size() >= kMostSources) return;
  const std::string_view place = short_place(names.site(e.site));
  sources_.push_back(place.empty() ? std::string(name) : fmt::format("{} ({})", name, place));
}

/// The order that the filter may rely on must be one that the rest looks at: without semaphores,
/// of which a block is ordered by less than happens-before is, and without new lives of variables.
void Decide::feed_detector(const Event& e, EventNumber n) {
  switch (e.kind) {
    case EventKind::kPost:
    case EventKind::kWait:
    case EventKind::kAlloc:
    case EventKind::kFree: return;
    case EventKind::kJoin:
      // Of a thread without events no edge leads on, though its fork was before.
      if (e.child().index() < last_.size() && last_[e.child().index()] != 0) break;
      return;
    default: break;
  }
  dispatch(detector_, e, n);
}

bool Decide::races() const {
  return options_.look == Look::kFiltered && (detector_.racy_variables() != 0 || needs_all());
}

bool Decide::needs_all() const {
  return conflicts_.handed_over() || detector_.too_many_threads();
}

std::vector<bool> Decide::racy_variables() const {
  std::vector<bool> result(variables_);
  for (std::size_t i = 0; i < variables_; ++i) result[i] = detector_.racy(VarId(i));
  return result;
}

std::vector<Stat> Decide::stats() const {
  std::vector<Stat> stats = {
      {"deterministic blocks", blocks_.begun()},
      {"inside of others", blocks_.nested()},
      {"with a thread forked inside", conflicts_.counts().blocks},
      {"operations compared in a block", conflicts_.counts().operations},
      {"accesses", accesses_},
      {"accesses skipped: no race on their data", skipped_},
      {"inner blocks to be looked at closely", crossings_.candidates()},
  };
  for (Stat& stat : reach_.stats()) {
    if (stat.name.starts_with("edges") || stat.name == "thread slots") {
      stats.push_back(std::move(stat));
    }
  }
  return stats;
}

}  // namespace syndrome::check::determinism
