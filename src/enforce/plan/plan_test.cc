// Guards plans: the figures of the paper with their known answers, random programs explored over
// all interleavings, summaries that are damaged, and profiles of other code.

#include "enforce/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "enforce/plan/explore.h"
#include "enforce/plan/summary.h"

namespace syndrome::enforce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr AtomicType kRead = AtomicType::kRead;
constexpr AtomicType kExclusive = AtomicType::kExclusive;

/// A function whose nodes are numbered as in the paper's figures: node n is nodes[n - 1], and its
/// place is "f.c:n f".
class Figure {
 public:
  explicit Figure(const std::string& name, NodeId nodes) {
    function.linkage = function.name = name;
    function.nodes.resize(nodes);
    for (NodeId n = 1; n <= nodes; ++n) at(n).place = place(n);
  }
  Node& at(NodeId n) { return function.nodes[n - 1]; }
  [[nodiscard]] std::string place(NodeId n) const {
    return function.name + ".c:" + std::to_string(n) + " " + function.name;
  }
  void edges(std::initializer_list<std::pair<NodeId, NodeId>> list) {
    for (const auto& [from, to] : list) at(from).next.push_back(to - 1);
  }
  void access(NodeId n, const std::string& variable, bool write) {
    at(n).kind = Node::Kind::kAccess;
    at(n).variable = variable;
    at(n).exact = true;
    at(n).reads = !write;
    at(n).writes = write;
  }
  void lock(NodeId n, const std::string& name, bool take) {
    at(n).kind = Node::Kind::kCall;
    at(n).op = take ? Node::LockOp::kAcquire : Node::LockOp::kRelease;
    at(n).lock = name;
  }
  Spot spot(NodeId n) {
    return {place(n), at(n).kind == Node::Kind::kCall ? SpotKind::kCall
                      : at(n).writes                  ? SpotKind::kWrite
                                                      : SpotKind::kRead};
  }
  void pair(Profile& profile, const std::string& variable, NodeId from, NodeId to,
            AtomicType type) {
    profile.variables[variable].instances = 1;
    profile.variables[variable].pairs[{function.name, spot(from), spot(to)}] = {type, 1, {}};
  }
  Function function;
};

const Placement& placement(const Plan& plan, std::uint32_t function, const std::string& lock) {
  for (const PlannedPlace& place : plan.places) {
    if (place.function == function && plan.locks[place.lock].name == lock) return place.placement;
  }
  ADD_FAILURE() << "no " << lock << " in function " << function;
  return plan.places.front().placement;
}

/// The constraints at a node, as the paper writes them: "X2-12".
std::vector<std::string> lc(const Placement& placement, NodeId n) {
  std::vector<std::string> found;
  for (const Constraint& constraint : placement.constraints()) {
    if (!constraint.on[n - 1] || constraint.why == Constraint::Why::kSingle) continue;
    found.push_back(std::string(constraint.type == kExclusive ? "X" : "R") +
                    std::to_string(constraint.from + 1) + "-" + std::to_string(constraint.to + 1));
  }
  std::ranges::sort(found);
  return found;
}

std::vector<HeldOrigin> acquires(const Placement& placement, NodeId n) {
  std::vector<HeldOrigin> found = placement.ops(n - 1).acquires;
  for (HeldOrigin& held : found) held.origin = (held.origin & ~kHoistedBit) + 1;
  return found;
}

Plan plan_of(const Program& program, const Profile& profile) {
  Result<Plan> plan = make_plan(program, profile);
  if (!plan) throw std::runtime_error(plan.error().message);
  return std::move(*plan);
}

