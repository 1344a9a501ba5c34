// Enter and exit, also by exception and longjmp; leaves; annotations.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event/unit.h"
#include "instrument/compile.h"

namespace syndrome::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

constexpr std::string_view kProbe = "__syndrome_full";

TEST(Functions, AGetterIsALeaf) {
  const Compiled code(R"(int g, h;
int getter() { return g; }
int two() { return g + h; }
int loop(int* p) { int s = 0; while (s < 9) s += *p; return s; }
int silent(int x) { return x; }
int calls_silent() { return silent(1) + g; }
)");
  EXPECT_EQ(code.function("_Z6getterv").flags, unit::kLeafOnly);
  EXPECT_EQ(code.function("_Z3twov").flags, 0u);
  EXPECT_EQ(code.function("_Z4loopPi").flags, 0u) << "a leaf ends after its access";
  EXPECT_EQ(code.function("_Z6silenti").flags, ~0u);
  EXPECT_EQ(code.function("_Z12calls_silentv").flags, unit::kLeafOnly);
}

TEST(Functions, ExitsAlsoByException) {
  const std::string llvm =
      llvm_code("int g; void may_throw(); void f() { g = 1; may_throw(); }", "-O0");
  const std::string body = llvm.substr(llvm.find("define"), llvm.find("\n}") - llvm.find("define"));
  EXPECT_EQ(count(body, kProbe), 4u) << body;  // enter, the write, two exits
  EXPECT_THAT(body, HasSubstr("landingpad"));
  EXPECT_THAT(body, HasSubstr("__gxx_personality_v0"));
  const std::string quiet =
      llvm_code("int g; void none() noexcept; void f() { g = 1; none(); }", "-O0");
  EXPECT_THAT(quiet, Not(HasSubstr("landingpad")));
}

TEST(Functions, SetjmpGivesTheFrameANumber) {
  const std::string llvm = llvm_code(
      "#include <csetjmp>\njmp_buf b; int g; int f() { if (setjmp(b)) return g; g = 1; return 0; }",
      "-O0");
  EXPECT_EQ(count(llvm, "call i64 @__syndrome_frame()"), 1u);
  EXPECT_EQ(count(llvm, "call void @__syndrome_resume("), 1u);
}

TEST(Functions, AnnotationsBecomeFlags) {
  const Compiled code(R"(#include <syndrome/syndrome.h>
int g;
SYNDROME_ATOMIC void a() { g = 1; }
SYNDROME_DETERMINISTIC void d() { g = 1; }
SYNDROME_UNIT(S1, S2) void u() { g = 1; }
struct Account { SYNDROME_ATOMIC void deposit() { ++n; } int n; };
void use(Account& x) { x.deposit(); }
)");
  EXPECT_EQ(code.function("_Z1av").flags, unit::kAtomic);
  EXPECT_EQ(code.function("_Z1dv").flags, unit::kDeterministic);
  EXPECT_EQ(code.function("_Z1uv").flags, unit::kUnitOfWork);
  EXPECT_EQ(code.function("_Z1uv").label, "S1,S2");
  EXPECT_EQ(code.function("_ZN7Account7depositEv").flags, unit::kAtomic);
}

TEST(Functions, AnnotatedFunctionsStayFunctionsInFastMode) {
  const Compiled code(R"(#include <syndrome/syndrome.h>
int g;
SYNDROME_ATOMIC static int a() { return g; }
int caller() { return a(); }
)",
                      "-g -O2 --syndrome-mode=fast");
  EXPECT_EQ(code.function("_ZL1av").flags, unit::kAtomic);
  EXPECT_THAT(code.function("_Z6callerv").accesses(), testing::IsEmpty());
}

TEST(Functions, WhatIsTheLastThatTheyDoIsKnown) {
  const Compiled code(R"(#include <mutex>
struct Account {
  void put(int n) {
    const std::lock_guard guard(mutex_);
    sum_ += n;
  }
  int leave(int n) {
    mutex_.lock();
    sum_ -= n;
    mutex_.unlock();
    return n;
  }
  void both(int n) {
    if (n > 0) {
      put(n);
    } else {
      leave(n);
    }
  }
  void twice(int n) {
    put(n);
    put(n);
  }
  void loop(int n) {
    while (n-- > 0) put(n);
  }
  void look(int n) {
    put(n);
    if (n > 3) last_ = n;
  }
  void elsewhere(int (*then)(int)) {
    put(1);
    then(1);
  }
  void noted(int n);
  std::mutex mutex_;
  int sum_, last_;
};
void note(Account&);
void Account::noted(int n) {
  if (n == 0) return note(*this);
  const std::lock_guard guard(mutex_);
  sum_ = n;
}
void all(Account& a) {
  a.both(1);
  a.twice(1);
  a.loop(1);
  a.look(1);
  a.elsewhere(nullptr);
  a.noted(1);
}
)",
                      "-g -O1 -std=c++20");
  const auto last = [&](const char* name) { return code.function(name).last; };
  EXPECT_THAT(last("_ZN7Account3putEi"), ElementsAre("pthread_mutex_unlock"));
  EXPECT_THAT(last("_ZN7Account5leaveEi"), ElementsAre("pthread_mutex_unlock"));
  EXPECT_THAT(last("_ZN7Account4bothEi"),
              ElementsAre("15 _ZN7Account3putEi", "17 _ZN7Account5leaveEi"));
  EXPECT_THAT(last("_ZN7Account5twiceEi"), ElementsAre("22 _ZN7Account3putEi"));
  EXPECT_THAT(last("_ZN7Account4loopEi"), testing::IsEmpty());
  EXPECT_THAT(last("_ZN7Account4lookEi"), testing::IsEmpty());
  // What is behind a pointer, or is of another unit, may call back as often as it likes.
  EXPECT_THAT(last("_ZN7Account9elsewhereEPFiiE"), testing::IsEmpty());
  EXPECT_THAT(last("_ZN7Account5notedEi"), ElementsAre("pthread_mutex_unlock"));
  EXPECT_THAT(last("_Z3allR7Account"), ElementsAre("51 _ZN7Account5notedEi"));
}

