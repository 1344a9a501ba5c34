// Guards against: a function that is called atomic although a run that was given violates it, and
// one that is dropped although none does.

#include "check/refine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "check/atomicity/oracle.h"
#include "check/samples/random_trace.h"
#include "check/testing.h"

namespace syndrome::check {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = Candidate::State;

Refinement::Outcome add(Refinement& refinement, const SmallTrace& trace) {
  refinement.begin_run();
  const Result<Refinement::Outcome> outcome =
      refinement.add(opener_of(trace), trace::Format::kStd, {});
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message) << to_std(trace);
  return outcome.ok() ? *outcome : Refinement::Outcome{};
}

/// The trace with the functions and blocks that `refinement` calls atomic as its blocks.
SmallTrace with_blocks(SmallTrace trace, const std::function<bool(const std::string&)>& atomic) {
  std::map<ThreadId, std::vector<bool>> functions;
  std::map<ThreadId, std::vector<bool>> blocks;
  for (Event& event : trace.events) {
    const bool opens = event.kind == EventKind::kEnter || event.kind == EventKind::kBegin;
    const bool closes = event.kind == EventKind::kExit || event.kind == EventKind::kEnd;
    if (!opens && !closes) continue;
    const bool function = event.kind == EventKind::kEnter || event.kind == EventKind::kExit;
    std::vector<bool>& stack = (function ? functions : blocks)[event.thread];
    if (opens) {
      stack.push_back(event.target != 0 && atomic(std::string(trace.names.label(event.label()))));
    }
    const bool block = !stack.empty() && stack.back();
    if (closes && !stack.empty()) stack.pop_back();
    event.kind = opens ? (block ? EventKind::kBegin : EventKind::kEnter)
                       : (block ? EventKind::kEnd : EventKind::kExit);
  }
  EXPECT_TRUE(set_flags(trace.events));
  return trace;
}

/// Some of the blocks of a random trace become functions, all get one of four names.
SmallTrace sample(std::uint64_t seed) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  SmallTrace trace = random_trace(seed);
  std::vector<std::uint32_t> labels;
  for (const char* name : {"f", "g", "h", "k"}) {
    labels.push_back(trace.names.table(Space::kLabel).append(name));
  }
  std::map<ThreadId, std::vector<Event>> open;
  for (Event& event : trace.events) {
    if (event.kind == EventKind::kBegin) {
      event.target = labels[random() % labels.size()];
      // A function around which there is none would be where its thread begins.
      if (!open[event.thread].empty() && random() % 3 == 0) event.kind = EventKind::kEnter;
      open[event.thread].push_back(event);
    } else if (event.kind == EventKind::kEnd) {
      const Event begin = open[event.thread].back();
      open[event.thread].pop_back();
      event.target = begin.target;
      if (begin.kind == EventKind::kEnter) event.kind = EventKind::kExit;
    } else if (event.kind == EventKind::kEnter || event.kind == EventKind::kExit) {
      event.kind = EventKind::kRead;
      event.target = 0;
    }
  }
  return trace;
}

