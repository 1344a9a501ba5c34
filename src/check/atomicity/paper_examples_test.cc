// The example traces of the AeroDrome paper (ASPLOS 2020), with the verdicts and, where it gives
// them (figures 5 to 7), the clocks of Algorithm 1 after each event.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "check/atomicity/aerodrome_literal.h"
#include "check/atomicity/differential.h"
#include "check/atomicity/oracle.h"
#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

using testing::ElementsAre;

// Threads and variables get their ids in the order of first mention: T1, T2, … and x, y, ….
constexpr std::string_view kRho1 = R"(
    T1|begin()
    T1|w(x)
    T2|begin()
    T2|r(x)
    T2|end()
    T3|begin()
    T3|w(z)
    T3|end()
    T1|r(z)
    T1|end())";
constexpr std::string_view kRho2 = R"(
    T1|begin()
    T2|begin()
    T1|w(x)
    T2|r(x)
    T2|w(y)
    T1|r(y)
    T1|end()
    T2|end())";
constexpr std::string_view kRho3 = R"(
    T1|begin()
    T2|begin()
    T1|w(x)
    T2|w(y)
    T1|r(y)
    T2|r(x)
    T1|end()
    T2|end())";
// rho1', figure 4.
constexpr std::string_view kRho4 = R"(
    T1|begin()
    T1|w(x)
    T2|begin()
    T2|w(y)
    T2|r(x)
    T2|end()
    T3|begin()
    T3|r(y)
    T3|w(z)
    T3|end()
    T1|r(z)
    T1|end())";

void expect_all_agree(std::string_view text) {
  const SmallTrace trace = from_std(text);
  for (const DifferentialEngine& engine : differential_engines()) {
    EXPECT_EQ(disagreement(engine, trace.events), "");
  }
}

/// Algorithm 1, stopped after some event.
struct Stepper {
  explicit Stepper(std::string_view text) : trace(from_std(text)) {}
  void run_to(EventNumber n) {
    for (; at < n; ++at) dispatch(algorithm, trace.events[at], at + 1);
  }
  /// The clock of thread T_i, or the write clock of the i-th variable, three entries wide or two.
  std::vector<std::uint32_t> c(std::uint32_t i, std::size_t width) {
    return wide(algorithm.c(ThreadId(i - 1)), width);
  }
  std::vector<std::uint32_t> w(std::uint32_t i, std::size_t width) {
    return wide(algorithm.w(VarId(i - 1)), width);
  }
  static std::vector<std::uint32_t> wide(std::vector<std::uint32_t> clock, std::size_t width) {
    clock.resize(width);
    return clock;
  }

  SmallTrace trace;
  AerodromeLiteral algorithm;
  EventNumber at = 0;
};

TEST(PaperExamples, Rho1IsSerializable) {
  EXPECT_TRUE(oracle(from_std(kRho1).events).serializable);
  expect_all_agree(kRho1);
}

TEST(PaperExamples, Rho2Violates) {
  const OracleResult result = oracle(from_std(kRho2).events);
  EXPECT_EQ(result.first_violation, 6U);
  EXPECT_THAT(result.strict, ElementsAre(1));
  expect_all_agree(kRho2);
}

TEST(PaperExamples, Rho3ViolatesThoughNoEventHappensBeforeItself) {
  const OracleResult result = oracle(from_std(kRho3).events);
  EXPECT_EQ(result.first_violation, 6U);
  EXPECT_THAT(result.strict, ElementsAre(1, 2));
  expect_all_agree(kRho3);
}

TEST(PaperExamples, Rho4ViolatesThroughAnEdgeThatComesLater) {
  const OracleResult result = oracle(from_std(kRho4).events);
  EXPECT_EQ(result.first_violation, 11U);
  EXPECT_THAT(result.strict, ElementsAre(1, 3));
  expect_all_agree(kRho4);
}

