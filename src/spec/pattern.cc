// Why a regular expression cannot hang or crash us
//
// The standard library's matcher backtracks by recursion: exponential time, and a stack that grows
// with the subject. libstdc++ has a second one, which steps through all alternatives at once
// (`__polynomial`): time proportional to subject times pattern, and recursion only as deep as the
// pattern has states. It refuses back references. We use it, and
//   - limit the pattern's length, and its size after counted repetitions are written out, so that
//     the states are few (the library itself would allow 100,000, which is too deep a recursion);
//   - refuse look-ahead, for each of which the library starts over at every position;
//   - match once with "anything" on both sides instead of searching from every position, which
//     would be quadratic.

#include "spec/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <regex>

namespace syndrome::spec {
namespace {

constexpr std::string_view kRegexPrefix = "re:";

/// The pattern's length times all its repetition counts: an upper bound for its length written out.
/// At this limit the worst pattern that we found takes 0.6 s on the longest name, and its recursion
/// fits into the usual 8 MB of stack even under AddressSanitizer without optimization.
constexpr std::uint64_t kMaxWrittenOut = 1024;

constexpr auto kRegexFlags = std::regex_constants::ECMAScript | std::regex_constants::nosubs
#ifdef __GLIBCXX__
                             | std::regex_constants::__polynomial
#endif
    ;
#ifndef __GLIBCXX__
#error "spec/pattern.cc relies on libstdc++'s matcher that does not backtrack"
#endif

[[nodiscard]] bool ends_with_word(std::string_view text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  if (text.size() == word.size()) return true;
  const char before = text[text.size() - word.size() - 1];
  return before == ':' || before == ' ' || before == '.';
}

/// Where the bracket is that the one at `close` closes; npos when none is.
[[nodiscard]] std::size_t matching_open(std::string_view text, std::size_t close) {
  std::size_t depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// What may follow the parameters of a demangled function: nothing, or qualifiers and clones.
[[nodiscard]] bool is_function_suffix(std::string_view text) {
  constexpr std::string_view kSuffixes[] = {" const", " volatile", " noexcept", " &&", " &"};
  bool again = true;
  while (again) {
    again = false;
    for (const std::string_view suffix : kSuffixes) {
      if (!text.starts_with(suffix)) continue;
      text.remove_prefix(suffix.size());
      again = true;
    }
  }
  return text.empty() || text.starts_with(" [") || text.starts_with("[abi:");
}

/// `name` without the parameter list at its end, if it has one.
[[nodiscard]] std::string_view without_parameters(std::string_view name) {
  std::size_t close = name.rfind(')');
  // A clone's name may contain parentheses of its own; none of them closes the parameters.
  if (const std::size_t clone = name.find(" [clone "); clone != std::string_view::npos) {
    close = name.substr(0, clone).rfind(')');
  }
  if (close == std::string_view::npos || !is_function_suffix(name.substr(close + 1))) return name;
  const std::size_t open = matching_open(name, close);
  if (open == std::string_view::npos || open == 0) return name;
  const std::string_view rest = name.substr(0, open);
  if (name.substr(open, 2) == "()" && ends_with_word(rest, "operator")) return name;
  return rest;
}

/// `name`, which has no parameters any more, without a return type before it.
[[nodiscard]] std::string_view without_return_type(std::string_view name) {
  // Spaces after the word `operator` belong to the name: `operator new`, `operator unsigned long`.
  const std::size_t named = name.find("operator");
  const std::size_t end = std::min(named, name.size());
  std::size_t depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if ((c == '>' || c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (c == ' ' && depth == 0) start = i + 1;
  }
  return start < name.size() ? name.substr(start) : name;
}

/// Whether `text` is the JVM's word for one type: V, I, [J, Ljava/lang/String;.
[[nodiscard]] bool is_jvm_type(std::string_view text) {
  while (text.starts_with('[')) text.remove_prefix(1);
  if (text.size() == 1) return std::string_view("VZBCSIJFD").find(text[0]) != text.npos;
  return text.size() > 2 && text.front() == 'L' && text.find(';') == text.size() - 1;
}

struct JavaName {
  std::string_view method_in_package;  // test/Test.run
  std::size_t class_at = 0;            // where Test.run begins in it
  std::size_t method_at = 0;           // where run begins in it
};

/// The parts of `test/Test.run()V`; nothing in them when it is not such a name.
[[nodiscard]] JavaName java_name(std::string_view name) {
  const std::size_t open = name.find('(');
  const std::size_t close = name.rfind(')');
  if (open == std::string_view::npos || open == 0 || close == std::string_view::npos ||
      close < open || !is_jvm_type(name.substr(close + 1))) {
    return {};
  }
  JavaName java;
  java.method_in_package = name.substr(0, open);
  const std::size_t dot = java.method_in_package.rfind('.');
  if (dot == std::string_view::npos) return java;
  java.method_at = dot + 1;
  const std::size_t package = java.method_in_package.substr(0, dot).find_last_of("./");
  java.class_at = package == std::string_view::npos ? 0 : package + 1;
  return java;
}

/// Where the template argument list that opens at `open` ends, or `open` when none does: the `<` of
/// an operator, or of something else.
[[nodiscard]] std::size_t after_template(std::string_view name, std::size_t open) {
  if (name[open] != '<' || name.substr(0, open).ends_with("operator") ||
      name.substr(0, open).ends_with("operator<")) {
    return open;
  }
  std::size_t depth = 0;
  std::size_t parentheses = 0;
  for (std::size_t i = open; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '(') ++parentheses;
    if (c == ')' && parentheses > 0) --parentheses;
    if (parentheses != 0) continue;
    if (c == '<') ++depth;
    // The > of an arrow closes nothing.
    if (c == '>' && name[i - 1] != '-' && --depth == 0) return i + 1;
  }
  return open;
}

/// Where the mark of an ABI that begins at `at` ends, or `at` when none does: `get[abi:cxx11]`, as
/// functions are called that return a std::string.
[[nodiscard]] std::size_t after_abi_tag(std::string_view name, std::size_t at) {
  if (!name.substr(at).starts_with("[abi:")) return at;
  const std::size_t close = name.find(']', at);
  return close == std::string_view::npos ? at : close + 1;
}

/// Whether `name` is `entry`, or with `prefix` goes on after it, when template arguments and marks
/// of an ABI that only `name` has do not count.
[[nodiscard]] bool is_called(std::string_view name, std::string_view entry, bool prefix) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < name.size()) {
    if (j == entry.size() && prefix) return true;
    if (j < entry.size() && name[i] == entry[j]) {
      ++i;
      ++j;
      continue;
    }
    const std::size_t after = std::max(after_template(name, i), after_abi_tag(name, i));
    if (after == i) return false;
    i = after;
  }
  return j == entry.size() && !prefix;
}

/// Where parts of a qualified name begin: its beginning, and after each `::` that is not inside of
/// brackets, as in template arguments, parameters and `(anonymous namespace)`.
[[nodiscard]] std::vector<std::size_t> parts_of(std::string_view name) {
  std::vector<std::size_t> parts = {0};
  std::size_t depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && name.substr(i).starts_with("operator")) break;
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' || c == ')' || c == '}' || c == ']') && depth > 0) --depth;
    if (depth == 0 && c == ':' && name.substr(i).starts_with("::")) parts.push_back(++i + 1);
  }
  return parts;
}

