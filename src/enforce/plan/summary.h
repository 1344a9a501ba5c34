// Reads what the compiler pass has left in an instrumented program for the planner
// (instrument/summary.h has the format).

#pragma once

#include <string>
#include <string_view>

#include "enforce/plan/program.h"
#include "event/result.h"

namespace syndrome::enforce {

/// The bytes of the summary's section in an ELF file's bytes. An error when it is no ELF file of
/// this kind of machine, is cut off, or has no such section.
[[nodiscard]] Result<std::string_view> find_summary(std::string_view elf);

/// The functions of all units. An error with the line when something is not as expected.
[[nodiscard]] Result<Program> read_summary(std::string_view text);

}  // namespace syndrome::enforce
