#include "trace/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace syndrome::trace {
namespace {

// With the batch that is made of it, half of a second-level cache.
constexpr std::size_t kReadSize = 128 * 1024;
constexpr std::size_t kShownLength = 60;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

std::string_view word_for(Space space) {
  switch (space) {
    case Space::kThread: return "thread";
    case Space::kVariable: return "variable";
    case Space::kLock: return "lock";
    case Space::kBarrier: return "barrier";
    case Space::kSemaphore: return "semaphore";
    case Space::kCondition: return "condition variable";
    case Space::kLabel: return "label";
    case Space::kSite: return "location";
    case Space::kObject: return "object";
  }
  return "name";
}

/// Insertions, removals, changes and swaps of neighbours that lead from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_up(b.size() + 1), up(b.size() + 1), row(b.size() + 1);
  std::iota(up.begin(), up.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1] ? 1U : 0U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_up[j - 2] + 1);
      }
    }
    two_up.swap(up);
    up.swap(row);
  }
  return up[b.size()];
}

template <std::size_t... kSpaces>
std::array<Interner, kSpaceCount> interners_of(Names& names, std::index_sequence<kSpaces...>) {
  const std::uint64_t seed = Interner::random_seed();
  return {Interner(names.table(static_cast<Space>(kSpaces)), seed)...};
}

}  // namespace

std::string shown(std::string_view text) {
  const bool cut = text.size() > kShownLength;
  if (cut) {
    std::size_t length = kShownLength;
    // Not in the middle of a UTF-8 character.
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
    text = text.substr(0, length);
  }
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '\n': out += "\\n"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out += fmt::format("\\x{:02x}", byte);
        } else {
          out += c;
        }
    }
  }
  return out + (cut ? "…'" : "'");
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> words) {
  constexpr std::size_t kLongestWord = 32;
  std::string_view best;
  // Not more than two slips, and something of the word must be left.
  std::size_t best_distance = std::min<std::size_t>(3, word.size());
  if (word.size() > kLongestWord) return best;
  for (const std::string_view candidate : words) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

Lines::Lines(std::unique_ptr<ByteSource> bytes)
    : bytes_(std::move(bytes)), buffer_(kReadSize + kPadding) {}

Result<std::string_view> Lines::next(std::uint64_t line) {
  used_ -= piece_;
  std::memmove(buffer_.data(), buffer_.data() + piece_, used_);
  piece_ = 0;
  while (true) {
    if (used_ > kMaxLine) {
      return Error{fmt::format("line {}: expected a line of at most {} bytes, found a longer one",
                               line, kMaxLine)};
    }
    if (buffer_.size() < used_ + kReadSize + kPadding) buffer_.resize(2 * buffer_.size());
    const Result<std::size_t> count = bytes_->read(std::span(buffer_).subspan(used_, kReadSize));
    if (!count) return count.error();
    std::size_t fresh = used_;
    used_ += *count;
    if (at_start_ && used_ >= kByteOrderMark.size()) {
      at_start_ = false;
      fresh = 0;
      if (std::string_view(buffer_.data(), used_).starts_with(kByteOrderMark)) {
        used_ -= kByteOrderMark.size();
        std::memmove(buffer_.data(), buffer_.data() + kByteOrderMark.size(), used_);
      }
    }
    if (*count == 0) {
      if (used_ > 0) buffer_[used_++] = '\n';
      piece_ = used_;
      return std::string_view(buffer_.data(), piece_);
    }
    if (const void* end = ::memrchr(buffer_.data() + fresh, '\n', used_ - fresh)) {
      piece_ = static_cast<std::size_t>(static_cast<const char*>(end) + 1 - buffer_.data());
      return std::string_view(buffer_.data(), piece_);
    }
  }
}

TextSource::TextSource(std::unique_ptr<ByteSource> bytes)
    : events_(kBatchEvents + kMaxEventsPerLine),
      lines_(std::move(bytes)),
      interners_(interners_of(names_, std::make_index_sequence<kSpaceCount>())) {}

Result<Batch> TextSource::next() {
  if (error_) return *error_;
  first_ += count_;
  if (count_ > 0) without_event_ = 0;
  count_ = 0;
  // A piece that gave events is handed on at once: more may be long in coming from a pipe.
  while (!error_ && count_ < kBatchEvents && !(cursor_ == end_ && (count_ > 0 || ended_))) {
    if (cursor_ != end_) {
      cursor_ = parse(cursor_, end_);
      continue;
    }
    const Result<std::string_view> piece = lines_.next(line_ + 1);
    if (!piece) {
      error_ = piece.error();
    } else if (without_event_ > kMostWithoutEvent) {
      fail_at(line_ + 1, fmt::format("expected an event, found {} MiB of lines without one",
                                     kMostWithoutEvent >> 20U));
    } else if (piece->empty()) {
      ended_ = true;
      finish();
    } else {
      cursor_ = piece->data();
      end_ = cursor_ + piece->size();
      without_event_ += piece->size();
    }
  }
  if (count_ == 0 && error_) return *error_;
  return Batch{std::span(events_).first(count_), first_};
}

bool TextSource::intern(Space space, std::string_view text, std::uint32_t& id) {
  const Interner::Key key = interner(space).key(text);
  id = interner(space).find(key);
  return id != Interner::kAbsent || add(space, key, line_, id);
}

bool TextSource::add(Space space, const Interner::Key& key, std::uint64_t line, std::uint32_t& id) {
  if (!printable(key.view())) {
    fail_at(line, fmt::format("expected printable text as the name of a {}, found {}",
                              word_for(space), shown(key.view())));
    return false;
  }
  id = interner(space).add(key);
  if (id == Interner::kAbsent) {
    fail_at(line, fmt::format("more than {} names of one kind", Interner::kAbsent - 1));
    return false;
  }
  return true;
}

void TextSource::fail_at(std::uint64_t line, const std::string& message) {
  if (!error_) error_ = Error{fmt::format("line {}: {}", line, message)};
}

const char* LineSource::parse(const char* p, const char* end) {
  while (p != end && count_ < kBatchEvents && !failed()) {
    const auto* newline =
        static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    std::string_view line(p, static_cast<std::size_t>(newline - p));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++line_;
    take(line);
    p = newline + 1;
  }
  return p;
}

}  // namespace syndrome::trace
