#include "check/nondeterminism/nondeterminism.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "check/nondeterminism/definition.h"
#include "check/nondeterminism/order.h"
#include "check/nondeterminism/survey.h"
#include "check/witnesses.h"

namespace syndrome::check {
namespace {

/// Beyond this the trace is not looked at: 4 GB of memory and more.
constexpr std::size_t kMostEvents = 20'000'000;
/// Events of all schedules that are shown, for reads and for final values each: 100 MB of JSON.
constexpr std::uint64_t kMostScheduled = 5'000'000;
/// Events of a finding that the report draws.
constexpr std::size_t kMostShown = 24;

/// "1 read", "2 reads"
std::string many(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class NondeterminismCheck final : public Check {
 public:
  explicit NondeterminismCheck(const Options& options) : options_(options) {}

  void take(const Batch& batch, const Names&) override {
    if (events_.size() + batch.events.size() > kMostEvents) {
      too_many_ = true;
      return;
    }
    events_.insert(events_.end(), batch.events.begin(), batch.events.end());
  }

  [[nodiscard]] bool satisfied() const override { return too_many_; }

  [[nodiscard]] bool end_of_pass(const Names& names) override {
    result_.check = "nondeterminism";
    if (too_many_) {
      refuse(fmt::format("the trace has more than {} events", kMostEvents));
      return false;
    }
    published_ = published(events_, names.layout());
    const Order order(events_, published_);
    if (!order.complete()) {
      refuse(fmt::format("its {} threads need more than {} GB of clocks", order.threads(),
                         Order::kMostClockBytes >> 30U));
      return false;
    }
    const Survey found = survey(order, {.jobs = options_.jobs,
                                        .effort = options_.witness_effort,
                                        .all = options_.all,
                                        .first = options_.first,
                                        .spread = options_.spread,
                                        .interrupted = options_.interrupted,
                                        .on_progress = options_.on_search});
    if (options_.spread != nullptr && options_.spread->rank() != 0) return false;
    judge(found);
    tell(order, found, names);
    count(found);
    return false;
  }

  [[nodiscard]] CheckResult result() override { return std::move(result_); }

 private:
  void refuse(const std::string& why) {
    result_.verdict = Verdict::kUndecided;
    result_.complete = false;
    result_.notes.push_back(
        fmt::format("not looked at, because the check keeps the trace in memory and {}", why));
  }

  void judge(const Survey& found) {
    const std::uint64_t undecided =
        found.decisions.undecided_reads + found.undecided_finals + found.undecided_groups;
    if (undecided != 0) {
      result_.complete = false;
      result_.notes.push_back(fmt::format(
          "undecided within the bound for {} and {}: raise --effort (now {} events for each "
          "witness) to decide more",
          many(found.decisions.undecided_reads + found.undecided_groups, "read"),
          many(found.undecided_finals, "final value"), options_.witness_effort));
    }
    if (found.interrupted) {
      result_.complete = false;
      result_.notes.push_back(
          fmt::format("interrupted while searching: {}, {} and the schedules of {} were not looked "
                      "at",
                      many(found.reads_left, "read"), many(found.finals_left, "final value"),
                      many(found.groups_left, "combination") + " of places"));
    }
    if (!found.reads.empty() || !found.finals.empty()) {
      result_.verdict = Verdict::kViolated;
    } else if (undecided != 0 || found.interrupted) {
      result_.verdict = Verdict::kUndecided;
    } else {
      result_.notes.push_back(fmt::format(
          "{} would read the same write, and every variable would end with the same one, in every "
          "order of these events that the run's threads, locks, signals and barriers allow. Other "
          "inputs, branches that this run did not take, and orders that only relaxed atomics allow "
          "are not covered",
          many(found.decisions.reads, "read")));
    }
  }

  void tell(const Order& order, const Survey& found, const Names& names) {
    const Reorderings definition(events_, published_);
    Decider decider(order, options_.witness_effort);
    std::size_t rejected = 0;
    std::uint64_t left_out = found.left_out;
    std::vector<std::vector<EventNumber>> shown;
    for (const std::vector<Prediction>* list : {&found.reads, &found.finals}) {
      const std::uint64_t longest = longest_shown(*list);
      for (const Prediction& each : *list) {
        if (each.length > longest) {
          left_out += each.count;
          continue;
        }
        Finding finding = make(order, each, schedule_of(decider, each), names);
        const Claim claim{finding.read, finding.write, finding.challenger};
        if (reject(definition, claim, finding.schedule)) {
          ++rejected;
          continue;
        }
        shown.push_back(events_of(order, each, finding));
        result_.findings.push_back(std::move(finding));
      }
    }
    add_witnesses(shown);
    if (left_out != 0) {
      result_.complete = false;
      result_.notes.push_back(
          fmt::format("{} more at other places in the source are left out: there is no room for "
                      "their schedules",
                      many(left_out, "feasible witness triple")));
    }
    note_rejected(rejected, result_);
  }

  /// So long a schedule may be for all that are not longer to fit; one always does.
  static std::uint64_t longest_shown(const std::vector<Prediction>& list) {
    std::vector<std::uint64_t> lengths;
    for (const Prediction& each : list) lengths.push_back(each.length);
    std::ranges::sort(lengths);
    std::uint64_t sum = 0;
    std::uint64_t longest = lengths.empty() ? 0 : lengths.front();
    for (const std::uint64_t length : lengths) {
      sum += length;
      if (sum > kMostScheduled) break;
      longest = length;
    }
    return longest;
  }

  Finding make(const Order& order, const Prediction& each, const std::vector<Index>& schedule,
               const Names& names) {
    const auto number = [&order](Index e) { return e == kNoIndex ? 0 : order.number(e); };
    Finding finding;
    finding.check = "nondeterminism";
    const bool read = each.read != kNoIndex;
    finding.rule = read ? "nondeterministic-read" : "unsettled-final-value";
    finding.certainty = Certainty::kPredicted;
    finding.event = number(read ? each.read : each.write);
    finding.read = number(each.read);
    finding.write = number(each.write);
    finding.challenger = number(each.challenger);
    finding.variable = names.variable(events_[finding.event - 1].var());
    finding.count = each.count;
    for (const Index e : schedule) finding.schedule.push_back(number(e));
    return finding;
  }

  /// What the report draws: the read and the writes, the locks around them, and where the schedule
  /// leaves the order of the trace.
  [[nodiscard]] std::vector<EventNumber> events_of(const Order& order, const Prediction& each,
                                                   const Finding& finding) const {
    std::vector<EventNumber> numbers;
    const auto add = [&](Index e) {
      if (e != kNoIndex && numbers.size() < kMostShown) numbers.push_back(order.number(e));
    };
    for (const Index e : {each.read, each.write, each.challenger}) add(e);
    std::vector<EventNumber> sorted = finding.schedule;
    std::ranges::sort(sorted);
    for (const Index e : {each.read, each.write, each.challenger}) {
      if (e == kNoIndex) continue;
      for (const std::uint32_t id : order.held(e)) {
        const Scope& scope = order.scope(id);
        add(scope.acquire);
        const bool over = scope.release != kNoIndex &&
                          std::ranges::binary_search(sorted, order.number(scope.release));
        if (over) add(scope.release);
      }
    }
    const auto parting = std::ranges::mismatch(finding.schedule, sorted);
    if (parting.in1 != finding.schedule.end()) {
      numbers.push_back(*parting.in1);
      numbers.push_back(*parting.in2);
    }
    return numbers;
  }

  /// `shown` has the events of each finding.
  void add_witnesses(const std::vector<std::vector<EventNumber>>& shown) {
    std::vector<EventNumber> wanted;
    for (const auto& numbers : shown) wanted.insert(wanted.end(), numbers.begin(), numbers.end());
    Witnesses witnesses(std::move(wanted));
    EventNumber number = 0;
    for (const Event& event : events_) {
      ++number;
      if (witnesses.satisfied()) break;
      if ((event.flags & kDropped) == 0) (void)witnesses.take(event, number);
    }
    for (std::size_t i = 0; i < shown.size(); ++i) {
      witnesses.add_to(result_.findings[i], shown[i]);
    }
  }

  void count(const Survey& found) {
    const DecisionCounts& decisions = found.decisions;
    // Of a triple the paper has three witnesses: c r w, w c r, and c r without w.
    constexpr std::uint64_t kWitnesses = 3;
    result_.stats = {
        {"reads", decisions.reads},
        {"nondeterministic reads", found.nondeterministic_reads},
        {"unsettled final values", found.unsettled},
        {"triples of read, write and challenger", decisions.triples},
        {"witnesses", decisions.triples * kWitnesses},
        {"triples refuted by order alone", decisions.refuted_by_order},
        {"triples that are feasible", decisions.feasible},
        {"triples with choices", decisions.choices},
        {"questions asked", found.search.questions},
        {"questions with choices", found.search.with_choices},
        {"graphs explored", found.search.graphs},
        {"replays", found.search.replays},
        {"events replayed", found.search.replayed},
    };
  }

  Options options_;
  std::vector<Event> events_;
  std::vector<Precedence> published_;
  bool too_many_ = false;
  CheckResult result_;
};

}  // namespace

std::unique_ptr<Check> make_nondeterminism(const Options& options) {
  return std::make_unique<NondeterminismCheck>(options);
}

}  // namespace syndrome::check
