#include "check/atomic_sets/differential.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "check/atomic_sets/atomic_sets.h"
#include "check/atomic_sets/cycle_findings.h"
#include "check/atomic_sets/oracle.h"
#include "check/atomic_sets/verify.h"
#include "check/samples/shrink.h"
#include "event/labels.h"
#include "spec/spec.h"

namespace syndrome::check::atomic_sets {
namespace {

constexpr std::array<std::string_view, 16> kVariables = {"C::a@10",
                                                         "C::b@10",
                                                         "C::a@20",
                                                         "D::c@10",
                                                         "x",
                                                         "t",
                                                         "t+4",
                                                         "t[]:t+8",
                                                         "C::s",
                                                         "std::_Vector_base<C>::_M_a@30",
                                                         "C::b@20",
                                                         "ns::E<int>::f@40",
                                                         "ns::E<int>::g@40",
                                                         "C::d[]@10",
                                                         "std::_Vector_base<C>::_M_b@30",
                                                         "E::limit.max@40"};

constexpr std::array<std::string_view, 17> kFunctions = {"main",
                                                         "C::f(int)",
                                                         "C::g() const",
                                                         "D::h()",
                                                         "free(int)",
                                                         "free2()",
                                                         "std::sort()",
                                                         "unit S1",
                                                         "unit",
                                                         "unit C, S2",
                                                         "ns::E<int>::set(int)",
                                                         "unit D",
                                                         "deterministic C::f",
                                                         "C::never()",
                                                         "C::C(C const&)",
                                                         "std::future<int>::get()",
                                                         kCalledBackLabel};

const spec::Spec& spec_of(std::size_t number) {
  static const std::array<spec::Spec, 3> kSpecs = [] {
    const auto parse = [](std::string_view text) {
      Result<spec::Spec> spec = spec::parse_spec(text);
      return spec ? std::move(*spec) : spec::Spec();
    };
    return std::array<spec::Spec, 3>{
        parse("[atomic-sets]\nS1 = ['C::a', 'C::b']\nS2 = ['x', 't', 'D::c']\n"),
        parse("[atomic-sets]\nS1 = ['C::*', 'x']\n[atomic-sets.options]\nexclude = ['C::b']\n"
              "[units]\nwork = ['free2']\nexclude = ['C::never']\n[units.for]\nS1 = ['free']\n"),
        parse("[atomic-sets]\nS1 = ['C::a', 'x']\nS2 = ['C::a', 't']\n"
              "[units.for]\nD = ['free']\nE = ['free2']\n"),
    };
  }();
  return kSpecs.at(number);
}

/// As SplitMix64 of random_trace.cc, for what is drawn beside the trace itself.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed ^ 0xa70315e75U) {}
  std::size_t below(std::size_t n) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % n);
  }
  bool percent(std::size_t p) { return below(100) < p; }

 private:
  std::uint64_t state_;
};

/// Nothing but blocks, locks, waits and accesses to a few variables: most of these violate.
SmallTrace dense_trace(Draw& draw) {
  SmallTrace trace;
  const std::size_t threads = 2 + draw.below(3);
  const std::size_t variables = 1 + draw.below(4);
  const std::size_t length = 10 + draw.below(44);
  const std::size_t stay = draw.below(90);
  const std::size_t writes = 20 + draw.below(60);
  const std::size_t begins = 5 + draw.below(15);
  const std::size_t waits = draw.percent(30) ? 4 : 0;
  std::vector<std::size_t> depth(threads, 0);
  std::vector<bool> held(threads, false);
  std::size_t thread = 0;
  for (std::size_t i = 0; i < length; ++i) {
    if (!draw.percent(stay)) thread = draw.below(threads);
    Event event;
    event.thread = ThreadId(thread);
    if (waits != 0) event.site = SiteId(draw.below(3));
    if (draw.percent(begins) && depth[thread] < 3) {
      event.kind = EventKind::kBegin;
      ++depth[thread];
    } else if (depth[thread] > 0 && draw.percent(begins / 2)) {
      event.kind = EventKind::kEnd;
      --depth[thread];
    } else if (draw.percent(waits)) {
      event.kind = EventKind::kCondWait;
    } else if (draw.percent(3 * waits)) {
      event.kind = held[thread] ? EventKind::kRelease : EventKind::kAcquire;
      event.target = static_cast<std::uint32_t>(thread);  // a lock for each
      held[thread] = !held[thread];
    } else {
      event.kind = draw.percent(3)        ? EventKind::kRmw
                   : draw.percent(writes) ? EventKind::kWrite
                                          : EventKind::kRead;
      event.target = static_cast<std::uint32_t>(draw.below(variables));
    }
    trace.events.push_back(event);
  }
  for (std::size_t i = 0; i < threads; ++i) {
    trace.names.table(Space::kThread).append("T" + std::to_string(i));
  }
  for (std::size_t i = 0; i < variables; ++i) trace.names.table(Space::kVariable).append("x");
  for (std::size_t i = 0; i < threads; ++i) trace.names.table(Space::kLock).append("m");
  for (const char* const site : {"a:1", "a:2"}) trace.names.table(Space::kSite).append(site);
  trace.names.table(Space::kCondition).append("c");
  return trace;
}

