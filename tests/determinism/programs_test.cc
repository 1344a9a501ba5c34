// Deterministic programs have no finding, and each seeded fault is found, whatever the schedule.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Case {
  const char* name;
  const char* program;
  const char* options;  // for the compiler
  const char* output;
  const char* fault;  // part of each finding's message; empty: clean
};

class DeterminismOfPrograms : public testing::TestWithParam<Case> {};

TEST_P(DeterminismOfPrograms, IsAsExpectedInEveryRun) {
  const Case& each = GetParam();
  const Shell shell;
  const std::string source =
      (source_directory() / "tests" / "determinism" / each.program).string() + ".cc";
  const Outcome built = shell.run("syndrome c++ -g -O1 -pthread " + std::string(each.options) +
                                  " '" + source + "' -o program");
  ASSERT_EQ(built.code, 0) << built.err;
  for (int run = 0; run < 3; ++run) {
    const Outcome recorded = shell.run("syndrome record -q -o run.syn -- ./program");
    ASSERT_EQ(recorded.code, 0) << recorded.err;
    EXPECT_EQ(recorded.out, std::string(each.output) + "\n");
    const Outcome checked = shell.run("syndrome check --check determinism --format json run.syn");
    const bool violated = *each.fault != '\0';
    ASSERT_EQ(checked.code, violated ? 1 : 0) << checked.out << checked.err;
    const json report = json::parse(checked.out);
    const json& entry = report["checks"][0];
    // The race detector in front is a filter only.
    EXPECT_EQ(report["checks"].size(), 1U);
    EXPECT_EQ(entry["findings"].empty(), !violated);
    for (const json& finding : entry["findings"]) {
      EXPECT_EQ(finding["rule"], "conflict-in-block");
      EXPECT_EQ(finding["events"].size(), 2U);
      EXPECT_THAT(finding["message"].get<std::string>(), HasSubstr(each.fault));
    }
    if (!violated) {
      EXPECT_THAT(entry["notes"].dump(), HasSubstr("proved"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DeterminismOfPrograms,
    testing::Values(Case{"quicksort", "quicksort", "", "sorted", ""},
                    Case{"raytracer", "raytracer", "", "rendered", "checksum"},
                    Case{"raytracer_fixed", "raytracer", "-DFIXED", "rendered", ""},
                    Case{"sor", "sor", "", "relaxed", "sor (main) is not deterministic"},
                    Case{"sor_fixed", "sor", "-DFIXED", "relaxed", ""},
                    Case{"pool", "pool", "", "945", ""}),
    [](const testing::TestParamInfo<Case>& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace syndrome::test
