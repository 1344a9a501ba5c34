// The only file that includes toml++.

#include "spec/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "spec/nearest.h"
#include "spec/user_file.h"

namespace syndrome::spec {
namespace {
/// toml++ asserts what malformed input can break ("[[[" does in 3.3), and with NDEBUG it tells the
/// compiler to rely on it. Neither is for a file of a user's: here, a failed assertion is an error.
struct TomlAssertion {};
constexpr void toml_assert(bool holds) {
  if (!holds) throw TomlAssertion();
}
}  // namespace
}  // namespace syndrome::spec

#undef NDEBUG
#define TOML_ASSERT(condition) ::syndrome::spec::toml_assert(static_cast<bool>(condition))
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace syndrome::spec {
namespace {

/// Dots in a line outside of strings. Each makes a table in a table, which toml++ takes apart by
/// recursion, and it limits only brackets (to 256). Ours nest two deep.
constexpr std::size_t kMaxDotsInLine = 16;

struct Where {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

[[nodiscard]] Where where(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

template <class... Args>
[[nodiscard]] Error error_at(Where at, fmt::format_string<Args...> text, Args&&... args) {
  return Error{fmt::format("line {}, column {}: ", at.line, at.column) +
               fmt::format(text, std::forward<Args>(args)...)};
}

/// What a person calls the type of a value.
[[nodiscard]] std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or time";
  }
}

/// Refuses what toml++ would parse and then die of (kMaxDotsInLine). Knows just enough of TOML to
/// tell strings and comments from the rest.
[[nodiscard]] Status check_nesting(std::string_view text) {
  std::uint32_t line = 1;
  std::size_t dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '#') {
      const std::size_t end = text.find('\n', i);
      if (end == std::string_view::npos) return {};
      i = end - 1;
    } else if (c == '"' || c == '\'') {
      const bool multi = text.substr(i, 3) == std::string(3, c);
      i += multi ? 3 : 1;
      // To the quote that ends the string, or to the end of the line when it is not closed there.
      for (; i < text.size(); ++i) {
        if (text[i] == '\n') {
          if (!multi) {
            --i;
            break;
          }
          ++line;
          dots = 0;
        } else if (text[i] == '\\' && c == '"') {
          ++i;
          if (i < text.size() && text[i] == '\n') --i;
        } else if (text[i] == c && (!multi || text.substr(i, 3) == std::string(3, c))) {
          i += multi ? 2 : 0;
          break;
        }
      }
    } else if (c == '.' && ++dots > kMaxDotsInLine) {
      return Error{
          fmt::format("line {}: more than {} dots outside of strings", line, kMaxDotsInLine)};
    }
  }
  return {};
}

/// The first line with which `text`, up to its end, fails an assertion of toml++, given that all of
/// it does. Every longer beginning fails too, so halving finds it.
[[nodiscard]] std::uint32_t asserting_line(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ends.push_back(i);
  }
  ends.push_back(text.size());
  const auto fails = [text](std::size_t end) {
    try {
      [[maybe_unused]] const toml::parse_result parsed = toml::parse(text.substr(0, end));
      return false;
    } catch (const TomlAssertion&) {
      return true;
    }
  };
  const auto first = std::partition_point(ends.begin(), ends.end() - 1,
                                          [&fails](std::size_t end) { return !fails(end); });
  return static_cast<std::uint32_t>(first - ends.begin() + 1);
}

/// Goes through a parsed file, section by section. Stops at the first error.
class Reader {
 public:
  [[nodiscard]] Result<Spec> read(const toml::table& root) {
    Spec spec;
    for (const auto& [key, node] : root) {
      Status status;
      if (key == "blocks") {
        status = blocks(key, node, spec.blocks);
      } else if (key == "atomic-sets") {
        status = atomic_sets(key, node, spec);
      } else if (key == "units") {
        status = units(key, node, spec);
      } else {
        status = unknown(key, "key", {"blocks", "atomic-sets", "units"});
      }
      if (!status) return status.error();
    }
    return spec;
  }

 private:
  [[nodiscard]] static Error unknown(const toml::key& key, std::string_view what,
                                     const std::vector<std::string_view>& known) {
    const std::string_view near = nearest(key.str(), known);
    if (!near.empty()) {
      return error_at(where(key.source()), "unknown {} {}; did you mean '{}'?", what,
                      quoted(key.str()), near);
    }
    return error_at(where(key.source()), "unknown {} {}: expected {}", what, quoted(key.str()),
                    fmt::join(known, ", "));
  }

  [[nodiscard]] static Result<const toml::table*> table(const toml::key& key,
                                                        const toml::node& node) {
    if (const toml::table* found = node.as_table()) return found;
    return error_at(where(key.source()), "expected a table for {}, found {}", quoted(key.str()),
                    type_name(node));
  }