// Figure 1: the two reads are atomic in the profile; the write was never seen.
TEST(Plan, FigureOneKeepsAnUnseenWriteOut) {
  Figure foo("foo", 7);
  foo.edges({{1, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}, {4, 6}, {5, 6}, {6, 7}});
  foo.access(2, "P", true);
  foo.access(4, "P", false);
  foo.access(5, "P", false);
  foo.at(7).kind = Node::Kind::kExit;
  Profile profile;
  foo.pair(profile, "P", 4, 5, kRead);
  const Program program{{foo.function}};
  const Plan plan = plan_of(program, profile);
  const Placement& placed = placement(plan, 0, "P");
  EXPECT_THAT(acquires(placed, 2), ElementsAre(HeldOrigin{2, kExclusive}));
  EXPECT_THAT(placed.ops(2).releases, ElementsAre(1)) << "the write's, before node 3";
  EXPECT_THAT(acquires(placed, 4), ElementsAre(HeldOrigin{4, kRead}));
  EXPECT_THAT(acquires(placed, 5), IsEmpty());
  EXPECT_THAT(placed.ops(5).releases, ElementsAre(3)) << "where both ways meet again";

  const std::vector<std::uint32_t> both = {0, 0};
  EXPECT_EQ(explore(program, profile, plan, both, 100'000).wrong, "");
  EXPECT_THAT(explore(program, profile, plan, both, 100'000, false).wrong, HasSubstr("torn apart"));
}

// Figure 7: accesses at 2, 7, 9 and 12; pairs <2,12> exclusive, <2,7> and <7,12> read.
TEST(Plan, FigureSevenDegradesAndReleasesByPath) {
  Figure f("f", 13);
  f.edges({{1, 2},
           {1, 3},
           {2, 4},
           {3, 4},
           {4, 5},
           {4, 6},
           {5, 10},
           {6, 7},
           {7, 8},
           {8, 9},
           {8, 11},
           {9, 13},
           {10, 11},
           {11, 12},
           {12, 13}});
  f.access(2, "x", true);
  f.access(7, "x", false);
  f.access(9, "x", false);
  f.access(12, "x", false);
  f.at(13).kind = Node::Kind::kExit;
  Profile profile;
  f.pair(profile, "x", 2, 12, kExclusive);
  f.pair(profile, "x", 2, 7, kRead);
  f.pair(profile, "x", 7, 12, kRead);
  const Program program{{f.function}};
  const Plan plan = plan_of(program, profile);
  const Placement& placed = placement(plan, 0, "x");
  EXPECT_THAT(lc(placed, 1), IsEmpty());
  EXPECT_THAT(lc(placed, 3), IsEmpty());
  EXPECT_THAT(lc(placed, 2), ElementsAre("R2-7", "X2-12"));
  EXPECT_THAT(lc(placed, 4), ElementsAre("R2-7", "X2-12"));
  EXPECT_THAT(lc(placed, 5), ElementsAre("X2-12")) << "5 is on no path to 7";
  EXPECT_THAT(lc(placed, 6), ElementsAre("R2-7")) << "every way on leads over the access at 7";
  EXPECT_THAT(lc(placed, 9), IsEmpty());
  EXPECT_THAT(acquires(placed, 2), ElementsAre(HeldOrigin{2, kExclusive}));
  EXPECT_THAT(placed.ops(6 - 1).degrades, ElementsAre(1)) << "on the edge from 4 to 6";
  EXPECT_THAT(acquires(placed, 7), ElementsAre(HeldOrigin{7, kRead}));
  // The lock that was taken at 7 is not given back before 12, and along 9 it is.
  EXPECT_TRUE(placed.surely_during(12 - 1, kRead));
  EXPECT_THAT(placed.ops(9 - 1).releases, ElementsAre(6));
  EXPECT_THAT(placed.ops(13 - 1).acquires, IsEmpty());
  EXPECT_EQ(placed.strongest_during(13 - 1), AtomicType::kNone);
  EXPECT_EQ(explore(program, profile, plan, {0, 0}, 100'000).wrong, "");
}

// Figure 8: y is taken at 6 while another lock is held since 2; elsewhere in the other order. It is
// hoisted before 2, given back on the way to 5, and still taken at 6 for those who come over 3.
TEST(Plan, FigureEightHoistsAgainstACycle) {
  Figure f("f", 9);
  f.edges({{1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {4, 6}, {5, 8}, {6, 7}, {7, 8}, {8, 9}});
  f.lock(2, "m", true);
  f.access(6, "y", false);
  f.access(7, "y", false);
  f.lock(8, "m", false);
  f.at(9).kind = Node::Kind::kExit;
  Figure g("g", 5);
  g.edges({{1, 2}, {2, 3}, {3, 4}, {4, 5}});
  g.access(1, "y", true);
  g.lock(2, "m", true);
  g.lock(3, "m", false);
  g.access(4, "y", false);
  g.at(5).kind = Node::Kind::kExit;
  Profile profile;
  f.pair(profile, "y", 6, 7, kRead);
  g.pair(profile, "y", 1, 4, kExclusive);
  const Program program{{f.function, g.function}};
  const Plan plan = plan_of(program, profile);
  const Placement& placed = placement(plan, 0, "y");
  EXPECT_THAT(acquires(placed, 2), ElementsAre(HeldOrigin{2, kRead}));
  EXPECT_THAT(placed.ops(5 - 1).releases, ElementsAre(1 | kHoistedBit));
  EXPECT_THAT(acquires(placed, 6), ElementsAre(HeldOrigin{6, kRead}));
  ASSERT_EQ(plan.hoisted.size(), 1U);
  EXPECT_THAT(plan.hoisted[0], HasSubstr("the program's m"));
  EXPECT_THAT(to_text(plan, program), HasSubstr("hoisted: y in f at f.c:2 f"));
}

// A machine of many states, as servers have one: in a loop, each state may take m and leave it to
// another one to give it back. y must be taken before each of them; and each of those acquires may
// be the one that is held when y's pair comes.
TEST(Plan, ALockIsHoistedBeforeEveryStateOfAMachine) {
  constexpr NodeId kStates = 12;
  Figure f("f", kStates + 6);
  const NodeId first = 3;
  const NodeId use = first + kStates;
  f.edges({{1, 2}, {use, use + 1}, {use + 1, use + 2}, {use + 2, 2}, {use + 2, use + 3}});
  for (NodeId state = first; state < use; ++state) {
    f.lock(state, "m", true);
    f.edges({{2, state}, {state, use}, {state, 2}});
  }
  f.access(use, "y", false);
  f.access(use + 1, "y", false);
  f.lock(use + 2, "m", false);
  f.at(use + 3).kind = Node::Kind::kExit;
  Figure g("g", 5);
  g.edges({{1, 2}, {2, 3}, {3, 4}, {4, 5}});
  g.access(1, "y", true);
  g.lock(2, "m", true);
  g.lock(3, "m", false);
  g.access(4, "y", false);
  g.at(5).kind = Node::Kind::kExit;
  Profile profile;
  f.pair(profile, "y", use, use + 1, kRead);
  g.pair(profile, "y", 1, 4, kExclusive);
  const Program program{{f.function, g.function}};
  const Plan plan = plan_of(program, profile);
  EXPECT_THAT(plan.given_up, IsEmpty());
  const Placement& placed = placement(plan, 0, "y");
  for (NodeId state = first; state < use; ++state) {
    EXPECT_THAT(acquires(placed, state), SizeIs(1)) << state;
  }
  EXPECT_TRUE(placed.surely_before(use - 1, kRead));
}

/// Calls f, which does something to the lock m, and then has a pair of y; and g, which takes m
/// inside of a pair of y.
Plan plan_around(const Figure& f, const std::vector<Function>& more = {}) {
  Figure caller("caller", 4);
  caller.edges({{1, 2}, {2, 3}, {3, 4}});
  caller.at(1).kind = Node::Kind::kCall;
  caller.at(1).callees = {"f"};
  caller.access(2, "y", false);
  caller.access(3, "y", false);
  caller.at(4).kind = Node::Kind::kExit;
  Figure g("g", 5);
  g.edges({{1, 2}, {2, 3}, {3, 4}, {4, 5}});
  g.access(1, "y", true);
  g.lock(2, "m", true);
  g.lock(3, "m", false);
  g.access(4, "y", false);
  g.at(5).kind = Node::Kind::kExit;
  Profile profile;
  caller.pair(profile, "y", 2, 3, kRead);
  g.pair(profile, "y", 1, 4, kExclusive);
  Program program{{f.function, caller.function, g.function}};
  program.functions.insert(program.functions.end(), more.begin(), more.end());
  return plan_of(program, profile);
}

// Whether it was taken is known where it is given back, but not to us.
TEST(Plan, WhoTriesALockAndGivesItBackDoesNotKeepIt) {
  Figure f("f", 4);
  f.edges({{1, 2}, {2, 3}, {2, 4}, {3, 4}});
  f.lock(1, "m", true);
  f.at(1).callees = {"pthread_mutex_trylock"};
  f.lock(3, "m", false);
  f.at(4).kind = Node::Kind::kExit;
  EXPECT_THAT(plan_around(f).hoisted, IsEmpty());
}

TEST(Plan, WhoReturnsWithALockKeepsIt) {
  Figure f("f", 2);
  f.edges({{1, 2}});
  f.lock(1, "m", true);
  f.at(2).kind = Node::Kind::kExit;
  EXPECT_THAT(plan_around(f).hoisted, SizeIs(1)) << "before the call";
  // Also when it gave it back before, and took it again.
  Figure again("f", 3);
  again.edges({{1, 2}, {2, 3}});
  again.lock(1, "m", false);
  again.lock(2, "m", true);
  again.at(3).kind = Node::Kind::kExit;
  EXPECT_THAT(plan_around(again).hoisted, SizeIs(1));
}

// A call through a pointer may lead to functions of many kinds: threads have the type of callbacks.
TEST(Plan, ACallThroughAPointerReturnsWithALockIfAllDo) {
  Figure f("f", 2);
  f.edges({{1, 2}});
  f.at(1).kind = Node::Kind::kCall;
  f.at(1).indirect = true;
  f.at(1).signature = "ptr (ptr)";
  f.at(2).kind = Node::Kind::kExit;
  Figure with("with", 2);
  with.edges({{1, 2}});
  with.lock(1, "m", true);
  with.at(2).kind = Node::Kind::kExit;
  Figure without("without", 1);
  without.at(1).kind = Node::Kind::kExit;
  for (Figure* each : {&with, &without}) {
    each->function.address_taken = true;
    each->function.signature = "ptr (ptr)";
  }
  EXPECT_THAT(plan_around(f, {with.function}).hoisted, SizeIs(1));
  EXPECT_THAT(plan_around(f, {with.function, without.function}).hoisted, IsEmpty());
}

void call(Figure& figure, NodeId n, const std::string& callee) {
  figure.at(n).kind = Node::Kind::kCall;
  figure.at(n).callees = {callee};
}

/// The plan of f, which accesses x at `from` and `to`: 1, or 2 to 5 in a loop. It calls `callee` at
/// 3, where 4 may be a way around it.
Plan plan_of_rounds(NodeId from, NodeId to, const std::string& callee, bool around,
                    const std::vector<Function>& more = {}) {
  Figure f("f", 6);
  f.edges({{1, 2}, {2, 3}, {3, 5}, {4, 5}, {5, 2}, {5, 6}});
  if (around) f.edges({{2, 4}});
  f.access(from, "x", true);
  f.access(to, "x", true);
  call(f, 3, callee);
  f.at(6).kind = Node::Kind::kExit;
  Profile profile;
  f.pair(profile, "x", from, to, kExclusive);
  Program program{{f.function}};
  program.functions.insert(program.functions.end(), more.begin(), more.end());
  return plan_of(program, profile);
}

// The maintenance thread of a server sleeps between two rounds of its work.
TEST(Plan, APairIntoTheNextRoundEndsAtAWait) {
  // From 2 to 5 it is one round, whatever the thread does in between.
  const Plan one = plan_of_rounds(2, 5, "usleep", true);
  EXPECT_THAT(one.given_up, IsEmpty());
  EXPECT_THAT(lc(placement(one, 0, "x"), 3), ElementsAre("X2-5"));
  const Plan next = plan_of_rounds(5, 2, "usleep", true);
  EXPECT_THAT(next.given_up, IsEmpty()) << "the call is not on the way";

  // From outside into the first round, or around the loop.
  for (const auto& [from, to] : {std::pair<NodeId, NodeId>(1, 5), {5, 5}}) {
    const Plan cut = plan_of_rounds(from, to, "usleep", true);
    EXPECT_THAT(cut.given_up, IsEmpty());
    EXPECT_THAT(lc(placement(cut, 0, "x"), 3), IsEmpty());
    EXPECT_THAT(lc(placement(cut, 0, "x"), 4), SizeIs(1));
    EXPECT_THAT(placement(cut, 0, "x").ops(2).releases, SizeIs(1)) << "before the call";
    const Plan lost = plan_of_rounds(from, to, "usleep", false);
    EXPECT_THAT(lost.given_up, ElementsAre(HasSubstr("no path without a wait in f")));
    EXPECT_THAT(lost.locks, IsEmpty()) << "it would protect nothing";
    EXPECT_THAT(plan_of_rounds(from, to, "puts", false).given_up, IsEmpty());
  }
}

TEST(Plan, AFunctionWaitsIfItMayCallOneThatDoes) {
  Figure inner("inner", 4);
  inner.edges({{1, 2}, {1, 3}, {2, 3}});
  call(inner, 2, "pthread_cond_wait");
  inner.at(3).kind = Node::Kind::kExit;
  Figure outer("outer", 2);
  outer.edges({{1, 2}});
  call(outer, 1, "inner");
  outer.at(2).kind = Node::Kind::kExit;
  EXPECT_THAT(plan_of_rounds(5, 5, "outer", false, {outer.function, inner.function}).given_up,
              SizeIs(1));
  // An assertion that fails: it joins threads, and the program ends.
  Figure asserts("asserts", 3);
  asserts.edges({{1, 2}, {1, 3}});
  call(asserts, 2, "inner");
  asserts.at(3).kind = Node::Kind::kExit;
  EXPECT_THAT(plan_of_rounds(5, 5, "asserts", false, {asserts.function, inner.function}).given_up,
              IsEmpty());
}

TEST(Plan, RandomProgramsKeepTheirPairsAndNeverWaitForever) {
  PlanTally tally;
  EXPECT_EQ(first_wrong_plan(1, 2000, tally), "");
  EXPECT_GT(tally.broken_before, 300U) << "plans that were needed";
  EXPECT_GT(tally.hoisted, 100U);
  EXPECT_EQ(tally.given_up, 0U);
  EXPECT_LT(tally.unfinished, tally.samples / 4);
}

// A call that the pair ends with was passed in a loop without the access that it may lead to.
TEST(Plan, ACallMayBePassedWithoutTheAccess) {
  PlanTally tally;
  EXPECT_EQ(first_wrong_plan(100'517, 1, tally), "");
}

/// Two functions that take x and y in opposite orders, for pairs of these types.
struct OppositeOrders {
  OppositeOrders(AtomicType fx, AtomicType fy, AtomicType gy, AtomicType gx) {
    const auto fill = [this](Figure& figure, const std::string& outer, AtomicType outer_type,
                             const std::string& inner, AtomicType inner_type) {
      figure.edges({{1, 2}, {2, 3}, {3, 4}, {4, 5}});
      figure.access(1, outer, outer_type == kExclusive);
      figure.access(2, inner, inner_type == kExclusive);
      figure.access(3, inner, false);
      figure.access(4, outer, false);
      figure.at(5).kind = Node::Kind::kExit;
      figure.pair(profile, outer, 1, 4, outer_type);
      figure.pair(profile, inner, 2, 3, inner_type);
      program.functions.push_back(figure.function);
    };
    Figure f("f", 5);
    fill(f, "x", fx, "y", fy);
    Figure g("g", 5);
    fill(g, "y", gy, "x", gx);
  }
  Program program;
  Profile profile;
};

// Readers do not wait for each other, but one who holds y to read and wants to read x waits for
// somebody who has x exclusively and wants y in that way.
TEST(Plan, ReadersAreInACycleWithThoseWhoExcludeThem) {
  const OppositeOrders both(kExclusive, kExclusive, kRead, kRead);
  const Plan plan = plan_of(both.program, both.profile);
  EXPECT_EQ(explore(both.program, both.profile, plan, {0, 1}, 100'000).wrong, "");
  EXPECT_THAT(plan.hoisted, SizeIs(1));
  EXPECT_THAT(plan.given_up, IsEmpty());
}

// Whatever the types are; and where no two of them exclude each other all around, nothing is added.
TEST(Plan, OppositeOrdersAreHoistedWhereTheyCanWaitForEachOther) {
  for (unsigned types = 0; types < 16; ++types) {
    const auto type = [types](unsigned bit) {
      return (types >> bit & 1U) != 0 ? kExclusive : kRead;
    };
    const AtomicType fx = type(0);
    const AtomicType fy = type(1);
    const AtomicType gy = type(2);
    const AtomicType gx = type(3);
    const OppositeOrders both(fx, fy, gy, gx);
    const Plan plan = plan_of(both.program, both.profile);
    EXPECT_EQ(explore(both.program, both.profile, plan, {0, 1}, 100'000).wrong, "") << types;
    const bool waits =
        (fy == kExclusive || gy == kExclusive) && (gx == kExclusive || fx == kExclusive);
    EXPECT_EQ(plan.hoisted.empty(), !waits) << types << to_text(plan, both.program);
  }
}

// The lock of x is hoisted into a place where y is held to read; elsewhere y is taken exclusively
// under x.
TEST(Plan, AHoistedReadLockMayCloseACycle) {
  PlanTally tally;
  EXPECT_EQ(first_wrong_plan(9566, 1, tally), "");
  EXPECT_EQ(tally.given_up, 0U);
}

// A lock is taken at one node to read, for a pair, and exclusively, because it was hoisted to
// there.
TEST(Plan, OfSeveralAcquiresAtANodeTheStrongestIsFirst) {
  PlanTally tally;
  EXPECT_EQ(first_wrong_plan(41'800, 1, tally), "");
}

// Two pairs share an origin, and the second one, which only reads, begins where the first one
// writes.
TEST(Plan, TakenAgainForLessALockStaysAsItIs) {
  PlanTally tally;
  EXPECT_EQ(first_wrong_plan(13'557, 1, tally), "");
}

TEST(Plan, AProfileOfOtherCodeNamesTheFunction) {
  Figure f("f", 3);
  f.edges({{1, 2}, {2, 3}});
  f.access(1, "x", false);
  f.access(2, "x", false);
  Profile profile;
  f.pair(profile, "x", 1, 2, kExclusive);
  f.at(2).place = "f.c:99 f";
  const Result<Plan> plan = make_plan({{f.function}}, profile);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("f (nothing that does a read at f.c:2)"));
}

TEST(Summary, ReadsWhatThePassWrites) {
  const std::string text =
      "U\t1\t0\nS\t_Z1fv\nS\t/a.cc\nS\tvoid ()\nF\t1\t2\t3\t77\tia\t3\nB\t1,2\nS\tx\n"
      "A\tr\tg\t2\t4\t5\t0\t4\nB\t2\nC\tL\t4\t2\t6\t7\t0\t-\t0\t1\nB\t\nX\n\0\0\0";
  const Result<Program> program = read_summary(text);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->functions.size(), 1U);
  const Function& f = program->functions[0];
  EXPECT_EQ(f.name, "f()");
  EXPECT_TRUE(f.internal && f.address_taken);
  ASSERT_EQ(f.nodes.size(), 6U);
  EXPECT_THAT(f.nodes[0].next, ElementsAre(1));
  EXPECT_THAT(f.nodes[1].next, ElementsAre(2, 4));
  EXPECT_EQ(f.nodes[1].place, "/a.cc:4:5 f");
  EXPECT_EQ(f.nodes[1].variable, "x");
  EXPECT_EQ(f.nodes[3].op, Node::LockOp::kAcquire);
  // Cut off or changed anywhere, it is read or refused, and nothing else.
  for (std::size_t i = 0; i < text.size(); ++i) {
    (void)read_summary(std::string_view(text).substr(0, i));
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 7);
    (void)read_summary(damaged);
    (void)find_summary(damaged);
  }
  EXPECT_FALSE(read_summary("B\t1\n"));
  EXPECT_FALSE(
      find_summary("\x7f"
                   "ELF"));
}

}  // namespace
}  // namespace syndrome::enforce
