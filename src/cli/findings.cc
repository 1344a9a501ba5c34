#include "cli/findings.h"

#include <fmt/format.h>

#include "cli/io.h"

namespace syndrome::cli {

Result<report::SavedReports> read_findings(const std::string& path) {
  const auto failed = [&path](const Error& error) {
    return Error{fmt::format("{}: {}", path == "-" ? "standard input" : path, error.message)};
  };
  const Result<std::string> text = read_file(path, kMostFindingsBytes);
  if (!text) return failed(text.error());
  Result<report::SavedReports> saved = report::from_json(*text);
  if (!saved) return failed(saved.error());
  return saved;
}

}  // namespace syndrome::cli
