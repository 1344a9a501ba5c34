#include "report/details.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "report/cells.h"
#include "report/words.h"
#include "spec/pattern.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kIndent = 3;      // of what belongs to an event
constexpr std::size_t kTabColumns = 4;  // where a tab in a source line goes
constexpr std::size_t kMostEnds = 24;   // a longer cycle is told by its beginning
constexpr std::uint32_t kLinesAround = 1;

/// "bank.cc:12:5", or what the trace has instead.
std::string place_words(const Place& place) {
  std::string text = short_text(place);
  if (!place.file.empty() && place.column != 0) text += fmt::format(":{}", place.column);
  return text;
}

/// A source line as a terminal can show it, and where byte `column` (from 1) has come to.
struct Shown {
  std::string text;
  std::size_t caret = 0;  // columns before it
};

Shown show(std::string_view line, std::uint32_t column) {
  Shown shown;
  std::string text;
  std::size_t at = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i + 1 == column) shown.caret = width(clean(text));
    if (line[i] != '\t') {
      text += line[i];
      ++at;
      continue;
    }
    const std::size_t gap = kTabColumns - at % kTabColumns;
    text.append(gap, ' ');
    at += gap;
  }
  shown.text = clean(text);
  return shown;
}

std::size_t indentation(std::string_view text) {
  return std::min(text.find_first_not_of(' '), text.size());
}

/// Lets the beginning of a line give way to "…" when its column `caret` would not fit into `room`,
/// and says by how many columns that moved it.
std::size_t shift(std::string& text, std::size_t caret, std::size_t room) {
  constexpr std::size_t kAfter = 12;  // columns that should be seen behind the caret
  if (width(text) <= room || caret + kAfter <= room) return 0;
  const std::size_t most = caret + kAfter - room + 1;
  std::size_t columns = 0;
  std::size_t bytes = 0;
  for (const Glyph& glyph : glyphs(text)) {
    if (columns >= most) break;
    columns += glyph.columns;
    bytes += glyph.bytes.size();
  }
  text = "…" + text.substr(bytes);
  return columns - 1;
}

class Details {
 public:
  Details(const Report& report, const Finding& finding, const DetailOptions& options,
          const Paint& paint)
      : report_(report), finding_(finding), options_(options), paint_(paint) {}

  std::vector<std::string> write() {
    const std::vector<const Site*> ends = ends_of_edges();
    const bool any = std::ranges::any_of(ends, [this](const Site* end) {
      return !end->stack.frames.empty() || source_of(own_place(*end)) != nullptr;
    });
    if (!any) return {};
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (i == kMostEnds) {
        lines_.push_back(fmt::format("… and {} (--format json has them all)",
                                     many(ends.size() - i, "more event")));
        lines_.emplace_back();
        break;
      }
      write_end(*ends[i], std::span(ends).first(i));
    }
    write_threads();
    write_changed();
    if (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
    return std::move(lines_);
  }

 private:
  [[nodiscard]] std::vector<const Site*> ends_of_edges() const {
    std::vector<const Site*> ends;
    const auto add = [&](EventNumber event) {
      const Site* site = finding_.site_at(event);
      if (site != nullptr && std::ranges::find(ends, site) == ends.end()) ends.push_back(site);
    };
    for (const check::Edge& edge : finding_.cycle) {
      add(edge.from);
      add(edge.to);
    }
    if (finding_.cycle.empty()) {
      for (const Site& site : finding_.sites) ends.push_back(&site);
    }
    return ends;
  }

  [[nodiscard]] const Source* source_of(const Place& place) const {
    const auto it = std::ranges::lower_bound(report_.sources, place.file, {}, &Source::file);
    if (place.file.empty() || it == report_.sources.end() || it->file != place.file) return nullptr;
    return it->lines.contains(place.line) ? &*it : nullptr;
  }

  void line(std::string text) { lines_.push_back(std::move(text)); }

  void paragraph(std::string_view text, std::size_t indent, Style style = Style::kPlain) {
    for (const std::string& each : wrap(text, options_.columns - indent)) {
      line(std::string(indent, ' ') + paint_(style, each));
    }
  }

