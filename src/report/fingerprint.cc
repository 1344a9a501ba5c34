#include "report/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <string_view>

namespace syndrome::report {

std::string fingerprint_of(const Finding& finding) {
  // Each part is ended by a byte that no site text of a line-based trace has, so that two
  // different lists of sites never give the same bytes.
  std::string key = finding.rule;
  const auto add = [&key](EventNumber event, const Place& place) {
    key += '\n';
    key += place.known() ? place.text : fmt::format("#{}", event);
  };
  if (const Block* block = finding.block == 0 ? nullptr : finding.block_at(finding.block)) {
    add(block->begin, block->place);
  }
  if (finding.cycle.empty()) {
    for (const Site& site : finding.sites) add(site.event, site.place);
  }
  for (const check::Edge& edge : finding.cycle) {
    for (const EventNumber event : {edge.from, edge.to}) {
      const Site* site = finding.site_at(event);
      add(event, site != nullptr ? site->place : Place());
    }
  }
  return fmt::format("{:016x}", XXH3_64bits(key.data(), key.size()));
}

}  // namespace syndrome::report
