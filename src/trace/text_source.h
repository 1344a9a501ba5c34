// What the readers of text formats share: whole lines out of bytes, names into ids, batches, and
// errors that name the line.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/interner.h"
#include "trace/source.h"

namespace syndrome::trace {

/// Text as an error message shows it: in quotes, control characters escaped, cut when long.
[[nodiscard]] std::string shown(std::string_view text);

/// Of `words`, the one that `word` is a likely misspelling of; empty when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> words);

/// Cuts bytes into pieces of whole lines.
class Lines {
 public:
  /// A longer line is an error: no trace has one, and it must not fill the memory.
  static constexpr std::size_t kMaxLine = 1 << 20;
  /// Behind every piece, this many bytes can be read (they mean nothing).
  static constexpr std::size_t kPadding = 64;

  explicit Lines(std::unique_ptr<ByteSource> bytes);

  /// The next lines, each with its '\n', which is added to the last line of the file if missing.
  /// Empty at the end. Lives until the next call. `line` is the number of the next line.
  [[nodiscard]] Result<std::string_view> next(std::uint64_t line);

  [[nodiscard]] Progress progress() const { return bytes_->progress(); }

 private:
  std::unique_ptr<ByteSource> bytes_;
  std::vector<char> buffer_;
  std::size_t piece_ = 0;  // end of the piece handed out
  std::size_t used_ = 0;   // end of the bytes in the buffer
  bool at_start_ = true;
};

/// A source that parses lines. Events before a malformed line come out first, then the error.
class TextSource : public Source {
 public:
  explicit TextSource(std::unique_ptr<ByteSource> bytes);

  [[nodiscard]] Result<Batch> next() final;
  [[nodiscard]] const Names& names() const final { return names_; }
  [[nodiscard]] Progress progress() const final { return lines_.progress(); }
  [[nodiscard]] const std::vector<std::string>& warnings() const final { return warnings_; }

 protected:
  // 128 KiB of events: a batch stays in the second-level cache between reader and analysis.
  static constexpr std::size_t kBatchEvents = 8192;
  static constexpr std::size_t kMaxEventsPerLine = 4;

 public:
  /// More text without an event is an error. It is no trace, and packed it is next to nothing: a
  /// megabyte of gzip can be a gigabyte of newlines. (Real logs have far less between two events.)
  static constexpr std::uint64_t kMostWithoutEvent = std::uint64_t{256} << 20U;

 protected:
  /// Parses whole lines from `p` on, until `end`, a full batch or a failure. Returns where the next
  /// line begins. Counts every line in line_ before anything can fail in it.
  virtual const char* parse(const char* p, const char* end) = 0;

  /// After the last line.
  virtual void finish() {}

  /// A name of which the table knows nothing must be printable. False after fail().
  [[nodiscard]] bool intern(Space space, std::string_view text, std::uint32_t& id);
  [[nodiscard]] bool add(Space space, const Interner::Key& key, std::uint64_t line,
                         std::uint32_t& id);

  void fail(const std::string& message) { fail_at(line_, message); }
  void fail_at(std::uint64_t line, const std::string& message);
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  [[nodiscard]] Interner& interner(Space space) {
    return interners_[static_cast<std::size_t>(space)];
  }

  Names names_;
  std::vector<std::string> warnings_;
  std::vector<Event> events_;  // room for kBatchEvents and what one more line can add
  std::size_t count_ = 0;      // events in use
  std::uint64_t line_ = 0;     // lines begun so far

 private:
  Lines lines_;
  std::array<Interner, kSpaceCount> interners_;
  std::optional<Error> error_;
  const char* cursor_ = nullptr;
  const char* end_ = nullptr;
  EventNumber first_ = 1;
  std::uint64_t without_event_ = 0;  // bytes since the last piece that had one
  bool ended_ = false;
};

/// A text source that takes one line at a time, for formats that need no more speed than that.
class LineSource : public TextSource {
 public:
  using TextSource::TextSource;

 protected:
  /// A line without its end. Appends at most kMaxEventsPerLine events, or calls fail().
  virtual void take(std::string_view line) = 0;

  void append(EventKind kind, std::uint32_t thread, std::uint32_t target, std::uint32_t site) {
    events_[count_++] = {ThreadId(thread), target, SiteId(site), kind};
  }

 private:
  const char* parse(const char* p, const char* end) final;
};

}  // namespace syndrome::trace
