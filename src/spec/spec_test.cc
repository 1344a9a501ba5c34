// The spec's grammar, the errors, and that no file crashes us.

#include "spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace syndrome::spec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The example of contract.md, and [units.for].
constexpr std::string_view kExample = R"([blocks]                       # which functions
atomic        = ["Account::transfer", "re:^store::.*"]
deterministic = ["quicksort"]
exclude       = ["main"]

[atomic-sets]                  # name = members
S1 = ["x0", "x1"]

[atomic-sets.options]
default = "class"              # "class" (per instance)

[units]
work = ["Account::*"]

[units.for]
S1 = ["transfer"]
)";

std::vector<std::string> texts(const std::vector<Entry>& entries) {
  std::vector<std::string> result;
  for (const Entry& entry : entries) result.push_back(entry.pattern.text());
  return result;
}

std::string error_of(std::string_view text) {
  const Result<Spec> spec = parse_spec(text);
  return spec.ok() ? "" : spec.error().message;
}

TEST(Spec, ReadsTheExampleOfTheContract) {
  const Result<Spec> spec = parse_spec(kExample);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  ASSERT_TRUE(spec->blocks.atomic.has_value());
  EXPECT_THAT(texts(*spec->blocks.atomic), ElementsAre("Account::transfer", "re:^store::.*"));
  EXPECT_EQ(spec->blocks.atomic->at(1).line, 2U);
  EXPECT_EQ(spec->blocks.atomic->at(1).column, 39U);
  EXPECT_THAT(texts(spec->blocks.deterministic), ElementsAre("quicksort"));
  EXPECT_THAT(texts(spec->blocks.exclude), ElementsAre("main"));
  ASSERT_EQ(spec->atomic_sets.size(), 1U);
  EXPECT_EQ(spec->atomic_sets[0].name, "S1");
  EXPECT_EQ(spec->atomic_sets[0].line, 7U);
  EXPECT_THAT(texts(spec->atomic_sets[0].entries), ElementsAre("x0", "x1"));
  EXPECT_EQ(spec->default_sets, DefaultSets::kClass);
  ASSERT_EQ(spec->units.size(), 1U);
  EXPECT_EQ(spec->units[0].name, "work");
  EXPECT_THAT(texts(spec->units[0].entries), ElementsAre("Account::*"));
  ASSERT_EQ(spec->units_for.size(), 1U);
  EXPECT_EQ(spec->units_for[0].name, "S1");
  EXPECT_THAT(texts(spec->units_for[0].entries), ElementsAre("transfer"));
}

TEST(Spec, EverySectionIsOptional) {
  const Result<Spec> spec = parse_spec("# nothing\n");
  ASSERT_TRUE(spec.ok());
  EXPECT_FALSE(spec->blocks.atomic.has_value());
  EXPECT_FALSE(spec->default_sets.has_value());
  EXPECT_THAT(spec->units, IsEmpty());
  EXPECT_TRUE(parse_spec("[blocks]\natomic = []")->blocks.atomic.has_value());
  EXPECT_EQ(parse_spec("atomic-sets.options.default = 'each'")->default_sets, DefaultSets::kEach);
  EXPECT_EQ(parse_spec("atomic-sets = {options = {default = 'all'}}")->default_sets,
            DefaultSets::kAll);
}

TEST(Spec, OptionsOfAtomicSets) {
  const Result<Spec> spec = parse_spec(
      "[atomic-sets.options]\nexclude = ['Account::hits', 'Stats::*']\nspan-threads = true\n");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  ASSERT_EQ(spec->excluded_locations.size(), 2);
  EXPECT_EQ(spec->excluded_locations[1].pattern.text(), "Stats::*");
  EXPECT_TRUE(spec->units_span_threads);
  EXPECT_FALSE(parse_spec("")->units_span_threads);
  EXPECT_EQ(error_of("[atomic-sets.options]\nspan-threads = 1"),
            "line 2, column 16: expected true or false for 'span-threads', found an integer");
  EXPECT_EQ(error_of("[atomic-sets.options]\nexclude = 'x'"),
            "line 2, column 11: expected a list of strings for 'exclude', found a string");
}

TEST(Spec, ErrorsSayWhereAndWhatWasMeant) {
  EXPECT_EQ(error_of("[block]\natomic = []"),
            "line 1, column 2: unknown key 'block'; did you mean 'blocks'?");
  EXPECT_EQ(error_of("\n\n  nonsense = 1"),
            "line 3, column 3: unknown key 'nonsense': expected blocks, atomic-sets, units");
  EXPECT_EQ(error_of("[blocks]\n atomics = []"),
            "line 2, column 2: unknown key of [blocks] 'atomics'; did you mean 'atomic'?");
  EXPECT_EQ(error_of("[atomic-sets.options]\ndefaults = 'all'"),
            "line 2, column 1: unknown key of [atomic-sets.options] 'defaults'; did you mean "
            "'default'?");
  EXPECT_EQ(
      error_of("[atomic-sets.options]\ndefault = 'any'"),
      "line 2, column 11: expected \"class\", \"each\" or \"all\" for 'default', found 'any'");
  EXPECT_EQ(error_of("[atomic-sets.options]\ndefault = 3"),
            "line 2, column 11: expected \"class\", \"each\" or \"all\" for 'default', found an "
            "integer");
  EXPECT_EQ(error_of("blocks = 3"),
            "line 1, column 1: expected a table for 'blocks', found an integer");
  EXPECT_EQ(error_of("[blocks]\natomic = \"f\""),
            "line 2, column 10: expected a list of strings for 'atomic', found a string");
  EXPECT_EQ(error_of("[blocks]\natomic = [\"f\", 7]"),
            "line 2, column 16: expected a string in the list 'atomic', found an integer");
  EXPECT_EQ(error_of("[blocks]\nexclude = ['re:(']"),
            "line 2, column 12: 're:(' in 'exclude': malformed regular expression: ( and ) do not "
            "match");
  EXPECT_EQ(error_of("[units]\nfor = ['f']"),
            "line 2, column 1: expected a table for 'for', found a list");
  EXPECT_EQ(error_of("[units.for]\nS = 1.5"),
            "line 2, column 5: expected a list of strings for 'S', found a number");
  EXPECT_EQ(error_of("[atomic-sets]\noptions = ['x']"),
            "line 2, column 1: expected a table for 'options', found a list");
}

