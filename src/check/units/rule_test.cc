// Guards against: a row of the rule that is lost, or turned into another tier. Each test begins
// with a candidate that one row judges, and changes one thing at a time.

#include "check/units/rule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace syndrome::check::units {
namespace {

std::string_view name_of_link(Link link) {
  switch (link) {
    case Link::kNone: return "none";
    case Link::kData: return "data";
    case Link::kHandle: return "handle";
    case Link::kAddress: return "address";
    case Link::kControl: return "control";
    case Link::kJoined: return "joined";
    case Link::kSource: return "source";
    case Link::kReset: return "reset";
    case Link::kReread: return "reread";
    case Link::kHold: return "hold";
    case Link::kOther: return "other";
  }
  return "?";
}

/// "certain data"; "" when it is nothing.
template <class Candidate>
std::string judged(const Candidate& candidate) {
  const Judgement judgement = judge(candidate);
  if (judgement.tier == Tier::kNone) return {};
  return fmt::format("{} {}", name_of(judgement.tier), name_of_link(judgement.link));
}

/// The same with a few things changed.
template <class Candidate, class Change>
std::string judged(Candidate candidate, const Change& change) {
  change(candidate);
  return judged(candidate);
}

/// R W' W, connected like this.
OneLocation stale(std::uint32_t how) {
  OneLocation candidate;
  candidate.second_writes = true;
  candidate.how = how;
  return candidate;
}

constexpr auto kReread = [](OneLocation& c) { c.second_writes = false; };
constexpr auto kNotReaching = [](auto& c) { c.reaches = false; };

TEST(RuleOfOneLocation, data_is_certain) {
  EXPECT_EQ(judged(stale(unit::kFlowData)), "certain data");
  EXPECT_EQ(judged(stale(unit::kFlowData), kReread), "certain data");
  EXPECT_EQ(judged(stale(unit::kFlowData), kNotReaching), "possible none");
}

TEST(RuleOfOneLocation, data_is_stale_after_a_wait_and_after_another_check) {
  EXPECT_EQ(judged(stale(unit::kFlowData), [](OneLocation& c) { c.waited = true; }),
            "certain data");
  EXPECT_EQ(judged(stale(unit::kFlowData), [](OneLocation& c) { c.rechecked = true; }),
            "certain data");
}

TEST(RuleOfOneLocation, a_pointer_is_likely_where_it_is_read_again) {
  EXPECT_EQ(judged(stale(unit::kFlowData | unit::kFlowPointer), kReread), "likely handle");
  // What was taken out is put back.
  EXPECT_EQ(judged(stale(unit::kFlowData | unit::kFlowPointer)), "possible data");
  // A pointer that data was not.
  EXPECT_EQ(judged(stale(unit::kFlowPointer), kReread), "possible none");
}

TEST(RuleOfOneLocation, what_is_only_added_loses_nothing) {
  EXPECT_EQ(judged(stale(unit::kFlowData), [](OneLocation& c) { c.updates = true; }),
            "possible data");
}

TEST(RuleOfOneLocation, what_was_taken_out_is_put_back) {
  EXPECT_EQ(judged(stale(unit::kFlowData), [](OneLocation& c) { c.whole = true; }),
            "possible data");
  constexpr auto kWhole = [](OneLocation& c) {
    c.whole = true;
    c.second_writes = false;
  };
  EXPECT_EQ(judged(stale(unit::kFlowData | unit::kFlowPointer), kWhole), "possible data");
}

TEST(RuleOfOneLocation, compared_is_judged_by_nothing_else) {
  // It would be certain by its data, and likely by its control.
  EXPECT_EQ(judged(stale(unit::kFlowCompared | unit::kFlowData | unit::kFlowControl),
                   [](OneLocation& c) { c.atomic = true; }),
            "");
  EXPECT_EQ(judged(stale(unit::kFlowCompared | unit::kFlowData | unit::kFlowControl)),
            "possible none");
}

TEST(RuleOfOneLocation, control_is_likely) {
  EXPECT_EQ(judged(stale(unit::kFlowControl)), "likely control");
  EXPECT_EQ(judged(stale(unit::kFlowControl), kReread), "likely control");
  // Of what is no atomic a constant counts as well.
  EXPECT_EQ(judged(stale(unit::kFlowControl | unit::kFlowConstant)), "likely control");
  EXPECT_EQ(judged(stale(unit::kFlowControl), kNotReaching), "possible none");
}

TEST(RuleOfOneLocation, a_recheck_cancels_control) {
  EXPECT_EQ(judged(stale(unit::kFlowControl), [](OneLocation& c) { c.rechecked = true; }), "");
}

TEST(RuleOfOneLocation, a_wait_ends_the_unit_for_control) {
  EXPECT_EQ(judged(stale(unit::kFlowControl), [](OneLocation& c) { c.waited = true; }),
            "possible none");
}

TEST(RuleOfOneLocation, what_was_checked_for_has_been_done) {
  EXPECT_EQ(judged(stale(unit::kFlowControl), [](OneLocation& c) { c.served = true; }),
            "possible none");
}

TEST(RuleOfOneLocation, a_read_that_decides_anew_needs_no_control) {
  constexpr auto kDecidesAnew = [](OneLocation& c) {
    c.second_writes = false;
    c.re_reads = true;
  };
  EXPECT_EQ(judged(stale(unit::kFlowControl), kDecidesAnew), "possible none");
  EXPECT_EQ(judged(stale(unit::kFlowAddress), kDecidesAnew), "possible none");
  EXPECT_EQ(judged(stale(unit::kFlowData), kDecidesAnew), "certain data");
}

TEST(RuleOfOneLocation, an_address_is_likely) {
  EXPECT_EQ(judged(stale(unit::kFlowAddress)), "likely address");
  EXPECT_EQ(judged(stale(unit::kFlowAddress | unit::kFlowControl)), "likely address");
  // Also behind a wait.
  EXPECT_EQ(judged(stale(unit::kFlowAddress), [](OneLocation& c) { c.waited = true; }),
            "likely address");
  EXPECT_EQ(judged(stale(unit::kFlowAddress), [](OneLocation& c) { c.rechecked = true; }), "");
}

TEST(RuleOfOneLocation, joined_is_possible) {
  EXPECT_EQ(judged(stale(unit::kFlowJoined), kReread), "possible joined");
  EXPECT_EQ(judged(stale(unit::kFlowJoined | unit::kFlowControl), kReread), "likely control");
}

TEST(RuleOfOneLocation, a_reset_loses_what_was_added) {
  EXPECT_EQ(judged(stale(unit::kFlowReset)), "possible none");
  constexpr auto kAdded = [](OneLocation& c) { c.added = true; };
  EXPECT_EQ(judged(stale(unit::kFlowReset), kAdded), "likely reset");
  EXPECT_EQ(judged(stale(unit::kFlowData | unit::kFlowReset), kAdded), "certain data");
  constexpr auto kAtomic = [](OneLocation& c) { c.added = c.atomic = true; };
  EXPECT_EQ(judged(stale(unit::kFlowReset), kAtomic), "likely reset");
  constexpr auto kReads = [](OneLocation& c) {
    c.added = true;
    c.second_writes = false;
  };
  EXPECT_EQ(judged(stale(unit::kFlowReset), kReads), "possible none");
}

OneLocation atomic(std::uint32_t how) {
  OneLocation candidate = stale(how);
  candidate.atomic = true;
  return candidate;
}

TEST(RuleOfOneLocation, atomics_count_with_data) {
  EXPECT_EQ(judged(atomic(unit::kFlowData)), "certain data");
  EXPECT_EQ(judged(atomic(unit::kFlowData | unit::kFlowPointer), kReread), "likely handle");
  EXPECT_EQ(judged(atomic(unit::kFlowAddress)), "");
  EXPECT_EQ(judged(atomic(unit::kFlowJoined)), "");
  EXPECT_EQ(judged(atomic(unit::kFlowSource), [](OneLocation& c) { c.first_writes = true; }), "");
  EXPECT_EQ(judged(atomic(0), [](OneLocation& c) { c.held = true; }), "");
  EXPECT_EQ(judged(atomic(0)), "");
}

TEST(RuleOfOneLocation, atomics_count_with_control_unless_a_flag_is_set_twice) {
  EXPECT_EQ(judged(atomic(unit::kFlowControl)), "likely control");
  EXPECT_EQ(judged(atomic(unit::kFlowControl | unit::kFlowConstant)), "");
  EXPECT_EQ(judged(atomic(unit::kFlowControl), kReread), "");
  EXPECT_EQ(judged(atomic(unit::kFlowControl), [](OneLocation& c) { c.waited = true; }), "");
  EXPECT_EQ(judged(atomic(unit::kFlowControl), [](OneLocation& c) { c.rechecked = true; }), "");
}

TEST(RuleOfOneLocation, two_writes_from_one_source_are_likely) {
  OneLocation twice = stale(unit::kFlowSource);
  twice.first_writes = true;
  EXPECT_EQ(judged(twice), "likely source");
  // Reads have no source, and writes of no source are half-done by nothing that is known.
  EXPECT_EQ(judged(twice, [](OneLocation& c) { c.second_writes = false; }), "possible none");
  EXPECT_EQ(judged(twice, [](OneLocation& c) { c.how = unit::kFlowData; }), "possible none");
  EXPECT_EQ(judged(stale(unit::kFlowSource)), "possible none");
}

TEST(RuleOfOneLocation, what_was_updated_is_read_for_a_decision) {
  OneLocation again;
  again.first_writes = true;
  again.re_reads = true;
  again.how = unit::kFlowReread;
  EXPECT_EQ(judged(again), "likely reread");
  EXPECT_EQ(judged(again, [](OneLocation& c) { c.atomic = true; }), "likely reread");
  EXPECT_EQ(judged(again, [](OneLocation& c) { c.re_reads = false; }), "possible none");
  EXPECT_EQ(judged(again, [](OneLocation& c) { c.how = 0; }), "possible none");
  EXPECT_EQ(judged(again, [](OneLocation& c) { c.second_writes = true; }), "possible none");
  EXPECT_EQ(judged(again, [](OneLocation& c) { c.first_writes = false; }), "possible none");
}

TEST(RuleOfOneLocation, a_lock_held_over_both_is_certain) {
  constexpr auto kHeld = [](OneLocation& c) { c.held = true; };
  EXPECT_EQ(judged(stale(0), kHeld), "certain hold");
  EXPECT_EQ(judged(stale(unit::kFlowControl), kHeld), "certain hold");
  EXPECT_EQ(judged(stale(unit::kFlowData), kHeld), "certain data");
  constexpr auto kWrites = [](OneLocation& c) { c.held = c.first_writes = true; };
  EXPECT_EQ(judged(stale(0), kWrites), "certain hold");
  // Whoever looks again under its lock does not need what it read before; but the lock is the
  // program's own word.
  constexpr auto kRechecked = [](OneLocation& c) { c.held = c.rechecked = true; };
  EXPECT_EQ(judged(stale(0), kRechecked), "certain hold");
}

TEST(RuleOfOneLocation, what_nothing_connects_is_possible) {
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      OneLocation candidate;
      candidate.first_writes = first;
      candidate.second_writes = second;
      EXPECT_EQ(judged(candidate), "possible none");
    }
  }
}

