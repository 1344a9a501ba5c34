#include "trace/syn_chunks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "event/names.h"

namespace syndrome::trace {
namespace {

// A payload is read in steps of this size at most, so that a length that the file does not have
// costs no memory.
constexpr std::size_t kReadStep = 4u << 20;

}  // namespace

ChunkReader::ChunkReader(ChunkReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      file_bytes_(other.file_bytes_),
      position_(other.position_),
      ended_(other.ended_),
      events_(other.events_),
      chunks_(other.chunks_),
      meta_(other.meta_),
      names_(other.names_) {}

ChunkReader::~ChunkReader() {
  if (fd_ >= 0) ::close(fd_);
}

Result<ChunkReader> ChunkReader::open(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Error{fmt::format("cannot open: {}", std::strerror(errno))};
  ChunkReader reader(fd);
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    reader.file_bytes_ = static_cast<std::uint64_t>(info.st_size);
  }
  const Names empty;
  for (std::size_t i = 0; i < kSpaceCount; ++i) {
    reader.names_[i] = empty.table(static_cast<Space>(i)).size();
  }
  if (Status status = reader.check_file_header(); !status) return status.error();
  return reader;
}

Result<std::size_t> ChunkReader::read(std::byte* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd_, to + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return Error{fmt::format("byte {}: cannot read: {}", position_, std::strerror(errno))};
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    position_ += static_cast<std::size_t>(n);
  }
  return done;
}

Status ChunkReader::check_file_header() {
  std::array<std::byte, kFileHeaderBytes> bytes{};
  const auto got = read(bytes.data(), bytes.size());
  if (!got) return got.error();
  const std::size_t letters = std::min(*got, kSynMagic.size());
  for (std::size_t i = 0; i < letters; ++i) {
    if (std::to_integer<std::uint8_t>(bytes[i]) == kSynMagic[i]) continue;
    return Error{fmt::format(
        "byte {}: a .syn trace has {:#04x} here, found {:#04x}: this is no .syn trace, or damaged",
        i, kSynMagic[i], std::to_integer<unsigned>(bytes[i]))};
  }
  if (*got < bytes.size()) {
    return Error{
        fmt::format("byte {}: the file ends inside of its {}-byte header: there is no event in it",
                    *got, kFileHeaderBytes)};
  }
  if (load(&bytes[16], 8) != checksum(Bytes(bytes).first(16))) {
    return Error{"byte 8: the file's header is damaged: its checksum does not match"};
  }
  const auto version = load(&bytes[8], 4);
  const auto features = load(&bytes[12], 4);
  if (version != kSynVersion || features != 0) {
    return Error{
        fmt::format("byte 8: the trace has format version {} with features {:#x}; this syndrome "
                    "reads version {} "
                    "with features 0x0: use the syndrome that wrote it, or a newer one",
                    version, features, kSynVersion)};
  }
  return {};
}

Status ChunkReader::check(const Chunk& chunk) const {
  const ChunkHeader& header = chunk.header;
  const bool names = header.type == kNamesChunk;
  const bool events = header.type == kEventsChunk;
  const bool end = header.type == kEndChunk;
  const bool words = header.type == kWordsChunk;
  const bool meta = header.type == kMetaChunk;
  const auto bad = [&](const std::string& what) { return damage(chunk, chunk.offset, what); };
  if (!names && !events && !end && !words && !meta && !is_optional(header.type)) {
    return bad(
        fmt::format("a chunk of type {}, which version {} does not have: use a newer syndrome",
                    name_of(header.type), kSynVersion));
  }
  if (header.stored > kMaxChunkBytes || header.raw > kMaxChunkBytes) {
    return bad(fmt::format("a chunk of {} bytes, {} unpacked: expected at most {}", header.stored,
                           header.raw, kMaxChunkBytes));
  }
  if (!names && !events && !end && !words && !meta) return {};
  if (words || meta) return check_recorded(chunk);
  if (header.layout != 0 || (!names && header.space != 0)) {
    return bad("a chunk header with a field that must be 0 and is not");
  }
  if (end) return {};
  const std::uint32_t most = names ? kMaxChunkNames : kMaxChunkEvents;
  if (header.count == 0 || header.count > most) {
    return bad(fmt::format("a chunk of {} {}: expected 1 to {}", header.count,
                           names ? "names" : "events", most));
  }
  if (names && header.space >= kSpaceCount) {
    return bad(
        fmt::format("names of space {}: expected at most {}", header.space, kSpaceCount - 1));
  }
  const std::uint64_t first = names ? names_[header.space] : events_ + 1;
  if (header.first != first) {
    return bad(fmt::format("a chunk that begins with {} {}: expected {}", names ? "id" : "event",
                           header.first, first));
  }
  if (names && first + header.count > UINT32_MAX) return bad("more names than there are ids");
  return {};
}

