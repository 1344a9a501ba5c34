#include "trace/capture_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace syndrome::trace {
namespace {

Result<int> open_file(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Error{fmt::format("cannot open: {}", std::strerror(errno))};
  return fd;
}

Status read_at(int fd, std::uint64_t offset, std::span<std::byte> to) {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t n =
        ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return Error{fmt::format("byte {}: cannot read: {}", offset + done, std::strerror(errno))};
    }
    if (n == 0) {
      return Error{
          fmt::format("byte {}: the file has become shorter while it was read", offset + done)};
    }
    done += static_cast<std::size_t>(n);
  }
  return {};
}

class IndexBuilder {
 public:
  explicit IndexBuilder(CaptureIndex& index) : index_(index) {}

  void add_words(const Chunk& chunk) {
    const ChunkHeader& header = chunk.header;
    if (last_ >= index_.threads.size() || index_.threads[last_].number != header.space) {
      const auto at = std::lower_bound(
          index_.threads.begin(), index_.threads.end(), header.space,
          [](const CaptureIndex::Thread& t, std::uint32_t number) { return t.number < number; });
      last_ = static_cast<std::size_t>(at - index_.threads.begin());
      if (at == index_.threads.end() || at->number != header.space) {
        index_.threads.insert(at, CaptureIndex::Thread{header.space, {}});
      }
    }
    WordsAt words{.offset = chunk.offset + kChunkHeaderBytes,
                  .checksum = header.payload_checksum,
                  .first = header.first,
                  .stored = header.stored,
                  .raw = header.raw,
                  .count = header.count,
                  .chunk = static_cast<std::uint32_t>(chunk.chunks + 1)};
    index_.threads[last_].chunks.push_back(words);
    index_.words += header.count;
  }

 private:
  CaptureIndex& index_;
  std::size_t last_ = 0;
};

/// The words that were lost, if any, and what to tell about them.
void check_order(CaptureIndex& index) {
  for (CaptureIndex::Thread& thread : index.threads) {
    std::stable_sort(thread.chunks.begin(), thread.chunks.end(),
                     [](const WordsAt& a, const WordsAt& b) { return a.first < b.first; });
    std::uint64_t next = 0;
    std::uint64_t missing = 0;
    std::vector<WordsAt> kept;
    for (const WordsAt& at : thread.chunks) {
      if (at.first < next) continue;  // these words are there already
      missing += at.first - next;
      next = at.first + at.count;
      kept.push_back(at);
    }
    if (missing != 0) {
      index.warnings.push_back(
          fmt::format("thread {}: {} of its {} words are missing in the recording", thread.number,
                      missing, next));
    }
    if (kept.size() != thread.chunks.size()) {
      index.warnings.push_back(fmt::format("thread {}: {} chunks that overlap were passed over",
                                           thread.number, thread.chunks.size() - kept.size()));
      thread.chunks = std::move(kept);
    }
  }
}

}  // namespace

Result<CaptureIndex> read_capture_index(const std::string& path) {
  auto reader = ChunkReader::open(path);
  if (!reader) return reader.error();
  auto fd = open_file(path);
  if (!fd) return fd.error();
  struct Close {
    int fd;
    ~Close() { ::close(fd); }
  } const close{*fd};

  CaptureIndex index;
  IndexBuilder builder(index);
  SectionReader sections;
  Chunk chunk;
  std::vector<std::byte> room;
  for (;;) {
    const auto outcome = reader->skip(chunk);
    if (!outcome) return outcome.error();
    if (*outcome == ChunkReader::Outcome::kEnd) {
      index.complete = true;
      break;
    }
    if (*outcome == ChunkReader::Outcome::kCut) {
      index.warnings.push_back(fmt::format(
          "the recording ends {} at byte {}: the program or its recorder was killed, the disk was "
          "full, or it is still going on; what was recorded before is read",
          reader->position() == chunk.offset ? "behind a chunk" : "in the middle of a chunk",
          reader->position()));
      break;
    }
    const ChunkHeader& header = chunk.header;
    if (header.type == kWordsChunk) {
      builder.add_words(chunk);
      continue;
    }
    if (header.type == kEventsChunk || header.type == kNamesChunk) {
      return damage(chunk, chunk.offset, "events in a recording of words");
    }
    chunk.payload.resize(std::max<std::size_t>(chunk.payload.size(), header.stored));
    const auto payload = std::span(chunk.payload).first(header.stored);
    if (Status status = read_at(*fd, chunk.offset + kChunkHeaderBytes, payload); !status) {
      return status.error();
    }
    if (Status status = verify(chunk); !status) return status.error();
    if (header.type != kMetaChunk) continue;
    room.resize(header.raw);
    Bytes rest = payload;
    const std::byte* const bytes = sections.next(rest, header.raw, room.data());
    if (bytes == nullptr || !rest.empty()) {
      return damage(chunk, chunk.offset + kChunkHeaderBytes, "metadata that cannot be unpacked");
    }
    index.meta.insert(index.meta.end(), bytes, bytes + header.raw);
  }
  index.bytes = reader->file_bytes();
  index.chunks = chunk.chunks;
  check_order(index);
  return index;
}

Result<WordLoader> WordLoader::open(const std::string& path) {
  auto fd = open_file(path);
  if (!fd) return fd.error();
  return WordLoader(*fd);
}

WordLoader::WordLoader(WordLoader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      decoder_(std::move(other.decoder_)),
      sections_(std::move(other.sections_)) {}

WordLoader::~WordLoader() {
  if (fd_ >= 0) ::close(fd_);
}

Status WordLoader::load(const WordsAt& at, std::vector<std::uint64_t>& words) {
  payload_.resize(at.stored);
  if (Status status = read_at(fd_, at.offset, payload_); !status) return status;
  if (trace::checksum(payload_) != at.checksum) {
    return Error{
        fmt::format("byte {}: the {} bytes of chunk {} are damaged: their checksum does not match",
                    at.offset, at.stored, at.chunk)};
  }
  if (at.raw > std::uint64_t{at.count} * kMaxWordCode) {
    return Error{fmt::format("byte {}: {} words from {} bytes: expected at most {} a word",
                             at.offset, at.count, at.raw, kMaxWordCode)};
  }
  room_.resize(at.raw);
  Bytes rest = payload_;
  const std::byte* const codes = sections_.next(rest, at.raw, room_.data());
  if (codes == nullptr || !rest.empty()) {
    return Error{fmt::format("byte {}: words that cannot be unpacked", at.offset)};
  }
  const std::size_t before = words.size();
  words.resize(before + at.count);
  if (auto fault = decoder_->decode({codes, at.raw}, std::span(words).subspan(before))) {
    return Error{fmt::format("byte {}: {}", at.offset, *fault)};
  }
  return {};
}

}  // namespace syndrome::trace