/// Two reads that are joined, of what another thread writes in one critical section.
TwoLocations torn() {
  TwoLocations candidate;
  candidate.how = unit::kFlowJoined;
  candidate.other_writes = true;
  candidate.other_section = true;
  return candidate;
}

TEST(RuleOfTwoLocations, joined_and_together_is_certain) {
  EXPECT_EQ(judged(torn()), "certain joined");
  constexpr auto kSource = [](TwoLocations& c) {
    c.other_section = false;
    c.other_source = true;
  };
  EXPECT_EQ(judged(torn(), kSource), "certain joined");
  EXPECT_EQ(judged(torn(), kNotReaching), "");
  // Evidence of another kind of access is none.
  constexpr auto kReads = [](TwoLocations& c) {
    c.other_section = false;
    c.other_joins = c.other_follows = true;
  };
  EXPECT_EQ(judged(torn(), kReads), "");
  EXPECT_EQ(judged(torn(), [](TwoLocations& c) { c.atomic = c.both_atomic = true; }),
            "certain joined");
}

TEST(RuleOfTwoLocations, a_wait_or_a_compare_and_swap_ends_it) {
  EXPECT_EQ(judged(torn(), [](TwoLocations& c) { c.waited = true; }), "");
  EXPECT_EQ(judged(torn(), [](TwoLocations& c) { c.waited = c.held = true; }), "");
  EXPECT_EQ(judged(torn(), [](TwoLocations& c) { c.compared = true; }), "");
  EXPECT_EQ(judged(torn(), [](TwoLocations& c) { c.compared = c.held = true; }), "certain hold");
}

