// Guards against: a slip in --check that runs nothing and says "clean".

#include "check/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace syndrome::check {
namespace {

using ::testing::HasSubstr;

std::vector<std::string_view> names_in(std::string_view list) {
  std::vector<std::string_view> names;
  const auto checks = parse_checks(list);
  EXPECT_TRUE(checks.ok());
  if (!checks) return names;
  for (const Registration* entry : *checks) names.push_back(entry->name);
  return names;
}

TEST(Registry, has_each_name_once_and_help_for_each_rule) {
  std::set<std::string_view> names;
  for (const Registration& entry : registry()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_NE(entry.make({}), nullptr);
    for (const Rule& rule : entry.rules) {
      EXPECT_FALSE(rule.summary.empty());
      EXPECT_FALSE(rule.help.empty());
    }
  }
}

TEST(Registry, keeps_the_order_and_takes_each_check_once) {
  EXPECT_EQ(names_in("count,atomicity,count"),
            (std::vector<std::string_view>{"count", "atomicity"}));
}

TEST(Registry, all_leaves_out_what_is_asked_for_by_name_only) {
  EXPECT_EQ(names_in("all"), (std::vector<std::string_view>{"atomicity", "races", "determinism",
                                                            "atomic-sets", "nondeterminism"}));
}

TEST(Registry, a_slip_names_the_nearest_check) {
  const auto checks = parse_checks("atomicty");
  ASSERT_FALSE(checks.ok());
  EXPECT_THAT(checks.error().message, HasSubstr("did you mean 'atomicity'?"));
  EXPECT_THAT(
      checks.error().message,
      HasSubstr(
          "this version has: atomicity, races, determinism, atomic-sets, nondeterminism, all"));
}

TEST(Registry, an_unknown_check_lists_those_that_exist) {
  const auto checks = parse_checks("atomicity,deadlocks");
  ASSERT_FALSE(checks.ok());
  EXPECT_THAT(checks.error().message, HasSubstr("no check 'deadlocks'"));
  EXPECT_THAT(
      checks.error().message,
      HasSubstr(
          "this version has: atomicity, races, determinism, atomic-sets, nondeterminism, all"));
  EXPECT_THAT(checks.error().message, Not(HasSubstr("did you mean")));
  EXPECT_FALSE(parse_checks("atomicity,").ok());
  EXPECT_FALSE(parse_checks("").ok());
}

TEST(Registry, an_engine_must_be_one_of_the_requested_checks) {
  const auto atomicity = parse_checks("atomicity");
  const auto count = parse_checks("count");
  EXPECT_TRUE(has_engine(*atomicity, "").ok());
  EXPECT_TRUE(has_engine(*atomicity, "velodrome").ok());
  EXPECT_FALSE(has_engine(*count, "velodrome").ok());
  const Status slip = has_engine(*atomicity, "velodrom");
  ASSERT_FALSE(slip.ok());
  EXPECT_THAT(slip.error().message, HasSubstr("did you mean 'velodrome'?"));
  EXPECT_THAT(slip.error().message, HasSubstr("reach, aerodrome, velodrome"));
}

}  // namespace
}  // namespace syndrome::check