  void write_end(const Site& site, std::span<const Site* const> before) {
    std::string head = fmt::format("{} {} (event {})", thread_words(site.thread),
                                   says(site.op, site.target), site.event);
    for (std::size_t i = 0; i < site.held.size(); ++i) {
      const HeldLock& held = site.held[i];
      head += i == 0 ? ", holding " : i + 1 == site.held.size() ? " and " : ", ";
      head += held.lock;
      if (held.shared) head += " (shared)";
      head += held.place.known() ? fmt::format(" (taken at {})", short_text(held.place))
                                 : fmt::format(" (taken at event {})", held.event);
    }
    const auto twin = std::ranges::find_if(before, [&site](const Site* other) {
      return other->place == site.place && other->stack == site.stack;
    });
    if (twin != before.end())
      head += fmt::format(": the same {} as event {}",
                          site.stack.frames.empty() ? "place" : "place and stack", (*twin)->event);
    paragraph(clean(head), 0, Style::kStrong);
    if (twin == before.end()) {
      const bool shown = std::ranges::any_of(
          before, [&site](const Site* other) { return own_place(*other) == own_place(site); });
      if (!shown) write_source(own_place(site));
      write_stack(site, before);
    }
    line("");
  }

  void write_source(const Place& place) {
    const Source* source = source_of(place);
    if (source == nullptr) return;
    struct Line {
      std::uint32_t number;
      Shown shown;
    };
    std::vector<Line> rows;
    const std::uint32_t first = place.line > kLinesAround ? place.line - kLinesAround : 1;
    for (auto it = source->lines.lower_bound(first);
         it != source->lines.end() && it->first - kLinesAround <= place.line; ++it) {
      rows.push_back({it->first, show(it->second, it->first == place.line ? place.column : 0)});
    }
    std::size_t common = std::string::npos;
    for (const Line& row : rows) {
      const std::size_t spaces = indentation(row.shown.text);
      if (spaces < row.shown.text.size()) common = std::min(common, spaces);
    }
    if (common == std::string::npos) common = 0;
    const std::size_t digits = fmt::formatted_size("{}", rows.back().number);
    const std::size_t room = options_.columns - kIndent - digits - 5;
    for (const Line& row : rows) {
      const bool here = row.number == place.line;
      std::string text = row.shown.text.substr(std::min(common, indentation(row.shown.text)));
      if (text.find_first_not_of(' ') == std::string::npos) text.clear();
      std::size_t caret = row.shown.caret - std::min(common, row.shown.caret);
      if (here) caret -= shift(text, caret, room);
      const std::string gutter = fmt::format("{}{} {:>{}} │", std::string(kIndent, ' '),
                                             here ? "►" : " ", row.number, digits);
      line(paint_(here ? Style::kStrong : Style::kFaint, gutter) +
           (text.empty() ? ""
                         : " " + paint_(here ? Style::kPlain : Style::kFaint, fit(text, room))));
      if (!here || place.column == 0 || caret >= std::min(width(text), room)) continue;
      line(paint_(Style::kFaint,
                  fmt::format("{}  {} │", std::string(kIndent, ' '), std::string(digits, ' '))) +
           std::string(caret + 1, ' ') + paint_(Style::kBad, "^"));
    }
  }

  /// One row of a stack.
  struct Row {
    std::string function;  // with the word before it
    std::string place;
    bool folded = false;
  };

  [[nodiscard]] std::vector<Row> rows_of(const Stack& stack) const {
    std::vector<Row> rows;
    const std::size_t most = options_.frames == 0 ? stack.frames.size() : options_.frames;
    std::size_t shown = 0;
    for (std::size_t i = 0; i < stack.frames.size();) {
      std::size_t library = i;
      while (library < stack.frames.size() && of_library(stack.frames[library])) ++library;
      if (library != i) {
        rows.push_back({fmt::format("… {} of the library", many(library - i, "frame")), {}, true});
        i = library;
        continue;
      }
      if (shown == most) {
        rows.push_back(
            {fmt::format("… {}", many(stack.frames.size() - i + stack.deeper, "more frame")),
             {},
             true});
        return rows;
      }
      const Frame& frame = stack.frames[i];
      rows.push_back(
          {fmt::format("{} {}", shown == 0 ? "in" : "called from",
                       frame.function.empty() ? "?" : clean(function_words(frame.function))),
           clean(place_words(frame.place))});
      ++shown;
      ++i;
    }
    if (stack.deeper != 0) {
      rows.push_back({fmt::format("… {}", many(stack.deeper, "more frame")), {}, true});
    }
    return rows;
  }