TEST(RuleOfTwoLocations, one_sided_is_likely_in_one_object) {
  TwoLocations candidate = torn();
  candidate.other_section = false;
  EXPECT_EQ(judged(candidate), "");
  candidate.same_object = true;
  EXPECT_EQ(judged(candidate), "likely joined");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.how = 0; }), "possible none");
  constexpr auto kTogether = [](TwoLocations& c) {
    c.how = 0;
    c.other_section = true;
  };
  EXPECT_EQ(judged(candidate, kTogether), "possible none");
}

TEST(RuleOfTwoLocations, atomics_in_one_object_are_likely_when_one_activation_writes_both) {
  TwoLocations candidate = torn();
  candidate.other_section = false;
  candidate.same_object = candidate.atomic = true;
  EXPECT_EQ(judged(candidate), "");
  candidate.other_own = true;
  EXPECT_EQ(judged(candidate), "likely joined");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.how = 0; }), "");
}

/// Two reads, of which the first says where the second is.
TEST(RuleOfTwoLocations, a_stale_address_is_likely_and_no_more) {
  TwoLocations candidate = torn();
  candidate.how = unit::kFlowAddress;
  EXPECT_EQ(judged(candidate), "likely address");
  // What is joined with where it is read is not put together.
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.how |= unit::kFlowJoined; }),
            "likely address");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.re_reads = true; }), "");
  EXPECT_EQ(judged(candidate, kNotReaching), "");
  constexpr auto kOneSided = [](TwoLocations& c) {
    c.other_section = false;
    c.same_object = true;
  };
  EXPECT_EQ(judged(candidate, kOneSided), "possible address");
}

