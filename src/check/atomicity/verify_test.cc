// The verifier accepts what is a cycle and rejects, for each rule, what breaks just that rule.

#include "check/atomicity/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

using ::testing::HasSubstr;

class VerifyTest : public ::testing::Test {
 protected:
  SmallTrace trace_ = from_std(R"(
    T1|begin(check)
    T1|acq(m)
    T1|r(x)
    T1|rel(m)
    T2|begin(set)
    T2|acq(m)
    T2|w(x)
    T2|rel(m)
    T2|end()
    T2|r(x)
    T2|w(y)
    T1|acq(m)
    T1|w(x)
    T1|rel(m)
    T1|r(y)
    T1|end())");

  std::string verdict(EventNumber block, std::vector<Edge> cycle) {
    Finding finding;
    finding.block = block;
    finding.cycle = std::move(cycle);
    CycleVerifier verifier({finding});
    verifier.take(Batch{trace_.events, 1});
    return verifier.reject(finding).value_or("accepted");
  }
};

TEST_F(VerifyTest, AcceptsDataLockAndThreadOrderEdges) {
  EXPECT_EQ(verdict(1, {{3, 7}, {7, 13}}), "accepted");
  EXPECT_EQ(verdict(1, {{4, 6}, {8, 12}}), "accepted");
  EXPECT_EQ(verdict(1, {{3, 7}, {9, 11}, {11, 15}}), "accepted");
  EXPECT_EQ(verdict(1, {{3, 7}, {7, 10}, {10, 13}}), "accepted");
}

TEST_F(VerifyTest, Rejects) {
  EXPECT_THAT(verdict(1, {{3, 7}}), HasSubstr("at least two edges"));
  EXPECT_THAT(verdict(1, {{3, 7}, {7, 99}}), HasSubstr("not in the trace"));
  EXPECT_THAT(verdict(1, {{7, 3}, {3, 7}}), HasSubstr("does not come before"));
  EXPECT_THAT(verdict(1, {{3, 13}, {7, 13}}), HasSubstr("one transaction"));
  EXPECT_THAT(verdict(1, {{3, 10}, {10, 13}}), HasSubstr("do not conflict"));
  EXPECT_THAT(verdict(1, {{3, 6}, {7, 13}}), HasSubstr("do not conflict"));
  EXPECT_THAT(verdict(1, {{3, 7}, {10, 13}}), HasSubstr("not in one transaction"));
  EXPECT_THAT(verdict(5, {{3, 7}, {7, 13}}), HasSubstr("does not begin"));
  EXPECT_THAT(verdict(5, {{7, 13}, {3, 7}}), HasSubstr("later than it left"));
  EXPECT_THAT(verdict(1, {{3, 7}, {7, 13}, {3, 7}, {7, 13}}), HasSubstr("twice"));
}

TEST_F(VerifyTest, KnowsBlocksAndLocksOfItsWitnesses) {
  Finding finding;
  finding.block = 1;
  finding.cycle = {{3, 7}, {9, 11}, {11, 15}};
  CycleVerifier verifier({finding});
  verifier.take(Batch{trace_.events, 1});
  EXPECT_TRUE(verifier.satisfied());
  verifier.add_witnesses(finding);
  ASSERT_EQ(finding.witnesses.size(), 6U);
  EXPECT_EQ(finding.witnesses[1].number, 3U);
  EXPECT_EQ(finding.witnesses[1].block, 1U);
  EXPECT_EQ(finding.witnesses[1].locks, std::vector<LockId>{LockId(0U)});
  EXPECT_EQ(finding.witnesses[1].block_end, 16U);
  EXPECT_EQ(finding.witnesses[2].block_end, 9U);
  EXPECT_EQ(finding.witnesses[4].number, 11U);
  EXPECT_EQ(finding.witnesses[4].block, 0U);
  EXPECT_TRUE(finding.witnesses[4].locks.empty());
}

}  // namespace
}  // namespace syndrome::check
