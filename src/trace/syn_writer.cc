#include "trace/syn_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "trace/output_file.h"
#include "trace/syn_events.h"
#include "trace/syn_format.h"
#include "trace/syn_names.h"
#include "trace/syn_sections.h"

namespace syndrome::trace {
namespace {

// Names go out in chunks of about this many bytes, so that reading them overlaps with the rest.
constexpr std::size_t kNameChunkBytes = 1u << 20;

class SynWriter final : public Sink {
 public:
  SynWriter(int fd, bool owns_fd, const SynWriteOptions& options)
      : fd_(fd),
        owns_fd_(owns_fd),
        chunk_events_(std::clamp(options.chunk_events, 1u, kMaxChunkEvents)),
        sections_(options.level),
        encoder_(options.level) {
    const Names empty;
    for (std::size_t i = 0; i < kSpaceCount; ++i) {
      known_[i] = written_[i] = empty.table(static_cast<Space>(i)).size();
    }
    pending_.reserve(chunk_events_);
  }

  ~SynWriter() override {
    if (!closed_ && !failure_) static_cast<void>(flush());
    if (owns_fd_ && fd_ >= 0) ::close(fd_);
  }

  /// The bytes before the first chunk.
  [[nodiscard]] Status begin() { return write_all(make_file_header()); }

  [[nodiscard]] Status append(std::span<const Event> events, const Names& names) override {
    if (closed_) return Error{"cannot append: the trace is closed"};
    if (failure_) return *failure_;
    if (Status status = take_names(names); !status) return status;
    if (const auto bad = first_fault(events, known_)) {
      return fail(fmt::format("event {}: {}", totals_.events + pending_.size() + *bad + 1,
                              fault_of(events[*bad], known_).value_or("it is not valid")));
    }
    while (!events.empty()) {
      const std::size_t room = chunk_events_ - pending_.size();
      const auto some = events.first(std::min(room, events.size()));
      pending_.insert(pending_.end(), some.begin(), some.end());
      events = events.subspan(some.size());
      if (pending_.size() == chunk_events_) {
        if (Status status = flush(); !status) return status;
      }
    }
    return {};
  }

  [[nodiscard]] Status flush() override {
    for (std::size_t i = 0; i < kSpaceCount; ++i) {
      if (Status status = flush_names(i); !status) return status;
    }
    if (pending_.empty()) return {};
    ChunkHeader header{.type = kEventsChunk};
    header.first = totals_.events + 1;
    start_chunk();
    encoder_.encode(pending_, chunk_, header);
    if (Status status = finish_chunk(header); !status) return status;
    count_pending();
    pending_.clear();
    return {};
  }

  [[nodiscard]] Status close() override {
    if (failure_) return *failure_;
    if (closed_) return {};
    if (Status status = flush(); !status) return status;
    totals_.names = written_;
    const std::vector<std::byte> payload = encode_totals(totals_);
    ChunkHeader header{.type = kEndChunk};
    header.raw = static_cast<std::uint32_t>(payload.size());
    start_chunk();
    chunk_.insert(chunk_.end(), payload.begin(), payload.end());
    if (Status status = finish_chunk(header); !status) return status;
    closed_ = true;
    if (owns_fd_ && ::close(std::exchange(fd_, -1)) != 0) return fail_writing(errno);
    return {};
  }

 private:
  [[nodiscard]] Status fail(std::string message) {
    failure_ = Error{std::move(message)};
    return *failure_;
  }

  [[nodiscard]] Status fail_writing(int error) {
    // Half a chunk would read as a cut; without it the file ends where it is good.
    struct stat info{};
    if (fd_ >= 0 && ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) {
      static_cast<void>(::ftruncate(fd_, static_cast<off_t>(bytes_)));
    }
    return fail(fmt::format("byte {}: cannot write: {}; the {} events before it are kept", bytes_,
                            std::strerror(error), totals_.events));
  }

