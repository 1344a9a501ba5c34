#include "check/determinism/search.h"

#include <algorithm>
#include <utility>

namespace syndrome::check::determinism {

struct Search::Graph {
  Graph(const Evidence::Options& options, const Blocks& blocks, std::vector<EventNumber> dissolved,
        const std::vector<EventNumber>* last, const OnCycle& on_cycle)
      : evidence(options, on_cycle), flat(evidence, blocks, std::move(dissolved), last) {}

  Evidence evidence;
  Flatten<Evidence> flat;
};

Search::Search(const Options& options, Conflicts::OnConflict on_conflict, OnCycle on_cycle,
               const Crossings& more)
    : options_(options),
      on_conflict_(std::move(on_conflict)),
      on_cycle_(std::move(on_cycle)),
      to_do_(more.around_candidates()) {
  begin_pass();
}
Search::~Search() = default;

void Search::begin_pass() {
  seen_ = 0;
  conflicts_.reset();
  crossings_.reset();
  graphs_now_.clear();
  parents_.clear();
  parent_of_.clear();
  rule_ = std::make_unique<BlockRule>(options_.blocks);
  blocks_ = std::make_unique<Blocks>();
  Evidence::Options evidence;
  evidence.wide = options_.wide;
  evidence.lines = true;
  if (first_pass_) {
    conflicts_ = std::make_unique<Conflicts>(*blocks_, on_conflict_);
    crossings_ = std::make_unique<Crossings>(*blocks_, Crossings::Options{.wide = true});
    graphs_now_.emplace_back(evidence, *blocks_, std::vector<EventNumber>(), options_.last,
                             on_cycle_);
    ++graphs_;
    return;
  }
  evidence.window >>= 4U;
  evidence.most >>= 2U;
  for (std::size_t i = 0; i < kTogether && !to_do_.empty(); ++i) {
    const auto next = to_do_.begin();
    // Of this graph, only the blocks that are directly in the innermost dissolved one are judged:
    // the others have graphs of their own.
    const EventNumber parent = next->first;
    const auto on_cycle = [this, parent](Cycle cycle) {
      const auto at = parent_of_.find(cycle.block);
      if (at != parent_of_.end() && at->second == parent) on_cycle_(std::move(cycle));
    };
    graphs_now_.emplace_back(evidence, *blocks_, next->second, options_.last, on_cycle);
    parents_.insert(parent);
    to_do_.erase(next);
    ++graphs_;
  }
}

void Search::take(const Batch& batch, const Names& names) {
  EventNumber n = batch.first;
  for (const Event& e : batch.events) {
    if (satisfied()) return;
    seen_ = n;
    const EventNumber number = n++;
    if ((e.flags & kDropped) != 0) continue;
    blocks_->enter(e, number, names, *rule_);
    if (conflicts_) {
      if (e.kind <= EventKind::kRmw) {
        conflicts_->access(e, number);
      } else {
        conflicts_->take(e, number);
      }
      crossings_->take(e, number, names);
    } else if (const BlockIndex opened = blocks_->opened(); opened != kNoBlock) {
      const BlockIndex parent = (*blocks_)[opened].parent;
      if (parent != kNoBlock && parents_.contains((*blocks_)[parent].begin)) {
        parent_of_[number] = (*blocks_)[parent].begin;
      }
    }
    for (Graph& graph : graphs_now_) graph.flat.take(e, number);
    blocks_->leave(e);
  }
}

bool Search::end_of_pass() {
  for (Graph& graph : graphs_now_) {
    graph.evidence.finish();
    if (!graph.evidence.incomplete().empty()) incomplete_ = graph.evidence.incomplete();
  }
  if (first_pass_) {
    for (const auto& [parent, around] : crossings_->around_candidates()) to_do_[parent] = around;
    if (crossings_->cut_off() && incomplete_.empty()) {
      incomplete_ =
          "so many blocks have blocks inside that may be interfered with, that not all of those "
          "inner blocks were judged";
    }
    first_pass_ = false;
  }
  if (to_do_.empty()) {
    graphs_now_.clear();
    return false;
  }
  begin_pass();
  return true;
}

}  // namespace syndrome::check::determinism
