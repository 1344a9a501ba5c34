#include "check/nondeterminism/survey.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace syndrome::check {
namespace {

/// Triples of a group that are tried for a schedule in which the read sees the challenger. A triple
/// is feasible also when another write always comes in between; mostly the first one will do.
constexpr std::size_t kTries = 16;
/// Feasible triples that are sorted into groups: some seconds' worth.
constexpr std::uint64_t kMostGrouped = 100'000'000;
/// Schedules of a group that are compared for their length.
constexpr std::size_t kCompared = 3;
/// So long after an interruption schedules are still looked for, of what was decided until then.
constexpr std::chrono::seconds kGrace{2};

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

/// Numbers as bytes and back: what processes tell each other.
class Packed {
 public:
  Packed() = default;
  explicit Packed(std::string_view bytes) : bytes_(bytes) {}

  void put(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(number >> (8 * i));
  }
  [[nodiscard]] std::uint64_t get() {
    std::uint64_t number = 0;
    for (int i = 0; i < 8 && at_ < bytes_.size(); ++i) {
      number |= std::uint64_t{static_cast<unsigned char>(bytes_[at_++])} << (8 * i);
    }
    return number;
  }
  [[nodiscard]] Index get_index() { return static_cast<Index>(get()); }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

void put(Packed& into, const ReadVerdict& verdict) {
  into.put(verdict.feasible.size());
  for (const auto& [from, to] : verdict.feasible) {
    into.put(from);
    into.put(to);
  }
  into.put((verdict.initial ? 1U : 0U) | (verdict.undecided ? 2U : 0U) |
           (verdict.seen_initial ? 4U : 0U));
  into.put(verdict.read);
  into.put(verdict.seen);
}

ReadVerdict get_verdict(Packed& from) {
  ReadVerdict verdict;
  for (std::uint64_t left = from.get(); left != 0; --left) {
    const Index begin = from.get_index();
    verdict.feasible.emplace_back(begin, from.get_index());
  }
  const std::uint64_t flags = from.get();
  verdict.initial = (flags & 1U) != 0;
  verdict.undecided = (flags & 2U) != 0;
  verdict.seen_initial = (flags & 4U) != 0;
  verdict.read = from.get_index();
  verdict.seen = from.get_index();
  return verdict;
}

void put(Packed& into, const DecisionCounts& counts) {
  for (const std::uint64_t each : {counts.reads, counts.triples, counts.refuted_by_order,
                                   counts.feasible, counts.choices, counts.undecided_reads}) {
    into.put(each);
  }
}
void put(Packed& into, const SearchCounts& counts) {
  for (const std::uint64_t each :
       {counts.questions, counts.graphs, counts.replays, counts.replayed, counts.with_choices}) {
    into.put(each);
  }
}
void get(Packed& from, DecisionCounts& counts) {
  for (std::uint64_t* each : {&counts.reads, &counts.triples, &counts.refuted_by_order,
                              &counts.feasible, &counts.choices, &counts.undecided_reads}) {
    *each = from.get();
  }
}
void get(Packed& from, SearchCounts& counts) {
  for (std::uint64_t* each : {&counts.questions, &counts.graphs, &counts.replays, &counts.replayed,
                              &counts.with_choices}) {
    *each = from.get();
  }
}

/// Runs `work(decider, item)` for every item below `count`, on several threads; each takes the next
/// `step` items when it is done. Stops early when `work` says so: then all items up to that one
/// have been done. Also stops `grace` after an interruption.
class Workers {
 public:
  Workers(const Order& order, const SurveyOptions& options)
      : options_(options), told_(Clock::now()), total_(order.reads().size() + order.locations()) {
    const unsigned jobs = std::max(1U, options.jobs);
    for (unsigned i = 0; i < jobs; ++i) {
      deciders_.push_back(std::make_unique<Decider>(order, options.effort));
    }
  }

