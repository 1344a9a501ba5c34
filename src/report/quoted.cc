#include "report/quoted.h"

#include "report/cells.h"

namespace syndrome::report {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : clean(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

}  // namespace syndrome::report
