#include "report/diagram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "report/canvas.h"
#include "report/cells.h"
#include "report/reordering.h"
#include "report/story.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kMostColumns = 3;
constexpr std::size_t kMostArrows = 8;   // more would be a tangle
constexpr std::size_t kMostListed = 40;  // lines of a list
constexpr std::size_t kLeastText = 15;   // "│ writes balance" still says something

constexpr std::array<Style, kMostColumns> kThreadStyles = {
    Style::kFirstThread, Style::kSecondThread, Style::kThirdThread};

/// A line of the picture: an event of the finding, or the begin or end of one of its blocks.
struct Row {
  EventNumber event = 0;
  std::string thread;
  EventKind op = EventKind::kRead;
  std::string target;
  std::string place;
  EventNumber block = 0;  // 0: outside of every block

  /// The event in words; the target gives way at its front.
  [[nodiscard]] std::string words(std::size_t columns) const {
    const std::string all = says(op, target);
    const std::size_t full = width(all);
    const std::size_t name = width(target);
    if (full <= columns || full - name + 4 > columns) return fit(all, columns);
    return says(op, fit_name(target, columns - (full - name)));
  }
};

std::vector<Row> rows_of(const Finding& finding) {
  std::vector<Row> rows;
  for (const Step& step : steps_of(finding)) {
    rows.push_back({step.event, clean(step.thread()), step.op(), clean(step.target()),
                    clean(short_text(step.place())), step.within});
  }
  return rows;
}

enum class Side : std::uint8_t { kLeft, kRight };

/// An edge of the cycle as an arrow: out of one row, down a lane in a gap between two columns, and
/// into a later row.
struct Arrow {
  std::size_t from_row = 0;
  std::size_t to_row = 0;
  std::size_t from_column = 0;
  std::size_t to_column = 0;
  Side out = Side::kRight;
  Side in = Side::kLeft;
  std::size_t gap = 0;  // gap i is between columns i and i + 1
  std::size_t lane = 0;
  bool from_below = false;  // leaves from the line below its event, where there is room
};

class SideBySide {
 public:
  SideBySide(const Finding& finding, std::vector<Row> rows, std::vector<std::string> threads)
      : finding_(finding), rows_(std::move(rows)), threads_(std::move(threads)) {}

  /// Nothing when it does not fit.
  std::optional<std::vector<std::string>> draw(std::size_t columns, const Paint& paint) {
    route();
    lay_lines();
    assign_lanes();
    if (!fit_columns(columns)) return std::nullopt;
    Canvas canvas(columns);
    draw_header(canvas);
    draw_blocks(canvas);
    draw_rows(canvas);
    for (std::size_t i = 0; i < arrows_.size(); ++i) draw_arrow(canvas, arrows_[i], i);
    return canvas.render(paint);
  }

 private:
  [[nodiscard]] std::size_t column_of(const Row& row) const {
    return static_cast<std::size_t>(std::ranges::find(threads_, row.thread) - threads_.begin());
  }

  [[nodiscard]] std::size_t row_of(EventNumber event) const {
    const auto it = std::ranges::lower_bound(rows_, event, {}, &Row::event);
    return static_cast<std::size_t>(it - rows_.begin());
  }

  /// Through which gap each edge goes, and on which sides of its events.
  void route() {
    for (const check::Edge& edge : finding_.cycle) {
      Arrow arrow;
      arrow.from_row = row_of(edge.from);
      arrow.to_row = row_of(edge.to);
      arrow.from_column = column_of(rows_[arrow.from_row]);
      arrow.to_column = column_of(rows_[arrow.to_row]);
      const bool same = arrow.from_column == arrow.to_column;
      const bool rightwards =
          same ? arrow.from_column + 1 < threads_.size() : arrow.from_column < arrow.to_column;
      arrow.out = rightwards ? Side::kRight : Side::kLeft;
      arrow.in = same == rightwards ? Side::kRight : Side::kLeft;
      arrow.gap = rightwards ? arrow.from_column : arrow.from_column - 1;
      arrows_.push_back(arrow);
    }
  }

