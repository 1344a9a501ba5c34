#include "trace/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace syndrome::trace {
namespace {

// The demangler's time and depth grow with its input, which is not ours.
constexpr std::size_t kMaxMangled = 4096;

/// Where the bracket that closes at `close` opens, or npos.
std::size_t opening(std::string_view name, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// `Cache::get(int)` for `Cache::get[abi:cxx11](int)`, as a function is called that returns a
/// std::string: nobody writes it so.
std::string without_abi_tags(std::string_view name) {
  constexpr std::string_view kTag = "[abi:";
  std::string result;
  while (true) {
    const std::size_t at = name.find(kTag);
    const std::size_t close = at == name.npos ? name.npos : name.find(']', at);
    result += name.substr(0, close == name.npos ? name.npos : at);
    if (close == name.npos) return result;
    name.remove_prefix(close + 1);
  }
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string demangle(std::string_view linkage_name) {
  std::string name(linkage_name);
  if (!name.starts_with("_Z") || name.size() > kMaxMangled) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? without_abi_tags(text.get()) : name;
}

std::string_view without_parameters(std::string_view name) {
  // What may follow the parameters: qualifiers, and the mark of a clone, " [clone .cold]".
  std::string_view rest = name;
  for (bool again = true; again;) {
    again = false;
    if (rest.ends_with(']')) {
      const std::size_t at = rest.rfind(" [");
      if (at != std::string_view::npos) {
        rest = rest.substr(0, at);
        again = true;
      }
    }
    for (const std::string_view tail : {" const", " volatile", " &&", " &", " noexcept"}) {
      if (rest.ends_with(tail)) {
        rest.remove_suffix(tail.size());
        again = true;
      }
    }
  }
  if (!rest.ends_with(')')) return name;
  const std::size_t open = opening(rest, rest.size() - 1);
  if (open == std::string_view::npos || open == 0) return name;
  rest = rest.substr(0, open);
  if (rest.ends_with("operator")) return name;  // "operator()" and no parameters
  // The return type ends at the last space that is in no bracket; "operator" owns the spaces
  // behind it.
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (depth == 0 && rest.substr(i).starts_with("operator") && (i == 0 || !is_word(rest[i - 1])) &&
        (i + 8 == rest.size() || !is_word(rest[i + 8]))) {
      break;
    }
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '>' || c == '}' || c == ']') --depth;
    if (c == ' ' && depth == 0) start = i + 1;
  }
  return start < rest.size() ? rest.substr(start) : name;
}

}  // namespace syndrome::trace
