#include "spec/suppressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "spec/nearest.h"
#include "spec/user_file.h"

namespace syndrome::spec {
namespace {

constexpr auto kRules = std::to_array<std::string_view>(
    {"conflict-cycle", "external-cycle", "conflict-in-block", "pattern", "set-cycle",
     "nondeterministic-read", "unsettled-final-value", "race"});
constexpr auto kChecks = std::to_array<std::string_view>(
    {"atomicity", "determinism", "atomic-sets", "nondeterminism", "races"});
constexpr auto kOfTsan = std::to_array<std::string_view>(
    {"race_top", "called_from_lib", "thread", "mutex", "signal", "deadlock"});

std::vector<std::string_view> kinds() {
  std::vector<std::string_view> all(kRules.begin(), kRules.end());
  all.insert(all.end(), kChecks.begin(), kChecks.end());
  all.insert(all.end(), kOfTsan.begin(), kOfTsan.end());
  return all;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = line.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kSpace) - first + 1);
}

Result<Suppression> parse_line(std::string_view line, std::uint32_t number) {
  if (line.size() > kMaxSuppressionLine) {
    return Error{fmt::format("line {}: has {} bytes; a suppression may have {}", number,
                             line.size(), kMaxSuppressionLine)};
  }
  const std::size_t colon = line.find(':');
  const std::vector<std::string_view> known = kinds();
  if (colon == std::string_view::npos) {
    return Error{fmt::format("line {}: expected KIND:PATTERN, found {}; the kinds are {}", number,
                             quoted(line), fmt::join(known, ", "))};
  }
  const std::string_view kind = line.substr(0, colon);
  if (std::ranges::find(known, kind) == known.end()) {
    const std::string_view close = nearest(kind, known);
    return Error{fmt::format(
        "line {}: there is no kind {}{}; the kinds are {}", number, quoted(kind),
        close.empty() ? "" : fmt::format(" (did you mean '{}'?)", close), fmt::join(known, ", "))};
  }
  const std::string_view pattern = line.substr(colon + 1);
  if (pattern.empty()) {
    return Error{fmt::format(
        "line {}: expected a pattern behind '{}:', found nothing; * would match everything", number,
        kind)};
  }
  return Suppression{std::string(line), number, std::string(kind), Wildcard(pattern)};
}

}  // namespace

bool Suppression::about(std::string_view check, std::string_view rule) const {
  if (kind == "called_from_lib") return true;
  if (kind == "race_top") return rule == "race";
  return kind == rule || kind == check;
}

Result<std::vector<Suppression>> parse_suppressions(std::string_view text) {
  if (text.size() > kMaxSuppressionBytes) {
    return Error{
        fmt::format("has {} bytes; suppressions may have {}", text.size(), kMaxSuppressionBytes)};
  }
  std::vector<Suppression> result;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    Result<Suppression> one = parse_line(line, number);
    if (!one) return one.error();
    if (result.size() == kMaxSuppressions) {
      return Error{fmt::format("line {}: there may be {} suppressions", number, kMaxSuppressions)};
    }
    result.push_back(std::move(*one));
  }
  return result;
}

Result<std::vector<Suppression>> read_suppressions(const std::string& path) {
  const Result<std::string> text = read_user_file(path, kMaxSuppressionBytes);
  if (!text) return text.error();
  return parse_suppressions(*text);
}

}  // namespace syndrome::spec
