#include "check/pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "check/suggest.h"
#include "spec/block_mapper.h"
#include "trace/wellformed.h"

namespace syndrome::check {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The faults that --lenient passes over: how many, and the first few in words.
class PassedOver {
 public:
  /// A fault that an earlier pass has seen counts once.
  void add(const trace::Fault& fault) {
    if (fault.event <= last_) return;
    last_ = fault.event;
    if (count_++ < kTold) told_.push_back(fmt::format("event {}: {}", fault.event, fault.message));
  }

  [[nodiscard]] std::vector<std::string> warnings() const {
    if (count_ == 0) return {};
    std::vector<std::string> lines = {
        fmt::format("--lenient passed over {} ill-formed event{}", count_, count_ == 1 ? "" : "s")};
    lines.insert(lines.end(), told_.begin(), told_.end());
    if (count_ > told_.size()) lines.push_back(fmt::format("and {} more", count_ - told_.size()));
    return lines;
  }

 private:
  static constexpr std::size_t kTold = 5;
  EventNumber last_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::string> told_;
};

class Run {
 public:
  Run(const Opener& open, trace::Format format, std::span<const std::unique_ptr<Check>> checks,
      const PassOptions& options)
      : open_(open),
        checks_(checks),
        options_(options),
        mapper_({options.spec, format == trace::Format::kRoadRunner, options.only}),
        done_(checks.size(), false),
        seconds_(checks.size()) {}

  Result<PassResult> run() {
    const Clock::time_point start = Clock::now();
    last_tick_ = start;
    result_.trace.whole = false;
    for (unsigned number = 1;; ++number) {
      Result<std::unique_ptr<trace::Source>> source = open_();
      if (!source) return source.error();
      if (const Status status = pass(number, **source); !status) return status.error();

      bool again = false;
      for (std::size_t i = 0; i < checks_.size(); ++i) {
        if (done_[i]) continue;
        done_[i] = !timed(i, [&] { return checks_[i]->end_of_pass((*source)->names()); });
        again |= !done_[i];
      }
      if (again) {
        if (came_furthest_) names_ = (*source)->names();
        continue;
      }
      collect(came_furthest_ ? (*source)->names() : names_);
      source->reset();
      result_.passes = number;
      look_around(number + 1);
      explain_failure(number + 2);
      result_.seconds = seconds_between(start, Clock::now());
      return std::move(result_);
    }
  }

 private:
  template <class Action>
  std::invoke_result_t<Action> timed(std::size_t check, Action action) {
    const Clock::time_point start = Clock::now();
    auto value = action();
    seconds_[check] += seconds_between(start, Clock::now());
    return value;
  }

  /// Reads the trace once, up to limit_ or to where nobody wants more.
  Status pass(unsigned number, trace::Source& source) {
    mapper_.restart();
    std::optional<trace::Fault> fault;
    trace::WellFormed wellformed([&](const trace::Fault& found) {
      if (options_.lenient) {
        passed_over_.add(found);
        return true;
      }
      fault = found;
      return false;
    });

    Count count;
    EventNumber events = 0;
    bool whole = false;
    while (events < limit_) {
      Result<Batch> next = source.next();
      if (!next) return next.error();
      Batch batch = *next;
      if (batch.empty()) {
        whole = true;
        break;
      }
      if (batch.events.size() > limit_ - events) batch.events = batch.events.first(limit_ - events);

      if (!mapper_.idle()) mapper_.apply(batch, source.names());
      // What comes before a fault is still checked, so that whether --first reports or refuses
      // does not depend on how large the batches are.
      const bool good = wellformed.apply(batch, source.names());
      count.take(batch);
      events += batch.events.size();
      if (give(batch, source.names())) break;
      if (!good) {
        return Error{fmt::format("event {}: {}; --lenient passes over such events", fault->event,
                                 fault->message)};
      }
      tick(number, events, source);
      if (!result_.interrupted && options_.interrupted && options_.interrupted()) {
        result_.interrupted = true;
        limit_ = std::max(events, seen_);
      }
    }
    came_furthest_ = events >= seen_;
    if (events > seen_ || (events == seen_ && whole)) {
      summarize(source, count, events, whole);
      if (whole) warn_of(mapper_.unmatched(source.names()));
    }
    return {};
  }

  /// Hands a batch to every check that wants it. Whether none wants any more.
  bool give(const Batch& batch, const Names& names) {
    bool all_satisfied = !checks_.empty();
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      Check& check = *checks_[i];
      if (done_[i] || check.satisfied()) continue;
      all_satisfied &= timed(i, [&] {
        check.take(batch, names);
        return check.satisfied();
      });
    }
    return all_satisfied;
  }

  void tick(unsigned number, EventNumber events, const trace::Source& source) {
    constexpr std::chrono::milliseconds kBetweenTicks(100);
    if (!options_.on_progress) return;
    const Clock::time_point now = Clock::now();
    if (now - last_tick_ < kBetweenTicks) return;
    last_tick_ = now;
    options_.on_progress({number, events, source.progress()});
  }

  /// A pass may end early, so the one that came furthest speaks for the trace.
  void summarize(const trace::Source& source, const Count& count, EventNumber events, bool whole) {
    seen_ = events;
    TraceSummary& trace = result_.trace;
    trace.counts = count.counts();
    trace.counts.blocks += source.left_out_blocks();
    trace.threads = source.names().table(Space::kThread).size();
    trace.variables = source.names().table(Space::kVariable).size();
    trace.locks = source.names().table(Space::kLock).size();
    trace.whole = whole && !result_.interrupted;
    trace.warnings = source.warnings();
    trace.noise = source.noise();
    trace.ended = source.ended() ? source.ended() : options_.ended;
    result_.warnings = trace.warnings;
  }

