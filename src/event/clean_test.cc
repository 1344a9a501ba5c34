// Guards against: a name in a trace that acts on the terminal of whoever reads about it.

#include "event/clean.h"

#include <gtest/gtest.h>

#include <string>

namespace syndrome {
namespace {

TEST(Clean, what_acts_on_the_display_is_replaced) {
  EXPECT_EQ(clean("x \xE2\x80\xAE y"), "x \xEF\xBF\xBD y");
  EXPECT_EQ(clean("\x1B[31m\r\n\t\x7F"),
            "\xEF\xBF\xBD[31m\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  // C1: CSI as one character, and as a byte that is not UTF-8; U+061C, U+2066, U+E0041.
  for (const char* bad : {"\xC2\x9B", "\x9B", "\xD8\x9C", "\xE2\x81\xA6", "\xF3\xA0\x81\x81"}) {
    EXPECT_FALSE(is_clean(bad));
    EXPECT_TRUE(is_clean(clean(bad)));
  }
  EXPECT_EQ(clean(std::string("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(Clean, other_text_stays) {
  for (const char* good : {"", "x",
                           "Gr\xC3\xB6\xC3\x9F"
                           "e",
                           "\xE5\x8F\xA3\xE5\xBA\xA7", "\xF0\x9F\x90\x9B", "operator<< <int>(…)",
                           "std::vector<int>::size"}) {
    EXPECT_TRUE(is_clean(good)) << good;
    EXPECT_EQ(clean(good), good);
    EXPECT_EQ(clean_json(good), good);
  }
  EXPECT_EQ(clean_lines("a\n\tb\r\n"), "a\n\tb\xEF\xBF\xBD\n");
}

TEST(Clean, json_keeps_its_meaning) {
  EXPECT_EQ(clean_json("{\n \"x\": \"\xE2\x80\xAE\xF3\xA0\x81\x81\"\n}"),
            "{\n \"x\": \"\\u202e\\udb40\\udc41\"\n}");
}

}  // namespace
}  // namespace syndrome
