// syndrome cc and syndrome c++ as compiler and linker: what a build system or a ./configure sees.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kMain = "int answer(void);\nint main(void) { return answer() - 42; }\n";
constexpr const char* kAnswer = "int value = 42;\nint answer(void) { return value; }\n";

class Drivers : public testing::Test {
 protected:
  Drivers() {
    shell_.write("main.c", kMain);
    shell_.write("answer.c", kAnswer);
  }

  void succeeds(const std::string& script) const {
    const Outcome outcome = shell_.run("set -e\n" + script);
    EXPECT_EQ(outcome.code, 0) << script << "\n" << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty()) << script;
  }

  void same_as_clang(const std::string& arguments) const {
    const Outcome ours = shell_.run("syndrome-cc " + arguments);
    const Outcome clang = shell_.run("clang-19 " + arguments);
    EXPECT_EQ(ours.code, clang.code) << arguments;
    EXPECT_EQ(ours.out, clang.out) << arguments;
    EXPECT_EQ(ours.err, clang.err) << arguments;
  }

  const Shell shell_;
};

TEST_F(Drivers, CompileAndLinkInOneStepAndInTwo) {
  succeeds("syndrome cc -Wall -Wextra -Werror main.c answer.c -o t && ./t");
  succeeds("syndrome-cc -Werror -c main.c && syndrome cc -Werror -c answer.c -o a.o");
  succeeds("syndrome cc -Werror main.o a.o -o t && ./t");
}

TEST_F(Drivers, StaticAndSharedLibraries) {
  succeeds(
      "syndrome cc -fPIC -c answer.c && ar rcs libanswer.a answer.o\n"
      "syndrome cc main.c -L. -lanswer -o t && ./t");
  succeeds(
      "rm -f libanswer.a; syndrome cc -fPIC -shared answer.c -o libanswer.so -Wl,-z,defs\n"
      "syndrome cc main.c -L. -lanswer -Wl,-rpath,. -o t && ./t");
  EXPECT_THAT(shell_.run("readelf -d libanswer.so").out, HasSubstr("libsyndrome_rt.so"));
  succeeds("syndrome cc -r main.c answer.c -nostdlib -o both.o && syndrome cc both.o -o t && ./t");
}

TEST_F(Drivers, TheRuntimeIsTheFirstLibrary) {
  succeeds("syndrome cc -Wl,--as-needed main.c answer.c -lm -o t");
  const std::string dynamic = shell_.run("readelf -d t").out;
  ASSERT_THAT(dynamic, HasSubstr("libsyndrome_rt.so"));
  EXPECT_LT(dynamic.find("libsyndrome_rt.so"), dynamic.find("libc.so"));
}

TEST_F(Drivers, ResponseFilesAndStandardInput) {
  shell_.write("args", "-c 'main.c'\n-o \"m ain.o\"");
  succeeds("syndrome cc @args && syndrome cc -x c -c - -o a.o < answer.c");
  shell_.write("link", "a.o m\\ ain.o -o t");
  succeeds("syndrome cc @link && ./t");
}

TEST_F(Drivers, LinkTimeOptimization) {
  succeeds("syndrome cc -O2 -flto -fuse-ld=lld main.c answer.c -o t && ./t");
  succeeds("syndrome cc -O2 -flto=thin -fuse-ld=lld main.c answer.c -o t && ./t");
  EXPECT_THAT(shell_.run("nm -D t").out, HasSubstr("__syndrome_unit"));
}

TEST_F(Drivers, AssemblerAndOtherLanguages) {
  shell_.write("s.S",
               "#define NAME answer\n.globl NAME\nNAME: movl $42, %eax\nret\n"
               ".section .note.GNU-stack\n");
  shell_.write("m.cc", "extern \"C\" int answer(); int main() { return answer() - 42; }\n");
  succeeds("syndrome cc -c s.S -o s.o && syndrome c++ -static-libstdc++ m.cc s.o -o t && ./t");
}

TEST_F(Drivers, DependenciesAndPreprocessingAreClangs) {
  for (const char* arguments :
       {"-E main.c", "-E -P -dD answer.c", "-M main.c", "-MM main.c", "-E -x c - < answer.c"}) {
    same_as_clang(arguments);
  }
  succeeds(
      "syndrome cc -MD -MF ours.d -c main.c && clang-19 -MD -MF clangs.d -c main.c\n"
      "cmp ours.d clangs.d");
}

