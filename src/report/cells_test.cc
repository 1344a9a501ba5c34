// Guards against: a name in a trace that moves the cursor, breaks a column or a line of 80.

#include "report/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace syndrome::report {
namespace {

using ::testing::ElementsAre;

TEST(Cells, control_characters_and_broken_utf8_do_not_get_through) {
  EXPECT_EQ(clean("plain µ 漢"), "plain µ 漢");
  EXPECT_EQ(clean("\x1b[31m"), "�[31m");
  EXPECT_EQ(clean("a\nb\tc\x7f"), "a�b�c�");
  EXPECT_EQ(clean("\xff\xfe"), "��");
  EXPECT_EQ(clean("\xc2\x9b"), "�") << "C1 control";
  EXPECT_EQ(clean("\xe2\x80\xae"), "�") << "right-to-left override";
  EXPECT_EQ(clean("\xe2\x82"), "��") << "cut off";
  EXPECT_EQ(clean("\xc0\xaf"), "��") << "overlong";
  EXPECT_EQ(clean("\xed\xa0\x80"), "���") << "surrogate";
  EXPECT_EQ(clean("\xf4\x90\x80\x80"), "����") << "beyond the last character";
}

TEST(Cells, width_counts_columns) {
  EXPECT_EQ(width(""), 0U);
  EXPECT_EQ(width("abc"), 3U);
  EXPECT_EQ(width("µ…"), 2U);
  EXPECT_EQ(width("漢字"), 4U);
  EXPECT_EQ(width("e\xcc\x81"), 1U) << "combining accent";
}

TEST(Cells, fit_cuts_at_the_end_and_fit_tail_at_the_front) {
  EXPECT_EQ(fit("balance", 7), "balance");
  EXPECT_EQ(fit("balance", 4), "bal…");
  EXPECT_EQ(fit("balance", 0), "");
  EXPECT_EQ(fit("漢字漢字", 4), "漢…");
  EXPECT_EQ(fit_tail("balance", 4), "…nce");
  EXPECT_EQ(fit_tail("漢字漢字", 4), "…字");
  EXPECT_EQ(pad("漢", 4), "漢  ");
}

TEST(Cells, a_name_loses_its_namespaces_first) {
  EXPECT_EQ(fit_name("bank::Account::balance", 22), "bank::Account::balance");
  EXPECT_EQ(fit_name("bank::Account::balance", 19), "…::Account::balance");
  EXPECT_EQ(fit_name("bank::Account::balance", 18), "…::balance");
  EXPECT_EQ(fit_name("bank::Account::balance", 5), "…ance");
}

TEST(Cells, lines_break_at_spaces_or_inside_what_is_too_long) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("abcdefghij kl", 4), ElementsAre("abcd", "efgh", "ij", "kl"));
  EXPECT_THAT(wrap("", 4), ElementsAre(""));
}

}  // namespace
}  // namespace syndrome::report
