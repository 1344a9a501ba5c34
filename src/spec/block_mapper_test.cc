// Which events become blocks, and that nesting survives labels that do not match.

#include "spec/block_mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "trace/wellformed.h"

namespace syndrome::spec {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Builds a trace event by event.
struct Builder {
  Names names;
  std::vector<Event> events;

  std::uint32_t id(Space space, std::string_view name) {
    StringTable& table = names.table(space);
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i] == name) return static_cast<std::uint32_t>(i);
    }
    return table.append(name);
  }

  Builder& add(EventKind kind, std::string_view target, std::string_view thread = "T1") {
    Event event;
    event.thread = ThreadId(id(Space::kThread, thread));
    event.kind = kind;
    event.target = id(*target_space(kind), target);
    events.push_back(event);
    return *this;
  }
  Builder& enter(std::string_view f, std::string_view t = "T1") {
    return add(EventKind::kEnter, f, t);
  }
  Builder& exit(std::string_view f, std::string_view t = "T1") {
    return add(EventKind::kExit, f, t);
  }
  Builder& begin(std::string_view f, std::string_view t = "T1") {
    return add(EventKind::kBegin, f, t);
  }
  Builder& end(std::string_view f, std::string_view t = "T1") { return add(EventKind::kEnd, f, t); }
  Builder& read(std::string_view v) { return add(EventKind::kRead, v); }

  /// The words of the events after the mapper: "begin", "enter", ….
  std::vector<std::string> mapped(BlockMapper& mapper, std::size_t batch_size = 1000) {
    std::vector<Event> copy = events;
    for (std::size_t at = 0; at < copy.size(); at += batch_size) {
      Batch batch{std::span(copy).subspan(at, std::min(batch_size, copy.size() - at)), at + 1};
      mapper.apply(batch, names);
    }
    std::vector<std::string> words;
    for (std::size_t i = 0; i < copy.size(); ++i) {
      EXPECT_EQ(copy[i].target, events[i].target);
      EXPECT_EQ(copy[i].thread, events[i].thread);
      words.emplace_back(name_of(copy[i].kind));
    }
    return words;
  }
};

Spec spec_of(std::string_view text) {
  Result<Spec> spec = parse_spec(text);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().message);
  return std::move(*spec);
}

TEST(BlockMapper, WithoutASpecNothingChanges) {
  BlockMapper mapper({});
  EXPECT_TRUE(mapper.idle());
  EXPECT_THAT(Builder().enter("f").begin("b").end("b").exit("f").mapped(mapper),
              ElementsAre("enter", "begin", "end", "exit"));
  EXPECT_THAT(mapper.unmatched(Names()), IsEmpty());
}

TEST(BlockMapper, AtomicFunctionsAreBlocks) {
  const Spec spec = spec_of("[blocks]\natomic = ['Account::transfer']\nexclude = ['main']");
  BlockMapper mapper({.spec = &spec});
  EXPECT_FALSE(mapper.idle());
  Builder trace;
  trace.enter("main").enter("Account::transfer(int)").read("x").enter("log").exit("log");
  trace.exit("Account::transfer(int)").begin("b").end("b").exit("main");
  EXPECT_THAT(trace.mapped(mapper),
              ElementsAre("enter", "begin", "r", "enter", "exit", "end", "begin", "end", "exit"));
  EXPECT_THAT(mapper.unmatched(trace.names), IsEmpty());
}

TEST(BlockMapper, ExcludeWinsOverAtomic) {
  const Spec spec = spec_of("[blocks]\natomic = ['A::*']\nexclude = ['A::g']");
  BlockMapper mapper({.spec = &spec});
  EXPECT_THAT(Builder().enter("A::f").exit("A::f").enter("A::g").exit("A::g").mapped(mapper),
              ElementsAre("begin", "end", "enter", "exit"));
}

TEST(BlockMapper, OnlyTheNamesThatAreGiven) {
  const Spec spec = spec_of("[blocks]\natomic = ['f', 'g']");
  const std::unordered_set<std::string> only = {"A::f(int)", "b"};
  BlockMapper mapper({.spec = &spec, .roadrunner = true, .only = &only});
  EXPECT_FALSE(mapper.idle());
  Builder trace;
  trace.enter("A::f(int)").enter("f").exit("f").exit("A::f(int)").enter("g").exit("g");
  trace.begin("b").end("b").begin("c").end("c").begin("").end("");
  EXPECT_THAT(trace.mapped(mapper), ElementsAre("begin", "enter", "exit", "end", "enter", "exit",
                                                "begin", "end", "enter", "exit", "enter", "exit"));
  EXPECT_THAT(mapper.unmatched(trace.names), IsEmpty());
}