  [[nodiscard]] Status write_all(Bytes bytes) {
    for (Bytes rest = bytes; !rest.empty();) {
      const ssize_t n = ::write(fd_, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail_writing(n < 0 ? errno : ENOSPC);
      rest = rest.subspan(static_cast<std::size_t>(n));
    }
    bytes_ += bytes.size();
    return {};
  }

  /// The payload goes behind the room for the header, so that both are written in one call.
  void start_chunk() { chunk_.assign(kChunkHeaderBytes, std::byte{0}); }

  [[nodiscard]] Status finish_chunk(ChunkHeader& header) {
    const Bytes payload = Bytes(chunk_).subspan(kChunkHeaderBytes);
    header.stored = static_cast<std::uint32_t>(payload.size());
    header.payload_checksum = checksum(payload);
    const auto bytes = make_chunk_header(header);
    std::copy(bytes.begin(), bytes.end(), chunk_.begin());
    if (Status status = write_all(chunk_); !status) return status;
    ++totals_.chunks;
    return {};
  }

  [[nodiscard]] Status take_names(const Names& names) {
    for (std::size_t i = 0; i < kSpaceCount; ++i) {
      const StringTable& table = names.table(static_cast<Space>(i));
      for (; known_[i] < table.size(); ++known_[i]) {
        const std::string_view name = table[known_[i]];
        if (name.size() > kMaxNameBytes) {
          return fail(fmt::format("a name of {} bytes: a .syn trace takes at most {}", name.size(),
                                  kMaxNameBytes));
        }
        if (names_[i].count() == kMaxChunkNames || names_[i].bytes() >= kNameChunkBytes) {
          if (Status status = flush_names(i); !status) return status;
        }
        names_[i].add(name);
      }
    }
    return {};
  }

  [[nodiscard]] Status flush_names(std::size_t space) {
    if (names_[space].count() == 0) return {};
    ChunkHeader header{.type = kNamesChunk, .space = static_cast<std::uint32_t>(space)};
    header.first = written_[space];
    start_chunk();
    names_[space].encode(sections_, chunk_, header);
    if (Status status = finish_chunk(header); !status) return status;
    written_[space] += header.count;
    return {};
  }

  void count_pending() {
    totals_.events += pending_.size();
    for (const Event& event : pending_) {
      ++totals_.kinds[static_cast<std::size_t>(event.kind)];
      if (event.kind != EventKind::kBegin && event.kind != EventKind::kEnd) continue;
      if (event.thread.index() >= depth_.size()) depth_.resize(event.thread.index() + 1);
      std::uint32_t& depth = depth_[event.thread.index()];
      if (event.kind == EventKind::kBegin) {
        totals_.blocks += depth++ == 0 ? 1 : 0;
      } else if (depth > 0) {
        --depth;
      }
    }
  }

  int fd_;
  bool owns_fd_;
  bool closed_ = false;
  std::optional<Error> failure_;
  std::uint32_t chunk_events_;
  std::uint64_t bytes_ = 0;  // written, whole chunks only

  SectionWriter sections_;
  EventEncoder encoder_;
  std::vector<Event> pending_;  // fewer than a chunk
  std::array<NameEncoder, kSpaceCount> names_;
  NameCounts known_{};    // ids that `append` has seen the names of
  NameCounts written_{};  // ids whose names are in the file
  std::vector<std::byte> chunk_;
  SynTotals totals_;
  std::vector<std::uint32_t> depth_;  // of blocks, by thread
};

}  // namespace

Result<std::unique_ptr<Sink>> write_syn(const std::string& path, SynWriteOptions options) {
  const bool to_stdout = path == "-";
  int fd = STDOUT_FILENO;
  if (!to_stdout) {
    if (Status planted = refuse_planted(path); !planted) return planted.error();
    do {
      fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return Error{fmt::format("cannot create: {}", std::strerror(errno))};
  }
  auto writer = std::make_unique<SynWriter>(fd, !to_stdout, options);
  if (Status status = writer->begin(); !status) return status.error();
  return std::unique_ptr<Sink>(std::move(writer));
}

Result<std::unique_ptr<Sink>> write_syn(Fd file, SynWriteOptions options) {
  auto writer = std::make_unique<SynWriter>(file.release(), true, options);
  if (Status status = writer->begin(); !status) return status.error();
  return std::unique_ptr<Sink>(std::move(writer));
}

}  // namespace syndrome::trace