/// An error's text, or "" for a regular expression that is safe to give to the library.
[[nodiscard]] std::string excess_of(std::string_view pattern) {
  if (pattern.empty()) return "an empty regular expression matches everything: write re:.*";
  if (pattern.size() > kMaxPatternLength) {
    return fmt::format("the regular expression has {} characters, at most {} are allowed",
                       pattern.size(), kMaxPatternLength);
  }
  std::uint64_t written_out = pattern.size();
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\0') return "the regular expression has a zero byte";
    if (pattern[i] == '\\') {
      ++i;
      continue;
    }
    const std::string_view rest = pattern.substr(i);
    if (rest.starts_with("(?=") || rest.starts_with("(?!")) {
      return "look-ahead, (?= or (?!, is not supported";
    }
    if (pattern[i] != '{') continue;
    // Each number in {n,m} is at most the larger one: their product is an upper bound.
    std::uint64_t number = 0;
    for (const char c : rest.substr(1)) {
      if (c >= '0' && c <= '9') {
        number =
            std::min<std::uint64_t>(number * 10 + static_cast<std::uint64_t>(c - '0'), 100'000);
        continue;
      }
      written_out =
          std::min<std::uint64_t>(written_out * std::max<std::uint64_t>(number, 1), 1'000'000'000);
      number = 0;
      if (c != ',') break;
    }
    if (written_out > kMaxWrittenOut) {
      return fmt::format(
          "the repetitions {{n}} multiply to a regular expression of more than {} characters",
          kMaxWrittenOut);
    }
  }
  return {};
}

[[nodiscard]] std::string_view reason_of(const std::regex_error& error) {
  switch (error.code()) {
    case std::regex_constants::error_collate: return "unknown collating element";
    case std::regex_constants::error_ctype: return "unknown character class";
    case std::regex_constants::error_escape: return "invalid escape or \\ at the end";
    case std::regex_constants::error_backref: return "invalid back reference";
    case std::regex_constants::error_brack: return "a [ without its ]";
    case std::regex_constants::error_paren: return "( and ) do not match";
    case std::regex_constants::error_brace: return "a { without its }";
    case std::regex_constants::error_badbrace: return "invalid range in { }";
    case std::regex_constants::error_range: return "invalid range in [ ]";
    case std::regex_constants::error_badrepeat: return "nothing to repeat before *, + or ?";
    case std::regex_constants::error_complexity: return "back references are not supported";
    default: return "too large or malformed";
  }
}

}  // namespace

