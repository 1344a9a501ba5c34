// A chunk of names: consecutive ids of one space, their lengths and then their letters.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/names.h"
#include "trace/syn_format.h"
#include "trace/syn_sections.h"

namespace syndrome::trace {

/// Names that were not yet written.
class NameEncoder {
 public:
  void add(std::string_view name);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return text_.size(); }

  /// Appends the payload, fills in `raw` and `count` of the header, and is empty again.
  void encode(SectionWriter& sections, std::vector<std::byte>& payload, ChunkHeader& header);

 private:
  std::vector<std::byte> lengths_;
  std::vector<std::byte> text_;
  std::uint32_t count_ = 0;
};

class NameDecoder {
 public:
  /// Unpacks header.count names; says what is wrong, in words, when the payload is not one that the
  /// writer makes.
  [[nodiscard]] std::optional<std::string> decode(const ChunkHeader& header, Bytes payload);

  void append_to(StringTable& table) const;

 private:
  SectionReader sections_;
  std::vector<std::byte> room_;
  std::vector<std::uint32_t> lengths_;
  std::string_view text_;  // in room_ or in the payload
};

}  // namespace syndrome::trace
