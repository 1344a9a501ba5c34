#include "explore/index_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "trace/bytes_raw.h"
#include "trace/output_file.h"

namespace syndrome::explore {
namespace {

constexpr std::string_view kSignature = "\x89SYNIDX\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 40;

Error cannot(const char* what) {
  return Error{fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

using Packed = std::vector<std::byte>;

class Writer {
 public:
  void number(std::uint64_t value) { trace::add_varint(value, bytes_); }
  void text(std::string_view value) {
    number(value.size());
    const auto bytes = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void identity(const Identity& identity) {
    number(identity.bytes);
    number(identity.seconds);
    number(identity.nanoseconds);
    number(identity.content);
  }
  [[nodiscard]] const Packed& bytes() const { return bytes_; }

 private:
  Packed bytes_;
};

/// Takes numbers off the front. After the first thing that cannot be, all of them are 0, and ok()
/// says so.
class Reader {
 public:
  explicit Reader(trace::Bytes bytes) : rest_(bytes) {}

  /// At most `most`.
  std::uint64_t number(std::uint64_t most = UINT64_MAX) {
    const std::optional<std::uint64_t> value = ok_ ? trace::take_varint(rest_) : std::nullopt;
    if (!value || *value > most) return fail();
    return *value;
  }
  std::uint32_t small(std::uint64_t most = UINT32_MAX) {
    return static_cast<std::uint32_t>(number(most));
  }
  /// How many of something follow, each of at least `bytes` bytes: so many as there is room for.
  std::size_t many(std::size_t bytes) { return number(rest_.size() / bytes); }
  std::string text() {
    const std::size_t size = many(1);
    const auto* begin = reinterpret_cast<const char*>(rest_.data());
    std::string value(begin, size);
    rest_ = rest_.subspan(size);
    return value;
  }
  Identity identity() {
    Identity value;
    value.bytes = number();
    value.seconds = number();
    value.nanoseconds = number();
    value.content = number();
    return value;
  }
  std::uint64_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  void require(bool condition) {
    if (!condition) fail();
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  trace::Bytes rest_;
  bool ok_ = true;
};

void write_level(const Level& level, Writer& out) {
  out.number(static_cast<std::uint64_t>(std::countr_zero(level.width)));
  out.number(level.size());
  for (std::size_t i = 0; i < level.size(); ++i) {
    const std::span<const Count> bucket = level.bucket(i);
    out.number(bucket.size());
    std::uint32_t key = 0;
    for (const Count& each : bucket) {
      out.number(each.key - key);
      out.number(each.count);
      key = each.key;
    }
  }
}

/// Holds the counts to what must be true of them: each bucket's events are as many as it has.
void read_level(Reader& in, std::uint64_t events, std::uint64_t threads, Level& level) {
  level.width = std::uint64_t{1} << in.number(31);
  const std::size_t buckets = in.many(1);
  in.require(buckets == (events + level.width - 1) / level.width);
  for (std::size_t i = 0; i < buckets && in.ok(); ++i) {
    const std::size_t size = in.many(2);
    std::uint64_t key = 0;
    std::uint64_t total = 0;
    for (std::size_t k = 0; k < size && in.ok(); ++k) {
      const std::uint64_t gap = in.number(UINT32_MAX);
      key += gap;
      const std::uint32_t count = in.small(level.width);
      in.require(count > 0 && (gap > 0 || k == 0) && key < threads * kKeysPerThread);
      const std::uint32_t fact = fact_of(static_cast<std::uint32_t>(key));
      in.require(fact < kFactCount);
      if (fact < kEventKindCount) total += count;
      level.counts.push_back({static_cast<std::uint32_t>(key), count});
    }
    in.require(total == std::min(level.width, events - i * level.width));
    level.ends.push_back(level.counts.size());
  }
}

void write_checkpoints(const Index& index, Writer& out) {
  out.number(static_cast<std::uint64_t>(std::countr_zero(index.stride)));
  out.number(index.checkpoints.size());
  for (std::size_t i = 0; i < index.checkpoints.size(); ++i) {
    const Checkpoint& point = index.checkpoints[i];
    const EventNumber before = i * index.stride + 1;
    out.number(point.blocks.size());
    for (const OpenBlock& block : point.blocks) {
      out.number(block.thread.value);
      out.number(block.depth);
      out.number(before - block.begin);
      out.number(block.label.value);
    }
    out.number(point.waits.size());
    for (const Wait& wait : point.waits) {
      out.number(wait.thread.value);
      out.number(wait.lock.value);
      out.number(before - wait.after);
      out.number(wait.until - before);
    }
  }
}

void read_checkpoints(Reader& in, Index& index) {
  index.stride = std::uint64_t{1} << in.number(62);
  const std::size_t points = in.many(2);
  in.require(points == (index.events == 0 ? 1 : (index.events - 1) / index.stride + 1));
  const auto thread = [&] {
    const std::uint32_t id = in.small();
    in.require(id < index.threads);
    return ThreadId(id);
  };
  for (std::size_t i = 0; i < points && in.ok(); ++i) {
    Checkpoint& point = index.checkpoints.emplace_back();
    const EventNumber before = i * index.stride + 1;
    const std::size_t blocks = in.many(4);
    for (std::size_t k = 0; k < blocks && in.ok(); ++k) {
      OpenBlock& block = point.blocks.emplace_back();
      block.thread = thread();
      block.depth = in.small();
      const std::uint64_t back = in.number(before - 1);
      block.begin = before - back;
      block.label = LabelId(in.small());
      in.require(back > 0 && block.depth > 0);
    }
    const std::size_t waits = in.many(4);
    in.require(waits == 0 || before <= index.events);
    for (std::size_t k = 0; k < waits && in.ok(); ++k) {
      Wait& wait = point.waits.emplace_back();
      wait.thread = thread();
      wait.lock = LockId(in.small());
      const std::uint64_t back = in.number(before - 1);
      wait.after = before - back;
      wait.until = before + in.number(index.events - before);
      in.require(back > 0);
    }
  }
}

void write_chunks(const Index& index, Writer& out) {
  out.number(index.chunks.size());
  std::uint64_t offset = 0;
  for (const ChunkPlace& chunk : index.chunks) {
    out.number(chunk.names ? 1U + chunk.space : 0U);
    out.number(chunk.count);
    out.number(chunk.offset - offset);
    offset = chunk.offset;
  }
}

void read_chunks(Reader& in, Index& index) {
  const std::size_t chunks = in.many(3);
  EventNumber next = 1;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < chunks && in.ok(); ++i) {
    ChunkPlace& chunk = index.chunks.emplace_back();
    const std::uint32_t kind = in.small(kSpaceCount);
    chunk.names = kind > 0;
    chunk.space = static_cast<std::uint8_t>(kind > 0 ? kind - 1 : 0);
    chunk.count = in.small(chunk.names ? trace::kMaxChunkNames : trace::kMaxChunkEvents);
    offset += in.number(std::uint64_t{1} << 62U);
    chunk.offset = offset;
    in.require(chunk.count > 0 && offset < std::uint64_t{1} << 62U);
    if (chunk.names) continue;
    chunk.first = next;
    next += chunk.count;
  }
  in.require(next == index.events + 1);
}

void write_sketches(const Index& index, Writer& out) {
  out.number(index.sketches.size());
  for (const Sketch& sketch : index.sketches) {
    std::string text(sizeof sketch.bits, '\0');
    std::memcpy(text.data(), sketch.bits.data(), text.size());
    out.text(text);
  }
}

void read_sketches(Reader& in, Index& index) {
  const std::size_t sketches = in.many(sizeof(Sketch));
  in.require(sketches == (index.events + kSketchEvents - 1) / kSketchEvents);
  for (std::size_t i = 0; i < sketches && in.ok(); ++i) {
    const std::string text = in.text();
    Sketch& sketch = index.sketches.emplace_back();
    in.require(text.size() == sizeof sketch.bits);
    if (in.ok()) std::memcpy(sketch.bits.data(), text.data(), text.size());
  }
}

Result<std::string> read_whole(const std::string& path, const std::string& trace) {
  const trace::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat info{};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return cannot("open");
  if (!S_ISREG(info.st_mode)) return Error{"not a regular file"};
  struct stat of{};
  if (::stat(trace.c_str(), &of) != 0) return cannot("look at the trace");
  const bool ours = info.st_uid == ::geteuid() || info.st_uid == of.st_uid || info.st_uid == 0;
  if (!ours || (info.st_mode & S_IWOTH) != 0) return Error{"may be anybody's"};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > kMostIndexBytes) return Error{"larger than any index"};
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(fd.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return cannot("read");
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

Result<Identity> identity_of(const std::string& path) {
  const trace::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return cannot("open");
  if (!S_ISREG(info.st_mode))
    return Error{"expected a regular file: only that can be read from anywhere"};
  Identity identity;
  identity.bytes = static_cast<std::uint64_t>(info.st_size);
  identity.seconds = static_cast<std::uint64_t>(info.st_mtim.tv_sec);
  identity.nanoseconds = static_cast<std::uint64_t>(info.st_mtim.tv_nsec);
  constexpr std::size_t kPart = 65536;
  std::string part(kPart, '\0');
  const auto hash_at = [&](std::uint64_t offset) {
    const ssize_t got = ::pread(fd.get(), part.data(), part.size(), static_cast<off_t>(offset));
    return XXH3_64bits_withSeed(part.data(), got < 0 ? 0 : static_cast<std::size_t>(got),
                                identity.content);
  };
  identity.content = hash_at(0);
  identity.content = hash_at(identity.bytes > kPart ? identity.bytes - kPart : 0);
  return identity;
}

std::vector<std::byte> pack(const IndexFile& file) {
  Writer out;
  out.identity(file.trace);
  out.number(file.has_copy ? 1 : 0);
  out.identity(file.copy);
  const Index& index = file.index;
  out.number(index.events);
  out.number(index.threads);
  out.text(index.format);
  out.number(index.warnings.size());
  for (const std::string& warning : index.warnings) out.text(warning);
  write_level(index.base, out);
  write_checkpoints(index, out);
  write_chunks(index, out);
  write_sketches(index, out);
  return out.bytes();
}

std::string encode(const IndexFile& file) {
  const Packed raw = pack(file);
  std::string bytes(kHeaderBytes + ZSTD_compressBound(raw.size()), '\0');
  const std::size_t stored = ZSTD_compress(bytes.data() + kHeaderBytes, bytes.size() - kHeaderBytes,
                                           raw.data(), raw.size(), 1);
  bytes.resize(kHeaderBytes + stored);
  auto* const head = reinterpret_cast<std::byte*>(bytes.data());
  std::memcpy(head, kSignature.data(), kSignature.size());
  trace::store(head + 8, 4, kVersion);
  trace::store(head + 16, 8, raw.size());
  trace::store(head + 24, 8, stored);
  trace::store(head + 32, 8,
               XXH3_64bits_withSeed(head + kHeaderBytes, stored, XXH3_64bits(head, 32)));
  return bytes;
}

Result<IndexFile> decode(std::string_view bytes) {
  const auto* const head = reinterpret_cast<const std::byte*>(bytes.data());
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kSignature)) return Error{"not an index"};
  if (trace::load(head + 8, 4) != kVersion) return Error{"an index of another version"};
  const std::uint64_t raw = trace::load(head + 16, 8);
  const std::uint64_t stored = trace::load(head + 24, 8);
  if (raw > kMostIndexBytes || stored != bytes.size() - kHeaderBytes ||
      trace::load(head + 32, 8) !=
          XXH3_64bits_withSeed(head + kHeaderBytes, stored, XXH3_64bits(head, 32))) {
    return Error{"a damaged index"};
  }
  Packed unpacked;
  // So that a small file cannot take much memory: zstd's own limit is about 1 to 25,000.
  if (raw > 4096 * (stored + 1)) return Error{"a damaged index"};
  unpacked.resize(raw);
  if (ZSTD_decompress(unpacked.data(), raw, head + kHeaderBytes, stored) != raw) {
    return Error{"a damaged index"};
  }
  return unpack(unpacked);
}

Result<IndexFile> unpack(std::span<const std::byte> row) {
  Reader in(row);
  IndexFile file;
  file.trace = in.identity();
  file.has_copy = in.number(1) == 1;
  file.copy = in.identity();
  Index& index = file.index;
  index.events = in.number(std::uint64_t{1} << 53U);
  index.threads = in.number(kMostThreads);
  index.format = in.text();
  const std::size_t warnings = in.many(1);
  for (std::size_t i = 0; i < warnings && in.ok(); ++i) index.warnings.push_back(in.text());
  read_level(in, index.events, index.threads, index.base);
  read_checkpoints(in, index);
  read_chunks(in, index);
  read_sketches(in, index);
  if (!in.ok() || !in.at_end()) return Error{"a damaged index"};
  return file;
}

std::string index_beside(const std::string& trace) {
  return trace + ".idx";
}

std::string index_in_cache(const std::string& trace) {
  namespace fs = std::filesystem;
  fs::path folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    folder = cache;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    folder = fs::path(home) / ".cache";
  } else {
    return {};
  }
  folder /= "syndrome";
  std::error_code error;
  const std::string whole = fs::canonical(trace, error).string();
  if (error) return {};
  fs::create_directories(folder.parent_path(), error);
  if (error || (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)) return {};
  return (folder / fmt::format("{}-{:016x}.idx", fs::path(whole).filename().string(),
                               XXH3_64bits(whole.data(), whole.size())))
      .string();
}

std::string copy_of(const std::string& index_path) {
  return index_path + ".syn";
}

mode_t mode_like(const std::string& trace) {
  struct stat info{};
  return ::stat(trace.c_str(), &info) == 0 ? (info.st_mode & 0666U) | S_IRUSR | S_IWUSR : 0600;
}

Result<IndexFile> load(const std::string& path, const std::string& trace) {
  const Result<std::string> bytes = read_whole(path, trace);
  if (!bytes) return bytes.error();
  return decode(*bytes);
}

Status save(const IndexFile& file, const std::string& path, const std::string& trace) {
  Result<std::unique_ptr<trace::OutputFile>> out =
      trace::OutputFile::create(path, trace::Links::kReplace, mode_like(trace));
  if (!out) return out.error();
  if (const Status status = (*out)->write(encode(file)); !status) return status;
  return (*out)->commit();
}

}  // namespace syndrome::explore
