// Accepts or rejects findings, knowing only the definition of units (definition.h), the patterns
// and the trace, which it reads for itself. No finding is shown that it has not accepted.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "check/atomic_sets/definition.h"
#include "check/finding.h"
#include "check/witnesses.h"

namespace syndrome::check::atomic_sets {

class Verifier {
 public:
  Verifier(std::span<const Finding> findings, const UnitOptions& options);

  void take(const Batch& batch, const Names& names);
  /// All events have been seen, and their units have ended.
  [[nodiscard]] bool satisfied() const { return witnesses_.satisfied() && open_ == 0; }

  /// Why this is not a violation; none when it is. Of findings that it was made for.
  [[nodiscard]] std::optional<std::string> reject(const Finding& finding) const;

  /// The events of the finding, in the units that they belong to.
  void add_witnesses(Finding& finding) const;

 private:
  /// What the definition says of an event that a finding names.
  struct Seen {
    EventKind kind = EventKind::kRead;
    struct In {
      Membership where;
      std::string name;  // of the set
      std::string location;
      UnitName unit;
      EventNumber at = 0;  // the begin of its function or block; 0: none
    };
    std::vector<In> in;
  };
  /// A function or block that has an event of a finding.
  struct Unit {
    Event begin;
    EventNumber end = 0;
    bool open = true;
  };
  [[nodiscard]] std::optional<std::string> reject_pattern(const Finding& finding) const;
  [[nodiscard]] std::optional<std::string> reject_cycle(const Finding& finding) const;
  /// What the finding's event is to the finding's set; none when it is nothing.
  [[nodiscard]] const Seen::In* find(EventNumber event, const Finding& finding) const;

  UnitsByDefinition units_;
  Witnesses witnesses_;
  std::map<EventNumber, Seen> seen_;
  std::map<EventNumber, Unit> unit_of_;  // by begin
  std::size_t open_ = 0;
};

}  // namespace syndrome::check::atomic_sets
