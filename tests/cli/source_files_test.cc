// A trace may name any file of whoever looks at it: what of that is shown.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class SourceFiles : public testing::Test {
 protected:
  SourceFiles() {
    EXPECT_EQ(shell_.run("mkdir work other").code, 0);
    shell_.write("other/secret", "root:$6$hash:19000\ndaemon:*:19000\n");
    shell_.write("work/mine.c", "x = 1;\nx = 2;\n");
    secret_ = (shell_.directory() / "other/secret").string();
    shell_.write("work/theirs.std", "t1|w(x)|" + secret_ + ":1:1\nt2|w(x)|" + secret_ + ":2:1\n");
    shell_.write("work/mine.std", "t1|w(x)|mine.c:1:1\nt2|w(x)|mine.c:2:1\n");
    shell_.write("work/dots.std", "t1|w(x)|../other/secret:1:1\nt2|w(x)|../other/secret:2:1\n");
  }
  [[nodiscard]] Outcome in_work(const std::string& command) const {
    return shell_.run("cd work && " + command);
  }

  const Shell shell_;
  std::string secret_;
};

TEST_F(SourceFiles, OnlyThoseBelowTheCurrentDirectoryAreShown) {
  EXPECT_THAT(in_work("syndrome check --check races mine.std").out, HasSubstr("x = 2;"));
  for (const std::string trace : {"theirs.std", "dots.std"}) {
    for (const std::string format : {"text", "json", "sarif", "junit"}) {
      const Outcome outcome =
          in_work("syndrome check --check races --format " + format + " " + trace);
      EXPECT_EQ(outcome.code, 1) << outcome.err;
      EXPECT_THAT(outcome.out, Not(HasSubstr("$6$hash"))) << format;
      EXPECT_THAT(outcome.err, HasSubstr("source lines are left out")) << format;
      EXPECT_THAT(outcome.err, HasSubstr("other/secret")) << format;
      EXPECT_THAT(outcome.err, HasSubstr("--source DIR")) << format;
    }
  }
}

// The page has its findings packed; as JSON they can be read.
TEST_F(SourceFiles, ThePageHasNoOthers) {
  const Outcome outcome = in_work(
      "syndrome check --check races --format html -o page.html theirs.std; "
      "syndrome check --check races --format json -o saved.json theirs.std; "
      "grep -cF '$6$hash' page.html saved.json; "
      "syndrome report saved.json; syndrome report --format json saved.json");
  EXPECT_THAT(outcome.out, Not(HasSubstr("$6$hash")));
  EXPECT_THAT(outcome.out, HasSubstr("page.html:0\nsaved.json:0\n"));
}

TEST_F(SourceFiles, AFolderThatTheUserNamesIsShown) {
  const Outcome outcome = in_work("syndrome check --check races --source ../other theirs.std");
  EXPECT_THAT(outcome.out, HasSubstr("$6$hash"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("left out")));
  // Under its name there, too.
  EXPECT_THAT(shell_.run("syndrome check --check races --source work work/mine.std").out,
              HasSubstr("x = 2;"));
  EXPECT_EQ(in_work("syndrome check --source missing mine.std").code, 2);
}

TEST_F(SourceFiles, ALinkDoesNotLeadOut) {
  shell_.write("work/link.std", "t1|w(x)|link.c:1:1\nt2|w(x)|link.c:2:1\n");
  const Outcome outcome =
      in_work("ln -s ../other/secret link.c; syndrome check --check races link.std");
  EXPECT_THAT(outcome.out, Not(HasSubstr("$6$hash")));
  EXPECT_THAT(outcome.err, HasSubstr("link.c"));
}

TEST_F(SourceFiles, WhatIsNoRegularFileIsNotOpened) {
  for (const std::string name : {"/dev/zero", "/dev/tty", "pipe.c"}) {
    shell_.write("work/t.std", "t1|w(x)|" + name + ":1:1\nt2|w(x)|" + name + ":2:1\n");
    const Outcome outcome = in_work("mkfifo pipe.c; syndrome check --check races t.std");
    EXPECT_EQ(outcome.code, 1) << name;
    EXPECT_THAT(outcome.err, Not(HasSubstr("left out"))) << name;
  }
}

}  // namespace
}  // namespace syndrome::test
