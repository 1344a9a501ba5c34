#include "trace/syn_format.h"

#include <xxhash.h>

#include <cstring>

namespace syndrome::trace {

std::uint64_t checksum(Bytes bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void add_varint(std::uint64_t value, std::vector<std::byte>& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>((value & 0x7f) | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

std::optional<std::uint64_t> take_varint(Bytes& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    const std::uint64_t bits = byte & 0x7f;
    if (bits << shift >> shift != bits) return std::nullopt;
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::array<std::byte, kFileHeaderBytes> make_file_header() {
  std::array<std::byte, kFileHeaderBytes> bytes{};
  std::memcpy(bytes.data(), kSynMagic.data(), kSynMagic.size());
  store(&bytes[8], 4, kSynVersion);
  store(&bytes[12], 4, 0);  // features that a reader must know: none yet
  store(&bytes[16], 8, checksum(Bytes(bytes).first(16)));
  return bytes;
}

std::array<std::byte, kChunkHeaderBytes> make_chunk_header(const ChunkHeader& header) {
  std::array<std::byte, kChunkHeaderBytes> bytes{};
  store(&bytes[0], 4, static_cast<std::uint32_t>(header.type));
  store(&bytes[4], 4, header.space);
  store(&bytes[8], 4, header.stored);
  store(&bytes[12], 4, header.raw);
  store(&bytes[16], 4, header.count);
  store(&bytes[20], 4, header.layout);
  store(&bytes[24], 8, header.first);
  store(&bytes[32], 8, header.payload_checksum);
  store(&bytes[40], 8, checksum(Bytes(bytes).first(40)));
  return bytes;
}

bool parse_chunk_header(std::span<const std::byte, kChunkHeaderBytes> bytes, ChunkHeader& header) {
  if (load(&bytes[40], 8) != checksum(bytes.first(40))) return false;
  header.type = static_cast<ChunkType>(load(&bytes[0], 4));
  header.space = static_cast<std::uint32_t>(load(&bytes[4], 4));
  header.stored = static_cast<std::uint32_t>(load(&bytes[8], 4));
  header.raw = static_cast<std::uint32_t>(load(&bytes[12], 4));
  header.count = static_cast<std::uint32_t>(load(&bytes[16], 4));
  header.layout = static_cast<std::uint32_t>(load(&bytes[20], 4));
  header.first = load(&bytes[24], 8);
  header.payload_checksum = load(&bytes[32], 8);
  return true;
}

std::string name_of(ChunkType type) {
  std::string letters;
  for (unsigned i = 0; i < 4; ++i) {
    const auto c = static_cast<char>((static_cast<std::uint32_t>(type) >> (8 * i)) & 0xff);
    letters += c >= ' ' && c <= '~' ? c : '?';
  }
  return letters;
}

std::vector<std::byte> encode_totals(const SynTotals& totals) {
  std::vector<std::byte> payload;
  for (const std::uint64_t n : {totals.events, totals.chunks, totals.blocks}) {
    add_varint(n, payload);
  }
  add_varint(totals.names.size(), payload);
  for (const std::uint64_t n : totals.names) add_varint(n, payload);
  add_varint(totals.kinds.size(), payload);
  for (const std::uint64_t n : totals.kinds) add_varint(n, payload);
  return payload;
}

std::optional<SynTotals> decode_totals(Bytes payload) {
  SynTotals totals;
  bool good = true;
  const auto take = [&](std::uint64_t& value) {
    const auto number = take_varint(payload);
    good = good && number.has_value();
    value = number.value_or(0);
  };
  std::uint64_t spaces = 0;
  std::uint64_t kinds = 0;
  take(totals.events);
  take(totals.chunks);
  take(totals.blocks);
  take(spaces);
  if (!good || spaces != totals.names.size()) return std::nullopt;
  for (std::uint64_t& n : totals.names) take(n);
  take(kinds);
  // A file from before the last kinds were added has fewer.
  if (!good || kinds > totals.kinds.size()) return std::nullopt;
  for (std::uint64_t i = 0; i < kinds; ++i) take(totals.kinds[i]);
  if (!good || !payload.empty()) return std::nullopt;
  return totals;
}

}  // namespace syndrome::trace
