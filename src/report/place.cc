#include "report/place.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace syndrome::report {
namespace {

/// Takes ":123" off the end of `text`. No sign, no leading zero: what is taken can be put back.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  if (digits.empty() || digits[0] < '1' || digits[0] > '9') return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

}  // namespace

Place parse_place(std::string_view text) {
  Place place;
  if (text.empty() || text == "0") return place;
  place.text = text;

  const std::size_t space = text.find(' ');
  std::string_view position = text.substr(0, space);
  const std::optional<std::uint32_t> last = take_number(position);
  if (!last) return place;
  const std::optional<std::uint32_t> before = take_number(position);
  const std::string_view function =
      space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  if (position.empty() || (space != std::string_view::npos && function.empty())) return place;
  place.file = position;
  place.line = before ? *before : *last;
  place.column = before ? *last : 0;
  place.function = function;
  return place;
}

std::string place_text(std::string_view file, std::uint32_t line, std::uint32_t column,
                       std::string_view function) {
  std::string text = fmt::format("{}:{}", file, line);
  if (column != 0) text += fmt::format(":{}", column);
  if (!function.empty()) text += fmt::format(" {}", function);
  return text;
}

std::string short_text(const Place& place) {
  if (place.file.empty()) return place.text;
  const std::size_t slash = place.file.rfind('/');
  const std::string_view name = std::string_view(place.file).substr(slash + 1);
  return fmt::format("{}:{}", name.empty() ? std::string_view(place.file) : name, place.line);
}

}  // namespace syndrome::report
