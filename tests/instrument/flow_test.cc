// Which steps of a function are connected, and how: one test for each rule.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "event/unit.h"
#include "instrument/compile.h"

namespace syndrome::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class Flow : public testing::TestWithParam<const char*> {
 protected:
  /// The flows of the function `f` of a piece of C, which is C++ as well.
  static std::vector<std::string> flows(std::string_view source) {
    const Compiled code(source, std::string("-g ") + GetParam(), "t.c");
    return code.function("f").flows;
  }
  static UnitFunction cxx(std::string_view source, std::string_view name) {
    const Compiled code(source, std::string("-g ") + GetParam());
    return code.function(name);
  }
};

TEST_P(Flow, WhatIsReadIsWritten) {
  EXPECT_THAT(flows(R"(int x, y;
void f(void) {
  int a = x;
  y = a + 1;
}
)"),
              ElementsAre("3->4 data"));
}

TEST_P(Flow, WhatACallReturnsIsPassedOn) {
  EXPECT_THAT(flows(R"(int get(void); void set(int);
void f(void) {
  int a = get();
  set(a + 1);
}
)"),
              ElementsAre("3->4 data result"));
}

// The local variable is known to a stranger, so that reading it is a step as well.
TEST_P(Flow, ThroughLocalsAndOutParameters) {
  EXPECT_THAT(flows(R"(struct S { int a, b; }; int y; void get(struct S*);
void f(void) {
  struct S s;
  get(&s);
  y = s.b;
}
)"),
              Contains("4->5 data result"));
}

TEST_P(Flow, NotThroughWhatACalleeOnlyReads) {
  EXPECT_THAT(flows(R"(struct S { int a, b; }; int x, y;
__attribute__((noinline)) static int see(struct S* s) { return x + s->a; }
void f(void) {
  struct S s = {1, 2};
  see(&s);
  y = s.b;
}
)"),
              Not(Contains(testing::StartsWith("5->6"))));
}

TEST_P(Flow, NotThroughTheSharedLocation) {
  EXPECT_THAT(flows(R"(int x, y, z; void g(void);
void f(void) {
  int a = x;
  y = a;
  g();
  z = y;
}
)"),
              UnorderedElementsAre("3->4 data", "6->6 data"));
}

TEST_P(Flow, OnlyAsAddress) {
  EXPECT_THAT(flows(R"(int i, t[8];
void f(int n) {
  int a = i;
  t[a] = 5;
}
)"),
              ElementsAre("3->4 address"));
}

TEST_P(Flow, DecidesWhether) {
  EXPECT_THAT(flows(R"(int x, y;
void f(void) {
  if (x > 3)
    y = 1;
}
)"),
              ElementsAre("3->4 control constant decides"));
}

TEST_P(Flow, AnAssertionDecidesNothing) {
  EXPECT_THAT(flows(R"(void fail(void) __attribute__((noreturn)); int x, y;
void f(void) {
  if (x > 3)
    fail();
  y = 1;
}
)"),
              Not(Contains(testing::StartsWith("3->5"))));
}

TEST_P(Flow, PollingDecidesNothingBehindIt) {
  EXPECT_THAT(flows(R"(volatile int done; int y;
void f(void) {
  while (!done) {
  }
  y = 1;
}
)"),
              IsEmpty());
}

TEST_P(Flow, WhatIsCheckedInALoopDecidesAboutTheRound) {
  EXPECT_THAT(flows(R"(int size(void); void pop(void);
void f(void) {
  while (size() > 0)
    pop();
}
)"),
              ElementsAre("3->4 control result decides"));
}

TEST_P(Flow, ControlIsForward) {
  EXPECT_THAT(flows(R"(int more(void); void work(void);
void f(void) {
  do {
    work();
  } while (more());
}
)"),
              IsEmpty());
}

TEST_P(Flow, WhichValueIsDecided) {
  EXPECT_THAT(flows(R"(int x, y; void g(void);
void f(void) {
  int a = 7;
  if (x) a = 9;
  g();
  y = a;
}
)"),
              Contains("4->6 control"));
}

TEST_P(Flow, ReadsAreJoined) {
  EXPECT_THAT(flows(R"(int get(void), other(void);
int f(void) {
  int a = get();
  int b = other();
  return a + b;
}
)"),
              ElementsAre("3->4 joined"));
  EXPECT_THAT(flows(R"(int get(void), other(void); void set(void);
void f(void) {
  int a = get();
  int b = other();
  if (a < b)
    set();
}
)"),
              Contains("3->4 joined"));
}

TEST_P(Flow, APrintJoinsNothing) {
  EXPECT_THAT(flows(R"(int get(void), other(void); int printf(const char*, ...);
void f(void) {
  int a = get();
  int b = other();
  printf("%d %d", a, b);
}
)"),
              Not(Contains("3->4 joined")));
}