  /// How many items were not done because of an interruption.
  std::size_t run(std::size_t count, std::size_t step, std::chrono::seconds grace,
                  const std::function<bool(Decider&, std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    std::atomic<std::size_t> end = count;
    std::atomic<std::size_t> done = 0;
    std::atomic<bool> over = false;
    const std::uint64_t before = done_;
    const auto go = [&](Decider& decider) {
      while (true) {
        const std::size_t from = next.fetch_add(step);
        for (std::size_t item = from; item < from + step; ++item) {
          if (item >= end.load(std::memory_order_relaxed)) return;
          if (is_over(grace)) {
            over = true;
            return;
          }
          const bool enough = work(decider, item);
          ++done;
          if (&decider == deciders_[0].get()) tell(before + done);
          if (!enough) continue;
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
    done_ += done;
    return over ? count - done : 0;
  }

  [[nodiscard]] bool interrupted() const { return asked_.load() != kNever; }

  void count(Survey& into) const {
    for (const auto& decider : deciders_) {
      into.decisions.add(decider->counts());
      into.search.add(decider->search_counts());
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::rep kNever = 0;

  /// Whether `grace` has passed since someone wanted us to end.
  bool is_over(std::chrono::seconds grace) {
    if (!options_.interrupted) return false;
    Clock::rep asked = asked_.load(std::memory_order_relaxed);
    if (asked == kNever) {
      if (!options_.interrupted()) return false;
      asked = Clock::now().time_since_epoch().count();
      asked_ = asked;
    }
    return Clock::now().time_since_epoch() - Clock::duration(asked) >= grace;
  }

  /// By one thread alone.
  void tell(std::uint64_t done) {
    constexpr std::chrono::milliseconds kBetween(100);
    if (!options_.on_progress || Clock::now() - told_ < kBetween) return;
    told_ = Clock::now();
    options_.on_progress(std::min(total_, done), total_);
  }

  SurveyOptions options_;
  Clock::time_point told_;
  std::uint64_t total_;     // reads and final values
  std::uint64_t done_ = 0;  // items of all runs before
  std::atomic<Clock::rep> asked_ = kNever;
  std::vector<std::unique_ptr<Decider>> deciders_;
};

class Surveyor {
 public:
  Surveyor(const Order& order, const SurveyOptions& options)
      : order_(order), options_(alone(options)), workers_(order, options_) {}

  Survey run() {
    decide_reads();
    group_reads();
    share_groups();
    find_schedules();
    decide_finals();
    workers_.count(result_);
    result_.interrupted = workers_.interrupted();
    if (options_.spread != nullptr) gather_counts();
    return std::move(result_);
  }

 private:
  /// Processes that share their work wait for each other: none of them can end early.
  static SurveyOptions alone(SurveyOptions options) {
    if (options.spread != nullptr) options.interrupted = {};
    return options;
  }
  [[nodiscard]] bool elsewhere() const {
    return options_.spread != nullptr && options_.spread->rank() != 0;
  }

  /// Fills results[item] = work(decider, item), here or together with other processes, which pack
  /// what they found. `enough` is asked only where there are no others. How many are left of an
  /// interruption, `grace` after it.
  template <class Result, class Work, class Enough, class Put, class Get>
  std::size_t fill(std::vector<Result>& results, std::size_t step, std::chrono::seconds grace,
                   Work work, Enough enough, Put pack, Get unpack) {
    if (options_.spread == nullptr) {
      return workers_.run(results.size(), step, grace, [&](Decider& decider, std::size_t item) {
        results[item] = work(decider, item);
        return enough(results[item]);
      });
    }
    const auto part = [&](std::size_t from, std::size_t to) {
      workers_.run(to - from, step, grace, [&](Decider& decider, std::size_t item) {
        results[from + item] = work(decider, from + item);
        return false;
      });
      Packed packed;
      if (elsewhere()) {
        for (std::size_t item = from; item < to; ++item) pack(packed, results[item]);
      }
      return packed.take();
    };
    options_.spread->run(results.size(), step, part,
                         [&](std::size_t from, std::size_t to, std::string_view bytes) {
                           Packed packed(bytes);
                           for (std::size_t item = from; item < to && !bytes.empty(); ++item) {
                             results[item] = unpack(packed);
                           }
                         });
    if (elsewhere()) results.clear();
    return 0;
  }

  /// Tells the other processes the groups, which only rank 0 knows.
  void share_groups() {
    if (options_.spread == nullptr) return;
    Packed packed;
    packed.put(groups_.size());
    for (const Group& group : groups_) {
      packed.put(group.count);
      packed.put(group.candidates.size());
      for (const Candidate& candidate : group.candidates) {
        packed.put(candidate.read);
        packed.put(candidate.challenger);
      }
    }
    Packed told(options_.spread->tell(packed.take()));
    if (!elsewhere()) return;
    groups_.assign(told.get(), {});
    for (Group& group : groups_) {
      group.count = told.get();
      for (std::uint64_t left = told.get(); left != 0; --left) {
        const Index read = told.get_index();
        group.candidates.push_back({read, told.get_index()});
      }
    }
  }

  void gather_counts() {
    Packed packed;
    put(packed, result_.decisions);
    put(packed, result_.search);
    for (const std::string& each : options_.spread->gather(packed.take())) {
      Packed from(each);
      DecisionCounts decisions;
      SearchCounts search;
      get(from, decisions);
      get(from, search);
      result_.decisions.add(decisions);
      result_.search.add(search);
    }
  }

  void decide_reads() {
    const std::vector<Index>& reads = order_.reads();
    constexpr std::size_t kStep = 64;
    std::vector<ReadVerdict> verdicts(reads.size());
    result_.reads_left = fill(
        verdicts, kStep, std::chrono::seconds(0),
        [&](Decider& decider, std::size_t item) { return decider.decide(reads[item]); },
        [&](const ReadVerdict& verdict) { return options_.first && verdict.nondeterministic(); },
        [](Packed& into, const ReadVerdict& verdict) { put(into, verdict); }, get_verdict);
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
    std::uint64_t left = kMostGrouped;
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
      // What the read was seen to read comes first, so that every read is told of.
      const Index seen = verdict.seen;
      if (seen != kNoIndex || verdict.seen_initial) add(seen);
      if (verdict.initial && !verdict.seen_initial) add(kNoIndex);
      for (const auto& [from, to] : verdict.feasible) {
        if (to - from > left) {
          result_.left_out += to - from;
          continue;
        }
        left -= to - from;
        for (std::uint32_t place = from; place < to; ++place) {
          if (order_.writes().at(place) != seen) add(order_.writes().at(place));
        }
      }
    }
    verdicts_.clear();
  }

  void find_schedules() {
    struct Found {
      Prediction best;
      bool undecided = false;
    };
    std::vector<Found> found(groups_.size());
    result_.groups_left = fill(
        found, 1, kGrace,
        [&](Decider& decider, std::size_t item) {
          Found own;
          std::size_t compared = 0;
          for (const Candidate& candidate : groups_[item].candidates) {
            const Answer answer = decider.reads_from(candidate.read, candidate.challenger);
            own.undecided |= answer == Answer::kUndecided;
            if (answer != Answer::kYes) continue;
            const std::uint64_t length = decider.length() + 1;
            if (compared == 0 || length < own.best.length) {
              own.best = {candidate.read, order_.writer(candidate.read), candidate.challenger,
                          length, groups_[item].count};
            }
            if (++compared == kCompared) break;
          }
          return own;
        },
        [](const Found&) { return false; },
        [](Packed& into, const Found& each) {
          into.put(each.undecided ? 1 : 0);
          into.put(each.best.read);
          into.put(each.best.write);
          into.put(each.best.challenger);
          into.put(each.best.length);
          into.put(each.best.count);
        },
        [](Packed& from) {
          Found each;
          each.undecided = from.get() != 0;
          each.best.read = from.get_index();
          each.best.write = from.get_index();
          each.best.challenger = from.get_index();
          each.best.length = from.get();
          each.best.count = from.get();
          return each;
        });
    for (const Found& each : found) {
      if (each.best.length != 0) {
        result_.reads.push_back(each.best);
      } else {
        result_.undecided_groups += each.undecided ? 1 : 0;
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
    // With --first and a read, rank 0 alone knows that there is no need.
    const bool needed = options_.spread != nullptr || !options_.first || result_.reads.empty();
    std::vector<Final> finals(needed ? order_.locations() : 0);
    constexpr std::size_t kStep = 16;
    result_.finals_left = fill(
        finals, kStep, std::chrono::seconds(0),
        [&](Decider& decider, std::size_t location) {
          Final own;
          const Index write = order_.finals()[location];
          if (write == kNoIndex) return own;
          for (const OfThread& group : order_.writes().threads(location)) {
            const Index challenger = order_.writes().events(group).back();
            if (challenger == write || order_.before(challenger, write)) continue;
            const Answer answer = decider.ends_with(challenger);
            if (answer == Answer::kYes) own.challengers.push_back(challenger);
            own.undecided |= answer == Answer::kUndecided;
          }
          return own;
        },
        [&](const Final& each) { return options_.first && !each.challengers.empty(); },
        [](Packed& into, const Final& each) {
          into.put(each.undecided ? 1 : 0);
          into.put(each.challengers.size());
          for (const Index challenger : each.challengers) into.put(challenger);
        },
        [](Packed& from) {
          Final each;
          each.undecided = from.get() != 0;
          for (std::uint64_t left = from.get(); left != 0; --left) {
            each.challengers.push_back(from.get_index());
          }
          return each;
        });
    if (options_.first && !result_.reads.empty()) return;
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
