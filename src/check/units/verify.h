// Accepts or rejects findings of the rule, by the definition of activations and steps
// (definition.h) and the trace, which it reads for itself. No finding is shown that it has not
// accepted.

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "check/finding.h"
#include "check/units/definition.h"
#include "check/units/detector.h"
#include "check/witnesses.h"

namespace syndrome::check::units {

class Verifier {
 public:
  explicit Verifier(std::span<const Found> found);

  void take(const Batch& batch, const Names& names);

  /// Why this is not what it says; none when it is.
  [[nodiscard]] std::optional<std::string> reject(const Found& found) const;

  /// The events, in the activations that they belong to.
  void add_witnesses(const Found& found, Finding& finding) const;

 private:
  [[nodiscard]] std::optional<std::string> reject_cycle(const Found& found) const;
  [[nodiscard]] std::optional<std::string> reject_other(const Found& found) const;
  [[nodiscard]] static std::optional<std::string> reject_unit(const Found& found,
                                                              const Snapshot& first,
                                                              const Snapshot& second);
  [[nodiscard]] std::optional<std::string> reject_link(const Found& found, const Snapshot& first,
                                                       const Snapshot& second) const;
  Stacks stacks_;
  FlowTable flow_;
  Witnesses witnesses_;
  std::map<EventNumber, std::optional<Snapshot>> seen_;
};

}  // namespace syndrome::check::units
