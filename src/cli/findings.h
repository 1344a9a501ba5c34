// Findings that an earlier check has saved.

#pragma once

#include <string>

#include "event/result.h"
#include "report/json.h"

namespace syndrome::cli {

/// Of a JSON file, "-" for standard input. The error begins with the file's name.
[[nodiscard]] Result<report::SavedReports> read_findings(const std::string& path);

}  // namespace syndrome::cli
