#include "trace/csv_reader.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "trace/text_source.h"

namespace syndrome::trace {
namespace {

enum class Op : std::uint8_t { kRead, kWrite, kAcquire, kRelease, kStart, kFork, kJoin, kSync };
constexpr std::array<std::string_view, 8> kOpNames = {"r",     "w",    "acq",  "rel",
                                                      "start", "fork", "join", "sync"};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

std::optional<Op> op_of(std::string_view word) {
  for (std::size_t i = 0; i < kOpNames.size(); ++i) {
    if (kOpNames[i] == word) return static_cast<Op>(i);
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Cuts a row at its commas. A cell that begins with '"' ends at the next '"' that is not doubled.
/// Returns false when a quote is not closed.
bool split(std::string_view row, std::vector<std::string>& cells) {
  cells.clear();
  while (true) {
    std::string cell;
    const std::size_t start = row.find_first_not_of(" \t");
    if (start != std::string_view::npos && row[start] == '"') {
      std::size_t at = start + 1;
      for (;; ++at) {
        if (at >= row.size()) return false;
        if (row[at] == '"') {
          if (at + 1 >= row.size() || row[at + 1] != '"') break;
          ++at;
        }
        cell += row[at];
      }
      const std::size_t comma = row.find(',', at);
      cell += trimmed(row.substr(at + 1, comma == std::string_view::npos ? comma : comma - at - 1));
      cells.push_back(std::move(cell));
      if (comma == std::string_view::npos) return true;
      row.remove_prefix(comma + 1);
      continue;
    }
    const std::size_t comma = row.find(',');
    cells.emplace_back(trimmed(row.substr(0, comma)));
    if (comma == std::string_view::npos) return true;
    row.remove_prefix(comma + 1);
  }
}

bool is_header(const std::vector<std::string>& cells) {
  bool any = false;
  for (const std::string& cell : cells) {
    if (cell.find('(') != std::string::npos) return false;
    any = any || !cell.empty();
  }
  return any;
}

class CsvSource : public LineSource {
 public:
  using LineSource::LineSource;

 private:
  void take(std::string_view line) override {
    if (!split(line, cells_)) {
      return fail(fmt::format("expected '\"' at the end of a quoted cell, found {}", shown(line)));
    }
    if (columns_ == 0 && is_header(cells_)) return take_header();
    std::size_t column = cells_.size();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].empty()) continue;
      if (column != cells_.size()) {
        return fail(fmt::format("expected one event in a row, found {} and {}",
                                shown(cells_[column]), shown(cells_[i])));
      }
      column = i;
    }
    if (column == cells_.size()) {
      if (first_blank_ == 0) first_blank_ = line_;
      return;
    }
    if (first_blank_ != 0) {
      return fail_at(first_blank_, "expected an event, found a row without one");
    }
    if (columns_ == 0) columns_ = cells_.size();
    if (cells_.size() > columns_) {
      return fail(fmt::format("expected at most {} columns as in the first row, found {}", columns_,
                              cells_.size()));
    }
    take_cell(column, cells_[column]);
  }

  void take_header() {
    columns_ = cells_.size();
    std::unordered_set<std::string_view> threads;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].empty()) {
        return fail(
            fmt::format("expected the name of a thread in column {} of the header, found "
                        "nothing",
                        i + 1));
      }
      if (!threads.insert(cells_[i]).second) {
        return fail(
            fmt::format("expected a thread for each column, found {} twice", shown(cells_[i])));
      }
    }
    header_ = cells_;
  }

  void take_cell(std::size_t column, std::string_view cell) {
    const std::size_t open = cell.find('(');
    const std::string_view word = cell.substr(0, open);
    const std::optional<Op> op = op_of(word);
    if (!op) {
      const std::string_view near = nearest(word, kOpNames);
      return fail(fmt::format("expected one of r, w, acq, rel, start, join and sync, found {}{}",
                              shown(word),
                              near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    if (open == std::string_view::npos || !cell.ends_with(')') || cell.size() < open + 3) {
      return fail(fmt::format("expected {}(target), found {}{}", word, shown(cell),
                              cell.ends_with(')') ? "" : "; a cell with commas needs quotes"));
    }
    const std::string_view target = cell.substr(open + 1, cell.size() - open - 2);
    std::uint32_t thread = 0;
    const std::string name = header_.empty() ? fmt::format("T{}", column + 1) : header_[column];
    if (!intern(Space::kThread, name, thread)) return;
    std::uint32_t site = 0;
    if (!intern(Space::kSite, fmt::format("row {}", line_), site)) return;
    switch (*op) {
      case Op::kRead: return one(EventKind::kRead, thread, target, site);
      case Op::kWrite: return one(EventKind::kWrite, thread, target, site);
      case Op::kAcquire: return one(EventKind::kAcquire, thread, target, site);
      case Op::kRelease: return one(EventKind::kRelease, thread, target, site);
      case Op::kStart:
      case Op::kFork: return one(EventKind::kFork, thread, target, site);
      case Op::kJoin: return one(EventKind::kJoin, thread, target, site);
      case Op::kSync:
        one(EventKind::kAcquire, thread, target, site);
        one(EventKind::kRead, thread, target, site);
        one(EventKind::kWrite, thread, target, site);
        one(EventKind::kRelease, thread, target, site);
        return;
    }
  }

  void one(EventKind kind, std::uint32_t thread, std::string_view target, std::uint32_t site) {
    std::uint32_t id = 0;
    if (!failed() && intern(*target_space(kind), target, id)) append(kind, thread, id, site);
  }

  std::vector<std::string> cells_;
  std::vector<std::string> header_;  // names of the threads, when the file gives them
  std::size_t columns_ = 0;          // 0 before the first row
  std::uint64_t first_blank_ = 0;
};

}  // namespace

std::unique_ptr<Source> read_csv(std::unique_ptr<ByteSource> bytes) {
  return std::make_unique<CsvSource>(std::move(bytes));
}

bool looks_like_csv(std::string_view head) {
  std::vector<std::string> cells;
  // A header, and then the first event.
  for (int row = 0; row < 2 && !head.empty(); ++row) {
    const std::size_t end = head.find('\n');
    const std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
    if (!split(line, cells)) return false;
    for (const std::string& cell : cells) {
      const std::size_t open = cell.find('(');
      if (open == std::string::npos) continue;
      const std::string_view word = std::string_view(cell).substr(0, open);
      // A misspelled operation is for the reader to explain; prose is no trace.
      const bool one_word = !word.empty() && word.find_first_not_of(kLetters) == word.npos;
      return op_of(word).has_value() || (one_word && cells.size() > 1 && cell.ends_with(')'));
    }
  }
  return false;
}

}  // namespace syndrome::trace
