// Findings that a user does not want to hear of, in the syntax of ThreadSanitizer's suppression
// files, so that a project's file for that serves here too:
//
//   # a comment
//   race:third_party/*.cc
//   conflict-cycle:^Cache::refresh$
//
// A line is KIND:PATTERN. The kind is the name of a rule (`conflict-cycle`), or of a check, which
// means all of its rules, or one of ThreadSanitizer's:
//
//   race              ours as well: the rule `race`
//   race_top          the same, but only the innermost frame of a stack counts
//   called_from_lib   every rule, when the file or module of an innermost frame matches
//   thread, mutex, signal, deadlock
//                     nothing that we report: accepted, and without effect
//
// The pattern (spec/wildcard.h) is tried on the function, the file and the module of every frame of
// every stack of a finding, on the names of its variables and locks, and on the labels of its
// blocks.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event/result.h"
#include "spec/wildcard.h"

namespace syndrome::spec {

/// Far beyond what anyone writes; a larger file is something else.
inline constexpr std::size_t kMaxSuppressionBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxSuppressions = 10'000;
inline constexpr std::size_t kMaxSuppressionLine = 4096;

struct Suppression {
  std::string text;  // the line, without the white space around it
  std::uint32_t line = 0;
  std::string kind;
  Wildcard pattern;

  /// Whether it is about findings of this rule of this check.
  [[nodiscard]] bool about(std::string_view check, std::string_view rule) const;
  /// Whether only the innermost frames count, and of those only the file or module.
  [[nodiscard]] bool innermost_only() const { return kind == "race_top" || files_only(); }
  [[nodiscard]] bool files_only() const { return kind == "called_from_lib"; }
};

/// The error says "line 3: …" and lists the kinds.
[[nodiscard]] Result<std::vector<Suppression>> parse_suppressions(std::string_view text);

[[nodiscard]] Result<std::vector<Suppression>> read_suppressions(const std::string& path);

}  // namespace syndrome::spec