TEST(Refine, what_is_left_holds_in_every_run) {
  std::size_t dropped = 0;
  std::size_t left = 0;
  std::size_t again = 0;
  for (std::uint64_t seed = 1; seed <= 3000; seed += 3) {
    Refinement refinement;
    std::vector<SmallTrace> runs;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const SmallTrace run = sample(seed + i);
      if (run.names.table(Space::kVariable).size() == 0) continue;
      SmallTrace flagged = run;
      if (!set_flags(flagged.events)) continue;
      const Refinement before = refinement;
      const Refinement::Outcome outcome = add(refinement, run);
      EXPECT_THAT(outcome.warnings, IsEmpty()) << to_std(run);
      again += outcome.checks > 2 ? 1 : 0;
      dropped += outcome.dropped.size();
      if (outcome.checks == 2) {
        // All that was dropped was dropped at once: the oracle blames the same.
        const SmallTrace blocks = with_blocks(run, [&](const std::string& name) {
          const auto at = before.functions().find(name);
          const bool was = at == before.functions().end() || at->second.state == State::kAtomic;
          return was && refinement.functions().at(name).state != State::kEntry;
        });
        std::set<std::string> blamed;
        for (const EventNumber begin : oracle(blocks.events).strict) {
          blamed.emplace(blocks.names.label(blocks.events[begin - 1].label()));
        }
        for (const std::string& name : outcome.dropped) {
          EXPECT_TRUE(blamed.contains(name)) << name << "\n" << to_std(run);
        }
      }
      runs.push_back(run);
    }
    for (const auto& [name, candidate] : refinement.functions()) {
      left += candidate.state == State::kAtomic ? 1 : 0;
    }
    // Also the runs that were added before others dropped something.
    for (const SmallTrace& run : runs) {
      const SmallTrace blocks = with_blocks(run, [&](const std::string& name) {
        return refinement.functions().at(name).state == State::kAtomic;
      });
      ASSERT_TRUE(oracle(blocks.events).serializable) << to_std(blocks);
    }
  }
  EXPECT_GT(dropped, 500U);
  EXPECT_GT(left, 500U);
  EXPECT_GT(again, 20U);
}

constexpr std::string_view kCheckThenAct = R"(
    main|enter(main)
    main|fork(T1)
    main|enter(outer)
    main|enter(check)
    main|acq(m)
    main|r(x)
    main|rel(m)
    main|exit(check)
    T1|enter(other)
    T1|acq(m)
    T1|w(x)
    T1|rel(m)
    T1|exit(other)
    main|enter(act)
    main|acq(m)
    main|w(x)
    main|rel(m)
    main|exit(act)
    main|exit(outer)
    main|join(T1)
    main|exit(main))";

TEST(Refine, what_is_called_in_a_dropped_function_is_looked_at_again) {
  Refinement refinement;
  const Refinement::Outcome outcome = add(refinement, from_std(kCheckThenAct));
  EXPECT_THAT(outcome.dropped, ElementsAre("outer"));
  EXPECT_EQ(outcome.checks, 2U);
  const std::map<std::string, Candidate>& functions = refinement.functions();
  EXPECT_EQ(functions.at("outer").state, State::kViolated);
  EXPECT_EQ(functions.at("outer").run, 1U);
  EXPECT_EQ(functions.at("check").state, State::kAtomic);
  EXPECT_EQ(functions.at("act").state, State::kAtomic);
  EXPECT_EQ(functions.at("main").state, State::kMain);
  EXPECT_EQ(functions.at("other").state, State::kEntry);
  EXPECT_EQ(sureness_of(functions.at("check")), Sureness::kNotTested);
  EXPECT_EQ(functions.at("outer").use.contended, 1U);

  const Refinement::Outcome second = add(refinement, from_std(kCheckThenAct));
  EXPECT_THAT(second.dropped, IsEmpty());
  EXPECT_EQ(second.checks, 1U);
  EXPECT_EQ(functions.at("check").runs, 2U);
  EXPECT_EQ(functions.at("check").use.calls, 2U);
}

TEST(Refine, several_layers_are_dropped_one_after_the_other) {
  std::string deep(kCheckThenAct);
  for (const auto& [inner, outer] : {std::pair{"outer", "middle"}, std::pair{"middle", "top"}}) {
    const auto around = [&deep](const std::string& what, const std::string& with) {
      deep.replace(deep.find(what), what.size(), with);
    };
    const std::string in(inner);
    const std::string out(outer);
    around("main|enter(" + in + ")", "main|enter(" + out + ")\n main|enter(" + in + ")");
    around("main|exit(" + in + ")", "main|exit(" + in + ")\n main|exit(" + out + ")");
  }
  Refinement refinement;
  const Refinement::Outcome outcome = add(refinement, from_std(deep));
  EXPECT_THAT(outcome.dropped, ElementsAre("top", "middle", "outer"));
  EXPECT_EQ(outcome.checks, 4U);
  EXPECT_EQ(refinement.functions().at("check").state, State::kAtomic);
}

}  // namespace
}  // namespace syndrome::check