  void write_stack(const Site& site, std::span<const Site* const> before) {
    if (site.stack.frames.empty()) return;
    const std::vector<Frame>& frames = site.stack.frames;
    // What called the innermost function is often what called it the other time, too.
    const auto callers = [](const Site& of) { return std::span(of.stack.frames).subspan(1); };
    const auto twin = std::ranges::find_if(before, [&](const Site* other) {
      return frames.size() > 2 && other->stack.frames.size() == frames.size() &&
             other->stack.frames[0].function == frames[0].function &&
             std::ranges::equal(callers(*other), callers(site));
    });
    std::vector<Row> rows;
    if (twin == before.end()) {
      rows = rows_of(site.stack);
    } else {
      rows = rows_of({{frames[0]}, 0});
      rows.push_back({fmt::format("… called as at event {}", (*twin)->event), {}, true});
    }
    write_rows(rows, kIndent);
  }

  void write_rows(const std::vector<Row>& rows, std::size_t indent) {
    std::size_t functions = 0;
    std::size_t places = 0;
    for (const Row& row : rows) {
      if (!row.folded) functions = std::max(functions, width(row.function));
      places = std::max(places, width(row.place));
    }
    const std::size_t room = options_.columns - indent;
    places = std::min(places, room / 2);
    functions = std::min(functions, room - places - 2);
    for (const Row& row : rows) {
      const std::string before(indent, ' ');
      if (row.folded) {
        line(before + paint_(Style::kFaint, fit(row.function, room)));
        continue;
      }
      const std::string function = fit(row.function, functions);
      line(row.place.empty() ? before + function
                             : before + pad(row.function, functions) + "  " +
                                   paint_(Style::kFaint, fit_tail(row.place, places)));
    }
  }

  void write_threads() {
    bool any = false;
    for (const Thread& thread : finding_.threads) {
      if (thread.fork == 0) continue;
      std::string text = fmt::format("{} was created by {}", thread_words(thread.thread),
                                     thread_words(thread.creator));
      const auto own = std::ranges::find_if(thread.stack.frames, [](const Frame& frame) {
        return frame.place.known() && !of_library(frame);
      });
      const Place& place = own == thread.stack.frames.end() ? thread.place : own->place;
      text += place.known() ? fmt::format(" at {}", place_words(place))
                            : fmt::format(" at event {}", thread.fork);
      if (own != thread.stack.frames.end())
        text += fmt::format(", in {}", function_words(own->function));
      for (auto frame = own; frame != thread.stack.frames.end(); ++frame) {
        if (frame == own || of_library(*frame)) continue;
        text += fmt::format(", called from {}", function_words(frame->function));
        if (frame->place.known()) text += fmt::format(" ({})", place_words(frame->place));
        break;
      }
      paragraph(clean(text) + ".", 0);
      any = true;
    }
    if (any) line("");
  }

  void write_changed() {
    std::vector<std::string> changed;
    for (const Site* end : ends_of_edges()) {
      const Source* source = source_of(own_place(*end));
      if (source == nullptr || !source->changed) continue;
      const std::string name = short_text(own_place(*end));
      const std::string file = name.substr(0, name.rfind(':'));
      if (std::ranges::find(changed, file) == changed.end()) changed.push_back(file);
    }
    for (const std::string& file : changed) {
      paragraph(
          fmt::format("{} has changed since the recording: lines may have moved.", clean(file)), 0,
          Style::kWarn);
    }
  }

  const Report& report_;
  const Finding& finding_;
  const DetailOptions& options_;
  const Paint& paint_;
  std::vector<std::string> lines_;
};

}  // namespace

bool of_library(const Frame& frame) {
  const std::string_view file = frame.place.file;
  if (!file.empty()) {
    return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
           file.find("/include/c++/") != std::string_view::npos ||
           file.find("/lib/clang/") != std::string_view::npos;
  }
  return spec::of_library(frame.function);
}

const Place& own_place(const Site& site) {
  if (site.place.known() && !of_library(Frame{"", site.place})) return site.place;
  const auto own = std::ranges::find_if(site.stack.frames, [](const Frame& frame) {
    return frame.place.known() && !of_library(frame);
  });
  return own == site.stack.frames.end() ? site.place : own->place;
}

std::vector<std::string> details(const Report& report, const Finding& finding,
                                 const DetailOptions& options, const Paint& paint) {
  return Details(report, finding, options, paint).write();
}

}  // namespace syndrome::report
