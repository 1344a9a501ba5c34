// Which names an entry means, and that no pattern and no name can hang or crash us.

#include "spec/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace syndrome::spec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool matches(const std::string& entry, const std::string& name) {
  const Result<Pattern> pattern = Pattern::parse(entry);
  EXPECT_TRUE(pattern.ok()) << entry << ": " << (pattern.ok() ? "" : pattern.error().message);
  return pattern.ok() && pattern->matches(forms_of(name));
}

std::string error_of(const std::string& entry) {
  const Result<Pattern> pattern = Pattern::parse(entry);
  return pattern.ok() ? "" : pattern.error().message;
}

TEST(Forms, OfCppNames) {
  EXPECT_THAT(forms_of("quicksort"), ElementsAre("quicksort"));
  EXPECT_THAT(forms_of(""), ElementsAre(""));
  EXPECT_THAT(forms_of("Account::transfer(int, Account&)"),
              ElementsAre("Account::transfer(int, Account&)", "Account::transfer"));
  EXPECT_THAT(forms_of("Account::balance() const"),
              ElementsAre("Account::balance() const", "Account::balance"));
  EXPECT_THAT(forms_of("f(int) [clone .isra.0]"), ElementsAre("f(int) [clone .isra.0]", "f"));
  EXPECT_THAT(forms_of("g[abi:cxx11](int)"), ElementsAre("g[abi:cxx11](int)", "g[abi:cxx11]"));
  EXPECT_THAT(forms_of("each(void (*)(int))"), ElementsAre("each(void (*)(int))", "each"));
  EXPECT_THAT(forms_of("(anonymous namespace)::f(int)"),
              ElementsAre("(anonymous namespace)::f(int)", "(anonymous namespace)::f"));
  EXPECT_THAT(forms_of("(anonymous namespace)::f"), ElementsAre("(anonymous namespace)::f"));
  EXPECT_THAT(forms_of("bool store::put<int, long>(int) &"),
              ElementsAre("bool store::put<int, long>(int) &", "bool store::put<int, long>",
                          "store::put<int, long>", "store::put<int, long>(int) &"));
  EXPECT_THAT(forms_of("F::operator()(int) const"),
              ElementsAre("F::operator()(int) const", "F::operator()"));
  EXPECT_THAT(forms_of("F::operator()"), ElementsAre("F::operator()"));
  EXPECT_THAT(forms_of("operator new(unsigned long)"),
              ElementsAre("operator new(unsigned long)", "operator new"));
  EXPECT_THAT(forms_of("update the cache"), ElementsAre("update the cache")) << "a label";
}

TEST(Forms, OfJavaNames) {
  EXPECT_THAT(forms_of("test/Test.run()V"),
              ElementsAre("test/Test.run()V", "test/Test.run", "Test.run", "run"));
  EXPECT_THAT(forms_of("a/b/C$D.put(ILjava/lang/String;)[J"),
              ElementsAre("a/b/C$D.put(ILjava/lang/String;)[J", "a/b/C$D.put", "C$D.put", "put"));
  EXPECT_THAT(forms_of("Test.<init>()V"), ElementsAre("Test.<init>()V", "Test.<init>", "<init>"));
  EXPECT_THAT(forms_of("a.b.C.f()Ljava/lang/Object;"),
              ElementsAre("a.b.C.f()Ljava/lang/Object;", "a.b.C.f", "C.f", "f"));
}

TEST(SimpleName, IsTheFunctionAlone) {
  EXPECT_EQ(simple_name("test/Test.run()V"), "run");
  EXPECT_EQ(simple_name("bank::Account::transfer(std::string, int) const"), "transfer");
  EXPECT_EQ(simple_name("std::vector<a::B> make<a::B>(a::B)"), "make<a::B>");
  EXPECT_EQ(simple_name("ns::F::operator()(int)"), "operator()");
  EXPECT_EQ(simple_name("F::operator<<(int)"), "operator<<");
  EXPECT_EQ(simple_name("main"), "main");
  EXPECT_EQ(simple_name("::"), "::");
  EXPECT_EQ(simple_name(""), "");
}

TEST(Pattern, PlainNames) {
  EXPECT_TRUE(matches("Account::transfer", "Account::transfer(int)"));
  EXPECT_TRUE(matches("Account::transfer(int)", "Account::transfer(int)"));
  EXPECT_FALSE(matches("Account::transfer(long)", "Account::transfer(int)"));
  EXPECT_FALSE(matches("Account::trans", "Account::transfer(int)"));
  EXPECT_TRUE(matches("store::put<int>", "bool store::put<int>(int)"));
  for (const char* entry : {"test/Test.run()V", "test/Test.run", "Test.run", "run"}) {
    EXPECT_TRUE(matches(entry, "test/Test.run()V")) << entry;
    EXPECT_FALSE(matches(entry, "test/Test.runner()V")) << entry;
  }
}

