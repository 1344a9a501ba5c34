// What the readers are fuzzed with: for each kind of file that comes from outside, good examples of
// it and what reads it.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace syndrome::fuzz {

struct ReaderKind {
  std::string_view name;
  /// Good files; not empty.
  std::function<std::vector<std::string>()> seeds;
  /// Reads one to its end, good or not. Whether it was taken for good.
  std::function<bool(const std::string& bytes)> read;
  /// Words of the format, which random bytes do not hit.
  std::vector<std::string_view> words;
};

[[nodiscard]] const std::vector<ReaderKind>& reader_kinds();

}  // namespace syndrome::fuzz
