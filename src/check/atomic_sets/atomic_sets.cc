#include "check/atomic_sets/atomic_sets.h"
#include "check/witnesses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "check/atomic_sets/cycle_findings.h"
#include "check/atomic_sets/verify.h"
#include "check/units/units.h"
#include "spec/nearest.h"

namespace syndrome::check {
namespace atomic_sets {

/// Whether what nobody declared is judged by what connects its steps (check/units).
bool judges_by_connection(const Options& options) {
  const bool says_how = options.default_sets ||
                        (options.spec != nullptr && options.spec->default_sets.has_value());
  return options.recorded && !says_how;
}

UnitOptions unit_options(const Options& options) {
  UnitOptions result;
  result.sets.spec = options.spec;
  if (options.spec != nullptr) {
    result.sets.otherwise = options.spec->default_sets.value_or(spec::DefaultSets::kClass);
    result.span_threads = options.spec->units_span_threads;
  }
  if (options.default_sets) result.sets.otherwise = *options.default_sets;
  result.only_declared = judges_by_connection(options);
  return result;
}

namespace {

class AtomicSets final : public Check {
 public:
  explicit AtomicSets(const Options& options)
      : options_(options),
        matcher_([this](const Match& match) { add(match); },
                 judges_cycles(options) ? [this](const Cycle& cycle) { cycles_.add(cycle); }
                                        : Matcher::OnCycle()),
        tracker_(unit_options(options), matcher_) {
    result_.check = "atomic-sets";
  }

  void take(const Batch& batch, const Names& names) override {
    if (verifier_) return verifier_->take(batch, names);
    tracker_.speak(names);
    dispatch(tracker_, batch, [this] { return options_.first && has_found(); });
  }

  [[nodiscard]] bool satisfied() const override {
    return verifier_ ? verifier_->satisfied() : options_.first && has_found();
  }

  [[nodiscard]] bool end_of_pass(const Names& names) override {
    if (verifier_) {
      verify(names);
      return false;
    }
    const Matcher::Counts& counts = matcher_.counts();
    result_.stats = {
        {"atomic sets", tracker_.sets().sets()},
        {"units of work", counts.units},
        {"accesses to sets", tracker_.accesses()},
        {"functions and blocks around them, added up", tracker_.depth()},
        {"accesses to sets that no other unit was in", counts.alone},
        {"accesses to locations that no other unit had accessed", counts.unshared},
        {"comparisons of two units", counts.pairs},
        {"most sets in use together", counts.windows},
        {"most units held together", counts.held},
        {"patterns found", patterns_},
    };
    if (judges_cycles(options_)) {
      result_.stats.push_back({"edges that closed a cycle", counts.cycles});
    }
    if (!satisfied()) warn_of_unmatched(names);
    if (counts.cut != 0) {
      result_.complete = false;
      result_.notes.push_back(fmt::format(
          "units of work with more than {} locations in one set: patterns of two locations were "
          "looked for among the first {} alone",
          Matcher::kMostLocations, Matcher::kMostLocations));
    }
    if (counts.unsearched != 0) {
      result_.complete = false;
      result_.notes.push_back(fmt::format(
          "{} more cycles were seen and not searched for: too many for the time that is allowed",
          counts.unsearched));
    }
    if (!has_found()) {
      // No cycle, no pattern: which patterns were looked for matters only to those without graphs.
      if (!result_.complete && counts.cycles != 0) result_.verdict = Verdict::kUndecided;
      return false;
    }
    finish(names);
    verifier_.emplace(result_.findings, unit_options(options_));
    return true;
  }

  [[nodiscard]] CheckResult result() override { return std::move(result_); }

 private:
  /// Findings that are kept: more than anyone reads.
  static constexpr std::size_t kMostFindings = 10'000;

  [[nodiscard]] bool has_found() const { return !found_.empty() || !cycles_.empty(); }

  void add(const Match& match) {
    ++patterns_;
    if (options_.first && !found_.empty()) return;
    if (!options_.all) {
      std::vector<std::uint64_t> sites = {match.pattern};
      for (std::size_t i = 0; i < pattern(match.pattern).length; ++i) {
        sites.push_back(site_or_number(match.events[i]));
      }
      const auto group = group_of_.find(sites);
      if (group != group_of_.end()) {
        ++found_[group->second].second;
        return;
      }
      if (found_.size() < kMostFindings) group_of_.emplace(std::move(sites), found_.size());
    }
    if (found_.size() < kMostFindings) {
      found_.emplace_back(match, 1);
    } else {
      ++left_out_;
    }
  }

  /// Turns what was found into findings, in the order of their last events.
  void finish(const Names& names) {
    group_of_.clear();
    const auto key = [](const auto& entry) {
      const Match& match = entry.first;
      const auto last = match.events[pattern(match.pattern).length - 1].number;
      return std::tuple(last, match.pattern, match.events[0].number, match.events[1].number,
                        match.events[2].number, match.set);
    };
    std::ranges::sort(found_, {}, key);
    for (const auto& [match, count] : found_) {
      const Pattern& found = pattern(match.pattern);
      Finding& finding = result_.findings.emplace_back();
      finding.check = "atomic-sets";
      finding.rule = "pattern";
      finding.pattern = match.pattern;
      for (std::size_t i = 0; i < found.length; ++i) {
        finding.events.push_back(match.events[i].number);
      }
      finding.event = finding.events.back();
      finding.set = tracker_.sets().name_of_set({match.set, match.first}, names);
      finding.locations.push_back(tracker_.sets().name_of_location(match.first, names));
      if (found.two_locations()) {
        finding.locations.push_back(tracker_.sets().name_of_location(match.second, names));
      }
      finding.units = {match.unit.begin, match.other.begin};
      finding.count = count;
    }
    found_.clear();
    cycles_.add_to(result_.findings, tracker_.sets(), names);
    left_out_ += cycles_.left_out();
    if (left_out_ == 0) return;
    result_.complete = false;
    result_.notes.push_back(
        fmt::format("the first {} findings; {} more are left out", kMostFindings, left_out_));
  }

