// Names to sets: each rule of sets.h by itself.

#include "check/atomic_sets/sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>

namespace syndrome::check::atomic_sets {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// The variables that share a set and are told apart, by the set's name: "set: x, y".
std::vector<std::string> sets_of(std::initializer_list<std::string_view> variables,
                                 std::string_view text = "",
                                 spec::DefaultSets otherwise = spec::DefaultSets::kClass) {
  Result<spec::Spec> spec = spec::parse_spec(text);
  EXPECT_TRUE(spec) << spec.error().message;
  Names names;
  for (const std::string_view each : variables) names.table(Space::kVariable).append(each);
  Words words;
  SetRule rule({&*spec, otherwise}, words);
  std::map<std::uint32_t, std::string> lines;
  for (std::uint32_t i = 0; i < variables.size(); ++i) {
    for (const Membership& where : rule.of(i, names).in) {
      const auto [at, is_new] = lines.try_emplace(where.set, rule.name_of_set(where, names) + ":");
      at->second += " " + rule.name_of_location(where.location, names);
    }
  }
  std::vector<std::string> result;
  for (const auto& [set, line] : lines) result.push_back(line);
  return result;
}

TEST(VariableName, IsTakenApart) {
  const VariableName field("bank::Account::balance@5581c0~2");
  EXPECT_EQ(field.name, "bank::Account::balance");
  EXPECT_EQ(field.object, "5581c0");
  const VariableName element("table[]:table+24");
  EXPECT_EQ(element.name, "table[]");
  EXPECT_EQ(element.place, "table+24");
  EXPECT_TRUE(element.is_element());
  const VariableName global("ns::counter");
  EXPECT_EQ(global.name, "ns::counter");
  EXPECT_EQ(global.object, "");
  EXPECT_EQ(global.place, "");
  EXPECT_EQ(VariableName("std::map<int, a::b>::c@30").name, "std::map<int, a::b>::c");
}

TEST(VariableName, ClassIsWhatStandsBeforeTheLastPart) {
  EXPECT_EQ(class_of("bank::Account::limits.max"), "bank::Account");
  EXPECT_EQ(class_of("Box<a::b>::value"), "Box<a::b>");
  EXPECT_EQ(class_of("x"), "");
  EXPECT_EQ(class_of("::x"), "");
}

TEST(Sets, FieldsOfAnObjectAreOne) {
  EXPECT_THAT(sets_of({"A::x@10", "A::y@10", "A::x@20", "B::z@10"}),
              ElementsAre("A at 10: A::x@10 A::y@10 B::z@10", "A at 20: A::x@20"));
}

// What was freed and allocated again is not what it was.
TEST(Sets, AnObjectInUsedMemoryIsAnotherOne) {
  EXPECT_THAT(sets_of({"A::x@10", "A::y@10", "A::y@10~2", "A::x@10~2", "A::z@10", "A::y@10~3"}),
              ElementsAre("A at 10: A::x@10 A::y@10", "A at 10: A::y@10~2 A::x@10~2 A::z@10",
                          "A at 10: A::y@10~3"));
  EXPECT_THAT(
      sets_of({"std::_Vector_base<int>::_M_a@10", "std::_Vector_base<int>::_M_a@10~2"}),
      ElementsAre("std::vector at 10: std::vector at 10", "std::vector at 10: std::vector at 10"));
  // Another class in the same memory; and a class with its base, twice.
  EXPECT_THAT(sets_of({"A::x@10", "B::y@10~2", "B::z@10"}),
              ElementsAre("A at 10: A::x@10", "B at 10: B::y@10~2 B::z@10"));
  EXPECT_THAT(sets_of({"A::x@10", "B::y@10", "A::x@10~2", "B::y@10~2"}),
              ElementsAre("A at 10: A::x@10 B::y@10", "A at 10: A::x@10~2 B::y@10~2"));
  EXPECT_THAT(sets_of({"A::x@10", "A::y@10", "A::x@10~2"}, "atomic-sets.S = ['A::x', 'A::y']"),
              ElementsAre("S of 10: A::x@10 A::y@10", "S of 10: A::x@10~2"));
}

TEST(Sets, ElementsOfAGlobalArrayAreOneAndOthersAreAlone) {
  EXPECT_THAT(
      sets_of({"t", "t+4", "t[]:t+8", "p[]:7ffc0", "p[]:7ffc4", "A::in[]@10", "A::in[]@14"}),
      ElementsAre("t: t t+4 t[]:t+8", "p[]:7ffc0: p[]:7ffc0", "p[]:7ffc4: p[]:7ffc4",
                  "A::in[]@10: A::in[]@10", "A::in[]@14: A::in[]@14"));
}

TEST(Sets, StaticMembersAreOneOnceTheClassIsKnown) {
  EXPECT_THAT(sets_of({"A::early", "A::x@10", "A::n", "A::m", "ns::n", "ns::m"}),
              ElementsAre("A::early: A::early", "A at 10: A::x@10",
                          "static members of A: A::n A::m", "ns::n: ns::n", "ns::m: ns::m"));
}

TEST(Sets, AContainerIsOneLocation) {
  EXPECT_THAT(
      sets_of({"std::_Vector_base<int>::_M_start@10", "std::_Vector_base<int>::_M_finish@10"}),
      ElementsAre("std::vector at 10: std::vector at 10 std::vector at 10"));
}

TEST(Sets, AContainerThatIsAFieldIsOneLocationOfItsOwner) {
  EXPECT_THAT(sets_of({"A::list_._M_start+8@10", "A::n@10", "A::list_._M_finish+16@10",
                       "A::name_._Alloc_hider+32@10", "A::part.x@10", "A::list_._M_start+8@20"}),
              ElementsAre("A at 10: A::list_@10 A::n@10 A::list_@10 A::name_@10 A::part.x@10",
                          "A at 20: A::list_@20"));
  EXPECT_THAT(sets_of({"A::list_._M_start+8@10", "A::n@10", "A::list_._M_finish+16@10"},
                      "atomic-sets.S = ['A::list_', 'A::n']"),
              ElementsAre("S of 10: A::list_@10 A::n@10 A::list_@10"));
}

TEST(Sets, FirstFieldOfAGlobalObjectHasTheObjectsName) {
  EXPECT_THAT(sets_of({"account", "Account::savings@account"}),
              ElementsAre("account: account Account::savings@account"));
}

TEST(Sets, EachAndAll) {
  EXPECT_THAT(sets_of({"A::x@10", "A::y@10", "t"}, "", spec::DefaultSets::kEach),
              ElementsAre("A::x@10: A::x@10", "A::y@10: A::y@10", "t: t"));
  EXPECT_THAT(sets_of({"A::x@10", "A::y@10", "t"}, "", spec::DefaultSets::kAll),
              ElementsAre("all: A::x@10 A::y@10 t"));
}

TEST(Sets, OfOneClassAreOneForEachObject) {
  EXPECT_THAT(sets_of({"ns::A::x@10", "ns::A::y@10", "ns::A::x@20", "ns::A::z@10"},
                      "[atomic-sets]\nS = ['A::x', 'A::y']"),
              ElementsAre("S of 10: ns::A::x@10 ns::A::y@10", "S of 20: ns::A::x@20",
                          "ns::A at 10: ns::A::z@10"));
}

TEST(Sets, OfSeveralClassesOrGlobalsAreOne) {
  EXPECT_THAT(sets_of({"A::x@10", "B::y@20", "A::x@30", "g", "h", "A::w@10"},
                      "[atomic-sets]\nS = ['A::x', 'B::*']\nT = ['g', 'h']"),
              ElementsAre("S: A::x@10 B::y@20 A::x@30", "T: g h", "A at 10: A::w@10"));
}

TEST(Sets, AVariableMayBeInSeveral) {
  EXPECT_THAT(sets_of({"x", "y", "z"}, "[atomic-sets]\nS = ['x', 'y']\nT = ['re:^[yz]$']"),
              ElementsAre("S: x y", "T: y z"));
}

TEST(Sets, ExcludedAreInNone) {
  EXPECT_THAT(sets_of({"A::x@10", "A::hits@10"}, "[atomic-sets.options]\nexclude = ['A::hits']"),
              ElementsAre("A at 10: A::x@10"));
  EXPECT_THAT(sets_of({"x"}, "[atomic-sets]\nS = ['x']\n[atomic-sets.options]\nexclude = ['x']"),
              IsEmpty());
}

TEST(Sets, TellWhatMatchesNothing) {
  const Result<spec::Spec> spec =
      spec::parse_spec("[atomic-sets]\nS = ['x', 'y']\n[atomic-sets.options]\nexclude = ['z']");
  Names names;
  names.table(Space::kVariable).append("x");
  Words words;
  SetRule rule({&*spec, spec::DefaultSets::kClass}, words);
  EXPECT_EQ(rule.of(0, names).in.size(), 1);
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& entry : rule.unmatched()) {
    found.emplace_back(entry.list, entry.entry->pattern.text());
  }
  EXPECT_THAT(found, ElementsAre(Pair("exclude", "z"), Pair("S", "y")));
}

