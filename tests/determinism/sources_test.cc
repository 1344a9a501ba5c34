// A clean report lists what else than the schedule may make a deterministic block's result differ.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SourcesOfNondeterminism, AreSeenInARecording) {
  const Shell shell;
  const std::string source = (source_directory() / "tests" / "determinism" / "sources.cc").string();
  for (const std::string options : {"-O0", "-O2", "-O2 --syndrome-mode=fast"}) {
    const Outcome outcome =
        shell.run("syndrome c++ -std=c++20 -g -pthread " + options + " '" + source +
                  "' -o program && syndrome record -q -o run.syn -- ./program && "
                  "syndrome check --check determinism --format json run.syn");
    EXPECT_EQ(outcome.code, 0) << options << outcome.out << outcome.err;
    for (const char* name :
         {"rand (sources.cc:22)", "time (sources.cc:23)",
          "std::chrono::steady_clock::now (sources.cc:24)", "clock_gettime (sources.cc:26)",
          "gettimeofday (sources.cc:28)", "random (sources.cc:29)", "getrandom (sources.cc:31)",
          "std::random_device (", "getpid (sources.cc:34)", "getenv (sources.cc:35)",
          "read (sources.cc:36)", "std::istream ("}) {
      EXPECT_THAT(outcome.out, HasSubstr(name)) << options;
    }
    EXPECT_THAT(outcome.out, Not(HasSubstr("clock ("))) << "not in a block; " << options;
  }
  // They are nobody's functions to be learned about.
  const Outcome refined = shell.run("syndrome refine -q run.syn");
  EXPECT_EQ(refined.code, 0) << refined.err;
  EXPECT_THAT(refined.out, Not(HasSubstr("extern")));
}

}  // namespace
}  // namespace syndrome::test
