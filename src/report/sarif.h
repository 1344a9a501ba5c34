// Reports as SARIF 2.1.0 (OASIS), for code scanning and editors.

#pragma once

#include <span>
#include <string>

#include "report/report.h"

namespace syndrome::report {

struct SarifOptions {
  std::string root;  // absolute: files below it are named relative to it; empty: none are
};

/// One SARIF run with the findings of all reports, those that were left out among them, with why.
[[nodiscard]] std::string to_sarif(std::span<const Report> reports, const SarifOptions& options);

}  // namespace syndrome::report