  void verify(const Names& names) {
    keep_accepted(*verifier_, result_);
    if (options_.by_unit && !options_.all) join(names);
    result_.verdict = !result_.findings.empty() ? Verdict::kViolated : Verdict::kUndecided;
  }

  /// Leaves one finding for each function u and set (Options::by_unit): that of the lowest pattern.
  void join(const Names& names) {
    std::map<std::tuple<std::string_view, std::string_view, std::string>, std::size_t> group_of;
    std::vector<Finding> groups;
    std::uint64_t joined = 0;
    for (Finding& finding : result_.findings) {
      const auto first = std::ranges::find(
          finding.witnesses,
          finding.cycle.empty() ? finding.events.front() : finding.cycle.front().from,
          &Witness::number);
      const bool function = first != finding.witnesses.end() && first->block != 0 &&
                            first->block_begin.kind == EventKind::kEnter;
      if (!function) {
        groups.push_back(std::move(finding));
        continue;
      }
      const std::string_view label = names.label(LabelId(first->block_begin.target));
      const auto [group, is_new] = group_of.try_emplace(
          std::tuple(finding.rule, label, std::string(set_without_object(finding.set))),
          groups.size());
      if (is_new) {
        groups.push_back(std::move(finding));
        continue;
      }
      ++joined;
      Finding& shown = groups[group->second];
      finding.count = shown.count += finding.count;
      if (finding.pattern < shown.pattern || finding.cycle.size() < shown.cycle.size()) {
        shown = std::move(finding);
      }
    }
    result_.findings = std::move(groups);
    if (joined == 0) return;
    result_.notes.push_back(fmt::format(
        "one finding for each unit of work and atomic set; {} more, of the same at other "
        "places, by other patterns or with other units, are listed by --by-site",
        joined));
  }

  /// What the user wrote and the trace does not have.
  void warn_of_unmatched(const Names& names) {
    const auto warn = [&](const SetRule::Unmatched& entry, Space space, std::string_view what) {
      std::vector<std::string_view> known;
      const StringTable& table = names.table(space);
      constexpr std::size_t kMost = 20'000;  // compared with each; it is a help, not a promise
      for (std::size_t i = 0; i < std::min(table.size(), kMost); ++i) {
        known.push_back(space == Space::kVariable ? VariableName(table[i]).name
                                                  : spec::spoken_name(table[i]));
      }
      const std::string_view near = spec::nearest(entry.entry->pattern.text(), known);
      result_.warnings.push_back(fmt::format(
          "spec, line {}, column {}: {} = \"{}\" matches no {} of this trace{}", entry.entry->line,
          entry.entry->column, entry.list, entry.entry->pattern.text(), what,
          near.empty() ? std::string() : fmt::format("; nearest: {}", near)));
    };
    for (const auto& entry : tracker_.sets().unmatched()) warn(entry, Space::kVariable, "variable");
    for (const auto& entry : tracker_.units().unmatched(names)) {
      warn(entry, Space::kLabel, "function or block");
    }
  }

  Options options_;
  CycleFindings cycles_{options_.all};
  Matcher matcher_;
  UnitTracker<Matcher> tracker_;
  std::uint64_t patterns_ = 0;
  std::vector<std::pair<Match, std::uint64_t>> found_;  // with how often
  std::uint64_t left_out_ = 0;
  std::map<std::vector<std::uint64_t>, std::size_t> group_of_;  // index into found_
  std::optional<Verifier> verifier_;
  CheckResult result_;
};

/// Two checks as one: of what is declared, and of what connects the rest.
class Both final : public Check {
 public:
  Both(std::unique_ptr<Check> declared, std::unique_ptr<Check> connected)
      : parts_{Part{std::move(declared)}, Part{std::move(connected)}} {}

  void take(const Batch& batch, const Names& names) override {
    for (Part& part : parts_) {
      if (!part.done && !part.check->satisfied()) part.check->take(batch, names);
    }
  }
  [[nodiscard]] bool satisfied() const override {
    return std::ranges::all_of(
        parts_, [](const Part& part) { return part.done || part.check->satisfied(); });
  }
  [[nodiscard]] bool end_of_pass(const Names& names) override {
    bool again = false;
    for (Part& part : parts_) {
      if (!part.done) part.done = !part.check->end_of_pass(names);
      again |= !part.done;
    }
    return again;
  }
  [[nodiscard]] CheckResult result() override {
    CheckResult all = parts_[0].check->result();
    CheckResult more = parts_[1].check->result();
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
    };
    append(all.findings, more.findings);
    append(all.stats, more.stats);
    append(all.notes, more.notes);
    append(all.warnings, more.warnings);
    all.complete = all.complete && more.complete;
    if (more.verdict == Verdict::kViolated || all.verdict == Verdict::kClean) {
      all.verdict = more.verdict;
    }
    return all;
  }

 private:
  struct Part {
    std::unique_ptr<Check> check;
    bool done = false;
  };
  std::array<Part, 2> parts_;
};

}  // namespace
}  // namespace atomic_sets

std::unique_ptr<Check> make_atomic_sets(const Options& options) {
  auto declared = std::make_unique<atomic_sets::AtomicSets>(options);
  if (!atomic_sets::judges_by_connection(options)) return declared;
  return std::make_unique<atomic_sets::Both>(std::move(declared), make_units(options));
}

}  // namespace syndrome::check