  /// The line of each row, below the header; an arrow that leaves on the side on which another
  /// comes in gets a line of its own.
  void lay_lines() {
    std::size_t line = 1;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      lines_.push_back(line++);
      for (Arrow& arrow : arrows_) {
        if (arrow.from_row != row) continue;
        arrow.from_below = std::ranges::any_of(arrows_, [&](const Arrow& other) {
          return other.to_row == row && other.in == arrow.out;
        });
        if (arrow.from_below) ++line;
      }
    }
    end_ = line;
  }

  [[nodiscard]] std::size_t out_line(const Arrow& arrow) const {
    return lines_[arrow.from_row] + (arrow.from_below ? 1 : 0);
  }
  [[nodiscard]] std::size_t in_line(const Arrow& arrow) const { return lines_[arrow.to_row]; }

  /// Arrows that share a gap at the same time run in different lanes.
  void assign_lanes() {
    lanes_.assign(threads_.size() - 1, 0);
    std::vector<Arrow*> order;
    for (Arrow& arrow : arrows_) order.push_back(&arrow);
    // By address where two leave on one line: the order of the cycle.
    std::ranges::sort(order, {},
                      [this](const Arrow* arrow) { return std::pair(out_line(*arrow), arrow); });
    std::vector<std::vector<std::size_t>> busy(lanes_.size());  // the last line of each lane
    for (Arrow* arrow : order) {
      std::vector<std::size_t>& lanes = busy[arrow->gap];
      const auto free =
          std::ranges::find_if(lanes, [&](std::size_t last) { return last < out_line(*arrow); });
      arrow->lane = static_cast<std::size_t>(free - lanes.begin());
      if (free == lanes.end()) {
        lanes.push_back(in_line(*arrow));
      } else {
        *free = in_line(*arrow);
      }
      lanes_[arrow->gap] = lanes.size();
    }
  }

  // A gap: a space, "◄B" for an arrow that ends at the text before it, the lanes with a space
  // between each two, and "A►" for one that ends at the column after it. Two columns leave room
  // for more line around the letters.
  [[nodiscard]] std::size_t air() const { return threads_.size() == 2 ? 1 : 0; }
  [[nodiscard]] std::size_t before_lanes() const { return 3 + air(); }
  [[nodiscard]] std::size_t after_lanes() const { return 2 + 2 * air(); }
  [[nodiscard]] std::size_t gap_width(std::size_t gap) const {
    return lanes_[gap] == 0 ? 3 : before_lanes() + 2 * lanes_[gap] - 1 + after_lanes();
  }

  /// Where the columns begin and how wide they are: as wide as their widest text, places included
  /// where there is room for all of them.
  bool fit_columns(std::size_t columns) {
    number_width_ = std::to_string(rows_.back().event).size();
    std::size_t fixed = number_width_ + 2;
    for (std::size_t gap = 0; gap + 1 < threads_.size(); ++gap) fixed += gap_width(gap);
    if (fixed + kLeastText * threads_.size() > columns) return false;
    const std::size_t room = columns - fixed;

    const auto needed = [this](bool places) {
      std::vector<std::size_t> widths;
      for (const std::string& thread : threads_) widths.push_back(width(thread_words(thread)));
      for (const Row& row : rows_) {
        std::size_t wanted = 2 + width(says(row.op, row.target));
        if (places && !row.place.empty()) wanted += 2 + width(row.place);
        std::size_t& widest = widths[column_of(row)];
        widest = std::max(widest, wanted);
      }
      return widths;
    };
    const auto sum = [](const std::vector<std::size_t>& widths) {
      std::size_t total = 0;
      for (const std::size_t each : widths) total += each;
      return total;
    };
    widths_ = needed(true);
    places_ = sum(widths_) <= room;
    if (!places_) widths_ = needed(false);
    // The widest column gives way until all fit.
    while (sum(widths_) > room) --*std::ranges::max_element(widths_);

    std::size_t x = number_width_ + 2;
    for (std::size_t column = 0; column < threads_.size(); ++column) {
      starts_.push_back(x);
      x += widths_[column];
      if (column + 1 < threads_.size()) {
        gap_starts_.push_back(x);
        x += gap_width(column);
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t lane_x(const Arrow& arrow) const {
    return gap_starts_[arrow.gap] + before_lanes() + 2 * arrow.lane;
  }

  void draw_header(Canvas& canvas) const {
    for (std::size_t column = 0; column < threads_.size(); ++column) {
      canvas.text(0, starts_[column], fit(thread_words(threads_[column]), widths_[column]),
                  kThreadStyles[column]);
    }
  }

  /// The brackets of the blocks: a line from begin to end. Where the end is not known, the line
  /// goes on dotted below the block's last event, up to the next block of the thread.
  void draw_blocks(Canvas& canvas) const {
    for (const Block& block : finding_.blocks) {
      std::size_t first = rows_.size();
      std::size_t last = 0;
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (rows_[row].block != block.begin) continue;
        first = std::min(first, row);
        last = row;
      }
      if (first == rows_.size()) continue;  // saved findings need not make sense
      const std::size_t column = column_of(rows_[first]);
      const std::size_t x = starts_[column];
      const Style style = kThreadStyles[column];
      canvas.vertical(x, lines_[first], lines_[last], style);
      canvas.join(lines_[first], x, kRight | kDown, style);
      if (block.end != 0) {
        canvas.join(lines_[last], x, kUp | kRight, style);
        continue;
      }
      if (last != first) canvas.join(lines_[last], x, kUp | kDown, style);
      // Below the very last event one line is enough to say that the block goes on.
      std::size_t until = std::max(end_, lines_[last] + 2);
      for (std::size_t row = last + 1; row < rows_.size(); ++row) {
        if (column_of(rows_[row]) == column) {
          until = lines_[row];
          break;
        }
      }
      for (std::size_t line = lines_[last] + 1; line < until; ++line) {
        const bool arrow_leaves = std::ranges::any_of(arrows_, [&](const Arrow& arrow) {
          return arrow.from_below && out_line(arrow) == line && arrow.from_column == column &&
                 arrow.out == Side::kLeft;
        });
        if (arrow_leaves) {
          canvas.join(line, x, kUp | kDown, style);
        } else {
          canvas.text(line, x, "┊", style);
        }
      }
    }
  }

  void draw_rows(Canvas& canvas) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const Row& entry = rows_[row];
      const std::size_t line = lines_[row];
      const std::size_t column = column_of(entry);
      const std::size_t x = starts_[column];
      canvas.text(line, 0, fmt::format("{:>{}}", entry.event, number_width_), Style::kFaint);
      if (entry.block == 0) canvas.text(line, x, "•", kThreadStyles[column]);
      const std::string words = entry.words(widths_[column] - 2);
      canvas.text(line, x + 2, words, Style::kPlain);
      std::size_t end = x + 2 + width(words);
      if (places_ && !entry.place.empty()) {
        canvas.text(line, end + 2, entry.place, Style::kFaint);
        end += 2 + width(entry.place);
      }
      ends_.push_back(end);
    }
  }

  void draw_arrow(Canvas& canvas, const Arrow& arrow, std::size_t index) const {
    const std::size_t lane = lane_x(arrow);
    const std::size_t out = out_line(arrow);
    const std::size_t in = in_line(arrow);
    canvas.vertical(lane, out, in, Style::kArrow);

    const std::size_t source = starts_[arrow.from_column];
    if (arrow.out == Side::kLeft) {
      canvas.horizontal(out, lane, source - 1, Style::kArrow);
      canvas.join(out, source - 1, kRight, Style::kArrow);
      const bool unary = rows_[arrow.from_row].block == 0;
      if (arrow.from_below && unary) canvas.join(out, source, kUp | kLeft, Style::kArrow);
      if (!unary) canvas.join(out, source, kLeft, kThreadStyles[arrow.from_column]);
    } else if (arrow.from_below) {
      canvas.horizontal(out, source + 2, lane, Style::kArrow);
      canvas.join(out, source + 2, kUp, Style::kArrow);
    } else {
      const std::size_t start = ends_[arrow.from_row] + 1;
      canvas.horizontal(out, start, lane, Style::kArrow);
      canvas.join(out, start, kLeft, Style::kArrow);
    }

    const std::string name = letter(index);
    if (arrow.in == Side::kLeft) {
      const std::size_t head = starts_[arrow.to_column] - 1;
      canvas.horizontal(in, lane, head, Style::kArrow);
      canvas.text(in, head - 1 - air(), name, Style::kBad);
      canvas.text(in, head, "►", Style::kArrow);
    } else {
      const std::size_t head = ends_[arrow.to_row] + 1;
      canvas.horizontal(in, head, lane, Style::kArrow);
      canvas.text(in, head + 1, name, Style::kBad);
      canvas.text(in, head, "◄", Style::kArrow);
    }
  }

  const Finding& finding_;
  std::vector<Row> rows_;
  std::vector<std::string> threads_;  // one for each column
  std::vector<Arrow> arrows_;         // one for each edge
  std::vector<std::size_t> lines_;    // of each row
  std::size_t end_ = 0;               // the line below the last
  std::vector<std::size_t> lanes_;    // how many each gap has
  std::size_t number_width_ = 0;
  bool places_ = true;
  std::vector<std::size_t> starts_;      // of each column
  std::vector<std::size_t> widths_;      // of each column
  std::vector<std::size_t> gap_starts_;  // of each gap
  std::vector<std::size_t> ends_;        // of each row's text
};

