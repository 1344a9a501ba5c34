// The programs that the SingleTrack paper was tried on: nothing is said about those that are
// deterministic, and the two faults that it found are found in every run, whatever the schedule.
// Held to be atomic, the functions that fork and join or meet at barriers are blamed, as there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>

#include "singletrack.h"
#include "support/shell.h"

namespace syndrome::bench {
/// For GoogleTest: the name of a test would have a pointer in it otherwise.
static void PrintTo(const SingleTrackRow& row, std::ostream* out) {
  *out << row.name;
}
}  // namespace syndrome::bench

namespace syndrome::test {
namespace {

using bench::ProgramKind;
using bench::SingleTrackRow;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

/// Ways to record that lead to different schedules.
constexpr std::array kSchedules = {
    "syndrome record -q -o run.syn -- ./program small",
    "taskset -c 0 syndrome record -q -o run.syn -- ./program small",
    "syndrome record -q --order exact -o run.syn -- ./program small"};

class PaperProgram : public testing::TestWithParam<SingleTrackRow> {
 protected:
  void SetUp() override {
    const std::string source = (source_directory() / "bench/programs/singletrack").string() + "/" +
                               std::string(GetParam().program) + ".cc";
    const Outcome built =
        shell_.run("syndrome c++ -std=c++20 -g -O1 -Wall -Wextra -Werror -pthread '" + source +
                   "' -o program");
    ASSERT_EQ(built.code, 0) << built.err;
  }

  /// The report on a run in which all that is seen is right.
  [[nodiscard]] Outcome checked(const std::string& record, const std::string& options) const {
    const Outcome recorded = shell_.run(record + options);
    EXPECT_EQ(recorded.code, 0) << recorded.err;
    EXPECT_EQ(recorded.out, "right\n");
    return shell_.run("syndrome check --check determinism --format json run.syn");
  }

  void expect_clean(const std::string& options) const {
    for (const char* const record : kSchedules) {
      const Outcome outcome = checked(record, options);
      EXPECT_EQ(outcome.code, 0) << record << options << "\n" << outcome.out << outcome.err;
      EXPECT_THAT(outcome.out, HasSubstr("proved for the"));
    }
  }

  [[nodiscard]] std::set<std::string> not_atomic() const {
    return bench::not_atomic(GetParam(), [this](const std::string& spec) {
      shell_.write("spec.toml", spec);
      const Outcome outcome = shell_.run(
          "syndrome check --check atomicity --spec spec.toml --format json run.syn "
          "2>/dev/null");
      EXPECT_TRUE(outcome.code == 0 || outcome.code == 1) << outcome.err;
      return bench::blamed(outcome.out);
    });
  }

  const Shell shell_;
};

TEST_P(PaperProgram, GetsThePapersVerdicts) {
  const SingleTrackRow& row = GetParam();
  const std::string name(row.program);
  if (row.kind == ProgramKind::kFaulty) {
    const std::string culprit = name == "sor" ? "sor::Barrier::Counter::turn" : "checksum";
    for (const char* const record : kSchedules) {
      // An addition to raytracer's checksum that is really lost makes it wrong, which it says.
      (void)shell_.run(record);
      const Outcome outcome =
          shell_.run("syndrome check --check determinism --format json run.syn");
      ASSERT_EQ(outcome.code, 1) << record << "\n" << outcome.out << outcome.err;
      const std::set<std::string> blocks = bench::blamed(outcome.out);
      for (const std::string& block : {std::string("main"), name + "::run", name + "::kernel"}) {
        EXPECT_THAT(blocks, Contains(block)) << record;
      }
      std::vector<std::string> messages;
      const json report = json::parse(outcome.out);
      for (const json& finding : report["checks"][0]["findings"]) {
        messages.push_back(finding["message"]);
      }
      EXPECT_THAT(messages, Contains(HasSubstr(culprit))) << record;
      if (name == "raytracer") {
        EXPECT_THAT(messages, testing::Each(HasSubstr(culprit))) << record;
      }
    }
    expect_clean(" --fixed");
  } else {
    expect_clean("");
  }
  EXPECT_EQ(not_atomic(), row.not_atomic);
}

INSTANTIATE_TEST_SUITE_P(Table1, PaperProgram, testing::ValuesIn(bench::singletrack_rows()),
                         [](const testing::TestParamInfo<SingleTrackRow>& each) {
                           return std::string(each.param.program);
                         });

}  // namespace
}  // namespace syndrome::test
