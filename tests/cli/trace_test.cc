// `syndrome trace`: look at, print, convert, check and make traces.

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

constexpr const char* kGenerate =
    "syndrome trace generate --events 20000 --threads 4 --variables 100 --locks 10 --seed 7 ";

class TraceCommand : public testing::Test {
 protected:
  TraceCommand() {
    shell_.write("clean.std", kClean);
    shell_.write("violated.std", kViolated);
    shell_.write("illformed.std", kIllFormed);
    shell_.write("malformed.std", kMalformed);
  }

  void expect_success(const std::string& script) const {
    const Outcome outcome = shell_.run(script);
    EXPECT_EQ(outcome.code, 0) << script << "\n" << outcome.out << outcome.err;
  }

  const Shell shell_;
};

TEST_F(TraceCommand, ConvertThereAndBackIsTheSameTrace) {
  expect_success(
      "syndrome trace convert violated.std -o t.syn && syndrome trace convert t.syn -o back.std && "
      "cmp violated.std back.std");
  expect_success(std::string(kGenerate) +
                 "-o g.std && syndrome trace convert g.std -o g.syn && "
                 "syndrome trace convert g.syn -o g2.std && cmp g.std g2.std");
}

TEST_F(TraceCommand, ConvertDropsOnlyComments) {
  expect_success(
      "syndrome trace convert examples/bank.std -o bank.syn && "
      "syndrome trace convert bank.syn -o bank.std && "
      "grep -v '^#' examples/bank.std | cmp - bank.std");
}

TEST_F(TraceCommand, ConvertToStandardOutput) {
  const Outcome outcome = shell_.run("syndrome trace convert violated.std --to std -o -");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, kViolated);
  expect_success("syndrome trace convert violated.std --to syn -o - | syndrome trace validate -");
}

TEST_F(TraceCommand, ConvertNeedsAFormatAndAnInput) {
  EXPECT_EQ(shell_.run("syndrome trace convert violated.std -o t.xyz").code, 2);
  EXPECT_EQ(shell_.run("syndrome trace convert violated.std -o t.syn --to xyz").code, 2);
  EXPECT_EQ(shell_.run("syndrome trace convert missing.std -o t.syn").code, 2);
  EXPECT_EQ(shell_.run("syndrome trace convert malformed.std -o t.syn").code, 2);
  expect_success(
      "syndrome trace convert violated.std -o t.xyz --to syn && "
      "syndrome trace validate t.xyz");
}

TEST_F(TraceCommand, CatPrintsEventsOfEveryFormat) {
  ASSERT_EQ(shell_.run("syndrome trace convert violated.std -o t.syn").code, 0);
  const Outcome text = shell_.run("syndrome trace cat violated.std");
  const Outcome binary = shell_.run("syndrome trace cat t.syn");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, binary.out);
  EXPECT_THAT(text.out, AllOf(HasSubstr("transfer"), HasSubstr("bank.c:12")));
}

TEST_F(TraceCommand, InfoCounts) {
  const Outcome outcome = shell_.run("syndrome trace info violated.std");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(testing::ContainsRegex("events[: ]+7"), testing::ContainsRegex("threads[: ]+2"),
                    testing::ContainsRegex("variables[: ]+1")));
}

TEST_F(TraceCommand, ValidateNamesEveryFault) {
  expect_success("syndrome trace validate violated.std");
  // A release of what is not held, an end without a begin, an event after the join.
  shell_.write("faults.std",
               "t1|fork(t2)|1\nt2|rel(m)|2\nt2|w(x)|3\nt1|join(t2)|4\nt2|w(x)|5\nt1|end|6\n");
  const Outcome outcome = shell_.run("syndrome trace validate faults.std");
  EXPECT_EQ(outcome.code, 2);
  const std::string said = outcome.out + outcome.err;
  EXPECT_THAT(said, testing::ContainsRegex("(event|line|faults.std:) ?2"));
  EXPECT_THAT(said, testing::ContainsRegex("(event|line|faults.std:) ?5"));
  EXPECT_THAT(said, testing::ContainsRegex("(event|line|faults.std:) ?6"));
  EXPECT_EQ(shell_.run("syndrome trace validate malformed.std").code, 2);
  EXPECT_EQ(shell_.run("syndrome trace validate missing.std").code, 2);
}