/// "A→" beside the event that edge A leaves, "→A" beside the one that it comes to.
std::string marks_of(const Finding& finding, EventNumber event) {
  std::string marks;
  for (std::size_t i = 0; i < std::min(finding.cycle.size(), kMostListed); ++i) {
    if (finding.cycle[i].to == event) marks += fmt::format("→{} ", letter(i));
  }
  for (std::size_t i = 0; i < std::min(finding.cycle.size(), kMostListed); ++i) {
    if (finding.cycle[i].from == event) marks += fmt::format("{}→ ", letter(i));
  }
  return marks;
}

std::vector<std::string> list(const Finding& finding, const std::vector<Row>& rows,
                              std::size_t columns, const Paint& paint) {
  constexpr std::size_t kMarks = 7;
  const std::size_t number_width = std::to_string(rows.back().event).size();
  std::size_t thread_width = 0;
  for (const Row& row : rows)
    thread_width = std::max(thread_width, width(thread_words(row.thread)));
  thread_width = std::min<std::size_t>(thread_width, 16);
  const std::size_t room = columns - kMarks - number_width - 2 - thread_width - 2;

  std::vector<std::string> lines;
  for (const Row& row : rows) {
    if (lines.size() == kMostListed) {
      lines.push_back(fmt::format("{}… and {} more", std::string(kMarks, ' '),
                                  many(rows.size() - kMostListed, "event")));
      break;
    }
    const std::size_t place_width = std::min(width(row.place), room / 2);
    const std::size_t gap = place_width == 0 ? 0 : 2;
    const std::string words = row.words(room - place_width - gap);
    lines.push_back(
        paint(Style::kBad, pad(marks_of(finding, row.event), kMarks)) +
        paint(Style::kFaint, fmt::format("{:>{}}  ", row.event, number_width)) +
        paint(Style::kStrong, pad(thread_words(row.thread), thread_width)) + "  " + words +
        (gap == 0 ? "" : "  " + paint(Style::kFaint, fit_tail(row.place, place_width))));
  }
  return lines;
}

}  // namespace