TEST(BlockMapper, RoadRunnerWithoutASpec) {
  BlockMapper mapper({.roadrunner = true});
  Builder trace;
  trace.enter("test/Test.main([Ljava/lang/String;)V")
      .enter("test/Test.inc()V")
      .exit("test/Test.inc()V");
  trace.enter("a/B.run()V").enter("a/B.runner()V").exit("a/B.runner()V").exit("a/B.run()V");
  trace.exit("test/Test.main([Ljava/lang/String;)V").enter("C.run(I)I").exit("C.run(I)I");
  EXPECT_THAT(trace.mapped(mapper), ElementsAre("enter", "begin", "end", "enter", "begin", "end",
                                                "exit", "exit", "enter", "exit"));
}

TEST(BlockMapper, RoadRunnerWithASpec) {
  // A list of what is atomic replaces the default; a list of exclusions alone takes away from it.
  const Spec listed = spec_of("[blocks]\natomic = ['Test.run']");
  BlockMapper by_list({.spec = &listed, .roadrunner = true});
  Builder trace;
  trace.enter("t/Test.run()V").enter("t/Test.f()V").exit("t/Test.f()V").enter("t/Test.g()V");
  trace.exit("t/Test.g()V").exit("t/Test.run()V");
  EXPECT_THAT(trace.mapped(by_list), ElementsAre("begin", "enter", "exit", "enter", "exit", "end"));
  const Spec excluding = spec_of("[blocks]\nexclude = ['Test.f']");
  BlockMapper by_exclusion({.spec = &excluding, .roadrunner = true});
  EXPECT_THAT(trace.mapped(by_exclusion),
              ElementsAre("enter", "enter", "exit", "begin", "end", "exit"));
}

TEST(BlockMapper, ExcludedBlocksOfTheTraceDoNotCount) {
  const Spec spec = spec_of("[blocks]\nexclude = ['slow']");
  BlockMapper mapper({.spec = &spec});
  Builder trace;
  trace.begin("slow").begin("fast").end("fast").begin("").end("").end("slow");
  EXPECT_THAT(trace.mapped(mapper), ElementsAre("enter", "begin", "end", "begin", "end", "exit"));
}

TEST(BlockMapper, AnEndBelongsToTheInnermostBeginWhateverItsLabel) {
  const Spec spec = spec_of("[blocks]\natomic = ['f']\nexclude = ['slow']");
  for (const std::size_t batch_size : {1U, 2U, 100U}) {
    BlockMapper mapper({.spec = &spec});
    Builder trace;
    trace.begin("slow").begin("fast").end("slow").end("fast");  // crossed labels
    trace.begin("slow").end("").begin("fast").end("");          // none
    trace.enter("f").enter("g").exit("f").exit("g");
    EXPECT_THAT(trace.mapped(mapper, batch_size),
                ElementsAre("enter", "begin", "end", "exit", "enter", "exit", "begin", "end",
                            "begin", "enter", "exit", "end"));
  }
}

TEST(BlockMapper, ThreadsNestOnTheirOwn) {
  const Spec spec = spec_of("[blocks]\natomic = ['f']");
  BlockMapper mapper({.spec = &spec});
  Builder trace;
  trace.enter("f", "T1").enter("g", "T2").exit("?", "T1").exit("?", "T2");
  EXPECT_THAT(trace.mapped(mapper), ElementsAre("begin", "enter", "end", "exit"));
}

TEST(BlockMapper, WhatHasNoPartnerStays) {
  const Spec spec = spec_of("[blocks]\natomic = ['f']\nexclude = ['b']");
  BlockMapper mapper({.spec = &spec});
  EXPECT_THAT(Builder().exit("f").end("b").enter("f").exit("f").begin("b").end("b").mapped(mapper),
              ElementsAre("exit", "end", "begin", "end", "enter", "exit"));
}

TEST(BlockMapper, RandomNestingStaysWellFormed) {
  const Spec spec = spec_of("[blocks]\natomic = ['f', 'g']\nexclude = ['b']");
  std::mt19937 random(9);
  const std::string_view labels[] = {"f", "g", "h", "b", "c", ""};
  for (int round = 0; round < 500; ++round) {
    Builder trace;
    int functions = 0;
    int blocks = 0;
    for (int i = 0; i < 40; ++i) {
      const std::string_view label = labels[random() % std::size(labels)];
      switch (random() % 4) {
        case 0: trace.enter(label), ++functions; break;
        case 1: trace.begin(label), ++blocks; break;
        case 2:
          if (functions > 0) trace.exit(label), --functions;
          break;
        default:
          if (blocks > 0) trace.end(label), --blocks;
          break;
      }
    }
    while (functions-- > 0) trace.exit("f");
    while (blocks-- > 0) trace.end("b");
    BlockMapper mapper({.spec = &spec});
    Batch batch{trace.events, 1};
    mapper.apply(batch, trace.names);
    trace::WellFormed stage([](const trace::Fault& fault) {
      ADD_FAILURE() << "event " << fault.event << ": " << fault.message;
      return false;
    });
    ASSERT_TRUE(stage.apply(batch, trace.names));
    int open = 0;
    for (const Event& event : trace.events) {
      open += event.kind == EventKind::kBegin ? 1 : event.kind == EventKind::kEnd ? -1 : 0;
    }
    ASSERT_EQ(open, 0);
  }
}

