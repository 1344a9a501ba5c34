// The report for people, 80 columns wide.

#pragma once

#include <string>

#include "report/report.h"

namespace syndrome::report {

struct TextOptions {
  bool colour = false;
  bool stats = false;
};

[[nodiscard]] std::string to_text(const Report& report, const TextOptions& options);

}  // namespace syndrome::report
