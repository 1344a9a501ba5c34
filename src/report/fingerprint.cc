#include "report/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "check/patterns.h"
#include "report/pattern_words.h"
#include "report/reordering.h"

namespace syndrome::report {

std::string fingerprint_of(const Finding& finding) {
  // Each part is ended by a byte that no site text of a line-based trace has, so that two
  // different lists of sites never give the same bytes.
  std::string key = finding.rule;
  if (finding.pattern != 0) key += fmt::format(" {}", finding.pattern);
  const auto add = [&key](const Place& place, const std::string& otherwise) {
    key += '\n';
    key += place.known() ? place.text : otherwise;
  };
  const auto site_text = [](EventNumber event, const Site* site) {
    if (site != nullptr && site->place.known()) return site->place.text;
    if (site == nullptr || site->stack.frames.empty()) return fmt::format("#{}", event);
    return fmt::format("{} in {}", name_of(site->op), site->stack.frames[0].function);
  };
  const auto add_site = [&](EventNumber event, const Site* site) {
    add({}, site_text(event, site));
  };
  // A trace with stacks knows its functions: there, the label of a block is one.
  const bool functions = std::ranges::any_of(
      finding.sites, [](const Site& site) { return !site.stack.frames.empty(); });
  if (const Block* block = finding.block == 0 ? nullptr : finding.block_at(finding.block)) {
    add(block->place, functions && !block->label.empty() ? "block " + block->label
                                                         : fmt::format("#{}", block->begin));
  }
  if (is_reordering(finding)) {
    // Of the events that are drawn, those that the finding is about.
    for (const EventNumber event : reordering_events(finding)) {
      add({}, event == 0 ? "-" : site_text(event, finding.site_at(event)));
    }
  } else if (finding.rule == "race") {
    // Which of the two comes first is not the same in every run.
    std::vector<std::string> texts;
    for (const EventNumber event : finding.events) {
      texts.push_back(site_text(event, finding.site_at(event)));
    }
    std::ranges::sort(texts);
    for (const std::string& text : texts) add({}, text);
  } else if (const Block* unit = finding.pattern != 0 && functions && finding.units.size() == 2
                                     ? finding.block_at(finding.units[0])
                                     : nullptr;
             unit != nullptr && !unit->label.empty()) {
    // Which of its places are met, and by whom, is another one in every run.
    key = fmt::format("{}\nunit {}\n{}", finding.rule, unit->label,
                      check::atomic_sets::set_without_object(finding.set));
  } else if (finding.cycle.empty()) {
    for (const Site& site : finding.sites) add_site(site.event, &site);
  }
  if (is_set_cycle(finding)) {
    // Which unit closes the cycle is not the same in every run: the edge with the least sites is
    // first.
    std::vector<std::pair<std::string, std::string>> edges;
    for (const check::Edge& edge : finding.cycle) {
      edges.emplace_back(site_text(edge.from, finding.site_at(edge.from)),
                         site_text(edge.to, finding.site_at(edge.to)));
    }
    std::ranges::rotate(edges, std::ranges::min_element(edges));
    for (const auto& [from, to] : edges) {
      add({}, from);
      add({}, to);
    }
    return fmt::format("{:016x}", XXH3_64bits(key.data(), key.size()));
  }
  for (const check::Edge& edge : finding.cycle) {
    for (const EventNumber event : {edge.from, edge.to}) add_site(event, finding.site_at(event));
  }
  return fmt::format("{:016x}", XXH3_64bits(key.data(), key.size()));
}

}  // namespace syndrome::report
