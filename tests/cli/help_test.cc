// Help for people who do not know the program yet.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Help, EveryCommandHasOneWithAnExample) {
  const Shell shell;
  for (const std::string command : {"check", "refine", "trace", "trace info", "trace cat",
                                    "trace convert", "trace validate", "trace generate"}) {
    const Outcome outcome = shell.run("syndrome " + command + " --help");
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_THAT(outcome.out, HasSubstr("xample")) << command;
    EXPECT_THAT(outcome.out, HasSubstr("syndrome " + command)) << command;
    EXPECT_THAT(outcome.err, IsEmpty()) << command;
  }
}

TEST(Help, TheProgramListsItsCommands) {
  const Shell shell;
  const Outcome outcome = shell.run("syndrome --help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("check"), HasSubstr("trace"), HasSubstr("xample")));
}

TEST(Help, Version) {
  const Shell shell;
  const Outcome outcome = shell.run("syndrome --version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("syndrome " SYNDROME_VERSION));
}

}  // namespace
}  // namespace syndrome::test
