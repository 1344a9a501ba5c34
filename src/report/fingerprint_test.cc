// Guards against: a fingerprint that changes from run to run, or that two bugs share.

#include "report/fingerprint.h"

#include <gtest/gtest.h>

#include "report/testing.h"

namespace syndrome::report {
namespace {

TEST(Fingerprint, is_the_same_for_other_event_numbers_threads_and_variables) {
  Finding other = check_then_act();
  for (Site& each : other.sites) {
    each.event += 100;
    each.block += each.block == 0 ? 0 : 100;
    each.thread += "x";
    each.target += "y";
    each.locks.clear();
  }
  for (Block& each : other.blocks) {
    each.begin += 100;
    each.thread += "x";
  }
  for (check::Edge& edge : other.cycle) edge = {edge.from + 100, edge.to + 100};
  other.block += 100;
  other.event += 100;
  EXPECT_EQ(fingerprint_of(other), fingerprint_of(check_then_act()));
  EXPECT_EQ(fingerprint_of(other).size(), 16U);
}

TEST(Fingerprint, differs_with_any_site_and_with_the_rule) {
  const std::string before = fingerprint_of(check_then_act());
  for (std::size_t i = 1; i < 4; ++i) {
    Finding other = check_then_act();
    other.sites[i].place = parse_place("elsewhere.cc:1");
    EXPECT_NE(fingerprint_of(other), before) << i;
  }
  Finding other = check_then_act();
  other.blocks[0].place = parse_place("elsewhere.cc:1");
  EXPECT_NE(fingerprint_of(other), before);
  other = check_then_act();
  other.rule = "external-cycle";
  EXPECT_NE(fingerprint_of(other), before);
}

TEST(Fingerprint, of_a_race_does_not_tell_which_access_came_first) {
  Finding other = race();
  std::swap(other.sites[0].place, other.sites[1].place);
  EXPECT_EQ(fingerprint_of(other), fingerprint_of(race()));
  other.sites[0].place = other.sites[1].place;
  EXPECT_NE(fingerprint_of(other), fingerprint_of(race()));
}

TEST(Fingerprint, an_unknown_site_is_stood_in_for_by_the_event) {
  Finding moved = two_fields();
  moved.sites[1].event = 5;
  moved.cycle[0].from = 5;
  EXPECT_NE(fingerprint_of(moved), fingerprint_of(two_fields()));
}

TEST(Fingerprint, an_unknown_site_of_a_recording_is_stood_in_for_by_its_function) {
  Finding finding = with_stacks();
  finding.blocks[0].place = {};
  finding.sites[1].place = {};
  const auto moved = [&finding](EventNumber by) {
    Finding other = finding;
    for (Site& each : other.sites) {
      each.event += by;
      each.block += each.block == 0 ? 0 : by;
    }
    for (Block& each : other.blocks) each.begin += by;
    for (check::Edge& edge : other.cycle) edge = {edge.from + by, edge.to + by};
    other.block += by;
    return other;
  };
  const std::string before = fingerprint_of(finding);
  EXPECT_EQ(fingerprint_of(moved(7)), before);
  finding.sites[1].stack.frames[0].function = "put(int)";
  EXPECT_NE(fingerprint_of(finding), before);
  finding = with_stacks();
  finding.blocks[0].place = {};
  finding.sites[1].place = {};
  finding.blocks[0].label = "other()";
  EXPECT_NE(fingerprint_of(finding), before);
}

}  // namespace
}  // namespace syndrome::report
