// The frame of a .syn file: a file header, then chunks, each a header and a payload.
//
// docs/trace-format.md describes every byte. What the reader relies on:
//   1. The header of a chunk has a checksum of its own. So a damaged length is told from a file
//   that
//      was cut off: a header that is whole and checks out, with too few bytes behind it, is a cut.
//   2. Chunks of events depend on no other chunk of events, so they decode in parallel.
//   3. A chunk of names comes before the first chunk of events that uses one of its ids.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/ids.h"

namespace syndrome::trace {

/// As PNG's: a first byte that is no text, the name, and line ends that a transfer as text breaks.
inline constexpr std::array<std::uint8_t, 8> kSynMagic = {0x89, 'S',  'Y',  'N',
                                                          0x0d, 0x0a, 0x1a, 0x0a};
inline constexpr std::uint32_t kSynVersion = 1;
inline constexpr std::size_t kFileHeaderBytes = 24;
inline constexpr std::size_t kChunkHeaderBytes = 48;

// Bounds that a reader holds a header to before it allocates anything.
inline constexpr std::uint32_t kMaxChunkEvents = 1u << 20;
inline constexpr std::uint32_t kMaxChunkNames = 1u << 20;
inline constexpr std::uint32_t kMaxChunkBytes = 64u << 20;  // stored, and after decompression
inline constexpr std::uint32_t kMaxChunkWords = 1u << 16;
inline constexpr std::uint64_t kMaxMetaBytes = std::uint64_t{1} << 30;  // of a whole recording
inline constexpr std::uint32_t kMaxNameBytes = 16u << 20;
/// Names stay in memory for the whole run. So that a small file cannot fill it, a chunk of names
/// may unpack to at most 64 times its size and 4 KiB; the writer does not compress what would.
[[nodiscard]] constexpr bool unpacks_too_far(std::uint64_t raw, std::uint64_t stored) {
  return raw > 64 * stored + 4096;
}

/// Four letters. A reader passes over a type that it does not know if the first one is small.
enum class ChunkType : std::uint32_t {};
[[nodiscard]] constexpr ChunkType chunk_type(const char (&letters)[5]) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(letters[i])) << (8 * i);
  }
  return static_cast<ChunkType>(value);
}
inline constexpr ChunkType kNamesChunk = chunk_type("NAME");
inline constexpr ChunkType kEventsChunk = chunk_type("EVNT");
// Of recordings (trace/capture_writer.h), which have no names and no events.
inline constexpr ChunkType kWordsChunk = chunk_type("WORD");
inline constexpr ChunkType kMetaChunk = chunk_type("META");
/// How words are packed (trace/word_codec.h). Another packing gets the next number; what the words
/// mean is wire::kAbi.
inline constexpr std::uint32_t kWordsLayout = 0;
inline constexpr ChunkType kEndChunk = chunk_type("DONE");
[[nodiscard]] constexpr bool is_optional(ChunkType type) {
  return (static_cast<std::uint32_t>(type) & 0x20) != 0;
}

struct ChunkHeader {
  ChunkType type = kEndChunk;
  std::uint32_t space = 0;   // names: their Space; words: the thread's number; otherwise 0
  std::uint32_t stored = 0;  // bytes of the payload as it is in the file
  std::uint32_t raw = 0;     // bytes of the payload's sections after decompression
  std::uint32_t count = 0;   // events, names, words, or bytes of metadata
  std::uint32_t layout = 0;  // words: kWordsLayout; otherwise 0
  std::uint64_t first = 0;   // number of the first event, word or byte, or id of the first name
  std::uint64_t payload_checksum = 0;
};

using Bytes = std::span<const std::byte>;

[[nodiscard]] std::uint64_t checksum(Bytes bytes);  // XXH3, 64 bits

/// Little-endian numbers, wherever they stand.
[[nodiscard]] inline std::uint64_t load(const std::byte* from, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}
inline void store(std::byte* to, unsigned bytes, std::uint64_t value) {
  for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
}

/// Numbers of seven bits a byte, low ones first; the last byte is below 128.
void add_varint(std::uint64_t value, std::vector<std::byte>& out);
/// Takes one off the front; none when the bytes end in the middle of it or it has over 64 bits.
[[nodiscard]] std::optional<std::uint64_t> take_varint(Bytes& bytes);

[[nodiscard]] std::array<std::byte, kFileHeaderBytes> make_file_header();

[[nodiscard]] std::array<std::byte, kChunkHeaderBytes> make_chunk_header(const ChunkHeader& header);

/// False when the header's checksum is not that of its bytes.
[[nodiscard]] bool parse_chunk_header(std::span<const std::byte, kChunkHeaderBytes> bytes,
                                      ChunkHeader& header);

/// The type's letters, for messages.
[[nodiscard]] std::string name_of(ChunkType type);

/// What the end chunk tells about the file before it. `blocks` counts outermost begins.
struct SynTotals {
  std::uint64_t events = 0;
  std::uint64_t chunks = 0;  // before the end chunk
  std::uint64_t blocks = 0;
  std::array<std::uint64_t, kSpaceCount> names{};
  std::array<std::uint64_t, kEventKindCount> kinds{};

  friend bool operator==(const SynTotals&, const SynTotals&) = default;
};

[[nodiscard]] std::vector<std::byte> encode_totals(const SynTotals& totals);
[[nodiscard]] std::optional<SynTotals> decode_totals(Bytes payload);

}  // namespace syndrome::trace
