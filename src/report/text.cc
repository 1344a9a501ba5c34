#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "check/registry.h"
#include "report/advice.h"
#include "report/cells.h"
#include "report/details.h"
#include "report/diagram.h"
#include "report/failure.h"
#include "report/paint.h"
#include "report/pattern_words.h"
#include "report/story.h"
#include "report/verdict_words.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 3;       // of what belongs to a finding
constexpr std::size_t kListAround = 14;  // columns around the list in `   atomic = […]`

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

class Writer {
 public:
  Writer(const Report& report, const TextOptions& options)
      : report_(report), options_(options), paint_(options.colour) {}

  std::string write() {
    const bool failed = report_.program && report_.program->failed();
    if (failed) {
      paragraph(ended_words(report_), 0, Style::kBad);
      line("");
    }
    write_runs();
    for (std::size_t i = 0; i < report_.checks.size(); ++i) {
      if (i != 0) line("");
      write_check(report_.checks[i]);
    }
    if (failed) write_causes();
    if (options_.suggest_runs && !failed && is_clean()) {
      line("");
      paragraph("This is one schedule of many: --noise or --runs N may show more.", 0,
                Style::kFaint);
    }
    if (options_.stats) write_stats();
    return std::move(out_);
  }

  std::string write(const Finding& finding, std::size_t number) {
    write_finding(finding, number);
    return out_.substr(1);  // without the empty line that keeps it from what comes before
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }

  void paragraph(std::string_view text, std::size_t indent, Style style = Style::kPlain) {
    for (const std::string& each : wrap(text, kColumns - indent)) {
      line(std::string(indent, ' ') + paint_(style, each));
    }
  }

  [[nodiscard]] bool is_clean() const {
    return std::ranges::all_of(report_.checks, [](const CheckReport& entry) {
      return entry.verdict == check::Verdict::kClean;
    });
  }

  void write_runs() {
    if (report_.runs == 0) return;
    std::string text = fmt::format("{} in one report", many(report_.runs, "run"));
    if (!report_.seeds.empty()) {
      text += fmt::format(", with noise of seed {}", report_.seeds.front());
      if (report_.seeds.size() > 1) text += fmt::format(" to {}", report_.seeds.back());
      text += fmt::format("; --noise={} makes the first of them again", report_.seeds.front());
    }
    paragraph(text + ".", 0, Style::kFaint);
    line("");
  }

  /// What could explain that the program failed.
  void write_causes() {
    line("");
    line(paint_(Style::kStrong, "What could explain it:"));
    if (report_.causes.empty()) paragraph(no_cause_words(report_), kIndent);
    for (std::size_t i = 0; i < report_.causes.size(); ++i) {
      item(fmt::format("{}.", i + 1), Style::kStrong, cause_words(report_.causes[i]), 3);
    }
  }

  /// A paragraph with a word in the margin.
  void item(std::string_view head, Style style, std::string_view text, std::size_t margin) {
    const std::size_t indent = kIndent + margin;
    bool first = true;
    for (const std::string& each : wrap(text, kColumns - indent)) {
      const std::string before =
          first ? paint_(style, pad(head, margin)) : std::string(margin, ' ');
      line(std::string(kIndent, ' ') + before + each);
      first = false;
    }
  }

  void figure(std::string_view name, std::string_view value, std::size_t indent) {
    constexpr std::size_t kNames = 52;
    line(fmt::format("{}{}{}", std::string(indent, ' '), pad(name, kNames - indent),
                     fit(value, kColumns - kNames)));
  }

  /// A command stays in one piece, so that it can be copied.
  void command(std::string_view head, std::string_view text, std::size_t margin) {
    line(std::string(kIndent, ' ') + paint_(Style::kStrong, pad(head, margin)) + std::string(text));
  }

  void write_check(const CheckReport& entry) {
    const check::Registration* known = check::find(entry.check);
    if (known != nullptr && known->rules.empty()) return write_figures(entry);
    paragraph(verdict_words(report_.trace, entry), 0,
              entry.verdict == check::Verdict::kClean       ? Style::kGood
              : entry.verdict == check::Verdict::kUndecided ? Style::kWarn
                                                            : Style::kBad);
    write_size(entry);
    if (&entry == report_.checks.data()) {
      if (report_.trace.noise) {
        paragraph(fmt::format("The program ran with noise of seed {0}; --noise={0} makes the same.",
                              *report_.trace.noise),
                  0, Style::kFaint);
      }
      for (const std::string& warning : report_.trace.warnings) {
        paragraph("Warning: " + clean(warning), 0, Style::kWarn);
      }
    }
    for (const std::string& note : entry.notes) paragraph("Note: " + clean(note), 0);
    write_left_out(entry);
    write_findings(entry.findings);
    write_limits(entry);
  }

  /// An analysis that judges nothing: what it measured.
  void write_figures(const CheckReport& entry) {
    paragraph(fmt::format("{} of {}", capital(clean(entry.check)), file_words(report_.trace)), 0,
              Style::kStrong);
    for (const check::Stat& stat : entry.stats) figure(clean(stat.name), grouped(stat.value), 2);
  }

