// web/dist/report.html, as it was when this program was built.

#pragma once

#include <string_view>

namespace syndrome::report {

[[nodiscard]] std::string_view page_template();

}  // namespace syndrome::report
