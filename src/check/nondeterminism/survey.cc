#include "check/nondeterminism/survey.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

namespace syndrome::check {
namespace {

/// Triples of a group that are tried for a schedule in which the read sees the challenger. A triple
/// is feasible also when another write always comes in between; mostly the first one will do.
constexpr std::size_t kTries = 16;
/// Schedules of a group that are compared for their length.
constexpr std::size_t kCompared = 3;

struct Key {
  std::array<std::uint64_t, 3> sites{};  // of read, write and challenger
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t site : key.sites) {
      hash = (hash ^ site) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29U;
    }
    return hash;
  }
};

struct Candidate {
  Index read = kNoIndex;
  Index challenger = kNoIndex;
};
struct Group {
  std::vector<Candidate> candidates;
  std::uint64_t count = 0;
};

/// Runs `work(decider, item)` for every item below `count`, on several threads; each takes the next
/// `step` items when it is done. Stops early when `enough(item)` says so: then all items up to that
/// one have been done.
class Workers {
 public:
  Workers(const Order& order, const SurveyOptions& options) : options_(options) {
    const unsigned jobs = std::max(1U, options.jobs);
    for (unsigned i = 0; i < jobs; ++i) {
      deciders_.push_back(std::make_unique<Decider>(order, options.effort));
    }
  }

  void run(std::size_t count, std::size_t step,
           const std::function<bool(Decider&, std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    std::atomic<std::size_t> end = count;
    const auto go = [&](Decider& decider) {
      while (true) {
        const std::size_t from = next.fetch_add(step);
        for (std::size_t item = from; item < from + step; ++item) {
          if (item >= end.load(std::memory_order_relaxed)) return;
          if (!work(decider, item)) continue;
          std::size_t known = end.load();
          while (item + 1 < known && !end.compare_exchange_weak(known, item + 1)) {
          }
        }
      }
    };
    std::vector<std::thread> threads;
    const std::size_t useful = std::min(deciders_.size(), count / step + 1);
    for (std::size_t i = 1; i < useful; ++i) {
      threads.emplace_back([&, i] { go(*deciders_[i]); });
    }
    go(*deciders_[0]);
    for (std::thread& thread : threads) thread.join();
  }

  [[nodiscard]] Decider& first() { return *deciders_[0]; }

  void count(Survey& into) const {
    for (const auto& decider : deciders_) {
      into.decisions.add(decider->counts());
      into.search.add(decider->search_counts());
    }
  }

 private:
  SurveyOptions options_;
  std::vector<std::unique_ptr<Decider>> deciders_;
};

class Surveyor {
 public:
  Surveyor(const Order& order, const SurveyOptions& options)
      : order_(order), options_(options), workers_(order, options) {}

  Survey run() {
    decide_reads();
    group_reads();
    find_schedules();
    if (!options_.first || result_.reads.empty()) decide_finals();
    workers_.count(result_);
    return std::move(result_);
  }

 private:
  void decide_reads() {
    const std::vector<Index>& reads = order_.reads();
    constexpr std::size_t kStep = 64;
    std::vector<ReadVerdict> verdicts(reads.size());
    workers_.run(reads.size(), kStep, [&](Decider& decider, std::size_t item) {
      verdicts[item] = decider.decide(reads[item]);
      return options_.first && verdicts[item].nondeterministic();
    });
    for (ReadVerdict& verdict : verdicts) {
      if (!verdict.nondeterministic()) continue;
      verdicts_.push_back(std::move(verdict));
      if (options_.first) break;
    }
    result_.nondeterministic_reads = verdicts_.size();
  }

  /// An event without a site is a site of its own; so is every event with --all.
  [[nodiscard]] std::uint64_t site(Index e) const {
    constexpr std::uint64_t kEvent = std::uint64_t{1} << 63U;
    if (e == kNoIndex) return ~std::uint64_t{0};
    const SiteId own = order_.site(e);
    return options_.all || own.value == 0 ? kEvent | e : own.value;
  }

