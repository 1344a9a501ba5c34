// Files that a crash, a full disk or a stranger left behind: never a crash, never silence.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/traces.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DamagedTrace : public testing::Test {
 protected:
  // A violation at the beginning, then enough for several chunks; the file is cut in the middle.
  DamagedTrace() {
    shell_.write("violated.std", kViolated);
    const Outcome outcome = shell_.run(
        "syndrome trace generate --events 400000 --threads 4 --variables 5000 --locks 50 --seed 3 "
        "-o clean.std && cat violated.std clean.std > both.std && "
        "syndrome trace convert clean.std -o clean.syn && "
        "syndrome trace convert both.std -o both.syn && "
        "for f in clean both; do head -c $(($(wc -c < $f.syn) * 6 / 10)) $f.syn > $f-cut.syn; "
        "done");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  const Shell shell_;
};

TEST_F(DamagedTrace, ACutOffTraceIsCheckedAsFarAsItGoes) {
  const Outcome clean = shell_.run("syndrome check clean-cut.syn");
  EXPECT_EQ(clean.code, 0) << clean.err;
  EXPECT_THAT(clean.err, HasSubstr("clean-cut.syn"));
  const Outcome both = shell_.run("syndrome check both-cut.syn");
  EXPECT_EQ(both.code, 1) << both.err;
  EXPECT_THAT(both.out, HasSubstr("transfer"));
  EXPECT_THAT(both.err, HasSubstr("both-cut.syn"));
}

TEST_F(DamagedTrace, WhatWasReadIsAPrefix) {
  const Outcome outcome = shell_.run(
      "syndrome trace convert both-cut.syn -o cut.std && n=$(wc -l < cut.std) && "
      "test $n -gt 1000 && test $n -lt 400007 && head -n $n both.std | cmp - cut.std");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, Not(IsEmpty())) << "a truncated trace must be called truncated";
}

TEST_F(DamagedTrace, AChangedByteIsAnError) {
  // In the middle of the file, so inside of some chunk.
  const Outcome outcome = shell_.run(
      "n=$(($(wc -c < both.syn) / 2)); head -c $n both.syn > bad.syn; printf '\\125\\252' >> "
      "bad.syn;"
      "tail -c +$((n + 3)) both.syn >> bad.syn; cmp -s both.syn bad.syn && exit 9;"
      "syndrome check bad.syn");
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("bad.syn"));
  EXPECT_THAT(outcome.err, HasSubstr("byte"));
}

TEST_F(DamagedTrace, NoiseIsRefused) {
  const Outcome outcome = shell_.run(
      "head -c 5000 both.syn | tail -c 4000 > noise; printf '\\000\\001\\002' > short; "
      "for f in noise short; do syndrome check $f; echo $?; done");
  EXPECT_EQ(outcome.out, "2\n2\n") << outcome.err;
}

TEST_F(DamagedTrace, ACutOffGzipFileSaysSo) {
  const Outcome outcome = shell_.run(
      "gzip -c both.std > both.std.gz; head -c 20000 both.std.gz > cut.std.gz; "
      "syndrome check cut.std.gz; test $? -le 2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("cut.std.gz"));
}

}  // namespace
}  // namespace syndrome::test
