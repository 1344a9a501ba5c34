#include "trace/syn_names.h"

#include <cassert>

namespace syndrome::trace {
namespace {

// The payload's first bytes: the size of the lengths after decompression.
constexpr std::size_t kNamePreludeBytes = 4;

}  // namespace

void NameEncoder::add(std::string_view name) {
  assert(name.size() <= kMaxNameBytes && count_ < kMaxChunkNames);
  add_varint(name.size(), lengths_);
  const auto bytes = std::as_bytes(std::span(name));
  text_.insert(text_.end(), bytes.begin(), bytes.end());
  ++count_;
}

void NameEncoder::encode(SectionWriter& sections, std::vector<std::byte>& payload,
                         ChunkHeader& header) {
  const std::size_t start = payload.size();
  const std::size_t raw = lengths_.size() + text_.size();
  payload.resize(start + kNamePreludeBytes);
  store(payload.data() + start, kNamePreludeBytes, lengths_.size());
  sections.add(lengths_, payload);
  sections.add(text_, payload);
  if (unpacks_too_far(raw, payload.size() - start)) {
    payload.resize(start + kNamePreludeBytes);
    sections.add_uncompressed(lengths_, payload);
    sections.add_uncompressed(text_, payload);
  }
  header.raw = static_cast<std::uint32_t>(raw);
  header.count = count_;
  lengths_.clear();
  text_.clear();
  count_ = 0;
}

std::optional<std::string> NameDecoder::decode(const ChunkHeader& header, Bytes payload) {
  assert(header.count <= kMaxChunkNames && header.raw <= kMaxChunkBytes);
  if (payload.size() < kNamePreludeBytes) return "the chunk has no prelude";
  if (unpacks_too_far(header.raw, payload.size())) {
    return "the names unpack to over 64 times their size";
  }
  const auto length_bytes = static_cast<std::size_t>(load(payload.data(), kNamePreludeBytes));
  if (length_bytes > header.raw) return "the lengths of the names are longer than the chunk";
  const std::size_t text_bytes = header.raw - length_bytes;
  payload = payload.subspan(kNamePreludeBytes);
  if (room_.size() < header.raw) room_.resize(header.raw);
  const std::byte* const lengths = sections_.next(payload, length_bytes, room_.data());
  if (lengths == nullptr) return "the lengths of the names do not unpack";
  const std::byte* const text = sections_.next(payload, text_bytes, room_.data() + length_bytes);
  if (text == nullptr) return "the names do not unpack";
  if (!payload.empty()) return "bytes follow the last name";

  lengths_.clear();
  Bytes rest(lengths, length_bytes);
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto length = take_varint(rest);
    if (!length || *length > kMaxNameBytes) return "a name has no length, or over 16 MiB";
    lengths_.push_back(static_cast<std::uint32_t>(*length));
    total += *length;
  }
  if (!rest.empty() || total != text_bytes) return "the names do not have the lengths given";
  text_ = std::string_view(reinterpret_cast<const char*>(text), text_bytes);
  return std::nullopt;
}

void NameDecoder::append_to(StringTable& table) const {
  std::string_view rest = text_;
  for (const std::uint32_t length : lengths_) {
    table.append(rest.substr(0, length));
    rest.remove_prefix(length);
  }
}

}  // namespace syndrome::trace
