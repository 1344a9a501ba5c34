// `syndrome check` as scripts call it: exit codes, streams, options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/traces.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CheckCommand : public testing::Test {
 protected:
  CheckCommand() {
    shell_.write("clean.std", kClean);
    shell_.write("violated.std", kViolated);
    shell_.write("illformed.std", kIllFormed);
    shell_.write("malformed.std", kMalformed);
  }
  const Shell shell_;
};

TEST_F(CheckCommand, CleanIsZero) {
  const Outcome outcome = shell_.run("syndrome check clean.std");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Not(IsEmpty()));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(CheckCommand, FindingsAreOne) {
  const Outcome outcome = shell_.run("syndrome check violated.std");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("transfer"), HasSubstr("bank.c:2"), HasSubstr("t1"),
                                 HasSubstr("t2"), HasSubstr("bank.c:12")));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(CheckCommand, NoColourWithoutATerminal) {
  const std::string escape = "\x1b[";
  EXPECT_THAT(shell_.run("syndrome check violated.std").out, Not(HasSubstr(escape)));
  EXPECT_THAT(shell_.run("syndrome check --color always violated.std").out, HasSubstr(escape));
  EXPECT_THAT(shell_.run("syndrome check --color never violated.std").out, Not(HasSubstr(escape)));
}

TEST_F(CheckCommand, EveryEngineAgrees) {
  for (const std::string engine : {"reach", "aerodrome", "velodrome"}) {
    EXPECT_EQ(shell_.run("syndrome check --engine " + engine + " violated.std").code, 1) << engine;
    EXPECT_EQ(shell_.run("syndrome check --engine=" + engine + " clean.std").code, 0) << engine;
  }
}

TEST_F(CheckCommand, StandardInput) {
  EXPECT_EQ(shell_.run("syndrome check - < violated.std").code, 1);
  EXPECT_EQ(shell_.run("cat violated.std | syndrome check -").code, 1);
  EXPECT_EQ(shell_.run("cat clean.std | syndrome check -").code, 0);
}

TEST_F(CheckCommand, SeveralTraces) {
  EXPECT_EQ(shell_.run("syndrome check clean.std clean.std").code, 0);
  EXPECT_EQ(shell_.run("syndrome check clean.std violated.std").code, 1);
  EXPECT_EQ(shell_.run("syndrome check violated.std clean.std").code, 1);
  EXPECT_EQ(shell_.run("syndrome check violated.std missing.std").code, 2);
}

TEST_F(CheckCommand, TheFormatIsToldByContent) {
  const Outcome outcome = shell_.run(
      "cp violated.std a.syn && gzip -c violated.std > b && syndrome trace convert violated.std -o "
      "c.syn && mv c.syn c.std && for f in a.syn b c.std; do syndrome check -q $f; echo $?; done");
  EXPECT_EQ(outcome.out, "1\n1\n1\n") << outcome.err;
}

TEST_F(CheckCommand, AWrongTraceIsTwoWithItsPlace) {
  const Outcome malformed = shell_.run("syndrome check malformed.std");
  EXPECT_EQ(malformed.code, 2);
  EXPECT_THAT(malformed.out, IsEmpty());
  EXPECT_THAT(malformed.err,
              AllOf(HasSubstr("malformed.std"), HasSubstr("3"), HasSubstr("frobnicate")));

  const Outcome illformed = shell_.run("syndrome check illformed.std");
  EXPECT_EQ(illformed.code, 2);
  EXPECT_THAT(illformed.out, IsEmpty());
  EXPECT_THAT(illformed.err,
              AllOf(HasSubstr("illformed.std"), HasSubstr("3"), HasSubstr("t2"), HasSubstr("m")));
}

TEST_F(CheckCommand, LenientGoesOnAndSaysSo) {
  const Outcome outcome = shell_.run("syndrome check --lenient illformed.std");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("event 3"));
  EXPECT_THAT(outcome.out, HasSubstr("transfer"));
}

TEST_F(CheckCommand, WrongCallsAreTwo) {
  for (const std::string call :
       {"syndrome", "syndrome frobnicate", "syndrome check", "syndrome check missing.std",
        "syndrome check .", "syndrome check --engine fast clean.std",
        "syndrome check --check frobnication clean.std", "syndrome check --frobnicate clean.std",
        "syndrome check --format yaml clean.std", "syndrome check --color blue clean.std",
        "syndrome check --jobs many clean.std", "syndrome check -o no/such/dir/r.txt clean.std",
        "syndrome trace", "syndrome trace frobnicate", "syndrome trace convert clean.std"}) {
    const Outcome outcome = shell_.run(call);
    EXPECT_EQ(outcome.code, 2) << call << "\n" << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, Not(IsEmpty())) << call;
    EXPECT_THAT(outcome.out, IsEmpty()) << call;
  }
}

