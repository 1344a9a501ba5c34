#include "trace/bytes.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "trace/bytes_raw.h"

namespace syndrome::trace {
namespace {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

// Compressed bytes at a time; more than the 64 KiB that a pipe of Linux holds.
constexpr std::size_t kReadSize = 256 * 1024;

// 128 MiB, zstd's own default: what a frame may make us allocate.
constexpr int kZstdWindowLogMax = 27;

Compression compression_of(std::span<const char> head) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  if (head.size() >= 2 && byte(0) == 0x1f && byte(1) == 0x8b) return Compression::kGzip;
  if (head.size() < 4) return Compression::kNone;
  const bool frame = byte(0) == 0x28 && byte(1) == 0xb5 && byte(2) == 0x2f && byte(3) == 0xfd;
  const bool skippable =
      (byte(0) & 0xf0) == 0x50 && byte(1) == 0x2a && byte(2) == 0x4d && byte(3) == 0x18;
  return frame || skippable ? Compression::kZstd : Compression::kNone;
}

class PlainBytes : public ByteSource {
 public:
  PlainBytes(RawFile& file, std::stop_token stop) : file_(file), stop_(std::move(stop)) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    Result<std::size_t> count = file_.read_at(offset_, buffer, stop_);
    if (count) offset_ += *count;
    return count;
  }
  Progress progress() const override { return {offset_, file_.size()}; }

 private:
  RawFile& file_;
  std::stop_token stop_;
  std::uint64_t offset_ = 0;
};

/// What gzip and zstd share: an input buffer over the stored bytes.
class CompressedBytes : public ByteSource {
 public:
  CompressedBytes(RawFile& file, std::stop_token stop)
      : raw_(file, std::move(stop)), input_(kReadSize) {}

  Progress progress() const override { return raw_.progress(); }

 protected:
  /// Makes unread() not empty, unless the file is at its end.
  Status refill() {
    if (begin_ < end_) return {};
    const Result<std::size_t> count = raw_.read(input_);
    if (!count) return count.error();
    begin_ = 0;
    end_ = *count;
    return {};
  }
  [[nodiscard]] std::span<char> unread() {
    return std::span(input_).subspan(begin_, end_ - begin_);
  }
  void consume(std::size_t count) { begin_ += count; }
  /// Offset of the first unread byte in the file as stored.
  [[nodiscard]] std::uint64_t offset() const { return raw_.progress().done - (end_ - begin_); }

  [[nodiscard]] Error damaged(const char* kind, const char* why) const {
    return Error{fmt::format("byte {}: the {} data is damaged ({})", offset(), kind, why)};
  }
  [[nodiscard]] Error cut_off(const char* kind) const {
    return Error{
        fmt::format("byte {}: the file ends in the middle of its {} data", offset(), kind)};
  }

 private:
  PlainBytes raw_;
  std::vector<char> input_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class GzipBytes : public CompressedBytes {
 public:
  GzipBytes(RawFile& file, std::stop_token stop) : CompressedBytes(file, std::move(stop)) {
    constexpr int kGzipOnly = 16;
    ready_ = ::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK;
  }
  ~GzipBytes() override { ::inflateEnd(&stream_); }

  Result<std::size_t> read(std::span<char> buffer) override {
    if (!ready_) return Error{"not enough memory to decompress gzip data"};
    while (true) {
      if (const Status status = refill(); !status.ok()) return status.error();
      if (unread().empty()) {
        if (in_member_) return cut_off("gzip");
        return std::size_t{0};
      }
      if (!in_member_ && !start_member()) {
        return damaged("gzip", "more bytes follow its end");
      }
      if (!in_member_) continue;
      const std::size_t count = inflate_into(buffer);
      if (!failure_.empty()) return damaged("gzip", failure_.c_str());
      if (count > 0) return count;
    }
  }

 private:
  /// A file may be several gzip members end to end, then zeros (as tapes have them).
  [[nodiscard]] bool start_member() {
    const auto first = static_cast<unsigned char>(unread()[0]);
    if (members_ > 0 && first == 0) {
      padding_ = true;
      consume(1);
      return true;
    }
    if (padding_ || (members_ > 0 && first != 0x1f)) return false;
    ::inflateReset(&stream_);
    in_member_ = true;
    return true;
  }

  std::size_t inflate_into(std::span<char> buffer) {
    const std::span<char> input = unread();
    stream_.next_in = reinterpret_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(buffer.size());
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    consume(input.size() - stream_.avail_in);
    if (code == Z_STREAM_END) {
      in_member_ = false;
      ++members_;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      failure_ = stream_.msg != nullptr ? stream_.msg : "not gzip";
    }
    return buffer.size() - stream_.avail_out;
  }

  z_stream stream_{};
  bool ready_ = false;
  bool in_member_ = false;
  bool padding_ = false;
  std::uint64_t members_ = 0;
  std::string failure_;
};

class ZstdBytes : public CompressedBytes {
 public:
  ZstdBytes(RawFile& file, std::stop_token stop)
      : CompressedBytes(file, std::move(stop)), context_(::ZSTD_createDCtx()) {
    if (context_ == nullptr) return;
    ::ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kZstdWindowLogMax);
  }
  ~ZstdBytes() override { ::ZSTD_freeDCtx(context_); }