/// Chunks of recordings. Where the words of a thread go on is for the reader of recordings to see.
Status ChunkReader::check_recorded(const Chunk& chunk) const {
  const ChunkHeader& header = chunk.header;
  const auto bad = [&](const std::string& what) { return damage(chunk, chunk.offset, what); };
  const bool words = header.type == kWordsChunk;
  if (words && header.layout != kWordsLayout) {
    return bad(
        fmt::format("words in layout {}, and this syndrome reads layout {}: recorded by a {} "
                    "Syndrome; use the one that recorded it",
                    header.layout, kWordsLayout, header.layout > kWordsLayout ? "newer" : "older"));
  }
  if (!words && (header.layout != 0 || header.space != 0)) {
    return bad("a chunk header with a field that must be 0 and is not");
  }
  const std::uint32_t most = words ? kMaxChunkWords : kMaxChunkBytes;
  if (header.count == 0 || header.count > most) {
    return bad(fmt::format("a chunk of {} {}: expected 1 to {}", header.count,
                           words ? "words" : "bytes of metadata", most));
  }
  if (words) return {};
  if (header.first != meta_) {
    return bad(fmt::format("metadata that begins with byte {}: expected {}", header.first, meta_));
  }
  if (header.raw != header.count || meta_ + header.count > kMaxMetaBytes ||
      unpacks_too_far(header.raw, header.stored)) {
    return bad(fmt::format("{} bytes of metadata from {}: expected no more than {} in all",
                           header.raw, header.stored, kMaxMetaBytes));
  }
  return {};
}

Result<bool> ChunkReader::read_payload(Chunk& chunk) {
  const std::size_t size = chunk.header.stored;
  for (std::size_t have = 0; have < size;) {
    const std::size_t step = std::min(size - have, kReadStep);
    if (chunk.payload.size() < have + step) chunk.payload.resize(have + step);
    const auto got = read(chunk.payload.data() + have, step);
    if (!got) return got.error();
    if (*got < step) return false;
    have += step;
  }
  return true;
}

Result<bool> ChunkReader::skip_payload(const Chunk& chunk) {
  const std::uint64_t end = chunk.end();
  if (end > file_bytes_) {
    position_ = file_bytes_;
    return false;
  }
  if (::lseek(fd_, static_cast<off_t>(end), SEEK_SET) < 0) {
    return Error{fmt::format("byte {}: cannot read: {}", position_, std::strerror(errno))};
  }
  position_ = end;
  return true;
}

Result<ChunkReader::Outcome> ChunkReader::next(Chunk& chunk) {
  return take(chunk, true);
}

Result<ChunkReader::Outcome> ChunkReader::skip(Chunk& chunk) {
  return take(chunk, false);
}

Result<ChunkReader::Outcome> ChunkReader::take(Chunk& chunk, bool payload) {
  chunk.header = ChunkHeader{};
  chunk.offset = position_;
  chunk.events = events_;
  chunk.chunks = chunks_;
  chunk.names = names_;
  std::array<std::byte, kChunkHeaderBytes> bytes{};
  const auto got = read(bytes.data(), bytes.size());
  if (!got) return got.error();
  if (ended_) {
    if (*got == 0) return Outcome::kEnd;
    return damage(chunk, chunk.offset, "bytes follow the chunk that ends the trace");
  }
  if (*got < bytes.size()) return Outcome::kCut;
  if (!parse_chunk_header(bytes, chunk.header)) {
    return damage(
        chunk, chunk.offset,
        fmt::format("the header of chunk {} is damaged: its checksum does not match", chunks_ + 1));
  }
  if (Status status = check(chunk); !status) return status.error();
  const auto whole = payload ? read_payload(chunk) : skip_payload(chunk);
  if (!whole) return whole.error();
  if (!*whole) return Outcome::kCut;

  ++chunks_;
  ended_ = chunk.header.type == kEndChunk;
  if (chunk.header.type == kEventsChunk) events_ += chunk.header.count;
  if (chunk.header.type == kNamesChunk) names_[chunk.header.space] += chunk.header.count;
  if (chunk.header.type == kMetaChunk) meta_ += chunk.header.count;
  return Outcome::kChunk;
}

Status verify(const Chunk& chunk, SynTotals* totals) {
  const std::uint64_t payload = chunk.offset + kChunkHeaderBytes;
  if (checksum(chunk.bytes()) != chunk.header.payload_checksum) {
    return damage(chunk, payload,
                  fmt::format("the {} bytes of chunk {} are damaged: their checksum does not match",
                              chunk.header.stored, chunk.chunks + 1));
  }
  if (chunk.header.type != kEndChunk) return {};
  const auto told = decode_totals(chunk.bytes());
  if (!told) return damage(chunk, payload, "the end chunk has no totals that this version knows");
  if (told->events != chunk.events || told->chunks != chunk.chunks || told->names != chunk.names) {
    return damage(
        chunk, payload,
        fmt::format("the end chunk tells of {} events in {} chunks, found {} in {}, or of "
                    "other names",
                    told->events, told->chunks, chunk.events, chunk.chunks));
  }
  if (totals != nullptr) *totals = *told;
  return {};
}

Error damage(const Chunk& chunk, std::uint64_t offset, const std::string& what) {
  return Error{
      fmt::format("byte {}: {}; the {} events before it are good", offset, what, chunk.events)};
}

std::string describe_cut(const Chunk& chunk, std::uint64_t bytes) {
  return fmt::format(
      "the file ends {} at byte {}, before the end of the trace: it was cut off, or "
      "is still being written; the {} events before it were read",
      bytes == chunk.offset ? "behind a chunk" : "in the middle of a chunk", bytes, chunk.events);
}

}  // namespace syndrome::trace
