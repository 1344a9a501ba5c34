// The table of checks. Adding an analysis is one folder beside this file and one line in
// registry.cc.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/check.h"
#include "event/result.h"

namespace syndrome::check {

/// A rule whose breach a check reports; `help` is for someone who sees it for the first time.
struct Rule {
  std::string_view name;     // "conflict-cycle"
  std::string_view summary;  // one line
  std::string_view help;
};

struct Registration {
  std::string_view name;
  std::string_view summary;  // one line for --help
  std::unique_ptr<Check> (*make)(const Options&);
  std::span<const std::string_view> engines;  // the default first; empty when there is no choice
  std::span<const Rule> rules;
  bool asked_for_by_name_only = false;  // not part of "all"
};

[[nodiscard]] std::span<const Registration> registry();

[[nodiscard]] const Registration* find(std::string_view name);

/// What a comma-separated list of names means, each once, in the order given; "all" is every check
/// that is not asked for by name only. The error names the checks that exist and the nearest one.
[[nodiscard]] Result<std::vector<const Registration*>> parse_checks(std::string_view list);

/// What is checked when nobody says what: a recorded program for races and atomic sets, and for
/// what its blocks are to be, where it has some (PassOptions::drop_idle); an imported trace for
/// atomicity.
[[nodiscard]] std::vector<const Registration*> default_checks(bool recorded);

/// An error when `engine` is not empty and none of `checks` has it.
[[nodiscard]] Status has_engine(std::span<const Registration* const> checks,
                                std::string_view engine);

}  // namespace syndrome::check