  /// Only a trace that was read to its end can be said to lack something.
  void warn_of(const std::vector<spec::Unmatched>& unmatched) {
    for (const spec::Unmatched& entry : unmatched) {
      std::string warning = fmt::format(
          "spec, line {}, column {}: {} = \"{}\" matches nothing in "
          "this trace",
          entry.line, entry.column, entry.list, entry.entry);
      if (entry.merged) {
        warning +=
            ". Its code ran as part of its callers: so are small functions that only read, from "
            "-O1 on, and inlined ones in fast mode. Name a caller, mark the function "
            "SYNDROME_ATOMIC, or build with -fno-inline or -O0";
      }
      if (!entry.nearest.empty()) {
        warning += fmt::format("; nearest: {}", fmt::join(entry.nearest, ", "));
      }
      result_.warnings.push_back(std::move(warning));
    }
  }

  void collect(const Names& names) {
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      CheckResult result = timed(i, [&] { return checks_[i]->result(); });
      result.seconds = seconds_[i];
      result.idle |= result.check == "atomicity" && result_.trace.counts.blocks == 0;
      if (options_.drop_idle && result.idle) continue;
      result_.warnings.insert(result_.warnings.end(), result.warnings.begin(),
                              result.warnings.end());
      result_.results.push_back(std::move(result));
    }
    const std::vector<std::string> passed_over = passed_over_.warnings();
    result_.warnings.insert(result_.warnings.end(), passed_over.begin(), passed_over.end());
    const bool found = std::ranges::any_of(
        result_.results, [](const CheckResult& result) { return !result.findings.empty(); });
    if (found) result_.names = names;
  }

  /// The last look: what surrounds the findings. They stand without it, so that a trace which
  /// cannot be read again is worth a warning and no more.
  void look_around(unsigned number) {
    ContextPass context(result_.results);
    const Counts& counts = result_.trace.counts;
    // Only atomicity is in want of a spec when there are no blocks.
    const bool suggest = counts.blocks == 0 && counts.of(EventKind::kEnter) != 0 &&
                         std::ranges::any_of(result_.results, [](const CheckResult& result) {
                           return result.check == "atomicity";
                         });
    if ((context.satisfied() || !ContextPass::worthwhile(counts)) && !suggest) return;
    Suggestions suggestions;
    if (const Status status = look(number, context, suggest ? &suggestions : nullptr); !status) {
      result_.warnings.push_back(fmt::format(
          "no stacks, because the trace could not be read again: {}", status.error().message));
      return;
    }
    result_.passes = number;
    result_.contexts = context.result();
    if (suggest) result_.candidates = suggestions.names();
  }

  Status look(unsigned number, ContextPass& context, Suggestions* suggestions) {
    Result<std::unique_ptr<trace::Source>> source = open_();
    if (!source) return source.error();
    EventNumber events = 0;
    while (events < seen_ && (!context.satisfied() || suggestions != nullptr)) {
      const Result<Batch> next = (*source)->next();
      if (!next) return next.error();
      if (next->empty()) break;
      if (!context.satisfied()) context.take(*next);
      if (suggestions != nullptr) suggestions->take(*next, (*source)->names());
      events += next->events.size();
      tick(number, events, **source);
      // Once more than was asked for: whoever interrupts now wants the verdict, not advice.
      if (context.satisfied() && options_.interrupted && options_.interrupted()) break;
    }
    return {};
  }

  /// What could explain that the program failed. The verdicts stand without it.
  void explain_failure(unsigned number) {
    const std::optional<Ended>& ended = result_.trace.ended;
    if (!ended || !ended->failed() || result_.interrupted) return;
    FailureAnalysis analysis(ended->thread);
    if (!ended->thread) return;
    const Opener& open = options_.open_whole ? options_.open_whole : open_;
    Result<std::unique_ptr<trace::Source>> source = open();
    EventNumber events = 0;
    while (source) {
      const Result<Batch> next = (*source)->next();
      if (!next || next->empty()) break;
      analysis.take(*next, (*source)->names());
      events += next->events.size();
      tick(number, events, **source);
      if (options_.interrupted && options_.interrupted()) break;
    }
    if (source) result_.failure = FailureResult{analysis.result(), (*source)->names()};
  }

  const Opener& open_;
  std::span<const std::unique_ptr<Check>> checks_;
  const PassOptions& options_;
  spec::BlockMapper mapper_;
  std::vector<bool> done_;       // wants no more passes; another may
  std::vector<double> seconds_;  // of each check
  PassedOver passed_over_;
  EventNumber limit_ = std::numeric_limits<EventNumber>::max();
  EventNumber seen_ = 0;        // the furthest that a pass has come
  bool came_furthest_ = false;  // the last one
  /// Of the last pass that did: one that ends early does not know what other checks have found
  /// later. (Names have the same ids in every pass.)
  Names names_;
  Clock::time_point last_tick_;
  PassResult result_;
};

}  // namespace

Result<PassResult> run_pass(const Opener& open, trace::Format format,
                            std::span<const std::unique_ptr<Check>> checks,
                            const PassOptions& options) {
  Result<PassResult> result = Run(open, format, checks, options).run();
  if (result) result->trace.format = trace::name_of(format);
  return result;
}

Result<PassResult> run_pass(trace::Input& input, std::span<const std::unique_ptr<Check>> checks,
                            const PassOptions& options) {
  Result<PassResult> result =
      run_pass([&input] { return input.read(); }, input.format(), checks, options);
  if (result) result->trace.bytes = input.bytes();
  return result;
}

}  // namespace syndrome::check
