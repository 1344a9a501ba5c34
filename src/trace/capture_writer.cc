#include "trace/capture_writer.h"

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

// Metadata is kept in memory by the reader; a chunk of this size is nothing to it.
constexpr std::size_t kMetaStep = 1u << 20;

/// Completes a chunk that has its payload behind room for the header.
void seal(ChunkHeader header, std::span<std::byte> chunk) {
  const Bytes payload = chunk.subspan(kChunkHeaderBytes);
  header.stored = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = checksum(payload);
  const auto bytes = make_chunk_header(header);
  std::copy(bytes.begin(), bytes.end(), chunk.begin());
}

}  // namespace

Result<CaptureWriter> CaptureWriter::create(const std::string& path, int level) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Error{fmt::format("cannot create: {}", std::strerror(errno))};
  return adopt(fd, level);
}

Result<CaptureWriter> CaptureWriter::adopt(int fd, int level) {
  CaptureWriter writer(fd, level);
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::ftruncate(fd, 0) != 0) {
    return Error{fmt::format("cannot empty: {}", std::strerror(errno))};
  }
  if (Status status = writer.write_all(make_file_header()); !status) return status.error();
  return writer;
}

CaptureWriter::CaptureWriter(CaptureWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      closed_(other.closed_),
      failure_(std::move(other.failure_)),
      bytes_(other.bytes_),
      chunks_(other.chunks_),
      meta_bytes_(other.meta_bytes_),
      sections_(std::move(other.sections_)),
      chunk_(std::move(other.chunk_)) {}

CaptureWriter& CaptureWriter::operator=(CaptureWriter&& other) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = std::exchange(other.fd_, -1);
  closed_ = other.closed_;
  failure_ = std::move(other.failure_);
  bytes_ = other.bytes_;
  chunks_ = other.chunks_;
  meta_bytes_ = other.meta_bytes_;
  sections_ = std::move(other.sections_);
  chunk_ = std::move(other.chunk_);
  return *this;
}

CaptureWriter::~CaptureWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Status CaptureWriter::fail_writing(int error) {
  // Half a chunk would read as a cut; without it the file ends where it is good.
  struct stat info{};
  if (::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) {
    static_cast<void>(::ftruncate(fd_, static_cast<off_t>(bytes_)));
  }
  failure_ = Error{fmt::format("byte {}: cannot write: {}; what was recorded before is kept",
                               bytes_, std::strerror(error))};
  return *failure_;
}

Status CaptureWriter::write_all(Bytes bytes) {
  for (Bytes rest = bytes; !rest.empty();) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_writing(n < 0 ? errno : ENOSPC);
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  bytes_ += bytes.size();
  return {};
}

void CaptureWriter::start_chunk() {
  chunk_.resize(kChunkHeaderBytes);
}

Status CaptureWriter::finish_chunk(ChunkHeader header, std::span<std::byte> chunk) {
  seal(header, chunk);
  return packed(chunk);
}

Status CaptureWriter::packed(Bytes chunk) {
  if (closed_) return Error{"cannot write words: the recording is closed"};
  if (failure_) return *failure_;
  if (Status status = write_all(chunk); !status) return status;
  ++chunks_;
  return {};
}

Bytes WordPacker::pack(std::uint32_t thread, std::uint64_t first,
                       std::span<const std::uint64_t> words) {
  // A section as SectionWriter::add_uncompressed makes it, but where the codes are already. zstd
  // would make a third to a half of them, in a third of the time that encoding took at best and
  // in three times as much at worst (docs/performance.md): not beside a program that runs.
  constexpr std::size_t kFront = kChunkHeaderBytes + 4;
  const std::span<std::byte> chunk = encoder_.encode(words, kFront);
  const std::size_t codes = chunk.size() - kFront;
  store(chunk.data() + kChunkHeaderBytes, 4, codes);
  ChunkHeader header{.type = kWordsChunk, .space = thread};
  header.layout = kWordsLayout;
  header.raw = static_cast<std::uint32_t>(codes);
  header.count = static_cast<std::uint32_t>(words.size());
  header.first = first;
  seal(header, chunk);
  return chunk;
}

Status CaptureWriter::words(std::uint32_t thread, std::uint64_t first,
                            std::span<const std::uint64_t> words) {
  while (!words.empty()) {
    const auto some = words.first(std::min<std::size_t>(words.size(), kMaxChunkWords));
    if (Status status = packed(packer_.pack(thread, first, some)); !status) return status;
    first += some.size();
    words = words.subspan(some.size());
  }
  return {};
}

Status CaptureWriter::meta(std::span<const std::byte> bytes) {
  if (closed_) return Error{"cannot write metadata: the recording is closed"};
  while (!bytes.empty()) {
    if (failure_) return *failure_;
    const auto some = bytes.first(std::min(bytes.size(), kMetaStep));
    ChunkHeader header{.type = kMetaChunk};
    header.raw = static_cast<std::uint32_t>(some.size());
    header.count = header.raw;
    header.first = meta_bytes_;
    start_chunk();
    sections_.add(some, chunk_);
    if (unpacks_too_far(some.size(), chunk_.size() - kChunkHeaderBytes)) {
      start_chunk();
      sections_.add_uncompressed(some, chunk_);
    }
    if (Status status = finish_chunk(header, chunk_); !status) return status;
    meta_bytes_ += some.size();
    bytes = bytes.subspan(some.size());
  }
  return {};
}

Status CaptureWriter::close() {
  if (failure_) return *failure_;
  if (closed_) return {};
  SynTotals totals;
  totals.chunks = chunks_;
  const Names empty;
  for (std::size_t i = 0; i < kSpaceCount; ++i) {
    totals.names[i] = empty.table(static_cast<Space>(i)).size();
  }
  const std::vector<std::byte> payload = encode_totals(totals);
  ChunkHeader header{.type = kEndChunk};
  header.raw = static_cast<std::uint32_t>(payload.size());
  start_chunk();
  chunk_.insert(chunk_.end(), payload.begin(), payload.end());
  if (Status status = finish_chunk(header, chunk_); !status) return status;
  closed_ = true;
  if (::close(std::exchange(fd_, -1)) != 0) {
    failure_ = Error{fmt::format("cannot close: {}", std::strerror(errno))};
    return *failure_;
  }
  return {};
}

}  // namespace syndrome::trace