TEST_F(TraceCommand, GenerateIsRepeatable) {
  expect_success(std::string(kGenerate) + "-o a.std && " + kGenerate +
                 "-o b.std && cmp a.std b.std");
  EXPECT_EQ(shell_.run("test $(wc -l < a.std) -eq 20000").code, 0) << "asked for 20000 events";
  EXPECT_NE(shell_.run(std::string(kGenerate) + "--seed 8 -o c.std; cmp a.std c.std").code, 0);
}

TEST_F(TraceCommand, GenerateIsCleanUnlessAsked) {
  expect_success(std::string(kGenerate) +
                 "-o g.syn && syndrome trace validate g.syn && "
                 "syndrome check -q g.syn");
  EXPECT_EQ(shell_.run(std::string(kGenerate) + "--to std -o - | syndrome check -q -").code, 0);
  for (const std::string engine : {"reach", "aerodrome", "velodrome"}) {
    const Outcome outcome = shell_.run(std::string(kGenerate) + "--violations 3 --to syn -o - | " +
                                       "syndrome check -q --engine " + engine + " -");
    EXPECT_EQ(outcome.code, 1) << engine << outcome.err;
  }
}

TEST_F(TraceCommand, GenerateRefusesWhatCannotBe) {
  for (const std::string options :
       {"--threads 0", "--locks 0", "--variables 0", "--events many", "--events -5"}) {
    const Outcome outcome = shell_.run("syndrome trace generate " + options + " -o t.std");
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_THAT(outcome.err, Not(IsEmpty())) << options;
  }
}

TEST_F(TraceCommand, AFullDiskIsNotSuccess) {
  for (const std::string format : {"std", "syn"}) {
    const Outcome outcome = shell_.run(std::string(kGenerate) + "-o /dev/full --to " + format);
    EXPECT_EQ(outcome.code, 2) << format;
    EXPECT_THAT(outcome.err, HasSubstr("/dev/full")) << format;
  }
}

TEST_F(TraceCommand, AReaderThatLeavesIsNoError) {
  // 20,000 events are more than a pipe holds. Killed by SIGPIPE, as cat is, and without a word.
  const Outcome outcome = shell_.run(
      std::string(kGenerate) + "-o g.std; (syndrome trace cat g.std; echo $? > code) | head -n 1");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, HasSubstr("T0|fork("));
  EXPECT_EQ(shell_.read("code"), "141\n");
}

// U+202E in the name of a variable; ESC where a file that is no text trace allows it.
TEST_F(TraceCommand, NamesDoNotActOnTheTerminal) {
  const std::string bad = "x\xE2\x80\xAE";
  shell_.write("t.std", "T1|begin(f)|0\nT1|r(" + bad + ")|a.c:1\nT2|w(" + bad + ")|b.c:2\nT1|w(" +
                            bad + ")|a.c:3\nT1|end(f)|0\n");
  for (const char* command :
       {"trace cat t.std", "trace cat --number t.std", "trace convert t.std --to std -o -",
        "check t.std", "check --format json t.std", "check --format sarif t.std",
        "check --format junit t.std", "check --check print t.std", "trace info t.std",
        "trace info --format json t.std", "trace cat --thread '\xE2\x80\xAE' t.std",
        "check --spec '\xE2\x80\xAE' t.std"}) {
    const Outcome outcome = shell_.run("syndrome " + std::string(command));
    for (const std::string& text : {outcome.out, outcome.err}) {
      EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos) << command << ": " << text;
    }
  }
  EXPECT_THAT(shell_.run("syndrome trace cat t.std").out, HasSubstr("T1|r(x%E2%80%AE)|a.c:1"));
  EXPECT_EQ(shell_.run("syndrome check t.std").code, 1);
}

}  // namespace
}  // namespace syndrome::test