TEST(Sets, ByClassAtomicsDoNotCount) {
  Names names;
  names.table(Space::kVariable).append("x");
  Words words;
  EXPECT_FALSE(SetRule({nullptr, spec::DefaultSets::kClass}, words).of(0, names).counts_atomics);
  EXPECT_TRUE(SetRule({nullptr, spec::DefaultSets::kEach}, words).of(0, names).counts_atomics);
  const Result<spec::Spec> spec = spec::parse_spec("[atomic-sets]\nS = ['x']");
  EXPECT_TRUE(SetRule({&*spec, spec::DefaultSets::kClass}, words).of(0, names).counts_atomics);
}

// A pool of std::jthreads that wait with their stop_token was told that _Stop_cb is inconsistent.
TEST(Sets, WhatTheLibraryKeepsConsistentItselfIsInNone) {
  EXPECT_THAT(sets_of({"std::stop_token::_Stop_cb::_M_destroyed@10",
                       "std::__future_base::_State_baseV2::_M_retrieved@20",
                       "std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>::_M_use_count@30",
                       "std::unique_ptr<std::__future_base::_Result_base, D>::_M_t@25",
                       "std::_V2::condition_variable_any::_M_mutex@40"}),
              IsEmpty());
  EXPECT_THAT(sets_of({"std::stop_token::_Stop_cb::_M_destroyed@10"}, "", spec::DefaultSets::kEach),
              ElementsAre(::testing::_));
  EXPECT_THAT(sets_of({"std::pair<int, int>::first@50", "std::_Vector_base<int>::_M_start@60"}),
              ::testing::SizeIs(2));
}

}  // namespace
}  // namespace syndrome::check::atomic_sets