// Who catches an exception, or comes back by longjmp, goes on elsewhere than behind the call.
TEST(Functions, WhatIsLastBeforeAnExceptionIsNot) {
  const Compiled code(R"(#include <csetjmp>
#include <mutex>
struct Account {
  void put(int n) {
    const std::lock_guard guard(mutex_);
    if (sum_ > n) throw n;
    sum_ = n;
  }
  void out(int n) {
    const std::lock_guard guard(mutex_);
    if (sum_ > n) throw n;
    throw sum_;
  }
  void again(int n) {
    if (setjmp(back) == 0) put(n);
  }
  std::mutex mutex_;
  std::jmp_buf back;
  int sum_;
};
void all(Account& a) {
  a.out(1);
  a.again(1);
}
)",
                      "-g -O1 -std=c++20");
  EXPECT_THAT(code.function("_ZN7Account3putEi").last, ElementsAre("pthread_mutex_unlock"));
  EXPECT_THAT(code.function("_ZN7Account3outEi").last, testing::IsEmpty());
  EXPECT_THAT(code.function("_ZN7Account5againEi").last, testing::IsEmpty());
}

TEST(Functions, AnnotationsOfOrderArePlacesInTheSource) {
  const Compiled code(R"(#include <syndrome/syndrome.h>
int g;
void f() {
  SYNDROME_HAPPENS_BEFORE(&g);
  SYNDROME_HAPPENS_AFTER(&g);
}
)",
                      "-g");
  EXPECT_THAT(code.function("_Z1fv").calls(), ElementsAre("call 4:3 g", "call 5:3 g"));
}

TEST(Functions, AnnotationsWorkInCAndWithOtherCompilers) {
  const char* const source = R"(#include <syndrome/syndrome.h>
struct Pair { SYNDROME_ATOMIC_SET(S) int x; SYNDROME_ATOMIC_SET(S) int y; };
struct Pair pair;
SYNDROME_ATOMIC_SET(S) int z;
SYNDROME_ATOMIC void set(void) { pair.x = 1; pair.y = z; }
int main(void) {
  { SYNDROME_ATOMIC_SCOPE("both"); SYNDROME_UNIT_SCOPE("S"); set(); }
  SYNDROME_HAPPENS_BEFORE(&pair);
  SYNDROME_HAPPENS_AFTER(&pair);
  return pair.x - 1;
}
)";
  const Compiled code(source, "-g -O0", "t.c");
  EXPECT_THAT(
      code.function("set").accesses(),
      ElementsAre("write 5:41 Pair::x+0 (4)", "read 5:55 z (4)", "write 5:53 Pair::y+4 (4)"));
  const Shell shell;
  shell.write("t.c", source);
  const std::string include = " -I '" + (source_directory() / "include").string() + "' ";
  for (const char* compiler : {"gcc -x c", "g++ -x c++", "clang-19 -x c", "clang++-19 -x c++"}) {
    const Outcome outcome =
        shell.run(compiler + include + "-Wall -Wextra -Werror -pedantic t.c -o t && ./t");
    EXPECT_EQ(outcome.code, 0) << compiler << outcome.err;
  }
  const Outcome ours = shell.run("syndrome cc -Wall -Wextra -Werror t.c -o t && ./t");
  EXPECT_EQ(ours.code, 0) << ours.err;
}

// The driver adds line tables by itself.
TEST(Functions, WithoutDebugInformationLinesAndNamesOfGlobalsAndTypesAreLeft) {
  const Compiled code(
      "struct Account { int id; long balance; };\nint counter;\n"
      "void f(Account* a) { a->balance = ++counter; }\n",
      "-O2");
  EXPECT_THAT(
      code.function("_Z1fP7Account").accesses(),
      ElementsAre("read 3:35 counter (4)", "write 3:35 counter (4)", "write 3:33 Account+8+8 (8)"));
}

TEST(Functions, ACoroutineNamesItselfAtEachAccess) {
  const Compiled code(R"(#include <coroutine>
struct Task { struct promise_type { Task get_return_object() { return {}; }
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void return_void() {} void unhandled_exception() {} }; };
int g;
Task f() { g = 1; co_await std::suspend_never{}; g = 2; }
)",
                      "-g -O2");
  EXPECT_NE(code.function("_Z1fv").flags & unit::kLeafOnly, 0u);
  EXPECT_THAT(code.function("_Z1fv").accesses(), testing::Contains("write 7:14 g (4)"));
}

TEST(Functions, PureFunctionsLoseTheAttribute) {
  const std::string llvm = llvm_code(
      "int g; __attribute__((pure, noinline)) int f() { return g; } int h() { return f(); }",
      "-O0");
  EXPECT_THAT(llvm, Not(HasSubstr("memory(read")));
}

}  // namespace
}  // namespace syndrome::test
