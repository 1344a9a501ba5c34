// Reports as JUnit XML, for dashboards that know of tests only: a suite for each trace, a test for
// each check that found nothing, and a failed test for each finding.

#pragma once

#include <span>
#include <string>

#include "report/report.h"

namespace syndrome::report {

[[nodiscard]] std::string to_junit(std::span<const Report> reports);

}  // namespace syndrome::report
