#include "explore/events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/syn_events.h"
#include "trace/syn_names.h"

namespace syndrome::explore {
namespace {

/// Decoded events that are kept, in all chunks together: 64 MiB.
constexpr std::size_t kMostKept = std::size_t{4} << 20U;

Status read_at(int fd, std::uint64_t offset, std::byte* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error{fmt::format("byte {}: cannot read: {}", offset, std::strerror(errno))};
    if (got == 0) return Error{fmt::format("byte {}: the file is shorter than it was", offset)};
    done += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

Result<std::vector<ChunkPlace>> find_chunks(const std::string& path) {
  Result<trace::ChunkReader> reader = trace::ChunkReader::open(path);
  if (!reader) return reader.error();
  std::vector<ChunkPlace> places;
  trace::Chunk chunk;
  for (;;) {
    const auto outcome = reader->skip(chunk);
    if (!outcome) return outcome.error();
    // What was cut off reads up to its last whole chunk.
    if (*outcome != trace::ChunkReader::Outcome::kChunk) return places;
    const trace::ChunkHeader& header = chunk.header;
    if (header.type == trace::kEventsChunk) {
      places.push_back({false, 0, header.count, chunk.offset, header.first});
    } else if (header.type == trace::kNamesChunk) {
      places.push_back(
          {true, static_cast<std::uint8_t>(header.space), header.count, chunk.offset, 0});
    }
  }
}

Result<std::unique_ptr<EventFile>> EventFile::open(const std::string& path,
                                                   std::vector<ChunkPlace> chunks) {
  std::unique_ptr<EventFile> file(new EventFile);
  file->fd_ = trace::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file->fd_.valid()) return Error{fmt::format("cannot open: {}", std::strerror(errno))};
  if (const Status status = file->read_names(chunks); !status) return status.error();
  std::erase_if(chunks, [](const ChunkPlace& place) { return place.names; });
  file->places_ = std::move(chunks);
  if (!file->places_.empty()) {
    file->events_ = file->places_.back().first + file->places_.back().count - 1;
  }
  return file;
}

/// The header must be what the place says.
Result<trace::Chunk> EventFile::read_chunk(const ChunkPlace& place) const {
  trace::Chunk chunk;
  chunk.offset = place.offset;
  std::array<std::byte, trace::kChunkHeaderBytes> bytes{};
  if (const Status status = read_at(fd_.get(), place.offset, bytes.data(), bytes.size()); !status) {
    return status.error();
  }
  const trace::ChunkHeader& header = chunk.header;
  const auto type = place.names ? trace::kNamesChunk : trace::kEventsChunk;
  if (!trace::parse_chunk_header(bytes, chunk.header) || header.type != type ||
      header.count != place.count || header.stored > trace::kMaxChunkBytes ||
      header.raw > trace::kMaxChunkBytes || (place.names && header.space != place.space) ||
      (!place.names && header.first != place.first)) {
    return Error{
        fmt::format("byte {}: there is no chunk here that the index tells of: the file has changed",
                    place.offset)};
  }
  chunk.payload.resize(header.stored);
  if (const Status status = read_at(fd_.get(), place.offset + trace::kChunkHeaderBytes,
                                    chunk.payload.data(), header.stored);
      !status) {
    return status.error();
  }
  if (const Status status = trace::verify(chunk); !status) return status.error();
  return chunk;
}

Status EventFile::read_names(const std::vector<ChunkPlace>& chunks) {
  for (const ChunkPlace& place : chunks) {
    if (!place.names) continue;
    const Result<trace::Chunk> chunk = read_chunk(place);
    if (!chunk) return chunk.error();
    StringTable& table = names_.table(static_cast<Space>(place.space));
    if (chunk->header.first != table.size() ||
        trace::unpacks_too_far(chunk->header.raw, chunk->header.stored)) {
      return Error{
          fmt::format("byte {}: names that do not go on where those before ended", place.offset)};
    }
    trace::NameDecoder decoder;
    if (const auto wrong = decoder.decode(chunk->header, chunk->bytes())) {
      return Error{fmt::format("byte {}: {}", place.offset, *wrong)};
    }
    decoder.append_to(table);
  }
  for (std::size_t i = 0; i < kSpaceCount; ++i) {
    counts_[i] = names_.table(static_cast<Space>(i)).size();
  }
  return {};
}

Result<std::shared_ptr<const EventFile::Piece>> EventFile::decode(const ChunkPlace& place) const {
  const Result<trace::Chunk> chunk = read_chunk(place);
  if (!chunk) return chunk.error();
  auto piece = std::make_shared<Piece>();
  piece->first = place.first;
  piece->events.resize(place.count);
  trace::EventDecoder decoder;
  if (const auto wrong = decoder.decode(chunk->header, chunk->bytes(), counts_, piece->events)) {
    return Error{fmt::format("byte {}: {}", place.offset, *wrong)};
  }
  return std::shared_ptr<const Piece>(std::move(piece));
}

Result<std::shared_ptr<const EventFile::Piece>> EventFile::piece_with(EventNumber number) {
  assert(number >= 1 && number <= events_);
  const auto next = std::ranges::upper_bound(places_, number, {}, &ChunkPlace::first);
  const ChunkPlace& place = *std::prev(next);
  {
    const std::scoped_lock lock(mutex_);
    const auto found =
        std::ranges::find(kept_, place.first, [](const auto& each) { return each->first; });
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return kept_.front();
    }
  }
  Result<std::shared_ptr<const Piece>> piece = decode(place);
  if (!piece) return piece;
  const std::scoped_lock lock(mutex_);
  kept_.push_front(*piece);
  std::size_t kept = 0;
  const auto full = std::ranges::find_if(kept_, [&kept](const auto& each) {
    kept += each->events.size();
    return kept > kMostKept;
  });
  kept_.erase(full, kept_.end());
  return piece;
}

}  // namespace syndrome::explore