std::vector<std::string_view> forms_of(std::string_view name) {
  std::vector<std::string_view> forms;
  const auto add = [&forms](std::string_view form) {
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  };
  add(name);
  if (const JavaName java = java_name(name); !java.method_in_package.empty()) {
    add(java.method_in_package);
    add(java.method_in_package.substr(java.class_at));
    add(java.method_in_package.substr(java.method_at));
    return forms;
  }
  const std::string_view bare = without_parameters(name);
  add(bare);
  // Only functions with parameters come with a return type; other labels may have spaces.
  if (bare.size() < name.size()) {
    const std::string_view called = without_return_type(bare);
    add(called);
    add(name.substr(static_cast<std::size_t>(called.data() - name.data())));
  }
  return forms;
}

bool of_library(std::string_view name) {
  const std::string_view spoken = spoken_name(name);
  for (const std::string_view foreign : {"std::", "__", "_GLOBAL__", "_Z", "extern "}) {
    if (spoken.starts_with(foreign)) return true;
  }
  return false;
}

std::string_view spoken_name(std::string_view name) {
  if (const JavaName java = java_name(name); !java.method_in_package.empty()) {
    return java.method_in_package;
  }
  const std::string_view bare = without_parameters(name);
  return bare.size() < name.size() ? without_return_type(bare) : bare;
}

std::string without_templates(std::string_view name) {
  std::string result;
  const std::string_view spoken = spoken_name(name);
  for (std::size_t i = 0; i < spoken.size();) {
    const std::size_t after = after_template(spoken, i);
    if (after == i) result += spoken[i++];
    i = std::max(i, after);
  }
  return result;
}

std::string_view simple_name(std::string_view name) {
  if (const JavaName java = java_name(name); !java.method_in_package.empty()) {
    return java.method_in_package.substr(java.method_at);
  }
  const std::string_view bare = without_parameters(name);
  const std::string_view called = bare.size() < name.size() ? without_return_type(bare) : bare;
  std::size_t depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < called.size(); ++i) {
    const char c = called[i];
    if (called.substr(i).starts_with("operator")) break;
    if (c == '<' || c == '(' || c == '{') ++depth;
    if ((c == '>' || c == ')' || c == '}') && depth > 0) --depth;
    if (depth == 0 && (c == ':' || c == '.' || c == '/')) start = i + 1;
  }
  return start < called.size() ? called.substr(start) : called;
}

struct Pattern::Regex {
  std::regex compiled;
};

Pattern::Pattern(std::string_view text) : text_(text) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::parse(std::string_view text) {
  if (text.empty()) return Error{"an empty name matches nothing"};
  if (text.size() > kMaxSubjectLength) {
    return Error{fmt::format("the name has {} characters, at most {} are allowed", text.size(),
                             kMaxSubjectLength)};
  }
  Pattern pattern(text);
  if (text.starts_with(kRegexPrefix)) {
    const std::string_view expression = text.substr(kRegexPrefix.size());
    if (std::string excess = excess_of(expression); !excess.empty()) return Error{excess};
    try {
      const std::string plain(expression);
      // As it is first, because the parentheses around it would accept `a)(b`.
      [[maybe_unused]] const std::regex alone(plain, kRegexFlags);
      pattern.regex_ = std::make_unique<Regex>(
          Regex{std::regex("[\\s\\S]*(?:" + plain + ")[\\s\\S]*", kRegexFlags)});
    } catch (const std::regex_error& error) {
      return Error{fmt::format("malformed regular expression: {}", reason_of(error))};
    }
    return pattern;
  }
  if (text.ends_with("::*") || text.ends_with(".*") || text.ends_with("/*")) {
    pattern.prefix_ = text.substr(0, text.size() - 1);
  }
  return pattern;
}

TakenApart::TakenApart(const std::vector<std::string_view>& of) {
  for (const std::string_view form : of) forms.push_back({form, parts_of(form)});
}

bool Pattern::matches(const TakenApart& name) const {
  return std::ranges::any_of(name.forms, [this](const TakenApart::Form& taken) {
    const std::string_view form = taken.text;
    if (regex_ != nullptr) {
      const std::string_view subject = form.substr(0, kMaxSubjectLength);
      return std::regex_match(subject.begin(), subject.end(), regex_->compiled);
    }
    if (form == text_) return true;
    const bool prefix = !prefix_.empty();
    std::string_view wanted = prefix ? std::string_view(prefix_) : std::string_view(text_);
    const bool whole = wanted.starts_with("::") && wanted.size() > 2;
    if (whole) wanted.remove_prefix(2);
    for (const std::size_t part : taken.parts) {
      if (is_called(form.substr(part), wanted, prefix)) return true;
      if (whole) return false;
    }
    return false;
  });
}

}  // namespace syndrome::spec