TEST(Pattern, ANameMayLeaveOutWhatItIsIn) {
  for (const char* entry : {"transfer", "Account::transfer", "bank::Account::transfer",
                            "::bank::Account::transfer", "transfer(int)"}) {
    EXPECT_TRUE(matches(entry, "bank::Account::transfer(int)")) << entry;
  }
  for (const char* entry : {"::transfer", "::Account::transfer", "nk::Account::transfer", "fer",
                            "Account", "bank::transfer", "transfer(long)", "bank::Account::"}) {
    EXPECT_FALSE(matches(entry, "bank::Account::transfer(int)")) << entry;
  }
  EXPECT_TRUE(matches("::transfer", "transfer(int)"));
  EXPECT_TRUE(matches("work", "(anonymous namespace)::work(int)"));
  EXPECT_FALSE(matches("string", "f(std::string)")) << "a parameter is no name";
  EXPECT_FALSE(matches("Key", "Map<ns::Key>::find(int)")) << "nor is a template argument";
  EXPECT_TRUE(matches("Account::*", "bank::Account::transfer(int)"));
  EXPECT_FALSE(matches("::Account::*", "bank::Account::transfer(int)"));
}

TEST(Pattern, ANameMayLeaveOutTemplateArguments) {
  EXPECT_TRUE(matches("put", "bool store::put<int>(int)"));
  EXPECT_TRUE(matches("store::put", "bool store::put<std::pair<int, a::B> >(int)"));
  EXPECT_TRUE(matches("Map::find", "ns::Map<int, long>::find(int)"));
  EXPECT_TRUE(matches("Map<int, long>::find", "ns::Map<int, long>::find(int)"));
  EXPECT_FALSE(matches("Map<int, int>::find", "ns::Map<int, long>::find(int)"));
  EXPECT_TRUE(matches("Map::*", "ns::Map<int, long>::find(int)"));
  EXPECT_TRUE(matches("Map::f", "Map<void (*)(a<b>)>::f()"));
  EXPECT_FALSE(matches("F::operator", "F::operator<(int)"));
  EXPECT_FALSE(matches("F::operator<", "F::operator<<(int)"));
  EXPECT_TRUE(matches("F::operator<<", "F::operator<<(int)"));
  EXPECT_FALSE(matches("a", "a<b")) << "what does not end is no argument";
}

TEST(Pattern, ANameMayLeaveOutTheMarkOfAnAbi) {
  for (const char* entry : {"get", "Cache::get", "Cache::get(int)", "Cache::get[abi:cxx11]",
                            "Cache::get[abi:cxx11](int)", "Cache::*"}) {
    EXPECT_TRUE(matches(entry, "Cache::get[abi:cxx11](int)")) << entry;
  }
  EXPECT_FALSE(matches("Cache::ge", "Cache::get[abi:cxx11](int)"));
  EXPECT_FALSE(matches("get", "get[abi:cxx11")) << "nothing closes it";
}

TEST(WithoutTemplates, LeavesTheNameAsPeopleSayIt) {
  EXPECT_EQ(without_templates("bool store::put<a::B<int> >(int)"), "store::put");
  EXPECT_EQ(without_templates("Map<int>::find(int) const"), "Map::find");
  EXPECT_EQ(without_templates("F::operator<(int)"), "F::operator<");
  EXPECT_EQ(spoken_name("bool store::put<int>(int)"), "store::put<int>");
  EXPECT_EQ(spoken_name("test/Test.run()V"), "test/Test.run");
}

TEST(Pattern, Globs) {
  EXPECT_TRUE(matches("Account::*", "Account::transfer(int)"));
  EXPECT_TRUE(matches("Account::*", "Account::Log::add"));
  EXPECT_FALSE(matches("Account::*", "SavingsAccount::add"));
  EXPECT_FALSE(matches("Account::*", "Account::")) << "the star is a name";
  EXPECT_TRUE(matches("Account::*", "bool Account::put<int>(int)"));
  EXPECT_TRUE(matches("test/*", "test/Test.run()V"));
  EXPECT_TRUE(matches("Test.*", "test/Test.run()V"));
  EXPECT_FALSE(matches("Vector::operator*", "Vector::operator*=(int)")) << "a name, not a glob";
  EXPECT_TRUE(matches("Vector::operator*", "Vector::operator*(int)"));
}