TEST(BlockMapper, EntriesThatMatchNothingAreListedWithTheNearestNames) {
  const Spec spec = spec_of(
      "[blocks]\n"
      "atomic = ['Account::transfr', 'Bank::transfer', 'Account::get', 're:^nothing']\n"
      "deterministic = ['quicksrot']\n"
      "exclude = ['xyzzy']\n");
  BlockMapper mapper({.spec = &spec});
  Builder trace;
  trace.enter("Account::transfer(int)").enter("Account::get() const").enter("quicksort");
  (void)trace.mapped(mapper);
  const std::vector<Unmatched> unmatched = mapper.unmatched(trace.names);
  ASSERT_EQ(unmatched.size(), 5U);
  EXPECT_EQ(unmatched[0].list, "atomic");
  EXPECT_EQ(unmatched[0].entry, "Account::transfr");
  EXPECT_EQ(unmatched[0].line, 2U);
  EXPECT_EQ(unmatched[0].column, 11U);
  EXPECT_THAT(unmatched[0].nearest, ElementsAre("Account::transfer(int)"));
  EXPECT_EQ(unmatched[1].entry, "Bank::transfer");
  EXPECT_THAT(unmatched[1].nearest, ElementsAre("Account::transfer(int)")) << "of another class";
  EXPECT_EQ(unmatched[2].entry, "re:^nothing");
  EXPECT_THAT(unmatched[2].nearest, IsEmpty());
  EXPECT_EQ(unmatched[3].list, "deterministic");
  EXPECT_THAT(unmatched[3].nearest, ElementsAre("quicksort"));
  EXPECT_EQ(unmatched[4].list, "exclude");
  EXPECT_THAT(unmatched[4].nearest, IsEmpty());
}

TEST(BlockMapper, AFunctionThatOnlySitesNameIsPartOfItsCallers) {
  const Spec spec = spec_of(
      "[blocks]\natomic = ['Account::get', 'get() const', 're:::get$', 'Account::put(int)', "
      "'bank.cc']");
  Builder trace;
  trace.enter("look()").enter("Account::put(long)");
  trace.names.table(Space::kSite).append("my src/bank.cc:12:5 Account::get");
  trace.names.table(Space::kSite).append("my src/bank.cc:14 Account::put");
  BlockMapper mapper({.spec = &spec});
  (void)trace.mapped(mapper);
  const std::vector<Unmatched> unmatched = mapper.unmatched(trace.names);
  ASSERT_EQ(unmatched.size(), 5U);
  EXPECT_TRUE(unmatched[0].merged);
  EXPECT_TRUE(unmatched[1].merged);
  EXPECT_TRUE(unmatched[2].merged);
  EXPECT_FALSE(unmatched[3].merged) << "another overload has run, as a function";
  EXPECT_THAT(unmatched[3].nearest, ElementsAre("Account::put(long)"));
  EXPECT_FALSE(unmatched[4].merged);

  BlockMapper without_functions({.spec = &spec});
  trace.events.clear();
  trace.begin("block");
  (void)trace.mapped(without_functions);
  EXPECT_FALSE(without_functions.unmatched(trace.names)[0].merged);
}

TEST(BlockMapper, NearestNamesAreAtMostThreeNearestFirst) {
  const Spec spec = spec_of("[blocks]\natomic = ['update_cache']");
  BlockMapper mapper({.spec = &spec});
  Builder trace;
  for (const char* name : {"update_caXXX", "update_cacXX", "update_cachX", "update_cXXXX"}) {
    trace.enter(name);
  }
  const std::vector<Unmatched> unmatched = mapper.unmatched(trace.names);
  ASSERT_EQ(unmatched.size(), 1U);
  EXPECT_THAT(unmatched[0].nearest, ElementsAre("update_cachX", "update_cacXX", "update_caXXX"));
}

TEST(BlockMapper, ALabelThatNoBatchHasShownStillMatches) {
  const Spec spec = spec_of("[blocks]\natomic = ['f']");
  BlockMapper mapper({.spec = &spec});
  Names names;
  names.table(Space::kLabel).append("f(int)");
  EXPECT_THAT(mapper.unmatched(names), IsEmpty());
}

}  // namespace
}  // namespace syndrome::spec
