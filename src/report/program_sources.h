// The source files of a program, as the program itself says: what a trace that names the program
// may show, when the trace is not to be trusted and the program is.

#pragma once

#include <map>
#include <string>
#include <vector>

namespace syndrome::report {

/// By the names that sites use, the paths of all files that the units of these programs and
/// libraries name (event/unit.h). A module counts when it is a regular file of this user or of root
/// that not everybody can write to: nobody else has made it say so. What cannot be read names
/// nothing.
[[nodiscard]] std::map<std::string, std::string> sources_of(
    const std::vector<std::string>& modules);

}  // namespace syndrome::report
