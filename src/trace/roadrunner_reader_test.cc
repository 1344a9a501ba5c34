#include "trace/roadrunner_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/text_testing.h"

namespace syndrome::trace {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::read_whole;
using testing::Whole;

Whole read(std::string_view text) {
  return read_whole(*read_roadrunner(bytes_of(text)));
}

TEST(RoadRunnerReader, ReadsTheEventsBetweenOtherOutput) {
  const Whole whole = read(
      "[main: RoadRunner starts]\n"
      "@ Enter(0,test/Test.main([Ljava/lang/String;)V)\n"
      "  program output\n"
      "@ Start(0,1)\n"
      "@   Enter(1,test/Test.run()V) from Test.java:3:1\n"
      "@ Acquire(1,@03)\n"
      "@ Rd(1,null.test/Test.x_I)  field  Test.java:12:5\n"
      "@ Wr(1,null.test/Test.x_I)  field  Test.java:12:9\n"
      "@ Release(1,@03)\r\n"
      "@ ARd(1,@05[3])  array  Test.java:20:1\n"
      "@ AWr(1,@05[4])  array  Test.java:20:1\n"
      "@ Exit(1,test/Test.run()V)\n"
      "@ Join(0,1)\n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text,
            "0|enter(test/Test.main([Ljava/lang/String;)V)|0\n"
            "0|fork(1)|0\n"
            "1|enter(test/Test.run()V)|Test.java:3:1\n"
            "1|acq(@03)|0\n"
            "1|r(null.test/Test.x_I)|Test.java:12:5\n"
            "1|w(null.test/Test.x_I)|Test.java:12:9\n"
            "1|rel(@03)|0\n"
            "1|r(@05[3])|Test.java:20:1\n"
            "1|w(@05[4])|Test.java:20:1\n"
            "1|exit(test/Test.run()V)|0\n"
            "0|join(1)|0\n");
  EXPECT_TRUE(whole.warnings.empty());
}

TEST(RoadRunnerReader, FindsTheClosingParenthesis) {
  const Whole whole = read(
      "@ Enter(0,test/Test.f(II)V) from (x) Test.java:1:2\n"
      "@ Rd(0,@05.a/B.c_I)[old (1)]  (0:1)  Test.java:7:8\n"
      "@ Wr(0,@05.a/B.c_I)[1 -> :-) ]  kind (a)\n"
      "@ Enter(0,odd(name) x Test.java:9\n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text,
            "0|enter(test/Test.f(II)V)|Test.java:1:2\n"
            "0|r(@05.a/B.c_I)|Test.java:7:8\n"
            "0|w(@05.a/B.c_I)|0\n"
            "0|enter(odd(name)|Test.java:9\n");
}

// The Print tool writes these before and after the call.
TEST(RoadRunnerReader, ReadsDoubledCallsAsOne) {
  const Whole whole = read(
      "@ Start(0,1)\n"
      "@ Rd(1,x) \n"
      "@ Start(0,1)\n"
      "@ Acquire(0,@01)\n"
      "@ Wait(0,@01)\n"
      "@ Acquire(1,@01)\n"
      "@ Notify(1,@01,true)\n"
      "@ Notify(1,@01,true)\n"
      "@ Release(1,@01)\n"
      "@ Wait(0,@01)\n"
      "@ Release(0,@01)\n"
      "@ Join(0,1)\n"
      "@ Wr(1,x)\n"
      "@ Join(0,1)\n"
      "@ Sleep(0)\n"
      "@ ClassInited(0,a/B)\n"
      "@ Sleep(0)\n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text,
            "0|fork(1)|0\n1|r(x)|0\n0|acq(@01)|0\n0|rel(@01)|0\n1|acq(@01)|0\n"
            "1|cond_broadcast(@01)|0\n1|rel(@01)|0\n0|cond_wait(@01)|0\n0|acq(@01)|0\n"
            "0|rel(@01)|0\n1|w(x)|0\n0|join(1)|0\n");
  EXPECT_THAT(whole.warnings,
              ElementsAre("passed over events that no check uses: 2 Sleep, 1 ClassInited",
                          "4 Start, Join, Wait or Notify lines are in the log twice, before and "
                          "after the call; each pair was read as one call"));
}

TEST(RoadRunnerReader, SkipsNotes) {
  const Whole whole = read(
      "@ Thread[1] started by Thread[0].\n@ test acquire @03\n@   stopped Thread[1]\n"
      "@ pre  sleep\n@ VWr(0,x)\n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text, "0|w(x)|0\n");
}

TEST(RoadRunnerReader, SaysWhatIsWrongWithALine) {
  const std::string_view expected =
      "expected an event such as Enter, Exit, Start, Join, Acquire, Release, Rd or Wr with "
      "(thread,target), found ";
  const std::pair<std::string_view, std::string> cases[] = {
      {"@ Rd(0,x)\n@ Aquire(0,x)\n",
       "line 2: " + std::string(expected) + "'Aquire(0,x)'; did you mean 'Acquire'?"},
      {"@\n", "line 1: " + std::string(expected) + "''"},
      {"@ Rd\n", "line 1: " + std::string(expected) + "'Rd'; did you mean 'Rd'?"},
      {"@ Rd(0,x\n", "line 1: expected ')' after the target, found 'Rd(0,x'"},
      {"@ Rd(x,0)\n", "line 1: expected the number of a thread, found 'x'"},
      {"@ Rd(0)\n", "line 1: expected Rd(thread,target), found 'Rd(0)'"},
      {"@ Rd(0,)\n", "line 1: expected Rd(thread,target), found 'Rd(0,)'"},
      {"@ Start(0,one)\n", "line 1: expected the number of a thread, found 'one'"},
      {"@ Acquire(0,\x01)\n",
       "line 1: expected printable text as the name of a lock, found '\\x01'"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(read(text).error, message) << text;
}

TEST(RoadRunnerReader, KnowsItsOwn) {
  EXPECT_TRUE(looks_like_roadrunner("hello\n@    Enter(0,x)\n"));
  EXPECT_FALSE(looks_like_roadrunner("hello\n@ someone (0,x)\n"));
  EXPECT_FALSE(looks_like_roadrunner(" @ Rd(0,x)\n"));
  EXPECT_FALSE(looks_like_roadrunner(""));
}

}  // namespace
}  // namespace syndrome::trace
