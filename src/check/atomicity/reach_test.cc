// What is particular to Reach: its filter, its slots, its memory. Verdicts are compared with the
// oracle and the other engines in differential_test.cc.

#include "check/atomicity/reach.h"

#include <gtest/gtest.h>

#include <string>

#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

std::uint64_t stat(const Reach& reach, std::string_view name) {
  for (const Stat& stat : reach.stats()) {
    if (stat.name == name) return stat.value;
  }
  ADD_FAILURE() << "no stat " << name;
  return 0;
}

std::unique_ptr<Reach> run(std::string_view text) {
  SmallTrace trace = from_std(text);
  auto reach = std::make_unique<Reach>();
  dispatch(*reach, Batch{trace.events, 1});
  return reach;
}

TEST(Reach, DropsTheEdgesThatALockImplies) {
  std::string text;
  for (const char* thread : {"T1", "T2", "T1", "T2"}) {
    text += std::string(thread) + "|acq(m)\n";
    for (int i = 0; i < 10; ++i) {
      text += std::string(thread) + "|r(x" + std::to_string(i) + ")\n";
      text += std::string(thread) + "|w(x" + std::to_string(i) + ")\n";
    }
    text += std::string(thread) + "|rel(m)\n";
  }
  const auto reach = run(text);
  EXPECT_EQ(reach->violation().event, 0U);
  EXPECT_EQ(stat(*reach, "edges not known before"), 3U);  // one for each hand-over
}

TEST(Reach, GoesOnAfterAViolation) {
  const auto reach = run(R"(
    T1|begin()
    T1|r(x)
    T2|w(x)
    T1|r(x)
    T1|end()
    T1|begin()
    T1|r(y)
    T2|w(y)
    T1|r(y)
    T1|end())");
  EXPECT_EQ(reach->violation().event, 4U);
  EXPECT_EQ(reach->closings(), 2U);
}

TEST(Reach, GivesTheSlotOfAJoinedThreadToTheNext) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    const std::string child = "C" + std::to_string(i);
    text += "T0|fork(" + child + ")\n";
    text += child + "|begin()\n" + child + "|r(x)\n" + child + "|w(x)\n" + child + "|end()\n";
    text += "T0|join(" + child + ")\n";
  }
  const auto reach = run(text);
  EXPECT_EQ(reach->violation().event, 0U);
  EXPECT_EQ(stat(*reach, "thread slots"), 2U);
  EXPECT_EQ(stat(*reach, "thread slots used again"), 999U);
}

TEST(Reach, KeepsASlotThatTheForkingThreadDoesNotKnow) {
  // T1 forks B after T0 has joined A, but nothing orders the one after the other: in one slot they
  // would seem ordered, and the block of T2 would seem to be on a cycle.
  const auto reach = run(R"(
    T0|fork(A)
    A|w(x)
    T0|join(A)
    T2|begin()
    T1|fork(B)
    B|w(y)
    T2|r(y)
    T2|end())");
  EXPECT_EQ(stat(*reach, "thread slots used again"), 0U);
  EXPECT_EQ(reach->violation().event, 0U);
}

TEST(Reach, IsExactPastTheMostColumnsThatItKeeps) {
  // 600 threads take the lock in turn: the later ones have no column. Then a check-then-act.
  std::string text;
  for (int i = 0; i < 600; ++i) {
    const std::string t = "T" + std::to_string(i);
    text += t + "|begin()\n" + t + "|acq(m)\n" + t + "|r(x)\n" + t + "|w(x)\n" + t + "|rel(m)\n" +
            t + "|end()\n";
  }
  EXPECT_EQ(run(text)->violation().event, 0U);
  text += "T599|begin()\nT599|r(x)\nT598|w(x)\nT599|w(x)\nT599|end()\n";
  EXPECT_EQ(run(text)->violation().event, 3604U);
}

}  // namespace
}  // namespace syndrome::check
