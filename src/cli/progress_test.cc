// Guards against: a bar that wraps on a narrow terminal and fills the screen, or that divides by
// nothing.

#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/cells.h"

namespace syndrome::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Progress, tells_share_rate_and_time_left) {
  const std::string line = progress_line(10, 50'000'000, {25, 100}, 1, 80);
  EXPECT_THAT(line, StartsWith(" 25% ━━━━━━━─"));
  EXPECT_THAT(line, HasSubstr("5.0 M events/s  0:30 left"));
}

TEST(Progress, hours_and_slow_rates) {
  const std::string line = progress_line(3600, 7200, {1, 3}, 2, 80);
  EXPECT_THAT(line, StartsWith("pass 2   33% "));
  EXPECT_THAT(line, HasSubstr("2 events/s  2:00:00 left"));
}

TEST(Progress, without_a_total_there_is_no_bar) {
  const std::string line = progress_line(2, 3'000'000, {100, 0}, 1, 80);
  EXPECT_EQ(line, "3.0 M events  1.5 M events/s");
}

TEST(Progress, is_never_wider_than_the_terminal) {
  for (std::size_t columns = 0; columns < 120; ++columns) {
    for (const std::uint64_t total : {0U, 1U, 1000U}) {
      for (const std::uint64_t done : {0U, 1U, 999U, 5000U}) {
        const std::string line = progress_line(0.5, 123'456'789, {done, total}, 3, columns);
        EXPECT_LE(report::width(line), columns) << line;
        EXPECT_THAT(line, Not(HasSubstr("nan")));
        EXPECT_THAT(line, Not(HasSubstr("inf")));
      }
    }
  }
}

}  // namespace
}  // namespace syndrome::cli
