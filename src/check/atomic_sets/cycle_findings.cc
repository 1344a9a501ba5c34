#include "check/atomic_sets/cycle_findings.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "check/patterns.h"

namespace syndrome::check::atomic_sets {
namespace {

/// The sites of its edges, from the edge on with which they are least: which unit closes a cycle is
/// not the same every time.
std::vector<std::uint64_t> sites_of(const Cycle& cycle) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges;
  for (const Cycle::Edge& edge : cycle.edges) {
    edges.emplace_back(site_or_number(edge.from), site_or_number(edge.to));
  }
  std::ranges::rotate(edges, std::ranges::min_element(edges));
  std::vector<std::uint64_t> sites;
  for (const auto& [from, to] : edges) sites.insert(sites.end(), {from, to});
  return sites;
}

}  // namespace

bool judges_cycles(const Options& options) {
  if (options.default_sets) return true;
  const spec::Spec* const spec = options.spec;
  return spec != nullptr && (spec->default_sets || !spec->atomic_sets.empty());
}

void CycleFindings::add(const Cycle& cycle) {
  if (!all_) {
    const auto [group, is_new] = group_of_.try_emplace(sites_of(cycle), found_.size());
    if (!is_new) {
      ++(group->second < found_.size() ? found_[group->second].second : left_out_);
      return;
    }
  }
  if (found_.size() < kMostFindings) {
    found_.emplace_back(cycle, 1);
  } else {
    ++left_out_;
  }
}

void CycleFindings::add_to(std::vector<Finding>& findings, const SetRule& sets,
                           const Names& names) const {
  using Pair = std::tuple<std::string, EventNumber, EventNumber>;
  std::set<Pair> explained;
  for (const Finding& finding : findings) {
    if (finding.units.size() != 2) continue;
    explained.emplace(finding.set, finding.units[0], finding.units[1]);
    explained.emplace(finding.set, finding.units[1], finding.units[0]);
  }
  for (const auto& [cycle, count] : found_) {
    Finding finding;
    finding.check = "atomic-sets";
    finding.rule = kCycleRule;
    finding.set = sets.name_of_set({cycle.set, cycle.edges.front().location}, names);
    bool is_explained = false;
    for (std::size_t i = 0; i < cycle.units.size(); ++i) {
      const EventNumber next = cycle.units[(i + 1) % cycle.units.size()].begin;
      is_explained = is_explained || explained.contains({finding.set, cycle.units[i].begin, next});
      finding.units.push_back(cycle.units[i].begin);
      const Cycle::Edge& edge = cycle.edges[i];
      finding.cycle.push_back({edge.from.number, edge.to.number});
      std::string location = sets.name_of_location(edge.location, names);
      if (std::ranges::find(finding.locations, location) == finding.locations.end()) {
        finding.locations.push_back(std::move(location));
      }
    }
    if (is_explained) continue;
    std::ranges::sort(finding.locations);
    finding.event = cycle.edges.back().to.number;
    finding.count = count;
    findings.push_back(std::move(finding));
  }
  std::ranges::stable_sort(findings, {}, &Finding::event);
}

}  // namespace syndrome::check::atomic_sets