  Result<std::size_t> read(std::span<char> buffer) override {
    if (context_ == nullptr) return Error{"not enough memory to decompress zstd data"};
    ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
    while (true) {
      if (const Status status = refill(); !status.ok()) return status.error();
      // At the end of the input the decoder may still hold output of the frame.
      const bool at_end = unread().empty();
      if (at_end && !in_frame_) return std::size_t{0};
      ZSTD_inBuffer input{unread().data(), unread().size(), 0};
      const std::size_t left = ::ZSTD_decompressStream(context_, &output, &input);
      if (::ZSTD_isError(left) != 0) return damaged("zstd", ::ZSTD_getErrorName(left));
      consume(input.pos);
      in_frame_ = left != 0;
      if (output.pos > 0) return output.pos;
      if (at_end && in_frame_) return cut_off("zstd");
    }
  }

 private:
  ZSTD_DCtx* context_;
  bool in_frame_ = false;
};

}  // namespace

struct ByteFile::State {
  std::unique_ptr<RawFile> raw;
  std::string path;
  Compression compression = Compression::kNone;
  Fd copy;  // what seekable_path() made
};

ByteFile::ByteFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteFile::ByteFile(ByteFile&&) noexcept = default;
ByteFile& ByteFile::operator=(ByteFile&&) noexcept = default;
ByteFile::~ByteFile() = default;

Result<ByteFile> ByteFile::open(const std::string& path) {
  Result<std::unique_ptr<RawFile>> raw = RawFile::open(path);
  if (!raw) return raw.error();
  auto state = std::make_unique<State>();
  state->raw = std::move(*raw);
  state->path = path;

  std::array<char, 4> head{};
  PlainBytes bytes(*state->raw, {});
  std::size_t have = 0;
  while (have < head.size()) {
    const Result<std::size_t> count = bytes.read(std::span(head).subspan(have));
    if (!count) return count.error();
    if (*count == 0) break;
    have += *count;
  }
  state->compression = compression_of(std::span(head).first(have));
  return ByteFile(std::move(state));
}

Result<std::unique_ptr<ByteSource>> ByteFile::read(std::stop_token stop) const {
  RawFile& raw = *state_->raw;
  std::unique_ptr<ByteSource> bytes;
  switch (state_->compression) {
    case Compression::kNone: bytes = std::make_unique<PlainBytes>(raw, std::move(stop)); break;
    case Compression::kGzip: bytes = std::make_unique<GzipBytes>(raw, std::move(stop)); break;
    case Compression::kZstd: bytes = std::make_unique<ZstdBytes>(raw, std::move(stop)); break;
  }
  return bytes;
}

Result<std::string> ByteFile::seekable_path() {
  const RawFile& raw = *state_->raw;
  if (raw.seekable() && state_->compression == Compression::kNone) {
    return state_->path == "-" ? fmt::format("/proc/self/fd/{}", raw.fd()) : state_->path;
  }
  if (!state_->copy.valid()) {
    Result<Fd> copy = temporary_file();
    if (!copy) return copy.error();
    Result<std::unique_ptr<ByteSource>> bytes = read();
    if (!bytes) return bytes.error();
    std::vector<char> buffer(kReadSize);
    while (true) {
      const Result<std::size_t> count = (*bytes)->read(buffer);
      if (!count) return count.error();
      if (*count == 0) break;
      if (const Status kept = write_all(copy->get(), std::span(buffer).first(*count)); !kept.ok()) {
        return Error{fmt::format(
            "cannot unpack the trace into a temporary file: {}; set TMPDIR to a folder with room",
            kept.error().message)};
      }
    }
    state_->copy = std::move(*copy);
  }
  return fmt::format("/proc/self/fd/{}", state_->copy.get());
}

std::uint64_t ByteFile::size() const {
  return state_->raw->size();
}

}  // namespace syndrome::trace