std::string letter(std::size_t index) {
  std::string name;
  for (std::size_t rest = index + 1; rest != 0; rest = (rest - 1) / 26) {
    name.insert(name.begin(), static_cast<char>('A' + (rest - 1) % 26));
  }
  return name;
}

std::vector<std::string> draw(const Finding& finding, std::size_t columns, const Paint& paint) {
  if (is_reordering(finding)) return draw_reordering(finding, columns, paint);
  std::vector<Row> rows = rows_of(finding);
  if (rows.empty()) return {};

  // The violating block's thread stands first, the others as the cycle comes to them.
  std::vector<std::string> threads;
  const auto add = [&threads](const std::string& thread) {
    if (std::ranges::find(threads, thread) == threads.end()) threads.push_back(thread);
  };
  const bool few = finding.cycle.size() <= kMostArrows && rows.size() <= kMostListed;
  if (few) {
    if (const Block* block = finding.block_at(finding.block)) add(clean(block->thread));
    for (const check::Edge& edge : finding.cycle) {
      for (const EventNumber event : {edge.from, edge.to}) {
        if (const Site* site = finding.site_at(event)) add(clean(site->thread));
      }
    }
    for (const Row& row : rows) add(row.thread);
    if (threads.size() >= 2 && threads.size() <= kMostColumns) {
      if (auto drawn = SideBySide(finding, rows, threads).draw(columns, paint)) return *drawn;
    }
  }
  return list(finding, rows, columns, paint);
}

}  // namespace syndrome::report
