#include "docs/document.h"

#include <algorithm>
#include <functional>
#include <span>

namespace syndrome::test {
namespace {

constexpr std::string_view kAny = "…";

bool match_lines(std::span<const std::string> expected, std::span<const std::string> actual) {
  if (expected.empty()) return actual.empty();
  if (expected.front() == kAny) {
    for (std::size_t skipped = 0; skipped <= actual.size(); ++skipped) {
      if (match_lines(expected.subspan(1), actual.subspan(skipped))) return true;
    }
    return false;
  }
  return !actual.empty() && matches(expected.front(), actual.front()) &&
         match_lines(expected.subspan(1), actual.subspan(1));
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Fence> fences(std::string_view markdown) {
  std::vector<Fence> found;
  bool inside = false;
  int number = 0;
  for (const std::string& line : lines_of(markdown)) {
    ++number;
    const bool fence = line.starts_with("```");
    if (fence && !inside) found.push_back({.info = line.substr(3), .line = number, .body = {}});
    if (!fence && inside) found.back().body.push_back(line);
    if (fence) inside = !inside;
  }
  return found;
}

std::vector<Command> commands(const Fence& console) {
  std::vector<Command> found;
  int number = console.line;
  bool continued = false;
  for (const std::string& line : console.body) {
    ++number;
    if (continued) {
      found.back().text += "\n" + line;
    } else if (line.starts_with("$ ")) {
      found.push_back({.text = line.substr(2), .line = number, .expected = {}});
    } else if (!found.empty()) {
      found.back().expected.push_back(line);
      continue;
    } else {
      continue;
    }
    continued = line.ends_with('\\');
  }
  return found;
}

bool matches(std::string_view expected, std::string_view actual) {
  std::size_t any = expected.find(kAny);
  if (any == std::string_view::npos) return expected == actual;
  if (!actual.starts_with(expected.substr(0, any))) return false;
  actual.remove_prefix(any);
  expected.remove_prefix(any + kAny.size());
  // Between two wildcards the leftmost occurrence is as good as any other.
  while ((any = expected.find(kAny)) != std::string_view::npos) {
    const std::size_t at = actual.find(expected.substr(0, any));
    if (at == std::string_view::npos) return false;
    actual.remove_prefix(at + any);
    expected.remove_prefix(any + kAny.size());
  }
  return actual.ends_with(expected);
}

bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  return match_lines(expected, actual);
}

}  // namespace syndrome::test