/// Units of three or more threads that access a few of several variables each, now and then: what
/// there are of cycles here mostly goes through several units, or is none of the patterns.
SmallTrace sparse_trace(Draw& draw) {
  SmallTrace trace;
  const std::size_t threads = 3 + draw.below(3);
  const std::size_t variables = threads + draw.below(4);
  const std::size_t length = 8 + draw.below(22);
  const std::size_t writes = 20 + draw.below(60);
  std::vector<std::size_t> left(threads, 0);  // accesses of the open block, and 1; 0: none is open
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t thread = draw.below(threads);
    Event event;
    event.thread = ThreadId(thread);
    if (left[thread] == 0) {
      event.kind = EventKind::kBegin;
      left[thread] = 2 + draw.below(4);
    } else if (--left[thread] == 0) {
      event.kind = EventKind::kEnd;
    } else {
      event.kind = draw.percent(writes) ? EventKind::kWrite : EventKind::kRead;
      event.target = static_cast<std::uint32_t>(draw.below(variables));
    }
    trace.events.push_back(event);
  }
  for (std::size_t i = 0; i < threads; ++i) {
    trace.names.table(Space::kThread).append("T" + std::to_string(i));
  }
  for (std::size_t i = 0; i < variables; ++i) trace.names.table(Space::kVariable).append("x");
  return trace;
}

void add_functions(Draw& draw, SmallTrace& trace) {
  const std::size_t functions = draw.percent(30) ? 100 : draw.below(100);  // percent of the blocks
  std::map<ThreadId, std::vector<bool>> open;  // whether a function, by thread
  for (Event& event : trace.events) {
    if (event.kind == EventKind::kEnter || event.kind == EventKind::kExit) {
      event.kind = EventKind::kFence;  // those that are there would mix with ours
      event.target = 0;
    }
    std::vector<bool>& stack = open[event.thread];
    if (event.kind == EventKind::kBegin) {
      stack.push_back(draw.percent(functions));
      if (stack.back()) event.kind = EventKind::kEnter;
      if (stack.back())
        event.target = static_cast<std::uint32_t>(1 + draw.below(kFunctions.size()));
    } else if (event.kind == EventKind::kEnd) {
      if (stack.back()) event.kind = EventKind::kExit;
      stack.pop_back();
    }
  }
}

std::string words_of(const Violation& violation) {
  return fmt::format(" {}:{}:{}-{}:{},{}", violation.set, violation.pattern, violation.unit,
                     violation.other, violation.first, violation.second);
}

Finding finding_of(const Cycle& cycle, const SetRule& sets, const Names& names) {
  CycleFindings one(true);
  one.add(cycle);
  std::vector<Finding> findings;
  one.add_to(findings, sets, names);
  return findings.front();
}

Finding finding_of(const Match& match, const SetRule& sets, const Names& names) {
  Finding finding;
  finding.rule = "pattern";
  finding.pattern = match.pattern;
  finding.set = sets.name_of_set({match.set, match.first}, names);
  finding.locations.push_back(sets.name_of_location(match.first, names));
  if (match.first != match.second) {
    finding.locations.push_back(sets.name_of_location(match.second, names));
  }
  finding.units = {match.unit.begin, match.other.begin};
  for (std::size_t i = 0; i < pattern(match.pattern).length; ++i) {
    finding.events.push_back(match.events[i].number);
  }
  return finding;
}

}  // namespace

Sample random_sample(std::uint64_t seed) {
  Draw draw(seed);
  RandomOptions random;
  random.forks = draw.percent(25);
  random.orders = !random.forks && draw.percent(10);
  Sample sample;
  const bool sparse = draw.percent(25);
  const bool plain = sparse && draw.percent(70);  // blocks, and one set
  sample.trace = sparse             ? sparse_trace(draw)
                 : draw.percent(65) ? dense_trace(draw)
                                    : random_trace(seed, random);
  if (!plain && draw.percent(50)) add_functions(draw, sample.trace);
  Names names;
  const std::size_t from = draw.percent(50) ? 0 : draw.below(kVariables.size());
  for (std::size_t i = 0; i < sample.trace.names.table(Space::kVariable).size(); ++i) {
    names.table(Space::kVariable).append(kVariables[(from + i) % kVariables.size()]);
  }
  for (const std::string_view function : kFunctions) names.table(Space::kLabel).append(function);
  for (const Space space : {Space::kThread, Space::kLock, Space::kBarrier, Space::kSemaphore,
                            Space::kCondition, Space::kSite}) {
    const StringTable& table = sample.trace.names.table(space);
    for (std::size_t i = space == Space::kSite ? 1 : 0; i < table.size(); ++i) {
      names.table(space).append(table[i]);
    }
  }
  sample.trace.names = std::move(names);
  (void)set_flags(sample.trace.events);
  constexpr std::array kDefaults = {spec::DefaultSets::kClass, spec::DefaultSets::kEach,
                                    spec::DefaultSets::kAll, spec::DefaultSets::kAll};
  sample.options.sets.otherwise = kDefaults.at(draw.below(kDefaults.size()));
  if (draw.percent(50)) sample.options.sets.spec = &spec_of(draw.below(3));
  if (plain) sample.options.sets = {nullptr, spec::DefaultSets::kAll};
  sample.options.span_threads = draw.percent(20);
  return sample;
}

