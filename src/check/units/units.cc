#include "check/units/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "check/patterns.h"
#include "check/units/detector.h"
#include "check/units/verify.h"
#include "check/units/words.h"
#include "check/witnesses.h"

namespace syndrome::check {
namespace units {
namespace {

class Units final : public Check {
 public:
  explicit Units(const Options& options) : options_(options) { result_.check = "atomic-sets"; }

  void take(const Batch& batch, const Names& names) override {
    if (verifier_) return verifier_->take(batch, names);
    detector_.take(batch, names);
  }

  [[nodiscard]] bool end_of_pass(const Names& names) override {
    if (verifier_) {
      finish(names);
      return false;
    }
    const Detector::Counts& counts = detector_.counts();
    result_.stats = {
        {"accesses", counts.accesses},
        {"accesses of two threads that were judged", counts.candidates},
        {"interrupted pairs of steps", detector_.found().size()},
    };
    for (const Found& found : detector_.found()) {
      if (found.judgement.tier == Tier::kPossible) ++possible_;
      const bool shown = found.judgement.tier > Tier::kPossible || options_.possible;
      if (shown && found_.size() < kMostFindings) found_.push_back(found);
    }
    note_possible();
    if (found_.empty()) return false;
    verifier_.emplace(found_);
    return true;
  }

  [[nodiscard]] CheckResult result() override { return std::move(result_); }

 private:
  static constexpr std::size_t kMostFindings = 10'000;

  void note_possible() {
    if (possible_ == 0 || options_.possible) return;
    result_.notes.push_back(
        fmt::format("{} pair{} of steps {} interrupted with nothing that connects {}: --possible "
                    "lists {}",
                    possible_, possible_ == 1 ? "" : "s", possible_ == 1 ? "was" : "were",
                    possible_ == 1 ? "it" : "them", possible_ == 1 ? "it" : "them"));
  }

  void finish(const Names& names) {
    const std::size_t before = found_.size();
    std::erase_if(found_,
                  [this](const Found& found) { return verifier_->reject(found).has_value(); });
    note_rejected(before - found_.size(), result_);
    if (!options_.all) join(names);
    std::ranges::sort(found_, {}, [](const Found& found) {
      return std::tuple(-static_cast<int>(found.judgement.tier), found.pattern, found.events);
    });
    for (const Found& found : found_) add(found, names);
    if (!result_.findings.empty()) {
      result_.verdict = Verdict::kViolated;
    } else if (!result_.complete) {
      result_.verdict = Verdict::kUndecided;
    }
  }

  /// Leaves one for each function and its data: the best founded one, with the lowest pattern.
  void join(const Names& names) {
    std::map<std::pair<std::string, std::string>, std::size_t> group_of;
    std::vector<Found> groups;
    for (const Found& found : found_) {
      const std::string function(names.label(found.function));
      const auto [group, is_new] =
          group_of.try_emplace(std::pair(function, data_of(found, names)), groups.size());
      if (is_new) {
        groups.push_back(found);
        continue;
      }
      Found& shown = groups[group->second];
      const std::uint64_t count = shown.count + found.count;
      const auto rank = [](const Found& each) {
        // A pattern has a name that says more than a cycle.
        return std::pair(-static_cast<int>(each.judgement.tier),
                         each.pattern == 0 ? atomic_sets::kPatternCount + 1 : each.pattern);
      };
      if (rank(found) < rank(shown)) shown = found;
      shown.count = count;
    }
    found_ = std::move(groups);
  }

  void add(const Found& found, const Names& names) {
    Finding& finding = result_.findings.emplace_back();
    finding.check = "atomic-sets";
    finding.tier = name_of(found.judgement.tier);
    finding.connection = connection_of(found, names);
    finding.event = *std::ranges::max_element(found.events);
    finding.set = set_of(found, names);
    finding.locations.emplace_back(names.variable(found.first));
    if (found.first != found.second) finding.locations.emplace_back(names.variable(found.second));
    if (found.pattern == 0) {
      finding.rule = atomic_sets::kCycleRule;
      finding.cycle = {{found.events[0], found.events[1]}, {found.events[2], found.events[3]}};
    } else {
      finding.rule = "pattern";
      finding.pattern = found.pattern;
      const std::size_t length = atomic_sets::pattern(found.pattern).length;
      finding.events.assign(found.events.begin(), found.events.begin() + length);
    }
    finding.units = {found.unit, found.other};
    if (found.swapped) std::swap(finding.units[0], finding.units[1]);
    finding.count = found.count;
    verifier_->add_witnesses(found, finding);
  }

  Options options_;
  Detector detector_;
  std::vector<Found> found_;
  std::uint64_t possible_ = 0;
  std::optional<Verifier> verifier_;
  CheckResult result_;
};

}  // namespace
}  // namespace units

std::unique_ptr<Check> make_units(const Options& options) {
  return std::make_unique<units::Units>(options);
}

}  // namespace syndrome::check
