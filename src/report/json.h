// Reports as JSON, for other programs, and back: the shape is in docs and does not change within a
// version.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/result.h"
#include "report/report.h"

namespace syndrome::report {

struct JsonOptions {
  bool stats = false;  // with what --stats measures
  /// For web/: on one line, with what it shows beside the findings themselves (words, fixes,
  /// commands), and each stack once, in a table `stacks`, where sites refer to it by index.
  bool page = false;
};

/// One report as an object; several as an array of them. Ends with a newline. Bytes that are not
/// UTF-8 are replaced by U+FFFD.
[[nodiscard]] std::string to_json(std::span<const Report> reports, bool array,
                                  const JsonOptions& options);

struct SavedReports {
  std::vector<Report> reports;
  bool array = false;
};

/// More numbers, texts, lists and so on than this are too many to keep in memory: each takes some
/// 100 bytes there, and a finding has about 60.
inline constexpr std::size_t kMostSavedValues = 6'000'000;

/// Reads what to_json() wrote, or what another program made in the same shape; fields that are not
/// known are passed over. The error says where: "checks[0].findings[2].cycle[1].from: …".
[[nodiscard]] Result<SavedReports> from_json(std::string_view text);

}  // namespace syndrome::report