TEST_F(CheckCommand, AMissingFileIsNamed) {
  EXPECT_THAT(shell_.run("syndrome check missing.std").err, HasSubstr("missing.std"));
}

TEST_F(CheckCommand, TheReportGoesToAFile) {
  const Outcome outcome = shell_.run("syndrome check violated.std -o report.txt");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(shell_.read("report.txt"), shell_.run("syndrome check violated.std").out);
}

TEST_F(CheckCommand, AFullDiskIsNotSuccess) {
  const Outcome outcome = shell_.run("syndrome check clean.std > /dev/full");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, Not(IsEmpty()));
}

TEST_F(CheckCommand, QuietIsOnlyTheExitCode) {
  const Outcome outcome = shell_.run("syndrome check --quiet violated.std");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(CheckCommand, StatsTellWhatTheEngineDid) {
  const Outcome outcome = shell_.run("syndrome check --stats clean.std");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, AllOf(HasSubstr("events"), HasSubstr("memory")));
}

TEST_F(CheckCommand, AReentrantLockCountsOnce) {
  shell_.write("nested.std",
               "t1|acq(m)|1\nt1|acq(m)|2\nt1|rel(m)|3\nt1|rel(m)|4\nt2|acq(m)|5\nt2|rel(m)|6\n");
  EXPECT_EQ(shell_.run("syndrome check nested.std").code, 0);
  shell_.write("stolen.std", "t1|acq(m)|1\nt1|acq(m)|2\nt1|rel(m)|3\nt2|acq(m)|4\n");
  EXPECT_EQ(shell_.run("syndrome check stolen.std").code, 2);
}

TEST_F(CheckCommand, FirstStopsAtTheFirstFinding) {
  // The same bug at two places.
  const Outcome outcome = shell_.run(
      "sed 's/bank/shop/; s/(x)/(y)/; s/^t1/t3/; s/^t2/t4/; s/transfer/refund/' violated.std | "
      "cat violated.std - > both.std; "
      "syndrome check both.std > all.txt; syndrome check --first both.std > first.txt");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(shell_.read("all.txt"), AllOf(HasSubstr("transfer"), HasSubstr("refund")));
  EXPECT_THAT(shell_.read("first.txt"), AllOf(HasSubstr("transfer"), Not(HasSubstr("refund"))));
}

TEST_F(CheckCommand, TheExamplesCountAndPrint) {
  const Outcome count = shell_.run("syndrome check --check count clean.std");
  EXPECT_EQ(count.code, 0) << count.err;
  EXPECT_THAT(count.out, AllOf(testing::ContainsRegex("r +1\n"), testing::ContainsRegex("w +2\n"),
                               testing::ContainsRegex("begin +2\n")));
  const Outcome print = shell_.run("syndrome check --check print clean.std");
  EXPECT_EQ(print.code, 0) << print.err;
  EXPECT_THAT(print.out, HasSubstr("6\tt2|w(x)|bank.c:12:1\n"));
}

/// The look that determinism needs last ends behind its finding, long before the second race.
TEST_F(CheckCommand, WhatOneCheckFindsBehindTheEndOfAnothersLastLookHasItsPlaces) {
  std::string trace =
      "main|begin(all)|d.c:1\n"
      "main|fork(t1)|d.c:2\n"
      "main|fork(t2)|d.c:3\n"
      "t1|w(x)|d.c:4\n"
      "t2|w(x)|d.c:5\n"
      "main|join(t1)|d.c:6\n"
      "main|join(t2)|d.c:7\n"
      "main|end(all)|d.c:8\n";
  constexpr int kMoreThanABatch = 40'000;
  for (int i = 0; i < kMoreThanABatch; ++i)
    trace += "main|r(z)|z.c:" + std::to_string(i + 1) + "\n";
  trace +=
      "main|fork(t3)|late.c:1\n"
      "t3|w(y)|late.c:2\n"
      "main|w(y)|late.c:3\n";
  shell_.write("late.std", trace);
  for (const std::string checks : {"races,determinism", "determinism,races"}) {
    const Outcome outcome = shell_.run("syndrome check --check " + checks + " late.std");
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("d.c:5"), HasSubstr("late.c:3")));
  }
}

}  // namespace
}  // namespace syndrome::test
