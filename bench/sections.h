// docs/results.md has a section for each paper, and each is written by a program of its own.

#pragma once

#include <string>
#include <string_view>

namespace syndrome::bench {

/// Puts `text` between the marks of the section `name` in the file, or at the file's end when it
/// has no such section; makes the file when there is none. False: it cannot be written.
[[nodiscard]] bool write_section(const std::string& path, std::string_view name,
                                 std::string_view text);

}  // namespace syndrome::bench
