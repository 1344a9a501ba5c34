// What `syndrome refine` has learned, as a spec (TOML) with its reasons, or as JSON.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/refine.h"

namespace syndrome::report {

/// How the runs came about.
struct RefinedFrom {
  std::string what;            // "5 recordings", "./prog --fast"
  std::uint64_t left_out = 0;  // runs that failed
  std::uint64_t quiet = 0;     // runs at the end that dropped nothing
  bool stable = true;          // as many as were asked for
};

[[nodiscard]] std::string to_spec(const check::Refinement& refinement, const RefinedFrom& from);
[[nodiscard]] std::string to_refined_json(const check::Refinement& refinement,
                                          const RefinedFrom& from);

/// The evidence against the block of each finding, in one line each: for Refinement's `explain`.
[[nodiscard]] std::vector<std::string> reasons_of(const std::string& file,
                                                  const check::PassResult& pass);

}  // namespace syndrome::report
