#include "sections.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace syndrome::bench {

bool write_section(const std::string& path, std::string_view name, std::string_view text) {
  std::ifstream in(path);
  std::string document{std::istreambuf_iterator<char>(in), {}};
  if (document.empty()) {
    document =
        "# The papers' tables, and ours\n"
        "\n"
        "Written by `make results` (`ONLY=singletrack` for one section); change the programs that\n"
        "write this (`bench/`), not this file.\n";
  }
  const std::string begin = fmt::format("<!-- {} -->\n", name);
  const std::string end = fmt::format("<!-- end of {} -->\n", name);
  const std::string section = fmt::format("{}\n{}\n{}", begin, text, end);
  const std::size_t from = document.find(begin);
  const std::size_t to = from == std::string::npos ? from : document.find(end, from);
  if (to == std::string::npos) {
    document += "\n" + section;
  } else {
    document.replace(from, to + end.size() - from, section);
  }
  std::ofstream out(path);
  out << document << std::flush;
  return static_cast<bool>(out);
}

}  // namespace syndrome::bench
