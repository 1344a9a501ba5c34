// Guards against: a spec that cannot be read back, or that says another thing than was learned.

#include "report/refined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "check/testing.h"
#include "spec/spec.h"

namespace syndrome::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

check::Refinement learned(std::string_view text) {
  const check::SmallTrace trace = check::from_std(text);
  check::Refinement refinement;
  refinement.begin_run();
  check::Refinement::Options options;
  options.explain = [](const check::PassResult& pass) { return reasons_of("t.std", pass); };
  const auto outcome = refinement.add(check::opener_of(trace), trace::Format::kStd, options);
  EXPECT_TRUE(outcome.ok());
  return refinement;
}

constexpr std::string_view kRun = R"(
    T1|enter(main)|a.c:1:1
    T1|enter(bank::transfer(int))|a.c:2:1
    T1|r(x@7ffe00)|a.c:3:1
    T2|begin(pay "now")|a.c:4:1
    T2|w(x@7ffe00)|a.c:5:1
    T2|end(pay "now")|a.c:6:1
    T1|w(x@7ffe00)|a.c:7:1
    T1|exit(bank::transfer(int))|a.c:8:1
    T1|enter(bank::audit(int))|a.c:9:1
    T1|exit(bank::audit(int))|a.c:9:1
    T1|enter(bank::audit(long))|a.c:9:1
    T1|exit(bank::audit(long))|a.c:9:1
    T1|exit(main)|a.c:9:1)";

TEST(Refined, is_a_spec) {
  RefinedFrom from{"./prog", 2, 0, false};
  const std::string text = to_spec(learned(kRun), from);
  const Result<spec::Spec> spec = spec::parse_spec(text);
  ASSERT_TRUE(spec.ok()) << spec.error().message << "\n" << text;
  std::set<std::string> atomic;
  for (const spec::Entry& entry : *spec->blocks.atomic) atomic.insert(entry.pattern.text());
  EXPECT_EQ(atomic, (std::set<std::string>{"bank::audit", "pay \"now\""}));
  std::set<std::string> exclude;
  for (const spec::Entry& entry : spec->blocks.exclude) exclude.insert(entry.pattern.text());
  EXPECT_EQ(exclude, (std::set<std::string>{"bank::transfer", "main"}));
  EXPECT_THAT(text,
              AllOf(HasSubstr("T1 reads x (a.c:3) before T2 writes it (a.c:5)"),
                    HasSubstr("at the same data (2\n"), HasSubstr("NOT STABLE"),
                    HasSubstr("2 more runs failed and were left out"), Not(HasSubstr("7ffe00"))));
}

TEST(Refined, says_the_same_in_json) {
  const nlohmann::json document =
      nlohmann::json::parse(to_refined_json(learned(kRun), {"r", 0, 1}));
  EXPECT_EQ(document["atomic"].size(), 2U);
  EXPECT_EQ(document["atomic"][0]["entry"], "bank::audit");
  EXPECT_EQ(document["atomic"][0]["functions"].size(), 2U);
  EXPECT_EQ(document["exclude"][0]["why"], "violated");
  EXPECT_EQ(document["exclude"][1]["why"], "main");
  EXPECT_EQ(document["runs"]["quiet"], 1);
}

TEST(Refined, a_name_cannot_break_out_of_its_comment) {
  check::Refinement refinement = learned("T1|begin(f\x01\"]x)|a.c:1\nT1|end(f\x01\"]x)|a.c:1");
  const std::string text = to_spec(refinement, {"./a\nexclude = [1]\n", 0, 1});
  EXPECT_TRUE(spec::parse_spec(text).ok()) << text;
  EXPECT_THAT(text, HasSubstr("cannot be named"));
}

}  // namespace
}  // namespace syndrome::report