std::string disagreement(std::span<const Event> events, const Names& names,
                         const UnitOptions& options) {
  const std::set<Violation> expected = oracle(events, names, options);
  std::vector<Match> matches;
  std::vector<Cycle> cycles;
  Matcher matcher([&](const Match& match) { matches.push_back(match); },
                  [&](const Cycle& cycle) { cycles.push_back(cycle); });
  UnitTracker<Matcher> tracker(options, matcher);
  tracker.speak(names);
  EventNumber number = 0;
  for (const Event& event : events) dispatch(tracker, event, ++number);

  std::set<Violation> found;
  std::vector<Finding> findings;
  for (const Match& match : matches) {
    if (!found.insert(violation_of(match)).second) {
      return "found twice:" + words_of(violation_of(match));
    }
    findings.push_back(finding_of(match, tracker.sets(), names));
  }
  std::string text;
  for (const Violation& one : found) {
    if (!expected.contains(one)) text += " found" + words_of(one);
  }
  for (const Violation& one : expected) {
    if (!found.contains(one)) text += " missed" + words_of(one);
  }
  // A set has a cycle if and only if a pattern or a cycle is found there.
  const std::set<std::uint32_t> sets = unserializable_sets(events, names, options);
  std::set<std::uint32_t> sets_found;
  for (const Match& match : matches) sets_found.insert(match.set);
  for (const Cycle& cycle : cycles) {
    sets_found.insert(cycle.set);
    findings.push_back(finding_of(cycle, tracker.sets(), names));
  }
  if (sets_found != sets) {
    text += fmt::format(" sets with cycles: {} found, {} there", sets_found.size(), sets.size());
  }
  if (matcher.counts().unsearched != 0) text += " gave up";
  if (!text.empty()) return text;

  std::vector<Event> copy(events.begin(), events.end());
  Verifier verifier(findings, options);
  verifier.take(Batch{copy, 1}, names);
  for (const Finding& finding : findings) {
    if (const auto why = verifier.reject(finding)) {
      return fmt::format("rejected: {} {}, {}", finding.rule, finding.pattern, *why);
    }
  }

  if (options.span_threads) return {};  // only a spec can say so to the check
  Options all;
  all.all = true;
  all.spec = options.sets.spec;
  all.default_sets = options.sets.otherwise;
  const std::unique_ptr<Check> check = make_atomic_sets(all);
  do {
    check->take(Batch{copy, 1}, names);
  } while (check->end_of_pass(names));
  const CheckResult result = check->result();
  const auto patterns = static_cast<std::size_t>(
      std::ranges::count(result.findings, std::string_view("pattern"), &Finding::rule));
  if (patterns != expected.size() || !result.complete) {
    return fmt::format("the check has {} patterns and not {}", patterns, expected.size());
  }
  if ((result.verdict == Verdict::kViolated) != !sets.empty()) {
    return fmt::format("the check says {}, and {} sets have cycles", name_of(result.verdict),
                       sets.size());
  }
  return {};
}

std::optional<std::string> first_disagreement(std::uint64_t first, std::uint64_t count,
                                              Tally* tally,
                                              const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t kProgressEvery = 1000;
  for (std::uint64_t done = 0; done < count; ++done) {
    if (progress && done % kProgressEvery == 0) progress(done);
    const Sample sample = random_sample(first + done);
    const auto disagrees = [&](std::span<const Event> events) {
      return disagreement(events, sample.trace.names, sample.options);
    };
    if (tally != nullptr) {
      std::set<std::uint8_t> patterns;
      for (const Violation& one : oracle(sample.trace.events, sample.trace.names, sample.options)) {
        patterns.insert(one.pattern);
      }
      const bool violated =
          !unserializable_sets(sample.trace.events, sample.trace.names, sample.options).empty();
      tally->violated += violated ? 1 : 0;
      tally->cycles_only += violated && patterns.empty() ? 1 : 0;
      for (const std::uint8_t each : patterns) ++tally->traces.at(each - 1U);
    }
    if (disagrees(sample.trace.events).empty()) continue;
    const SmallTrace small = shrink(
        sample.trace, [&](std::span<const Event> events) { return !disagrees(events).empty(); });
    const UnitOptions& options = sample.options;
    return fmt::format("seed {}, default {}, spec {}, span {}, shrunk:\n{}\n{}", first + done,
                       static_cast<int>(options.sets.otherwise), options.sets.spec != nullptr,
                       options.span_threads, disagrees(small.events), to_std(small));
  }
  return std::nullopt;
}

}  // namespace syndrome::check::atomic_sets
