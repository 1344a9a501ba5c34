// Reports as one HTML file that needs nothing else: the page that web/ builds, with the reports
// inside, packed.

#pragma once

#include <span>
#include <string>

#include "report/report.h"

namespace syndrome::report {

[[nodiscard]] std::string to_html(std::span<const Report> reports);

/// The same page for `syndrome explore`: it carries no reports and asks its server for everything.
[[nodiscard]] std::string served_page();

}  // namespace syndrome::report
