#include "spec/user_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace syndrome::spec {

Result<std::string> read_user_file(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("cannot open: {}", std::strerror(errno))};
  // In pieces: to clear `most` bytes takes longer than most programs that are checked run.
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  std::string text;
  while (file && text.size() <= most) {
    const std::size_t before = text.size();
    text.resize(std::min(before + kPiece, most + 1));
    file.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
    if (file.bad() || (file.fail() && !file.eof())) {
      return Error{fmt::format("cannot read: {}", std::strerror(errno))};
    }
    text.resize(before + static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown;
  for (const char c : text.substr(0, kShown)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "…" : "");
}

}  // namespace syndrome::spec
