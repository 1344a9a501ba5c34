#include "check/determinism/determinism.h"
#include "check/witnesses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "check/determinism/decide.h"
#include "check/determinism/search.h"
#include "check/determinism/verify.h"

namespace syndrome::check {
namespace {

using namespace determinism;

/// A site, or the number of an event without one, marked as such.
std::uint64_t site_or_number(SiteId site, EventNumber number) {
  constexpr std::uint64_t kNumber = std::uint64_t{1} << 63U;
  return site.value != 0 ? site.value : kNumber | number;
}

class Determinism final : public Check {
 public:
  explicit Determinism(const Options& options) : options_(options) {
    result_.check = "determinism";
    decide(options.race_filter ? Decide::Look::kFiltered : Decide::Look::kAll, {});
  }

  void take(const Batch& batch, const Names& names) override {
    switch (pass_) {
      case Pass::kDecide: return decide_->take(batch, names);
      case Pass::kSearch: return search_->take(batch, names);
      case Pass::kVerify: return verifier_->take(batch, names);
    }
  }

  [[nodiscard]] bool satisfied() const override {
    switch (pass_) {
      case Pass::kDecide: return decide_->satisfied();
      case Pass::kSearch: return search_->satisfied();
      case Pass::kVerify: return verifier_->satisfied();
    }
    return false;
  }

  [[nodiscard]] bool end_of_pass(const Names&) override {
    switch (pass_) {
      case Pass::kDecide: return end_of_decide();
      case Pass::kSearch: return end_of_search();
      case Pass::kVerify: verify(); return false;
    }
    return false;
  }

  [[nodiscard]] CheckResult result() override { return std::move(result_); }

 private:
  enum class Pass : std::uint8_t { kDecide, kSearch, kVerify };

  /// Findings that are kept at most: the verifier follows each.
  static constexpr std::size_t kMostFindings = 10'000;

  [[nodiscard]] BlockRule::Options block_options() const {
    return {options_.deterministic, options_.every_begin_is_deterministic};
  }

  void decide(Decide::Look look, std::vector<bool> racy) {
    pass_ = Pass::kDecide;
    decide_ = std::make_unique<Decide>(
        Decide::Options{block_options(), look, std::move(racy), options_.first});
  }

  bool end_of_decide() {
    if (result_.stats.empty()) result_.stats = decide_->stats();
    const bool violated = decide_->violation() != 0;
    if (!violated && decide_->crossings().around_candidates().empty()) {
      if (decide_->races()) {
        // What was skipped is not all free of races.
        result_.stats.push_back({"looked again, at data with races", 1});
        if (decide_->needs_all()) {
          decide(Decide::Look::kAll, {});
        } else {
          decide(Decide::Look::kRacy, decide_->racy_variables());
        }
        return true;
      }
      judge();
      return false;
    }
    Search::Options options;
    options.blocks = block_options();
    options.wide = options_.all;
    options.last = &decide_->last();
    if (options_.first && violated) options.until = decide_->violation();
    search_ = std::make_unique<Search>(
        options, [this](const FoundConflict& found) { add(found); },
        [this](Cycle cycle) { add(std::move(cycle)); }, decide_->crossings());
    pass_ = Pass::kSearch;
    return true;
  }

  bool end_of_search() {
    if (search_->end_of_pass()) return true;
    if (!search_->incomplete().empty()) incomplete(search_->incomplete());
    result_.stats.push_back({"transaction graphs searched", search_->graphs()});
    result_.stats.push_back({"conflicts in blocks", conflicts_});
    result_.stats.push_back({"blocks on cycles", cycles_});
    search_.reset();
    group_of_.clear();
    std::ranges::sort(result_.findings, {},
                      [](const Finding& f) { return std::tuple(f.event, f.block, f.rule); });
    if (options_.first && result_.findings.size() > 1) result_.findings.resize(1);
    if (result_.findings.empty()) {
      judge();
      return false;
    }
    verifier_.emplace(result_.findings, BlockRule(block_options()));
    pass_ = Pass::kVerify;
    return true;
  }

  void verify() {
    keep_accepted(*verifier_, result_);
    judge();
  }

