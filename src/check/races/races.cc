#include "check/races/races.h"
#include "check/witnesses.h"

#include <fmt/format.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "check/races/detector.h"
#include "check/races/racing_pairs.h"
#include "check/races/verify.h"

namespace syndrome::check {
namespace {

/// Findings that are kept: more than anyone reads, and few enough for the verifier to follow.
constexpr std::size_t kMostFindings = 10'000;

struct SitePair {
  std::uint64_t one = 0;  // not greater than `other`
  std::uint64_t other = 0;
  friend bool operator==(const SitePair&, const SitePair&) = default;
};
struct SitePairHash {
  std::size_t operator()(const SitePair& pair) const noexcept {
    return (pair.one * 0x9E3779B97F4A7C15U ^ pair.other) * 0xC2B2AE3D27D4EB4FU >> 7U;
  }
};

class Races final : public Check {
 public:
  explicit Races(const Options& options) : options_(options) {}

  void take(const Batch& batch, const Names&) override {
    switch (pass_) {
      case Pass::kDetect: dispatch(*detector_, batch, [this] { return detected(); }); return;
      case Pass::kPair: {
        Batch part = batch;
        if (batch.first + batch.events.size() > last_) {
          part.events = batch.events.first(last_ < batch.first ? 0 : last_ - batch.first + 1);
        }
        seen_ = part.first + part.events.size() - 1;
        dispatch(*pairs_, part, [this] { return pairs_->too_many_threads(); });
        return;
      }
      case Pass::kVerify: verifier_->take(batch); return;
    }
  }

  [[nodiscard]] bool satisfied() const override {
    switch (pass_) {
      case Pass::kDetect: return detected();
      case Pass::kPair: return seen_ >= last_ || pairs_->too_many_threads();
      case Pass::kVerify: return verifier_->satisfied();
    }
    return false;
  }

  [[nodiscard]] bool end_of_pass(const Names&) override {
    switch (pass_) {
      case Pass::kDetect: return end_detection();
      case Pass::kPair:
        end_pairing();
        pass_ = Pass::kVerify;
        return true;
      case Pass::kVerify: verify(); return false;
    }
    return false;
  }

  [[nodiscard]] CheckResult result() override {
    result_.check = "races";
    return std::move(result_);
  }

 private:
  enum class Pass : std::uint8_t { kDetect, kPair, kVerify };

  [[nodiscard]] bool detected() const {
    return (options_.first && !detector_->first_races().empty()) || detector_->too_many_threads();
  }

  bool end_detection() {
    const RaceDetector& detector = *detector_;
    result_.stats = {
        {"accesses like one before in the same epoch", detector.counts().same_epoch},
        {"times that several readers had to be told apart", detector.counts().many_readers},
        {"variables with atomic accesses", detector.counts().atomic_variables},
        {"columns of the clocks", detector.slots()},
        {"variables with a race", detector.racy_variables()},
    };
    if (detector.too_many_threads()) {
      result_.complete = false;
      result_.verdict = Verdict::kUndecided;
      result_.notes.push_back(
          fmt::format("more than {} threads of which none has joined another: what follows the "
                      "last of them was not looked at",
                      HappensBefore::kMaxSlots));
    }
    if (detector.first_races().empty()) return false;
    result_.verdict = Verdict::kViolated;
    last_ = options_.first ? detector.first_races().front().later : ~EventNumber{0};
    pairs_.emplace(detector,
                   [this](Race race, SiteId earlier, SiteId later) { add(race, earlier, later); });
    detector_.reset();
    pass_ = Pass::kPair;
    return true;
  }

  void add(Race race, SiteId earlier, SiteId later) {
    ++racing_pairs_;
    if (!options_.all) {
      const SitePair sites = sites_of(race, earlier, later);
      if (const auto at = group_of_.find(sites); at != group_of_.end()) {
        ++found_[at->second].second;
        return;
      }
      if (found_.size() < kMostFindings) group_of_.emplace(sites, found_.size());
    }
    if (found_.size() < kMostFindings) {
      found_.emplace_back(race, 1);
    } else {
      ++left_out_;
    }
  }

  /// An event without a site is a site of its own.
  static SitePair sites_of(const Race& race, SiteId earlier, SiteId later) {
    constexpr std::uint64_t kEvent = std::uint64_t{1} << 63U;
    const std::uint64_t a = earlier.value != 0 ? earlier.value : kEvent | race.earlier;
    const std::uint64_t b = later.value != 0 ? later.value : kEvent | race.later;
    return {std::min(a, b), std::max(a, b)};
  }

  void end_pairing() {
    pairs_.reset();
    group_of_.clear();
    result_.stats.push_back({"racing pairs", racing_pairs_});
    std::ranges::sort(found_, {}, [](const auto& entry) {
      return std::pair(entry.first.later, entry.first.earlier);
    });
    if (options_.first) {
      found_.resize(1);
    } else if (left_out_ != 0) {
      result_.complete = false;
      result_.notes.push_back(fmt::format(
          "the first {} findings; {} more racing pairs are left out", kMostFindings, left_out_));
    }
    std::vector<Race> races;
    for (const auto& [race, count] : found_) races.push_back(race);
    verifier_.emplace(std::move(races));
  }

  void verify() {
    std::size_t rejected = 0;
    for (const auto& [race, count] : found_) {
      if (verifier_->reject(race)) {
        ++rejected;
        continue;
      }
      Finding& finding = result_.findings.emplace_back();
      finding.check = "races";
      finding.rule = "race";
      finding.event = race.later;
      finding.events = {race.earlier, race.later};
      finding.count = count;
      verifier_->witnesses().add_to(finding, finding.events);
    }
    note_rejected(rejected, result_);
  }

  Options options_;
  Pass pass_ = Pass::kDetect;
  std::optional<RaceDetector> detector_{std::in_place};
  std::optional<RacingPairs> pairs_;
  EventNumber last_ = 0;  // that the second look cares for
  EventNumber seen_ = 0;  // by the second look
  std::uint64_t racing_pairs_ = 0;
  std::vector<std::pair<Race, std::uint64_t>> found_;  // with how often
  std::uint64_t left_out_ = 0;
  tsl::robin_map<SitePair, std::size_t, SitePairHash> group_of_;  // index into found_
  std::optional<RaceVerifier> verifier_;
  CheckResult result_;
};

}  // namespace

std::unique_ptr<Check> make_races(const Options& options) {
  return std::make_unique<Races>(options);
}

}  // namespace syndrome::check