TEST(RuleOfTwoLocations, a_lock_held_over_both_is_certain) {
  TwoLocations candidate;
  candidate.held = true;
  EXPECT_EQ(judged(candidate), "");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.same_object = true; }), "certain hold");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.how = unit::kFlowJoined; }), "certain hold");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.same_object = c.atomic = true; }), "");
  // Also of writes that another one overwrites.
  constexpr auto kWrites = [](TwoLocations& c) {
    c.same_object = c.writes = c.other_writes = true;
  };
  EXPECT_EQ(judged(candidate, kWrites), "certain hold");
}

/// Two writes from one source, and reads in between.
TwoLocations half_done() {
  TwoLocations candidate;
  candidate.writes = true;
  candidate.how = unit::kFlowSource;
  return candidate;
}

TEST(RuleOfTwoLocations, a_common_source_counts_where_it_is_one_operation) {
  EXPECT_EQ(judged(half_done()), "");
  constexpr auto kSameObject = [](TwoLocations& c) { c.same_object = true; };
  EXPECT_EQ(judged(half_done(), kSameObject), "possible none");
  // Writes of the function itself, and not calls with one argument.
  EXPECT_EQ(judged(half_done(), [](TwoLocations& c) { c.own = c.same_object = true; }),
            "likely source");
  EXPECT_EQ(judged(half_done(), [](TwoLocations& c) { c.own = true; }), "");
  // Or the reader joins them.
  EXPECT_EQ(judged(half_done(), [](TwoLocations& c) { c.other_joins = true; }), "certain source");
  EXPECT_EQ(judged(half_done(), [](TwoLocations& c) { c.other_follows = true; }), "certain source");
  EXPECT_EQ(judged(half_done(), [](TwoLocations& c) { c.other_section = true; }), "");
  // What is written need not come up.
  constexpr auto kDeep = [](TwoLocations& c) {
    c.other_joins = true;
    c.reaches = false;
  };
  EXPECT_EQ(judged(half_done(), kDeep), "certain source");
}

