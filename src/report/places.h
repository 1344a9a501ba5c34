// The places behind the site ids of one trace: taken apart once each, addresses symbolized
// together.

#pragma once

#include <unordered_map>
#include <vector>

#include "event/ids.h"
#include "event/names.h"
#include "report/place.h"
#include "report/symbolizer.h"

namespace syndrome::report {

class Places {
 public:
  explicit Places(const Names& names) : names_(names) {}  // `names` outlives it

  /// Symbolizes those of the sites that are addresses.
  void prepare(const std::vector<SiteId>& sites);

  /// Innermost first: more than one when functions were inlined into each other there. Never empty.
  [[nodiscard]] const std::vector<Place>& of(SiteId site);

  [[nodiscard]] std::size_t symbolizers_run() const { return symbolizer_.runs(); }

 private:
  const Names& names_;
  Symbolizer symbolizer_;
  std::unordered_map<SiteId, std::vector<Place>> known_;
};

}  // namespace syndrome::report
