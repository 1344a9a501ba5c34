// Guards against: explanations that the definition does not have or that are missing, in traces
// with functions that end by exceptions, rmws, threads that begin late, and variables that come
// back.

#include "check/failure/failure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "check/failure/oracle.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

Failure analyse(const SmallTrace& trace, std::uint32_t thread) {
  FailureAnalysis analysis(thread);
  constexpr std::size_t kBatch = 3;
  std::vector<Event> events = trace.events;
  for (std::size_t at = 0; at < events.size(); at += kBatch) {
    const std::size_t size = std::min(kBatch, events.size() - at);
    analysis.take({std::span(events).subspan(at, size), at + 1}, trace.names);
  }
  return analysis.result();
}

std::string words(const Failure& failure, const Names& names) {
  std::string text;
  for (const Explanation& each : failure.explanations) {
    text += fmt::format("{} {} {} {} {}{} level {}\n", name_of(each.kind),
                        names.variable(each.read_event.var()), each.read, each.write,
                        names.label(each.function), each.open ? " open" : "", each.level);
  }
  return text;
}

std::string explained(std::string_view text, std::uint32_t thread) {
  const SmallTrace trace = from_std(text);
  return words(analyse(trace, thread), trace.names);
}

constexpr char kUnfinished[] = R"(main|fork(T1)|a
  main|enter(main)|b
  T1|enter(run)|c
  T1|enter(inc_dec)|d
  T1|w(g)|e
  main|r(g)|f)";

TEST(Failure, names_the_unfinished_function_whose_write_was_read) {
  EXPECT_EQ(explained(kUnfinished, 0), "dirty-read g 6 5 inc_dec open level 0\n");
  const SmallTrace trace = from_std(kUnfinished);
  const Failure failure = analyse(trace, 0);
  EXPECT_EQ(failure.last, 6U);
  EXPECT_EQ(trace.names.label(failure.function), "main");
}

TEST(Failure, has_nothing_to_say_of_a_function_that_finished) {
  EXPECT_EQ(explained(R"(main|enter(main)
    T1|enter(run)
    T1|enter(inc)
    T1|w(g)
    T1|exit(inc)
    T1|exit(run)
    main|r(g))",
                      0),
            "");
}

TEST(Failure, tells_of_a_write_that_was_made_again_and_of_one_by_another) {
  EXPECT_EQ(explained(R"(main|enter(main)
    T1|enter(run)
    T1|enter(inc_dec)
    T1|w(g)
    main|r(g)
    T1|w(g)
    T1|exit(inc_dec)
    main|r(h)
    T1|enter(set)
    T1|w(h)
    T1|exit(set))",
                      0),
            "dirty-read g 5 4 inc_dec level 0\nstale-read h 8 10 set level 0\n");
}

TEST(Failure, puts_what_the_failed_function_read_first) {
  EXPECT_EQ(explained(R"(main|enter(main)
    T1|enter(run)
    main|r(outer)
    main|enter(verify)
    main|r(inner)
    T1|w(outer)
    T1|w(inner))",
                      0),
            "stale-read inner 5 7 run open level 0\nstale-read outer 3 6 run open level 1\n");
}

TEST(Failure, does_not_take_what_was_there_before_the_thread_for_half_done) {
  EXPECT_EQ(explained(R"(main|enter(main)
    main|w(config)
    main|fork(T1)
    T1|enter(run)
    T1|r(config))",
                      1),
            "");
}

TEST(Failure, tells_of_what_another_had_half_done_when_the_thread_began) {
  EXPECT_EQ(explained(R"(main|fork(T1)
    T1|enter(run)
    T1|enter(inc_dec)
    T1|w(g)
    main|fork(T2)
    T2|enter(check)
    T2|r(g))",
                      2),
            "dirty-read g 7 4 inc_dec open level 0\n");
}

TEST(Failure, knows_the_last_function_of_a_thread_that_has_returned) {
  const SmallTrace trace = from_std(R"(main|enter(main)
    T1|enter(run)
    T1|w(g)
    main|r(g)
    main|exit(main))");
  EXPECT_EQ(words(analyse(trace, 0), trace.names), "dirty-read g 4 3 run open level 0\n");
  EXPECT_EQ(trace.names.label(analyse(trace, 0).function), "main");
}

TEST(Failure, says_nothing_without_the_thread) {
  EXPECT_EQ(explained(kUnfinished, 7), "");
  EXPECT_FALSE(analyse(from_std(kUnfinished), 7).thread.has_value());
}

/// Functions that nest, end out of order or without a name; of the library, too.
SmallTrace random_functions(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  SmallTrace trace;
  const std::uint32_t threads = 2 + below(3);
  const std::uint32_t variables = 1 + below(below(8) == 0 ? 100 : 6);
  constexpr std::array kFunctions = {"f", "g", "h", "std::vector<int>::size() const", "unit S"};
  trace.names.table(Space::kThread).append("main");
  for (std::uint32_t i = 1; i < threads; ++i) {
    trace.names.table(Space::kThread).append(fmt::format("T{}", i));
  }
  for (std::uint32_t i = 0; i < variables; ++i) {
    trace.names.table(Space::kVariable).append(fmt::format("x{}", i));
  }
  for (const char* const name : kFunctions) trace.names.table(Space::kLabel).append(name);
  trace.names.table(Space::kSite).append("place");
  const std::uint32_t size = 1 + below(variables > 6 ? 400 : 60);
  for (std::uint32_t i = 0; i < size; ++i) {
    Event event;
    event.thread = ThreadId(below(threads));
    event.site = SiteId(below(2));
    const std::uint32_t what = below(21);
    if (what < 12) {
      event.kind = what < 6 ? EventKind::kRead : what < 11 ? EventKind::kWrite : EventKind::kRmw;
      event.target = below(variables);
    } else if (what == 20) {
      event.kind = EventKind::kFork;
      event.target = below(threads);
    } else {
      event.kind = what < 17 ? EventKind::kEnter : EventKind::kExit;
      event.target = below(kFunctions.size() + 1);
      if (event.kind == EventKind::kEnter && event.target == 0) event.target = 1;
    }
    trace.events.push_back(event);
  }
  return trace;
}

TEST(Failure, agrees_with_the_definition_on_random_traces) {
  std::size_t dirty = 0;
  std::size_t stale = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    const SmallTrace trace = random_functions(seed);
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      const Failure found = analyse(trace, thread);
      const Failure expected = explain_by_definition(trace.events, trace.names, thread);
      ASSERT_EQ(words(found, trace.names), words(expected, trace.names))
          << "seed " << seed << ", thread " << thread << "\n"
          << to_std(trace);
      ASSERT_EQ(found.explanations, expected.explanations) << "seed " << seed;
      ASSERT_EQ(found.last, expected.last) << "seed " << seed;
      ASSERT_EQ(found.function, expected.function)
          << "seed " << seed << ", thread " << thread << "\n"
          << to_std(trace);
      for (const Explanation& each : found.explanations) {
        ++(each.kind == ExplanationKind::kDirtyRead ? dirty : stale);
      }
    }
  }
  EXPECT_GT(dirty, 1000U);
  EXPECT_GT(stale, 1000U);
}

}  // namespace
}  // namespace syndrome::check