TEST_P(Flow, WritesHaveOneSource) {
  EXPECT_THAT(flows(R"(int x, y, z;
void f(int n) {
  x = n;
  y = n + 1;
  z = 5;
}
)"),
              ElementsAre("3->4 source"));
}

TEST_P(Flow, APointerIsNoSource) {
  EXPECT_THAT(flows(R"(struct S { int a, b; };
void f(struct S* s) {
  s->a = 1;
  s->b = 2;
}
)"),
              IsEmpty());
}

TEST_P(Flow, AllThatFlowsIsAPointer) {
  EXPECT_THAT(flows(R"(void* pop(void); void push(void*);
void f(void) {
  void* p = pop();
  push(p);
}
)"),
              ElementsAre("3->4 data result pointer"));
}

TEST_P(Flow, ACompareAndSwapCompares) {
  EXPECT_THAT(flows(R"(int x;
void f(void) {
  int a = __atomic_load_n(&x, 5);
  __atomic_compare_exchange_n(&x, &a, 7, 0, 5, 5);
}
)"),
              ElementsAre("3->4 compared"));
}

TEST_P(Flow, TheSameReadAgainIsTheSameStep) {
  EXPECT_THAT(flows(R"(int x, y, z;
void f(void) {
  y = x;
  z = x;
}
)"),
              UnorderedElementsAre("3->3 data", "3->4 data", "3->4 source"));
}

TEST_P(Flow, ACopyOfAStruct) {
  EXPECT_THAT(flows(R"(struct S { int a, b; } x; int get(void);
void f(void) {
  struct S s = {1, 2};
  s.b = get();
  x = s;
}
)"),
              ElementsAre("4->5 data result"));
}

TEST_P(Flow, ThroughNewMemory) {
  EXPECT_THAT(flows(R"(void* malloc(unsigned long); int x; void keep(int);
void f(void) {
  int* p = (int*)malloc(8);
  p[1] = x;
  keep(p[1]);
}
)"),
              Contains("4->5 data"));
}

TEST_P(Flow, WhatReachesTheResult) {
  const Compiled code(R"(int x, y, z;
int f(int* out) {
  int a = x;
  *out = y;
  if (z)
    return 1;
  return a;
}
)",
                      std::string("-g ") + GetParam(), "t.c");
  EXPECT_THAT(code.function("f").results, UnorderedElementsAre(3u, 4u, 5u));
}

TEST_P(Flow, ObjectsOfAFunction) {
  constexpr std::string_view kSource = R"(
namespace bank {
struct Base { long id; };
struct Account : Base {
  void add(int n);
  long balance; int count;
};
void Account::add(int n) { balance += n; count = n; }
}
struct Late;
long f(bank::Account& a, bank::Account* p, const char* text, int* number, Late* late) {
  a.balance = *number;
  return p->balance + text[0];
}
)";
  EXPECT_THAT(cxx(kSource, "_ZN4bank7Account3addEi").objects, ElementsAre("bank::Account 20"));
  EXPECT_THAT(cxx(kSource, "_Z1fRN4bank7AccountEPS0_PKcPiP4Late").objects,
              ElementsAre("bank::Account 20", "bank::Account 24"));
}

TEST_P(Flow, ObjectsWithoutDebugInformation) {
  const Compiled code(R"(struct S { long a, b; };
static void deep(struct S* s) { s->b = 1; s->a = 2; }
void f(struct S* s) { deep(s); deep(s); }
void g(long* n) { n[0] = 1; n[1] = 2; }
)",
                      GetParam(), "t.c");
  EXPECT_THAT(code.function("f").objects, ElementsAre("S 16"));
  EXPECT_THAT(code.function("g").objects, IsEmpty());
}

TEST_P(Flow, ALibraryCallIsOneStep) {
  const UnitFunction function = cxx(R"(#include <vector>
void f(std::vector<int>& v) {
  int n = v.empty() ? 0 : v.front();
  v.push_back(n + 1);
}
)",
                                    "_Z1fRSt6vectorIiSaIiEE");
  EXPECT_THAT(function.flows, Contains(testing::StartsWith("3->4 data")));
}

TEST_P(Flow, AtomicsOfTheLibrary) {
  const UnitFunction function = cxx(R"(#include <atomic>
std::atomic<int> x;
void f() {
  int a = x.load();
  x.store(a + 1);
}
void g() {
  int a = x.load();
  while (!x.compare_exchange_weak(a, a + 1)) {
  }
}
)",
                                    "_Z1fv");
  EXPECT_THAT(function.flows, Contains(testing::StartsWith("4->5 data")));
}

INSTANTIATE_TEST_SUITE_P(Levels, Flow, testing::Values("-O0", "-O1", "-O2"),
                         [](const auto& level) { return std::string(level.param + 1); });

}  // namespace
}  // namespace syndrome::test