  [[nodiscard]] Result<std::vector<Entry>> list(const toml::key& key, const toml::node& node) {
    const toml::array* const array = node.as_array();
    if (array == nullptr) {
      return error_at(where(node.source()), "expected a list of strings for {}, found {}",
                      quoted(key.str()), type_name(node));
    }
    std::vector<Entry> entries;
    for (const toml::node& element : *array) {
      const Where at = where(element.source());
      const toml::value<std::string>* const text = element.as_string();
      if (text == nullptr) {
        return error_at(at, "expected a string in the list {}, found {}", quoted(key.str()),
                        type_name(element));
      }
      if (++entries_ > kMaxSpecEntries) {
        return error_at(at, "more than {} entries; use Type::* or re: to name many at once",
                        kMaxSpecEntries);
      }
      Result<Pattern> pattern = Pattern::parse(text->get());
      if (!pattern) {
        return error_at(at, "{} in {}: {}", quoted(text->get()), quoted(key.str()),
                        pattern.error().message);
      }
      entries.push_back({std::move(*pattern), at.line, at.column});
    }
    return entries;
  }

  [[nodiscard]] Status append(const toml::key& key, const toml::node& node,
                              std::vector<NamedList>& lists) {
    Result<std::vector<Entry>> entries = list(key, node);
    if (!entries) return entries.error();
    lists.push_back({std::string(key.str()), std::move(*entries), key.source().begin.line});
    return {};
  }

  [[nodiscard]] Status blocks(const toml::key& section, const toml::node& value, Blocks& blocks) {
    const Result<const toml::table*> keys = table(section, value);
    if (!keys) return keys.error();
    for (const auto& [key, node] : **keys) {
      if (key != "atomic" && key != "deterministic" && key != "exclude") {
        return unknown(key, "key of [blocks]", {"atomic", "deterministic", "exclude"});
      }
      Result<std::vector<Entry>> entries = list(key, node);
      if (!entries) return entries.error();
      if (key == "atomic") {
        blocks.atomic = std::move(*entries);
      } else {
        (key == "exclude" ? blocks.exclude : blocks.deterministic) = std::move(*entries);
      }
    }
    return {};
  }

  [[nodiscard]] Status atomic_sets(const toml::key& section, const toml::node& value, Spec& spec) {
    const Result<const toml::table*> keys = table(section, value);
    if (!keys) return keys.error();
    for (const auto& [key, node] : **keys) {
      Status status =
          key == "options" ? set_options(key, node, spec) : append(key, node, spec.atomic_sets);
      if (!status) return status;
    }
    return {};
  }

  [[nodiscard]] Status set_options(const toml::key& section, const toml::node& value, Spec& spec) {
    const Result<const toml::table*> keys = table(section, value);
    if (!keys) return keys.error();
    for (const auto& [key, node] : **keys) {
      if (key == "exclude") {
        Result<std::vector<Entry>> entries = list(key, node);
        if (!entries) return entries.error();
        spec.excluded_locations = std::move(*entries);
        continue;
      }
      if (key == "span-threads") {
        const toml::value<bool>* const flag = node.as_boolean();
        if (flag == nullptr) {
          return error_at(where(node.source()),
                          "expected true or false for 'span-threads', found {}", type_name(node));
        }
        spec.units_span_threads = flag->get();
        continue;
      }
      if (key != "default") {
        return unknown(key, "key of [atomic-sets.options]", {"default", "exclude", "span-threads"});
      }
      const toml::value<std::string>* const text = node.as_string();
      const std::string_view word = text != nullptr ? std::string_view(text->get()) : "";
      if (word == "class") {
        spec.default_sets = DefaultSets::kClass;
      } else if (word == "each") {
        spec.default_sets = DefaultSets::kEach;
      } else if (word == "all") {
        spec.default_sets = DefaultSets::kAll;
      } else {
        return error_at(where(node.source()),
                        "expected \"class\", \"each\" or \"all\" for 'default', found {}",
                        text != nullptr ? quoted(word) : std::string(type_name(node)));
      }
    }
    return {};
  }

  [[nodiscard]] Status units(const toml::key& section, const toml::node& value, Spec& spec) {
    const Result<const toml::table*> keys = table(section, value);
    if (!keys) return keys.error();
    for (const auto& [key, node] : **keys) {
      if (key != "for") {
        if (Status status = append(key, node, spec.units); !status) return status;
        continue;
      }
      const Result<const toml::table*> sets = table(key, node);
      if (!sets) return sets.error();
      for (const auto& [set, list] : **sets) {
        if (Status status = append(set, list, spec.units_for); !status) return status;
      }
    }
    return {};
  }

  std::size_t entries_ = 0;
};

}  // namespace

Result<Spec> parse_spec(std::string_view text) {
  if (text.size() > kMaxSpecBytes) {
    return Error{
        fmt::format("the spec has {} bytes, at most {} are read", text.size(), kMaxSpecBytes)};
  }
  if (Status status = check_nesting(text); !status) return status.error();
  try {
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
      return error_at(where(parsed.error().source()), "{}", parsed.error().description());
    }
    return Reader().read(parsed.table());
  } catch (const TomlAssertion&) {
    return error_at({asserting_line(text), 1}, "malformed TOML");
  }
}

Result<Spec> read_spec(const std::string& path) {
  const Result<std::string> text = read_user_file(path, kMaxSpecBytes);
  if (!text) return text.error();
  return parse_spec(*text);
}

}  // namespace syndrome::spec