TEST(Spec, ErrorsOfTomlItselfHaveAPosition) {
  EXPECT_THAT(error_of("[blocks]\natomic = ["), HasSubstr("line 2, column "));
  EXPECT_THAT(error_of("[blocks]\natomic = []\natomic = []"), HasSubstr("line 3, column "));
  EXPECT_THAT(error_of("[blocks]\nx = \"\xFF\""), HasSubstr("line 2, column "));
}

TEST(Spec, AUsersTextIsHarmlessInAMessage) {
  EXPECT_THAT(error_of("\"\\u001b[31m\" = 1"), HasSubstr("unknown key '?[31m'"));
  EXPECT_LT(error_of("\"" + std::string(100'000, 'k') + "\" = 1").size(), 300U);
}

TEST(Spec, LimitsAreErrors) {
  EXPECT_THAT(error_of(std::string(kMaxSpecBytes + 1, '\n')),
              HasSubstr("at most 16777216 are read"));
  std::string many = "[blocks]\natomic = [";
  for (std::size_t i = 0; i <= kMaxSpecEntries; ++i) many += "'f',";
  EXPECT_THAT(error_of(many + "]"), HasSubstr("more than 20000 entries"));
  EXPECT_THAT(error_of("x\n[a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a]"),
              HasSubstr("line 2: more than 16 dots"));
}

TEST(Spec, DotsInStringsAndCommentsDoNotCount) {
  const std::string dots(100, '.');
  EXPECT_EQ(error_of("# it's " + dots + "\n[blocks] # \"" + dots + "\natomic = ['" + dots +
                     "', \"" + dots + "\", \"\\\"" + dots + "\"]\nexclude = ['''" + dots + "\n'" +
                     dots + "''', \"\"\"\n" + dots + "\"\"\"]\n"),
            "");
}

TEST(Spec, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "spec_test_" +
                           std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                           ".toml";
  std::ofstream(path) << kExample;
  EXPECT_TRUE(read_spec(path).ok());
  std::ofstream(path) << std::string(kMaxSpecBytes + 10, ' ');
  EXPECT_THAT(read_spec(path).error().message, HasSubstr("at most 16777216 are read"));
  std::filesystem::remove(path);
  EXPECT_EQ(read_spec(path).error().message, "cannot open: No such file or directory");
  EXPECT_THAT(read_spec(::testing::TempDir()).error().message, HasSubstr("cannot read: "));
}

TEST(HostileSpec, DeepNestingIsAnError) {
  const auto repeat = [](std::string_view text, std::size_t times) {
    std::string result;
    for (std::size_t i = 0; i < times; ++i) result += text;
    return result;
  };
  const std::size_t deep = 200'000;
  EXPECT_NE(error_of("a = " + repeat("[", deep)), "");
  EXPECT_NE(error_of("a = " + repeat("{a=", deep)), "");
  EXPECT_NE(error_of("[" + repeat("a.", deep) + "a]"), "");
  EXPECT_NE(error_of(repeat("a.", deep) + "a = 1"), "");
  EXPECT_NE(error_of(repeat("'a'.", deep) + "a = 1"), "");
  EXPECT_NE(error_of("a = " + repeat("[{a.a.a.a.a.a.a.a.a.a.a.a.a.a=\n", 30'000)), "");
  // As deep as the checks let through.
  std::string just = "a = ";
  for (int i = 0; i < 120; ++i) just += "[\n{a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=";
  just += "1";
  for (int i = 0; i < 120; ++i) just += "}]";
  EXPECT_NE(error_of(just), "");
  EXPECT_NE(error_of(repeat("\"\"\"", deep)), "");
  EXPECT_NE(error_of("'''" + repeat("\n", deep)), "");
}

TEST(HostileSpec, WhatTomlPlusPlusAssertsIsAnError) {
  EXPECT_EQ(error_of("[[[1]]]"), "line 1, column 1: malformed TOML");
  EXPECT_EQ(error_of("[blocks]\n\n[[=\natomic = []\n"), "line 3, column 1: malformed TOML");
}

TEST(HostileSpec, RandomMutationsNeverCrash) {
  std::mt19937 random(3);
  const std::string_view pieces[] = {"[",          "]",        "[[",   "\"",
                                     "\"\"\"",     "'",        "=",    ".",
                                     "{",          "}",        ",",    "\n",
                                     "#",          "\\u",      "\\",   "re:(a*)*",
                                     "1979-05-27", "inf",      "0x",   std::string_view("\0", 1),
                                     "\xFF",       "\xE2\x82", "true", "units"};
  int good = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text(kExample);
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random() % 256); break;
        case 1: text.erase(at, 1 + random() % 10); break;
        case 2: text.insert(at, pieces[random() % std::size(pieces)]); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
      }
      if (text.empty()) text = " ";
    }
    const Result<Spec> spec = parse_spec(text);
    if (spec.ok()) {
      ++good;
    } else {
      ASSERT_EQ(spec.error().message.substr(0, 5), "line ") << spec.error().message;
    }
  }
  EXPECT_GT(good, 1000) << "mutations that leave nothing to parse test nothing";
}

}  // namespace
}  // namespace syndrome::spec