  /// What suppressions and a baseline have kept out of the list.
  void write_left_out(const CheckReport& entry) {
    for (const Suppressed& one : entry.suppressed) {
      paragraph(fmt::format("Left out: {}, suppressed by line {}, {}",
                            many(one.findings, "finding"), one.line, clean(one.text)),
                0);
    }
    if (entry.known != 0) {
      paragraph(fmt::format("Left out: {} of the baseline", many(entry.known, "finding")), 0);
    }
    if (entry.gone && *entry.gone != 0) {
      paragraph(fmt::format("{} of the baseline did not show up.", many(*entry.gone, "finding")),
                0);
    }
  }

  void write_size(const CheckReport& entry) {
    const Trace& trace = report_.trace;
    paragraph(size_words(trace, entry), 0, Style::kFaint);
    if (trace.interrupted) {
      paragraph(fmt::format("Interrupted after {}: what follows is about those alone.",
                            many(trace.events, "event")),
                0, Style::kWarn);
    } else if (!trace.whole) {
      paragraph("Stopped at the first finding; the rest of the trace was not read.", 0,
                Style::kFaint);
    }
  }

  /// Whoever accesses a variable races with the one write that nothing guards: dozens of pairs of
  /// places, one cause. So each variable (a field, in whichever object) has one race told in full.
  void write_findings(const std::vector<Finding>& findings) {
    std::map<std::string, std::size_t, std::less<>> told;  // to the number of the finding
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const Finding& finding = findings[i];
      if (is_pattern(finding)) {
        const auto [at, is_new] = told.try_emplace(pattern_group(finding), i + 1);
        if (!is_new) {
          write_again(finding, i + 1, at->second);
          continue;
        }
      }
      const bool race = finding.rule == "race" && finding.events.size() == 2;
      const Site* const site = race ? finding.site_at(finding.events.front()) : nullptr;
      if (site != nullptr) {
        const auto [at, is_new] =
            told.try_emplace(site->target.substr(0, site->target.find('@')), i + 1);
        if (!is_new) {
          write_again(finding, i + 1, at->second);
          continue;
        }
      }
      write_finding(finding, i + 1);
    }
  }

  void write_again(const Finding& finding, std::size_t number, std::size_t first) {
    line("");
    write_headline(finding, number);
    if (is_pattern(finding)) {
      paragraph(clean(fmt::format("{}. See {}, by the same units on the same data.",
                                  pattern_words(finding), first)),
                kIndent);
      return;
    }
    paragraph(clean(fmt::format("{}. See {}, on the same variable or field.", race_words(finding),
                                first)),
              kIndent);
  }

  void write_finding(const Finding& finding, std::size_t number) {
    line("");
    write_headline(finding, number);
    const Explanation explanation = explain(finding);
    if (explanation.empty()) paragraph(clean(finding.message), kIndent);
    line("");
    for (const std::string& each : draw(finding, kColumns - kIndent, paint_)) {
      line(each.empty() ? "" : std::string(kIndent, ' ') + each);
    }
    write_explanation(finding, explanation);
    const std::vector<std::string> shown =
        details(report_, finding, {kColumns - kIndent, options_.frames}, paint_);
    if (!shown.empty()) line("");
    for (const std::string& each : shown) {
      line(each.empty() ? "" : std::string(kIndent, ' ') + each);
    }
    write_advice(finding, !shown.empty());
  }

  void write_headline(const Finding& finding, std::size_t number) {
    const std::string head = fmt::format("{:<{}}", fmt::format("{}. ", number), kIndent);
    std::string what = clean(headline_of(finding));
    std::string where = clean(whereabouts(finding));
    const std::size_t room = kColumns - width(head);
    where = fit(where, room / 2);
    what = fit(what, room - width(where) - 4);
    line(paint_(Style::kBad, head + what) + "  " + paint_(Style::kFaint, "(" + where + ")"));
  }

  void write_explanation(const Finding& finding, const Explanation& explanation) {
    if (explanation.empty()) return;
    line("");
    const std::size_t margin = 3;
    for (std::size_t i = 0; i < explanation.edges.size(); ++i) {
      if (explanation.edges[i].empty()) continue;
      item(letter(i), Style::kBad, clean(explanation.edges[i]), margin);
    }
    if (explanation.edges.size() < finding.cycle.size()) {
      paragraph(fmt::format("… and {} (--format json has them all)",
                            many(finding.cycle.size() - explanation.edges.size(), "more edge")),
                kIndent + margin);
    }
    paragraph(clean(explanation.conclusion), kIndent);
  }

  /// `detailed`: the locks were told already.
  void write_advice(const Finding& finding, bool detailed) {
    constexpr std::size_t kMargin = 12;
    line("");
    if ((!finding.cycle.empty() || !finding.events.empty()) && !detailed) {
      item("Locks held", Style::kStrong, clean(locks_held(finding)), kMargin);
    }
    const std::string fix = usual_fix(finding);
    if (!fix.empty()) item("Usual fix", Style::kStrong, clean(fix), kMargin);
    const std::string closer = closer_command(report_.trace, finding);
    if (!closer.empty()) command("Look closer", clean(closer), kMargin);
  }

  /// What a reader may take the verdict for, and must not.
  void write_limits(const CheckReport& entry) {
    line("");
    const std::string file = clean(shell_word(report_.trace.file));
    if (entry.verdict == check::Verdict::kViolated) {
      if (!report_.trace.kept) {
        paragraph("To look closer or check again, keep the trace: syndrome run -o run.syn …", 0,
                  Style::kFaint);
      } else if (report_.trace.file != "-") {
        const std::string check =
            entry.check == "atomicity" ? "" : fmt::format("--check {} ", clean(entry.check));
        paragraph(fmt::format("For other programs: syndrome check {}--format json {}", check, file),
                  0, Style::kFaint);
      }
      return;
    }
    if (entry.verdict == check::Verdict::kUndecided) return;
    if (entry.check == "determinism") return write_determinism_limits(entry);
    if (entry.check == "atomicity" && report_.trace.blocks == 0) return write_no_blocks();
    const std::string limits = limits_words(report_.trace, entry);
    if (!limits.empty()) paragraph(limits, 0);
  }

  /// What was proved is in the notes.
  void write_determinism_limits(const CheckReport& entry) {
    const auto blocks = std::ranges::find(entry.stats, "deterministic blocks", &check::Stat::name);
    if (blocks != entry.stats.end() && blocks->value == 0) {
      paragraph("There was nothing to check: the trace has no deterministic blocks.", 0,
                Style::kWarn);
      paragraph(
          "Name functions in a spec, [blocks] deterministic = [\"sort\"], or put "
          "SYNDROME_DETERMINISTIC (from <syndrome/syndrome.h>) before one and build again.",
          0);
      return;
    }
    paragraph(
        "Code that did not run, or ran outside of deterministic blocks, was not judged, and "
        "neither was what the trace does not have.",
        0);
  }

  /// What to do about a trace in which nothing is said to be atomic.
  void write_no_blocks() {
    const std::vector<std::string>& candidates = report_.trace.candidates;
    if (candidates.empty()) {
      paragraph("There was nothing to check: the trace has no blocks (begin … end).", 0,
                Style::kWarn);
      return;
    }
    paragraph("There was nothing to check: nobody has said which functions are to run as if alone.",
              0, Style::kWarn);
    const bool kept = report_.trace.kept;
    paragraph(kept ? "Name them in a spec; it needs no rebuild and no new run:"
                   : "Name them in a spec; it needs no rebuild:",
              0);
    line("");
    line("   # blocks.toml");
    line("   [blocks]");
    std::string list;
    for (const std::string& name : candidates) {
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", clean(name));
    }
    if (width(list) + kListAround <= kColumns) {
      line(fmt::format("   atomic = [{}]", list));
    } else {
      // A name that is longer than a line stays whole: it is there to be copied.
      line("   atomic = [");
      for (const std::string& name : candidates) line(fmt::format("     \"{}\",", clean(name)));
      line("   ]");
    }
    line("");
    // A trace that is not kept is called by its program's command line.
    line(fmt::format(
        "   syndrome {} --spec blocks.toml {}", kept ? "check" : "run",
        kept ? clean(shell_word(report_.trace.file)) : "-- " + clean(report_.trace.file)));
    line("");
    paragraph(
        "or put SYNDROME_ATOMIC (from <syndrome/syndrome.h>) before a function or into a "
        "block and build again.",
        0);
  }

  void write_stats() {
    if (!out_.empty()) line("");
    line(paint_(Style::kStrong, "Statistics"));
    if (report_.seconds > 0) {
      figure("time", duration(report_.seconds), 2);
      figure("events a second",
             grouped(static_cast<std::uint64_t>(static_cast<double>(report_.trace.events) /
                                                report_.seconds)),
             2);
    }
    if (report_.peak_memory != 0) {
      figure("peak memory",
             fmt::format("{:.1f} MB", static_cast<double>(report_.peak_memory) / 1e6), 2);
    }
    for (const CheckReport& entry : report_.checks) {
      figure(clean(entry.engine.empty() ? entry.check
                                        : fmt::format("{} ({})", entry.check, entry.engine)),
             duration(entry.seconds), 2);
      for (const check::Stat& stat : entry.stats) {
        figure(clean(stat.name), grouped(stat.value), 4);
      }
    }
  }

  const Report& report_;
  const TextOptions& options_;
  Paint paint_;
  std::string out_;
};

}  // namespace

std::string finding_text(const Report& report, const Finding& finding, std::size_t number,
                         const TextOptions& options) {
  return Writer(report, options).write(finding, number);
}

std::string to_text(const Report& report, const TextOptions& options) {
  return Writer(report, options).write();
}

}  // namespace syndrome::report