TEST_F(Drivers, QuestionsAreAnsweredByClang) {
  for (const char* arguments :
       {"--version", "-v", "-dumpversion", "-dumpmachine", "-print-search-dirs",
        "-print-prog-name=ld", "-print-file-name=libc.so", "-print-resource-dir", "", "missing.c",
        "-c missing.c", "--no-such-option main.c", "-fsyntax-only main.c", "-V", "-qversion"}) {
    same_as_clang(arguments);
  }
}

TEST_F(Drivers, ErrorsAndWarningsAreClangs) {
  shell_.write("bad.c", "int f(void) { int unused; return }\n");
  same_as_clang("-Wall -c bad.c");
  shell_.write("warn.c", "int f(void) { int unused; return 0; }\n");
  same_as_clang("-Wall -c warn.c -o /dev/null");
  same_as_clang("-Wall -Werror -c warn.c -o /dev/null");
  // The linker is clang's too; only its temporary files have other names.
  EXPECT_NE(shell_.run("syndrome cc main.c -o t").code, 0);
}

TEST_F(Drivers, NeitherStaticNorOtherRuntimes) {
  const Outcome fully_static = shell_.run("syndrome cc -static main.c answer.c -o t");
  EXPECT_EQ(fully_static.code, 1);
  EXPECT_THAT(fully_static.err, HasSubstr("fully static program"));
  EXPECT_EQ(shell_.run("syndrome cc -static-pie main.c answer.c -o t").code, 1);
  succeeds("syndrome cc -static -c answer.c");
  const Outcome tsan = shell_.run("syndrome cc -fsanitize=undefined,thread -c main.c");
  EXPECT_EQ(tsan.code, 1);
  EXPECT_THAT(tsan.err, HasSubstr("-fsanitize=thread"));
  EXPECT_EQ(shell_.run("syndrome cc -fsanitize=address -c main.c").code, 1);
  succeeds("syndrome cc -fsanitize=address -fno-sanitize=all -c main.c");
}

TEST_F(Drivers, UndefinedBehaviourSanitizerThatTrapsWorksBeside) {
  succeeds(
      "syndrome cc -fsanitize=undefined -fsanitize-trap=undefined main.c answer.c -o t && ./t");
}

TEST_F(Drivers, ModesAndHelp) {
  succeeds("syndrome cc --syndrome-mode=fast -O2 main.c answer.c -o t && ./t");
  const Outcome wrong = shell_.run("syndrome cc --syndrome-mode=quick -c main.c");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("source or fast"));
  EXPECT_THAT(shell_.run("syndrome-cc --syndrome-help").out, HasSubstr("--syndrome-mode"));
  EXPECT_THAT(shell_.run("syndrome c++ --help").out, HasSubstr("Example"));
}

TEST_F(Drivers, AMissingClangIsSaid) {
  const Outcome outcome = shell_.run("SYNDROME_CLANG=/no/such/clang syndrome cc -c main.c");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/no/such/clang could not be started"));
}

// What ./configure asks: does it compile, does it link, does it run, is a header or function there?
TEST_F(Drivers, ProbesOfAConfigureScript) {
  shell_.write("conftest.c",
               "#include <pthread.h>\n#include <stdio.h>\n"
               "int main(void) { return ferror(stdout) || pthread_self() == 0; }\n");
  succeeds("syndrome cc -g -O2 -o conftest conftest.c -lpthread && ./conftest");
  shell_.write("confmissing.c",
               "char no_such_function();\nint main(void) { return no_such_function(); }\n");
  EXPECT_NE(shell_.run("syndrome cc -o conftest confmissing.c").code, 0);
  shell_.write("size.c",
               "static int test_array[1 - 2 * !(sizeof(long) == 8)];\n"
               "int main(void) { return test_array[0]; }\n");
  succeeds("syndrome cc -c size.c");
  // Flags: -Werror with one that clang does not know must fail, with a known one it must not.
  EXPECT_NE(shell_.run("syndrome cc -Werror -fno-such-flag -c size.c").code, 0);
  succeeds("syndrome cc -Werror -fstack-protector-strong -c size.c");
}

}  // namespace
}  // namespace syndrome::test
