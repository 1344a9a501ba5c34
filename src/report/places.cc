#include "report/places.h"

#include <utility>

namespace syndrome::report {

void Places::prepare(const std::vector<SiteId>& sites) {
  std::vector<Address> addresses;
  for (const SiteId site : sites) {
    if (known_.contains(site)) continue;
    if (std::optional<Address> address = parse_address(names_.site(site))) {
      addresses.push_back(std::move(*address));
    }
  }
  if (!addresses.empty()) symbolizer_.prepare(addresses);
}

const std::vector<Place>& Places::of(SiteId site) {
  const auto [entry, fresh] = known_.try_emplace(site);
  if (!fresh) return entry->second;
  const std::string_view text = names_.site(site);
  if (const std::optional<Address> address = parse_address(text)) {
    entry->second = symbolizer_.places_of(*address);
  }
  if (entry->second.empty()) entry->second.push_back(parse_place(text));
  return entry->second;
}

}  // namespace syndrome::report
