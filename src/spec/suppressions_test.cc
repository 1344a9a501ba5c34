// Guards against: a line that silently does nothing, a pattern that means another thing than in
// ThreadSanitizer, a file that makes us hang.

#include "spec/suppressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace syndrome::spec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool matches(std::string_view pattern, std::string_view name) {
  return Wildcard(pattern).matches(name);
}

/// The definition: a star is any text, and there is one at each end that has no anchor.
/// Exponential.
bool slow_match(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*') {
    return !name.empty() && name[0] == pattern[0] && slow_match(pattern.substr(1), name.substr(1));
  }
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (slow_match(pattern.substr(1), name.substr(i))) return true;
  }
  return false;
}

bool by_definition(std::string pattern, std::string_view name) {
  pattern = pattern.starts_with('^') ? pattern.substr(1) : "*" + pattern;
  if (pattern.ends_with('$')) {
    pattern.pop_back();
  } else {
    pattern += '*';
  }
  return slow_match(pattern, name);
}

TEST(Wildcard, is_found_anywhere_unless_anchored) {
  EXPECT_TRUE(matches("add", "Counter::add(int)"));
  EXPECT_FALSE(matches("^add", "Counter::add(int)"));
  EXPECT_FALSE(matches("add$", "Counter::add(int)"));
  EXPECT_TRUE(matches("^Counter::add", "Counter::add(int)"));
  EXPECT_TRUE(matches("^Counter*int)$", "Counter::add(int)"));
  EXPECT_FALSE(matches("^Counter::add$", "Counter::add(int)"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("^$", ""));
  EXPECT_FALSE(matches("^$", "x"));
  // What two pieces stand on may not overlap.
  EXPECT_FALSE(matches("^aba*aba$", "ababa"));
  EXPECT_TRUE(matches("^aba*aba$", "abaaba"));
  // In the middle, the anchors stand for themselves.
  EXPECT_TRUE(matches("main::$_0", "main::$_0::operator()() const"));
  EXPECT_TRUE(matches("operator^=", "Set::operator^=(Set)"));
}

TEST(Wildcard, agrees_with_its_definition) {
  std::mt19937 random(7);
  int matched = 0;
  for (int i = 0; i < 50'000; ++i) {
    const auto text = [&random](std::string_view letters, std::size_t most) {
      std::string result(random() % (most + 1), ' ');
      for (char& c : result) c = letters[random() % letters.size()];
      return result;
    };
    std::string pattern = text("aab*", 7);
    if (random() % 4 == 0) pattern.insert(0, "^");
    if (random() % 4 == 0) pattern += '$';
    const std::string name = text("aab", 10);
    const bool expected = by_definition(pattern, name);
    matched += expected ? 1 : 0;
    ASSERT_EQ(matches(pattern, name), expected) << pattern << " on " << name;
  }
  EXPECT_GT(matched, 10'000);
  EXPECT_LT(matched, 40'000);
}

TEST(Wildcard, takes_linear_time) {
  // A backtracking matcher would not come back; one that searches naively would take an hour.
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "aaa*";
  const std::string almost(2000, 'a');
  EXPECT_FALSE(matches(pattern + almost + "b", std::string(1'000'000, 'a')));
  EXPECT_TRUE(matches(pattern + almost + "a", std::string(1'000'000, 'a')));
}

TEST(Suppressions, are_read_as_tsan_reads_them) {
  const Result<std::vector<Suppression>> read = parse_suppressions(
      "# known\n"
      "\n"
      "  race:third_party/*.cc \t\r\n"
      "conflict-cycle:^Cache::refresh$\n"
      "deadlock:whatever\n"
      "atomicity:Pool::*");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 4U);
  EXPECT_EQ((*read)[0].text, "race:third_party/*.cc");
  EXPECT_EQ((*read)[0].line, 3U);
  EXPECT_TRUE((*read)[0].about("races", "race"));
  EXPECT_FALSE((*read)[0].about("atomicity", "conflict-cycle"));
  EXPECT_TRUE((*read)[0].pattern.matches("/src/third_party/zip.cc"));
  EXPECT_EQ((*read)[1].kind, "conflict-cycle");
  EXPECT_TRUE((*read)[1].pattern.matches("Cache::refresh"));
  EXPECT_TRUE((*read)[1].about("atomicity", "conflict-cycle"));
  EXPECT_FALSE((*read)[2].about("races", "race"));
  EXPECT_TRUE((*read)[3].about("atomicity", "conflict-cycle"));
}

TEST(Suppressions, know_tsans_kinds) {
  const Result<std::vector<Suppression>> read =
      parse_suppressions("race_top:f\ncalled_from_lib:libz.so\nthread:t\nmutex:m\nsignal:s\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE((*read)[0].about("races", "race"));
  EXPECT_TRUE((*read)[0].innermost_only());
  EXPECT_FALSE((*read)[0].files_only());
  EXPECT_TRUE((*read)[1].about("races", "race"));
  EXPECT_TRUE((*read)[1].about("atomicity", "conflict-cycle"));
  EXPECT_TRUE((*read)[1].files_only());
  for (std::size_t i = 2; i < 5; ++i) EXPECT_FALSE((*read)[i].about("races", "race")) << i;
}

TEST(Suppressions, what_is_wrong_is_said_with_its_line) {
  const auto error = [](std::string_view text) {
    const Result<std::vector<Suppression>> read = parse_suppressions(text);
    return read ? std::string("no error") : read.error().message;
  };
  EXPECT_THAT(error("race:a\nraces_top:b\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("'races_top'"), HasSubstr("'race_top'"),
                    HasSubstr("conflict-in-block"), HasSubstr("deadlock")));
  EXPECT_THAT(error("\nCache::refresh\n"), AllOf(HasSubstr("line 2"), HasSubstr("'Cache'")));
  EXPECT_THAT(error("just words"), AllOf(HasSubstr("line 1"), HasSubstr("KIND:PATTERN")));
  EXPECT_THAT(error("race:"), AllOf(HasSubstr("line 1"), HasSubstr("pattern")));
  EXPECT_THAT(error("race:" + std::string(kMaxSuppressionLine, 'x')), HasSubstr("line 1"));
  EXPECT_THAT(error(std::string(kMaxSuppressionBytes + 1, '\n')), HasSubstr("bytes"));
  std::string many;
  for (std::size_t i = 0; i <= kMaxSuppressions; ++i) many += "race:x\n";
  EXPECT_THAT(error(many), HasSubstr("line 10001"));
  EXPECT_FALSE(read_suppressions("no/such/file").ok());
}

TEST(Suppressions, any_bytes_are_an_error_or_a_list) {
  std::mt19937 random(11);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "race:a*b\n# c\n\tmutex:^x$\n";
    for (auto changes = random() % 6; changes > 0; --changes) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    const Result<std::vector<Suppression>> result = parse_suppressions(text);
    if (!result) {
      EXPECT_THAT(result.error().message, HasSubstr("line "));
      continue;
    }
    ++read;
    for (const Suppression& one : *result) {
      EXPECT_EQ(one.text.substr(0, one.kind.size() + 1), one.kind + ":");
      (void)one.pattern.matches(text);
    }
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace syndrome::spec