TEST(RuleOfTwoLocations, reads_have_no_source_and_writes_are_not_joined) {
  EXPECT_EQ(judged(torn(),
                   [](TwoLocations& c) {
                     c.how = unit::kFlowSource;
                     c.own = true;
                   }),
            "");
  EXPECT_EQ(judged(half_done(),
                   [](TwoLocations& c) {
                     c.how = unit::kFlowJoined | unit::kFlowAddress;
                     c.other_joins = true;
                   }),
            "");
}

TEST(RuleOfTwoLocations, the_other_one_takes_them_for_one) {
  TwoLocations candidate = half_done();
  candidate.how = 0;
  candidate.same_object = candidate.other_joins = true;
  EXPECT_EQ(judged(candidate), "likely other");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.atomic = true; }), "likely other");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.atomic = c.both_atomic = true; }), "");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.same_object = false; }), "");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.other_joins = false; }), "possible none");
  constexpr auto kFollows = [](TwoLocations& c) {
    c.other_joins = false;
    c.other_follows = true;
  };
  EXPECT_EQ(judged(candidate, kFollows), "likely other");
}

TEST(RuleOfTwoLocations, writes_against_writes_have_been_seen_by_nobody) {
  TwoLocations candidate = half_done();
  candidate.own = candidate.other_writes = candidate.other_section = true;
  EXPECT_EQ(judged(candidate), "");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.same_object = true; }), "possible source");
  EXPECT_EQ(judged(candidate, [](TwoLocations& c) { c.same_object = c.atomic = true; }), "");
}

CheckThenAct check(std::uint32_t how) {
  CheckThenAct candidate;
  candidate.how = how;
  candidate.writes = candidate.same_object = true;
  return candidate;
}

constexpr std::uint32_t kDecides = unit::kFlowControl | unit::kFlowDecides;

TEST(RuleOfCheckThenAct, what_decides_about_a_write_in_the_object_is_likely) {
  EXPECT_EQ(judged(check(kDecides)), "likely control");
  EXPECT_EQ(judged(check(unit::kFlowControl)), "");  // only which value it has
  EXPECT_EQ(judged(check(kDecides), [](CheckThenAct& c) { c.writes = false; }), "");
  EXPECT_EQ(judged(check(kDecides), [](CheckThenAct& c) { c.same_object = false; }), "");
  EXPECT_EQ(judged(check(kDecides), kNotReaching), "");
  EXPECT_EQ(judged(check(0)), "");
}

TEST(RuleOfCheckThenAct, where_it_happens_is_likely_in_any_object) {
  EXPECT_EQ(judged(check(unit::kFlowAddress)), "likely address");
  constexpr auto kElsewhere = [](CheckThenAct& c) { c.writes = c.same_object = false; };
  EXPECT_EQ(judged(check(unit::kFlowAddress), kElsewhere), "likely address");
  EXPECT_EQ(judged(check(unit::kFlowAddress), kNotReaching), "");
  EXPECT_EQ(judged(check(unit::kFlowAddress | kDecides)), "likely control");
}

TEST(RuleOfCheckThenAct, whoever_looks_again_is_right) {
  constexpr auto kRechecked = [](CheckThenAct& c) { c.rechecked = true; };
  EXPECT_EQ(judged(check(kDecides), kRechecked), "");
  EXPECT_EQ(judged(check(unit::kFlowAddress), kRechecked), "");
  EXPECT_EQ(judged(check(kDecides | unit::kFlowCompared)), "");
  EXPECT_EQ(judged(check(unit::kFlowAddress | unit::kFlowCompared)), "");
  // A comparison with something that does not come up is none; but neither is a decision.
  EXPECT_EQ(judged(check(kDecides | unit::kFlowCompared), kNotReaching), "");
}

TEST(Rule, the_better_founded_judgement_stays) {
  constexpr Judgement kLikely{Tier::kLikely, Link::kControl};
  constexpr Judgement kOther{Tier::kLikely, Link::kAddress};
  constexpr Judgement kCertain{Tier::kCertain, Link::kHold};
  EXPECT_EQ(better(kLikely, kOther).link, Link::kControl);
  EXPECT_EQ(better(kLikely, kCertain).link, Link::kHold);
  EXPECT_EQ(better(kCertain, kLikely).link, Link::kHold);
}

}  // namespace
}  // namespace syndrome::check::units
