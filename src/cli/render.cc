#include "cli/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include "cli/io.h"
#include "report/html.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/sarif.h"
#include "report/text.h"
#include "spec/nearest.h"

namespace syndrome::cli {
namespace {

constexpr std::array<std::string_view, 5> kFormats = {"text", "json", "sarif", "junit", "html"};

}  // namespace

std::string format_names(std::string_view between) {
  return fmt::format("{}", fmt::join(kFormats, between));
}

void add_render_options(CLI::App& command, RenderOptions& options, const std::string& output) {
  command.add_option("--format", options.format, "How to report: " + format_names(", "))
      ->type_name("FORMAT")
      ->capture_default_str();
  command
      .add_option(output, options.output,
                  options.stream == STDERR_FILENO ? "Report into FILE (default: standard error)"
                                                  : "Report into FILE (default: standard output)")
      ->type_name("FILE");
  command
      .add_option("--color", options.colour,
                  "Colour: auto (on a terminal, unless NO_COLOR is set), always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->capture_default_str();
  command
      .add_option("--stack-depth", options.stack_depth,
                  "Frames of each stack that a text shows; 0 is all of them")
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--stats", options.stats,
                   "Also how often each rule of the algorithm fired, events a second, peak memory");
}

Status check_format(const RenderOptions& options) {
  if (std::ranges::find(kFormats, options.format) != kFormats.end()) return {};
  const std::string_view close = spec::nearest(options.format, {kFormats.begin(), kFormats.end()});
  return Error{fmt::format(
      "--format: this version cannot report as '{}'{}; it has: {}", options.format,
      close.empty() ? "" : fmt::format(" (did you mean '{}'?)", close), format_names(", "))};
}

std::string render(std::span<const report::Report> reports, bool array,
                   const RenderOptions& options) {
  if (options.format == "json") return report::to_json(reports, array, {options.stats});
  if (options.format == "junit") return report::to_junit(reports);
  if (options.format == "html") return report::to_html(reports);
  if (options.format == "sarif") {
    std::error_code error;
    return report::to_sarif(reports, {std::filesystem::current_path(error).string()});
  }
  const bool to_stream = options.output.empty() || options.output == "-";
  report::TextOptions text;
  text.colour =
      to_stream ? wants_colour(options.colour, options.stream) : options.colour == "always";
  text.stats = options.stats;
  text.frames = options.stack_depth;
  text.suggest_runs = options.suggest_runs;
  std::string result;
  for (const report::Report& each : reports) {
    const std::string one = report::to_text(each, text);
    if (!result.empty() && !one.empty()) result += '\n';
    result += one;
  }
  return result;
}

}  // namespace syndrome::cli