  void judge() {
    if (decide_ && decide_->gave_up()) {
      incomplete("more threads are in one deterministic block together than can be followed");
    }
    if (decide_) say_what_follows();
    result_.idle = decide_ && decide_->blocks().begun() == 0;
    result_.verdict = !result_.findings.empty() ? Verdict::kViolated
                      : result_.complete        ? Verdict::kClean
                                                : Verdict::kUndecided;
    decide_.reset();
  }

  /// What a clean verdict proves, and what it takes for granted.
  void say_what_follows() {
    if (!decide_->sources().empty()) {
      result_.notes.push_back(fmt::format(
          "called inside of deterministic blocks, and may say something else in each run: {}",
          fmt::join(decide_->sources(), ", ")));
    }
    const std::uint64_t blocks = decide_->blocks().begun();
    if (!result_.findings.empty() || !result_.complete || blocks == 0) return;
    std::string text = fmt::format(
        "proved for {}: no two operations that nothing inside a block orders conflict ({} of the "
        "blocks forked threads), and no block was interfered with from outside. ",
        blocks == 1 ? "the one deterministic block"
                    : fmt::format("the {} deterministic blocks", blocks),
        decide_->forked_inside());
    text +=
        decide_->one_block()
            ? "All that ran in parallel is in one block, so every schedule of this program on "
              "this input ends in the same state (Lemma 1 of SingleTrack). "
            : "So every run in which the blocks can be put one after the other, and in the same "
              "order as here, ends in the same state (Theorem 1 of SingleTrack). ";
    text +=
        "This takes for granted that the schedule is the only thing that differs: not the input, "
        "time, random numbers or addresses; and that the trace has every access.";
    result_.notes.push_back(std::move(text));
  }

  void incomplete(std::string why) {
    result_.complete = false;
    result_.notes.push_back(std::move(why));
  }

  // --- findings

  void add(const FoundConflict& found) {
    ++conflicts_;
    Finding finding;
    finding.rule = kConflictRule;
    finding.event = found.later;
    finding.block = found.block;
    finding.events = {found.earlier, found.later};
    std::uint64_t one = site_or_number(found.earlier_site, found.earlier);
    std::uint64_t other = site_or_number(found.later_site, found.later);
    if (other < one) std::swap(one, other);
    add(std::move(finding), {0, site_or_number(found.block_site, found.block), one, other});
  }

  void add(Cycle cycle) {
    ++cycles_;
    Finding finding;
    finding.rule = kCycleRule;
    finding.block = cycle.block;
    finding.cycle = std::move(cycle.edges);
    // From an event to itself, shown twice (flatten.h): no edge of the trace.
    std::erase_if(finding.cycle, [](const Edge& edge) { return edge.from == edge.to; });
    for (const Edge& edge : finding.cycle) finding.event = std::max(finding.event, edge.to);
    cycle.sites.insert(cycle.sites.begin(), 1);
    add(std::move(finding), std::move(cycle.sites));
  }

  /// `sites`: what findings that are shown as one have in common.
  void add(Finding finding, std::vector<std::uint64_t> sites) {
    finding.check = "determinism";
    if (!options_.all) {
      const auto at = group_of_.find(sites);
      if (at != group_of_.end()) {  // the earliest one stands for the group
        Finding& group = result_.findings[at->second];
        finding.count = group.count + 1;
        if (finding.event < group.event) {
          group = std::move(finding);
        } else {
          group.count = finding.count;
        }
        return;
      }
    }
    if (result_.findings.size() >= kMostFindings) {
      if (!full_) incomplete(fmt::format("only the first {} findings are listed", kMostFindings));
      full_ = true;
      return;
    }
    if (!options_.all) group_of_.emplace(std::move(sites), result_.findings.size());
    result_.findings.push_back(std::move(finding));
  }

  Options options_;
  Pass pass_ = Pass::kDecide;
  std::unique_ptr<Decide> decide_;
  std::unique_ptr<Search> search_;
  std::optional<Verifier> verifier_;
  std::map<std::vector<std::uint64_t>, std::size_t> group_of_;
  std::uint64_t conflicts_ = 0;
  std::uint64_t cycles_ = 0;
  bool full_ = false;
  CheckResult result_;
};

}  // namespace

std::unique_ptr<Check> make_determinism(const Options& options) {
  return std::make_unique<Determinism>(options);
}

}  // namespace syndrome::check
