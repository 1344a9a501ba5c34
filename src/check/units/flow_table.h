// What connects two steps of a function (event/unit.h, Flow), by the sites of a trace.

#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstddef>
#include <cstdint>

#include "event/ids.h"
#include "event/layout.h"
#include "event/mix_hash.h"
#include "event/unit.h"

namespace syndrome::check::units {

class FlowTable {
 public:
  /// Takes what the layout has gained since the last time.
  void grow(const Layout& layout) {
    for (; flows_ < layout.flows.size(); ++flows_) {
      const Connection& flow = layout.flows[flows_];
      how_[key(flow.from, flow.to)] |= flow.how;
      if ((flow.how & unit::kFlowControl) != 0) deciding_.insert(flow.from.value);
      if ((flow.how & unit::kFlowCompared) != 0) compared_.insert(flow.from.value);
      if ((flow.how & unit::kFlowCompared) != 0) comparing_.insert(flow.to.value);
    }
    for (; steered_count_ < layout.steered.size(); ++steered_count_) {
      steered_.insert(layout.steered[steered_count_].value);
    }
    for (; results_ < layout.results.size(); ++results_) {
      reaching_.insert(layout.results[results_].value);
    }
  }

  /// unit::FlowHow, or-ed; 0: not connected.
  [[nodiscard]] std::uint32_t how(SiteId from, SiteId to) const {
    const auto found = how_.find(key(from, to));
    return found == how_.end() ? 0 : found->second;
  }
  /// Whether what is read there reaches the result of its function.
  [[nodiscard]] bool reaches_result(SiteId site) const { return reaching_.contains(site.value); }
  /// Whether what is read there decides about anything.
  [[nodiscard]] bool decides(SiteId site) const { return deciding_.contains(site.value); }
  /// Whether something looks again before it acts on what is read there.
  [[nodiscard]] bool is_compared(SiteId site) const { return compared_.contains(site.value); }
  /// Whether the step itself looks again.
  [[nodiscard]] bool compares(SiteId site) const { return comparing_.contains(site.value); }
  /// Whether a parameter of its function is part of where the step goes, or decides whether it
  /// happens.
  [[nodiscard]] bool is_steered(SiteId site) const { return steered_.contains(site.value); }
  [[nodiscard]] bool empty() const { return how_.empty(); }

 private:
  [[nodiscard]] static std::uint64_t key(SiteId from, SiteId to) {
    return (std::uint64_t{from.value} << 32) | to.value;
  }

  tsl::robin_map<std::uint64_t, std::uint32_t, MixHash> how_;
  tsl::robin_set<std::uint32_t> deciding_;
  tsl::robin_set<std::uint32_t> compared_;
  tsl::robin_set<std::uint32_t> comparing_;
  tsl::robin_set<std::uint32_t> steered_;
  tsl::robin_set<std::uint32_t> reaching_;
  std::size_t flows_ = 0;
  std::size_t results_ = 0;
  std::size_t steered_count_ = 0;
};

}  // namespace syndrome::check::units
