#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace syndrome::cli {
namespace {

using testing::ElementsAre;

TEST(CommandLine, TellsCompilingFromLinking) {
  EXPECT_TRUE(read_command_line({"/dev/null", "-o", "t"}).links);
  EXPECT_TRUE(read_command_line({"/dev/null", "-o", "t"}).present);
  EXPECT_FALSE(read_command_line({"-c", "/dev/null"}).links);
  EXPECT_FALSE(read_command_line({"-E", "-"}).links);
  EXPECT_FALSE(read_command_line({"-E", "-"}).compiles);
  EXPECT_TRUE(read_command_line({"-c", "-MD", "a.c"}).compiles);
  EXPECT_TRUE(read_command_line({"-MD", "/dev/null"}).links);
}

TEST(CommandLine, ValuesOfOptionsAreNoInputs) {
  EXPECT_FALSE(read_command_line({"-o", "t", "-include", "a.h", "-MF", "x.d"}).inputs);
  EXPECT_FALSE(read_command_line({"--version"}).inputs);
  EXPECT_TRUE(read_command_line({"-lm"}).inputs);
  EXPECT_FALSE(read_command_line({"no/such/file.c"}).present);
  EXPECT_TRUE(read_command_line({"--", "-c"}).inputs);
}

TEST(CommandLine, TheLastWordOnSanitizersCounts) {
  EXPECT_EQ(read_command_line({"-fsanitize=undefined,thread"}).sanitizer, "thread");
  EXPECT_EQ(read_command_line({"-fsanitize=undefined"}).sanitizer, "");
  EXPECT_EQ(read_command_line({"-fsanitize=thread", "-fno-sanitize=thread"}).sanitizer, "");
}

TEST(CommandLine, ResponseFilesAreSplitAsGccDoes) {
  EXPECT_THAT(split_response("-c 'a b.c'\n\t-DX=\"y z\" \\\"q\\\" a\\ b ''"),
              ElementsAre("-c", "a b.c", "-DX=y z", "\"q\"", "a b", ""));
}

}  // namespace
}  // namespace syndrome::cli
