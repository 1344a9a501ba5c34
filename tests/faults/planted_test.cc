// Guards against: a recording that goes where somebody else wants it, a program with more rights
// than its caller that does what its caller's environment says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Planted : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string here = (source_directory() / "tests/faults").string();
    const Outcome built = shell_.run("syndrome cc -std=gnu17 -g -O1 -pthread -D_GNU_SOURCE -I " +
                                     here + " " + here + "/secure.c -o secure");
    ASSERT_EQ(built.code, 0) << built.err;
  }
  static bool root() { return ::geteuid() == 0; }

  Shell shell_;
};

TEST_F(Planted, ARecordingGoesThroughNoLinkWithTheNameOfAnotherProcess) {
  shell_.write("victim", "precious");
  const Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- sh -c "
      "'./secure; ln -s victim run.syn.$$; ln -s nowhere run.syn.$$.2; echo $$ >pid; "
      "exec ./secure'");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(shell_.read("victim"), "precious");
  EXPECT_EQ(shell_.run("test -e nowhere").code, 1);
  EXPECT_EQ(shell_.run("syndrome trace validate run.syn.$(cat pid).3").code, 0);
}

TEST_F(Planted, APipeWithTheNameOfAnotherProcessKeepsNobodyWaiting) {
  const Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- sh -c "
      "'./secure; mkfifo run.syn.$$; echo $$ >pid; exec ./secure'");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(shell_.run("syndrome trace validate run.syn.$(cat pid).2").code, 0);
}

TEST_F(Planted, ASessionFolderThatOthersCanWriteToIsNotJoined) {
  const Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- sh -c 'chmod 777 $SYNDROME_SESSION; exec ./secure'");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the recorder's folder is another user's"));
  EXPECT_EQ(shell_.run("test -e run.syn").code, 1);
}

TEST_F(Planted, ASessionFolderOfAnotherUserIsNotJoined) {
  if (!root()) GTEST_SKIP() << "only root can give a folder away";
  const Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- sh -c 'chown 65534 $SYNDROME_SESSION; exec ./secure'");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the recorder's folder is another user's"));
}

TEST_F(Planted, ASetuidProgramDoesNothingOfWhatItsEnvironmentSays) {
  if (!root()) GTEST_SKIP() << "only root can make a program of another user";
  ASSERT_EQ(shell_.run("cp secure other; chown 65534 other; chmod 4755 other").code, 0);
  // Where set-user-ID bits do not count, there is nothing to see.
  if (shell_.run("./other").out != "secure 1\n") GTEST_SKIP() << "mounted with nosuid";
  const std::string variables =
      "SYNDROME_OPTIONS='--report found.txt' SYNDROME_ENFORCE_WATCHDOG=1 SYNDROME_STEPS=noise:1 ";
  for (const std::string& start : {variables, variables + "syndrome record -o run.syn -- "}) {
    const Outcome outcome = shell_.run(start + "./other");
    EXPECT_EQ(outcome.out, "secure 1\n");
    EXPECT_EQ(outcome.code, 3);
    EXPECT_EQ(shell_.run("test -e found.txt").code, 1);
    EXPECT_EQ(shell_.run("test -e run.syn").code, 1);
  }
  // The same program without the bit is recorded.
  EXPECT_THAT(shell_.run("syndrome record -o run.syn -- ./secure").err, IsEmpty());
  EXPECT_EQ(shell_.run("test -e run.syn").code, 0);
}

// What a trace may show of the files of this machine: those of its program, if that is here, and
// nobody else can have made it.
TEST_F(Planted, TheSourcesOfAProgramAreShownWhereverOneLooksFrom) {
  ASSERT_EQ(shell_.run("syndrome record -o run.syn -- ./secure").code, 3);
  ASSERT_EQ(shell_.run("mkdir elsewhere").code, 0);
  const auto look = [this](const std::string& first) {
    return shell_.run(first + "; cd elsewhere; syndrome check --check races ../run.syn");
  };
  constexpr const char* kLine = "before_the_fault = 1;";
  EXPECT_THAT(look(":").out, HasSubstr(kLine));
  EXPECT_THAT(look(":").err, IsEmpty());
  const Outcome anybodys = look("chmod o+w secure");
  EXPECT_THAT(anybodys.out, ::testing::Not(HasSubstr(kLine)));
  EXPECT_THAT(anybodys.err, HasSubstr("source lines are left out"));
  EXPECT_THAT(look("chmod o-w secure").out, HasSubstr(kLine));
  if (root()) {
    EXPECT_THAT(look("chown 65534 secure").out, ::testing::Not(HasSubstr(kLine)));
  }
  EXPECT_THAT(look("rm secure").out, ::testing::Not(HasSubstr(kLine)));
}

TEST_F(Planted, ARunShowsTheSourcesOfItsProgram) {
  const Outcome outcome =
      shell_.run("mkdir elsewhere; cd elsewhere; syndrome run --check races -- ../secure");
  EXPECT_THAT(outcome.err, HasSubstr("before_the_fault = 1;"));
}

}  // namespace
}  // namespace syndrome::test
