// `trace convert` takes a recording to the other formats and loses nothing: the same events come
// back from each, and a check finds the same.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

class Convert : public testing::TestWithParam<const char*> {};

TEST_P(Convert, LosesNothing) {
  const std::filesystem::path programs = source_directory() / "tests/programs";
  const std::string source = (programs / GetParam()).string();
  const Shell shell;
  const auto succeeds = [&](const std::string& script) {
    const Outcome outcome = shell.run(script);
    EXPECT_EQ(outcome.code, 0) << script << '\n' << outcome.out << outcome.err;
    return outcome.code == 0;
  };
  const std::string driver = source.ends_with(".c") ? "syndrome cc " : "syndrome c++ -std=c++20 ";
  ASSERT_TRUE(succeeds(driver + "-g -pthread -I " + programs.string() + " " + source +
                       " -o program && syndrome record -o run.syn -- ./program"));
  ASSERT_TRUE(
      succeeds("syndrome trace convert run.syn -o events.syn && "
               "syndrome trace convert run.syn -o run.std && "
               "syndrome trace convert run.std -o back.syn && "
               "syndrome trace convert back.syn -o back.std"));
  ASSERT_TRUE(succeeds("syndrome trace cat run.syn > 1 && test -s 1"));
  EXPECT_TRUE(succeeds("syndrome trace cat events.syn > 2 && cmp 1 2"));
  EXPECT_TRUE(succeeds("cmp run.std back.std"));
  // Of a check, all but the file's name and format, how long it took, and how the program ended,
  // which only its recording knows; nor which source lines may be shown: those of the program that was recorded.
  const auto found_in = [&](const std::string& trace) {
    return shell
        .run("syndrome check --check atomicity --format json " + trace +
             " | sed '/\"program\": {/,/}/d; /\"seconds\":/d; /\"format\":/d; "
             "/\"warnings\": \\[/,/\\]/d; /\"sources\": \\[/,$d; /^ *[]}]*,*$/d; s/" +
             trace + "/TRACE/g'")
        .out;
  };
  const std::string found = found_in("run.syn");
  EXPECT_NE(found.find("\"verdict\""), std::string::npos) << found;
  EXPECT_EQ(found_in("events.syn"), found);
  EXPECT_EQ(found_in("run.std"), found);
}

INSTANTIATE_TEST_SUITE_P(Programs, Convert,
                         testing::Values("atomics/annotated_handover.c", "atomics/fences.c",
                                         "atomics/message_passing.c", "bugs/annotated.c",
                                         "bugs/scoped_block.cc", "bugs/split_update.c",
                                         "library/annotations.cc", "process/thread_names.c",
                                         "sync/condition_variable.cc", "sync/rwlock.c",
                                         "sync/std_barrier.cc", "sync/two_locks.cc"),
                         [](const testing::TestParamInfo<const char*>& program) {
                           std::string name = program.param;
                           for (char& c : name) c = c == '/' || c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace syndrome::test
