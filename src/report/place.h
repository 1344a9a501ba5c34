// A place in the source, as the site text of a trace gives it: "bank.cc:12:5 transfer".

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syndrome::report {

/// Either a file and a line (column 0 and an empty function are "not given"), or a raw text that
/// means something to whoever made the trace, or, when `text` is empty, unknown.
struct Place {
  std::string text;  // the site as the trace has it
  std::string file;  // empty when `text` is not of the form file:line[:column] [function]
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string function;

  [[nodiscard]] bool known() const { return !text.empty(); }
  friend bool operator==(const Place&, const Place&) = default;
};

/// "" and "0", which STD traces write where they have no location, are unknown.
[[nodiscard]] Place parse_place(std::string_view text);

/// The text that parse_place() takes apart into these.
[[nodiscard]] std::string place_text(std::string_view file, std::uint32_t line,
                                     std::uint32_t column, std::string_view function);

/// What a reader needs first: "bank.cc:12", without directories, column and function.
[[nodiscard]] std::string short_text(const Place& place);

}  // namespace syndrome::report
