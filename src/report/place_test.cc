// Guards against: a location that is cut in the wrong place and points into another file.

#include "report/place.h"

#include <gtest/gtest.h>

#include <string>

namespace syndrome::report {
namespace {

TEST(Place, file_line_column_and_function) {
  const Place place = parse_place("src/bank.cc:12:5 Account::transfer(int, long)");
  EXPECT_EQ(place.file, "src/bank.cc");
  EXPECT_EQ(place.line, 12U);
  EXPECT_EQ(place.column, 5U);
  EXPECT_EQ(place.function, "Account::transfer(int, long)");
  EXPECT_EQ(short_text(place), "bank.cc:12");
}

TEST(Place, a_column_and_a_function_may_be_missing) {
  const Place place = parse_place("C:/x.cc:7");
  EXPECT_EQ(place.file, "C:/x.cc");
  EXPECT_EQ(place.line, 7U);
  EXPECT_EQ(place.column, 0U);
  EXPECT_EQ(place.function, "");
}

TEST(Place, empty_and_0_are_unknown) {
  EXPECT_FALSE(parse_place("").known());
  EXPECT_FALSE(parse_place("0").known());
}

TEST(Place, anything_else_is_kept_as_it_is) {
  for (const std::string text :
       {"1234", "somewhere", "a.cc:", ":12", "a.cc:x", "a.cc:0", "a.cc:012", "a.cc:-1", "a.cc:+1",
        "a.cc:99999999999", "a.cc:1 ", "a.cc :1", "a.cc:1:"}) {
    const Place place = parse_place(text);
    EXPECT_EQ(place.file, "") << text;
    EXPECT_EQ(place.text, text);
    EXPECT_EQ(short_text(place), text);
  }
}

TEST(Place, what_was_taken_apart_can_be_put_together_again) {
  for (const std::string text : {"a.cc:1", "a.cc:1:2", "a.cc:1 f", "a.cc:1:2 f g", "a:b:3:4 x"}) {
    const Place place = parse_place(text);
    ASSERT_FALSE(place.file.empty()) << text;
    EXPECT_EQ(place_text(place.file, place.line, place.column, place.function), text);
  }
}

}  // namespace
}  // namespace syndrome::report
