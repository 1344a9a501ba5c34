// --format, -o, --color: from reports to bytes, the same for `check` and `report`.

#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "event/result.h"
#include "report/report.h"

namespace syndrome::cli {

struct RenderOptions {
  std::string format = "text";
  std::string output;  // empty: `stream`
  int stream = 1;      // standard output or standard error
  std::string colour = "auto";
  bool stats = false;
  std::size_t stack_depth = 6;  // frames of a stack in a text; 0: all
  bool suggest_runs = false;    // report::TextOptions
};

/// `output`: the names of the option that says where the report goes.
void add_render_options(CLI::App& command, RenderOptions& options,
                        const std::string& output = "-o,--output");

/// The formats that this version has.
[[nodiscard]] std::string format_names(std::string_view between);

/// An error that lists the formats, for one that this version does not have.
[[nodiscard]] Status check_format(const RenderOptions& options);

/// `array`: the JSON is an array of reports, even when there is one.
[[nodiscard]] std::string render(std::span<const report::Report> reports, bool array,
                                 const RenderOptions& options);

}  // namespace syndrome::cli