  void group_reads() {
    tsl::robin_map<Key, std::size_t, KeyHash> known;
    for (const ReadVerdict& verdict : verdicts_) {
      const auto add = [&](Index challenger) {
        const Key key{{site(verdict.read), site(order_.writer(verdict.read)), site(challenger)}};
        auto at = known.find(key);
        if (at == known.end()) {
          if (groups_.size() == Survey::kMostGroups) {
            ++result_.left_out;
            return;
          }
          at = known.emplace(key, groups_.size()).first;
          groups_.emplace_back();
        }
        Group& group = groups_[at->second];
        ++group.count;
        const bool seen =
            verdict.seen == challenger && (challenger != kNoIndex || verdict.seen_initial);
        if (group.candidates.size() < kTries) {
          group.candidates.push_back({verdict.read, challenger});
        } else if (seen) {
          group.candidates.back() = {verdict.read, challenger};
        }
      };
      if (verdict.initial) add(kNoIndex);
      for (const auto& [from, to] : verdict.feasible) {
        for (std::uint32_t place = from; place < to; ++place) add(order_.writes().at(place));
      }
    }
    verdicts_.clear();
  }

  void find_schedules() {
    std::vector<Prediction> found(groups_.size());
    std::vector<std::uint8_t> undecided(groups_.size(), 0);
    workers_.run(groups_.size(), 1, [&](Decider& decider, std::size_t item) {
      std::size_t compared = 0;
      for (const Candidate& candidate : groups_[item].candidates) {
        const Answer answer = decider.reads_from(candidate.read, candidate.challenger);
        undecided[item] |= answer == Answer::kUndecided ? 1 : 0;
        if (answer != Answer::kYes) continue;
        const std::uint64_t length = decider.length() + 1;
        if (compared == 0 || length < found[item].length) {
          found[item] = {candidate.read, order_.writer(candidate.read), candidate.challenger,
                         length, groups_[item].count};
        }
        if (++compared == kCompared) break;
      }
      return false;
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].length != 0) {
        result_.reads.push_back(found[i]);
      } else {
        result_.undecided_groups += undecided[i];
      }
    }
    std::ranges::sort(result_.reads, {}, [](const Prediction& each) {
      return std::pair(each.read, each.challenger + 1);  // the initial value first
    });
    if (options_.first && !result_.reads.empty()) result_.reads.resize(1);
  }

  void decide_finals() {
    struct Final {
      std::vector<Index> challengers;
      bool undecided = false;
    };
    std::vector<Final> finals(order_.locations());
    workers_.run(finals.size(), 16, [&](Decider& decider, std::size_t location) {
      const Index write = order_.finals()[location];
      if (write == kNoIndex) return false;
      for (const OfThread& group : order_.writes().threads(location)) {
        const Index challenger = order_.writes().events(group).back();
        if (challenger == write || order_.before(challenger, write)) continue;
        const Answer answer = decider.ends_with(challenger);
        if (answer == Answer::kYes) finals[location].challengers.push_back(challenger);
        finals[location].undecided |= answer == Answer::kUndecided;
      }
      return options_.first && !finals[location].challengers.empty();
    });
    tsl::robin_map<Key, std::size_t, KeyHash> known;
    for (std::size_t location = 0; location < finals.size(); ++location) {
      result_.undecided_finals += finals[location].undecided ? 1 : 0;
      result_.unsettled += finals[location].challengers.empty() ? 0 : 1;
      const Index write = order_.finals()[location];
      for (const Index challenger : finals[location].challengers) {
        const Key key{{0, site(write), site(challenger)}};
        if (const auto at = known.find(key); at != known.end()) {
          ++result_.finals[at->second].count;
          continue;
        }
        if (result_.finals.size() == Survey::kMostGroups) {
          ++result_.left_out;
          continue;
        }
        known.emplace(key, result_.finals.size());
        result_.finals.push_back({kNoIndex, write, challenger, order_.size(), 1});
      }
    }
    std::ranges::sort(result_.finals, {}, [](const Prediction& each) {
      return std::pair(each.write, each.challenger);
    });
    if (options_.first && !result_.finals.empty()) result_.finals.resize(1);
  }

  const Order& order_;
  SurveyOptions options_;
  Workers workers_;
  std::vector<ReadVerdict> verdicts_;  // of nondeterministic reads, in order
  std::vector<Group> groups_;
  Survey result_;
};

}  // namespace

Survey survey(const Order& order, const SurveyOptions& options) {
  return Surveyor(order, options).run();
}

std::vector<Index> schedule_of(Decider& decider, const Prediction& prediction) {
  const Answer answer = prediction.read != kNoIndex
                            ? decider.reads_from(prediction.read, prediction.challenger)
                            : decider.ends_with(prediction.challenger);
  if (answer != Answer::kYes) return {};
  std::vector<Index> schedule = decider.schedule();
  if (prediction.read != kNoIndex) schedule.push_back(prediction.read);
  return schedule;
}

}  // namespace syndrome::check