TEST(PaperExamples, Figure5) {
  Stepper rho2(kRho2);
  EXPECT_THAT(rho2.c(1, 2), ElementsAre(1, 0));
  EXPECT_THAT(rho2.c(2, 2), ElementsAre(0, 1));
  rho2.run_to(1);
  EXPECT_THAT(rho2.c(1, 2), ElementsAre(2, 0));
  rho2.run_to(2);
  EXPECT_THAT(rho2.c(2, 2), ElementsAre(0, 2));
  rho2.run_to(3);
  EXPECT_THAT(rho2.w(1, 2), ElementsAre(2, 0));
  rho2.run_to(4);
  EXPECT_THAT(rho2.c(2, 2), ElementsAre(2, 2));
  rho2.run_to(5);
  EXPECT_THAT(rho2.w(2, 2), ElementsAre(2, 2));
  EXPECT_EQ(rho2.algorithm.violation().event, 0U);
  rho2.run_to(6);
  EXPECT_EQ(rho2.algorithm.violation().event, 6U);
  EXPECT_EQ(rho2.algorithm.violation().thread, ThreadId(0U));
}

TEST(PaperExamples, Figure6) {
  Stepper rho3(kRho3);
  rho3.run_to(4);
  EXPECT_THAT(rho3.c(1, 2), ElementsAre(2, 0));
  EXPECT_THAT(rho3.c(2, 2), ElementsAre(0, 2));
  EXPECT_THAT(rho3.w(1, 2), ElementsAre(2, 0));
  EXPECT_THAT(rho3.w(2, 2), ElementsAre(0, 2));
  rho3.run_to(5);
  EXPECT_THAT(rho3.c(1, 2), ElementsAre(2, 2));
  rho3.run_to(6);
  EXPECT_THAT(rho3.c(2, 2), ElementsAre(2, 2));
  EXPECT_EQ(rho3.algorithm.violation().event, 0U);
  rho3.run_to(7);
  EXPECT_EQ(rho3.algorithm.violation().event, 7U);
  EXPECT_EQ(rho3.algorithm.violation().thread, ThreadId(1U));
}

TEST(PaperExamples, Figure7) {
  Stepper rho4(kRho4);
  rho4.run_to(2);
  EXPECT_THAT(rho4.c(1, 3), ElementsAre(2, 0, 0));
  EXPECT_THAT(rho4.w(1, 3), ElementsAre(2, 0, 0));
  rho4.run_to(4);
  EXPECT_THAT(rho4.c(2, 3), ElementsAre(0, 2, 0));
  EXPECT_THAT(rho4.w(2, 3), ElementsAre(0, 2, 0));
  rho4.run_to(5);
  EXPECT_THAT(rho4.c(2, 3), ElementsAre(2, 2, 0));
  rho4.run_to(6);
  EXPECT_THAT(rho4.w(2, 3), ElementsAre(2, 2, 0));
  EXPECT_THAT(rho4.c(1, 3), ElementsAre(2, 0, 0));
  EXPECT_THAT(rho4.c(3, 3), ElementsAre(0, 0, 1));
  rho4.run_to(7);
  EXPECT_THAT(rho4.c(3, 3), ElementsAre(0, 0, 2));
  rho4.run_to(8);
  EXPECT_THAT(rho4.c(3, 3), ElementsAre(2, 2, 2));
  rho4.run_to(9);
  EXPECT_THAT(rho4.w(3, 3), ElementsAre(2, 2, 2));
  rho4.run_to(10);
  EXPECT_EQ(rho4.algorithm.violation().event, 0U);
  rho4.run_to(11);
  EXPECT_EQ(rho4.algorithm.violation().event, 11U);
}

// papers.md: without the correction, Algorithm 1 sees the block's own begin in the child's clock.
TEST(PaperExamples, AJoinedThreadWithoutEventsIsNoViolation) {
  expect_all_agree("T1|begin()\nT1|fork(T2)\nT1|join(T2)\nT1|end()");
  expect_all_agree("T1|begin()\nT1|fork(T2)\nT2|r(x)\nT1|join(T2)\nT1|end()");
}

TEST(PaperExamples, BlocksOpenAtTheEnd) {
  // rho3 without its ends: the cycle is there at event 6, and finish() sees it.
  constexpr std::string_view kOpen = "T1|begin()\nT2|begin()\nT1|w(x)\nT2|w(y)\nT1|r(y)\nT2|r(x)";
  Stepper open(kOpen);
  open.run_to(6);
  EXPECT_EQ(open.algorithm.violation().event, 0U);
  open.algorithm.finish(6);
  EXPECT_EQ(open.algorithm.violation().event, 6U);
  expect_all_agree(kOpen);
}

}  // namespace
}  // namespace syndrome::check