TEST(Pattern, RegularExpressions) {
  EXPECT_TRUE(matches("re:^store::.*", "store::put(int)"));
  EXPECT_FALSE(matches("re:^store::.*", "my::store::put(int)"));
  EXPECT_TRUE(matches("re:store", "my::store::put(int)")) << "found anywhere";
  EXPECT_TRUE(matches("re:::put$", "my::store::put(int)")) << "in the form without parameters";
  EXPECT_TRUE(matches("re:^run$", "test/Test.run()V"));
  EXPECT_TRUE(matches("re:^(get|set)_[a-z]{1,3}$", "get_abc"));
  EXPECT_FALSE(matches("re:^(get|set)_[a-z]{1,3}$", "get_abcd"));
  EXPECT_TRUE(matches("re:a|b", "xxbxx")) << "the alternatives are inside of what we add";
  EXPECT_TRUE(matches("re:x.*", "a\nx")) << "a name may contain anything";
  EXPECT_FALSE(matches("re:^b", "a\nb")) << "^ is the beginning of the name";
}

TEST(Pattern, RefusesWhatIsMalformed) {
  EXPECT_EQ(error_of(""), "an empty name matches nothing");
  EXPECT_EQ(error_of("re:"), "an empty regular expression matches everything: write re:.*");
  EXPECT_EQ(error_of("re:a("), "malformed regular expression: ( and ) do not match");
  EXPECT_THAT(error_of("re:a)(b"), HasSubstr("malformed regular expression"));
  EXPECT_EQ(error_of("re:[a"), "malformed regular expression: a [ without its ]");
  EXPECT_THAT(error_of("re:*"), HasSubstr("malformed regular expression"));
  EXPECT_EQ(error_of("re:[z-a]"), "malformed regular expression: invalid range in [ ]");
  EXPECT_EQ(error_of("re:a\\"), "malformed regular expression: invalid escape or \\ at the end");
  EXPECT_EQ(error_of("re:(a)\\1"),
            "malformed regular expression: back references are not supported");
  EXPECT_EQ(error_of(std::string(5000, 'a')),
            "the name has 5000 characters, at most 4096 are allowed");
}

TEST(Pattern, RefusesWhatIsTooMuch) {
  EXPECT_EQ(error_of("re:" + std::string(256, 'a')), "");
  EXPECT_EQ(error_of("re:" + std::string(257, 'a')),
            "the regular expression has 257 characters, at most 256 are allowed");
  EXPECT_THAT(error_of("re:(?=a)"), HasSubstr("look-ahead"));
  EXPECT_THAT(error_of("re:(?!a)"), HasSubstr("look-ahead"));
  EXPECT_THAT(error_of("re:(a?){30000}"), HasSubstr("the repetitions {n} multiply"));
  EXPECT_THAT(error_of("re:((a{20}){20}){20}"), HasSubstr("the repetitions {n} multiply"));
  EXPECT_THAT(error_of("re:a{99999999999999999999}"), HasSubstr("the repetitions {n} multiply"));
  EXPECT_THAT(error_of("re:a{1,9999}"), HasSubstr("the repetitions {n} multiply"));
  EXPECT_EQ(error_of("re:a\\{9999"), "") << "an escaped brace repeats nothing";
}

// Each of these takes longer than the universe is old, or overflows the stack, in a matcher that
// backtracks.
TEST(Pattern, HostileExpressionsEnd) {
  const std::string subject(kMaxSubjectLength * 2, 'a');
  std::string nested = "a";
  for (int i = 0; i < 60; ++i) nested = "(" + nested + ")*";
  const std::string expressions[] = {
      "(a*)*b",        "(a|aa)+$b",  "(a|a)*b",          "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)b",
      "((a?){8}){8}b", nested + "b", "(a+)+(a+)+(a+)+b",
  };
  for (const std::string& expression : expressions) {
    EXPECT_FALSE(matches("re:" + expression, subject)) << expression;
  }
}

TEST(Pattern, RandomExpressionsAndNamesNeverCrash) {
  std::mt19937 random(5);
  const std::string alphabet = "ab(?:)[]{}^$|*+.\\1,-9=!<> :/;LV&~";
  const auto text = [&](std::size_t longest) {
    std::string made(random() % longest, ' ');
    for (char& c : made) c = alphabet[random() % alphabet.size()];
    return made;
  };
  int valid = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string name = text(40);
    const Result<Pattern> pattern = Pattern::parse((round % 2 == 0 ? "re:" : "") + text(12));
    if (!pattern.ok()) continue;
    ++valid;
    (void)pattern->matches(forms_of(name));
    (void)simple_name(name);
  }
  EXPECT_GT(valid, 5'000);
}

}  // namespace
}  // namespace syndrome::spec
