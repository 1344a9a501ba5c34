#include "check/nondeterminism/differential.h"

#include <fmt/format.h>

#include <stdexcept>

#include "check/nondeterminism/decide.h"
#include "check/nondeterminism/definition.h"
#include "check/nondeterminism/order.h"
#include "check/samples/random_trace.h"
#include "check/samples/shrink.h"

namespace syndrome::check {
namespace {

constexpr std::uint64_t kEffort = 10'000'000;
constexpr std::size_t kMostStates = 20'000;

class Prediction {
 public:
  Prediction(std::span<const Event> events, std::span<const Precedence> precedences)
      : definition_(events, precedences), order_(events, precedences), decider_(order_, kEffort) {}

  Nondeterminism run() {
    for (const Index read : order_.reads()) take_read(read);
    for (std::uint32_t location = 0; location < order_.locations(); ++location) {
      take_final(location);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] EventNumber number(Index e) const { return e == kNoIndex ? 0 : order_.number(e); }

  bool yes(Answer answer) {
    if (answer == Answer::kUndecided) throw std::logic_error("undecided");
    return answer == Answer::kYes;
  }

  void verify(const Claim& claim) {
    std::vector<EventNumber> schedule;
    for (const Index e : decider_.schedule()) schedule.push_back(number(e));
    if (claim.read != 0) schedule.push_back(claim.read);
    const auto why = reject(definition_, claim, schedule);
    if (why) {
      std::string words;
      for (const EventNumber each : schedule) words += fmt::format(" {}", each);
      throw std::logic_error(fmt::format("{} reads {} for {}:{}: {}", claim.read, claim.challenger,
                                         claim.write, words, *why));
    }
  }

  void take_read(Index read) {
    const ReadVerdict verdict = decider_.decide(read);
    if (verdict.undecided) throw std::logic_error("undecided");
    const EventNumber write = number(order_.writer(read));
    std::vector<Index> challengers;
    if (verdict.initial) challengers.push_back(kNoIndex);
    for (const auto& [from, to] : verdict.feasible) {
      for (std::uint32_t place = from; place < to; ++place) {
        challengers.push_back(order_.writes().at(place));
      }
    }
    for (const Index challenger : challengers) {
      result_.feasible.insert({write, number(read), number(challenger)});
      if (!yes(decider_.reads_from(read, challenger))) continue;
      verify({number(read), write, number(challenger)});
      result_.seen.insert({write, number(read), number(challenger)});
    }
    if (!verdict.nondeterministic()) return;
    if (!result_.seen.contains({write, number(read), number(verdict.seen)})) {
      throw std::logic_error(fmt::format("{} saw {}", number(read), number(verdict.seen)));
    }
  }

  void take_final(std::uint32_t location) {
    const Index write = order_.finals()[location];
    if (write == kNoIndex) return;
    for (const OfThread& group : order_.writes().threads(location)) {
      const Index challenger = order_.writes().events(group).back();
      if (challenger == write || !yes(decider_.ends_with(challenger))) continue;
      verify({0, number(write), number(challenger)});
      result_.unsettled.insert({number(write), number(challenger)});
    }
  }

  Reorderings definition_;
  Order order_;
  Decider decider_;
  Nondeterminism result_;
};

std::string words_of(const Nondeterminism& found) {
  std::string words = "feasible";
  for (const auto& [w, r, c] : found.feasible) words += fmt::format(" ({} {} {})", w, r, c);
  words += "; seen";
  for (const auto& [w, r, c] : found.seen) words += fmt::format(" ({} {} {})", w, r, c);
  words += "; unsettled";
  for (const auto& [w, c] : found.unsettled) words += fmt::format(" ({} {})", w, c);
  return words;
}

/// Some of the variables are in memory that was allocated, some of them together. By the events
/// alone, so that a trace which is shrunk keeps its layout.
Layout layout_of(std::span<const Event> events) {
  Layout layout;
  for (const Event& event : events) {
    if (target_space(event.kind) != Space::kVariable) continue;
    if (layout.variables.size() <= event.target) layout.variables.resize(event.target + 1);
  }
  layout.regions.resize(3);
  for (std::uint32_t v = 0; v < layout.variables.size(); ++v) layout.variables[v].region = v % 3;
  return layout;
}

std::string compare(std::span<const Event> events, const std::optional<Nondeterminism>& expected,
                    std::span<const Precedence> precedences) {
  if (!expected) return {};
  try {
    const Nondeterminism found = Prediction(events, precedences).run();
    if (found == *expected) return {};
    return fmt::format("the analysis: {}\nthe oracle:   {}", words_of(found), words_of(*expected));
  } catch (const std::logic_error& error) {
    return error.what();
  }
}

}  // namespace

Nondeterminism predict(std::span<const Event> events) {
  return Prediction(events, {}).run();
}

std::string nondeterminism_disagreement(std::span<const Event> events) {
  for (const Layout& layout : {Layout(), layout_of(events)}) {
    const std::vector<Precedence> precedences = published(events, layout);
    const auto expected = nondeterminism_oracle(events, kMostStates, precedences);
    std::string wrong = compare(events, expected, precedences);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::optional<std::string> first_nondeterminism_disagreement(
    std::uint64_t first, std::uint64_t count, std::uint64_t* nondeterministic,
    const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < count; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const std::uint64_t seed = first + done;
    const SmallTrace trace = random_trace(seed, {.few = true});
    const auto expected = nondeterminism_oracle(trace.events, kMostStates);
    if (nondeterministic != nullptr && expected && !expected->feasible.empty()) {
      ++*nondeterministic;
    }
    if (nondeterminism_disagreement(trace.events).empty()) continue;
    const SmallTrace small = shrink(trace, [](std::span<const Event> events) {
      return !nondeterminism_disagreement(events).empty();
    });
    return fmt::format("seed {}, shrunk:\n{}\n{}", seed, nondeterminism_disagreement(small.events),
                       to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::check
