// Which accesses get probes, and as what.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrument/compile.h"

namespace syndrome::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Accesses, ReadsAndWritesOfGlobalsAndThroughPointers) {
  const Compiled code(R"(int a, b;
void f(int* p) {
  a = b;
  *p = 1;
}
)");
  EXPECT_THAT(code.function("_Z1fPi").sites,
              ElementsAre("read 3:7 b (4)", "write 3:5 a (4)", "write 4:6 (4)"));
}

TEST(Accesses, ReadingAgainIsCoveredWritingIsNot) {
  const Compiled code(R"(int counter, table[4], other;
void f(int i) {
  counter++;
  table[i] += 2;
  counter = other + counter;
}
int g();
int h() { int a = counter; g(); counter = counter + 1; return a; }
)");
  EXPECT_THAT(
      code.function("_Z1fi").accesses(),
      ElementsAre("read 3:10 counter (4)", "write 3:10 counter (4)", "readwrite 4:12 table[] (4)",
                  "read 5:13 other (4)", "write 5:11 counter (4)"));
  // A call, which may synchronize, stands between.
  EXPECT_THAT(
      code.function("_Z1hv").accesses(),
      ElementsAre("read 8:19 counter (4)", "read 8:43 counter (4)", "write 8:41 counter (4)"));
}

TEST(Accesses, AnotherPointerIsNotTheSame) {
  const Compiled code(
      "void f(int* p, int* q) { *q = *p; }\n"
      "void g(int** p) { int* a = *p; *a = 0; int x = **p; *a = x; }\n");
  EXPECT_THAT(code.function("_Z1fPiS_").accesses(), testing::SizeIs(2));
  // *p is read once; what it pointed to then and what it points to now may be two.
  EXPECT_THAT(code.function("_Z1gPPi").accesses(), testing::SizeIs(4));
}

TEST(Accesses, AccessorsArePartOfTheirCallers) {
  const std::string source = R"(#include <vector>
struct Grid {
  std::vector<int> cells;
  int width;
  int& at(int x, int y) { return cells[y * width + x]; }
  void bump() { ++width; }
};
void f(Grid& grid) { grid.at(1, 2) = grid.at(3, 4); }
void g(Grid& grid) { grid.bump(); }
)";
  const Compiled code(source, "-O2");
  // The width and the vector's beginning are read once, then both cells.
  EXPECT_THAT(code.function("_Z1fR4Grid").accesses(), testing::SizeIs(4));
  // What writes stays a function.
  EXPECT_THAT(code.function("_Z1gR4Grid").accesses(), testing::IsEmpty());
  EXPECT_THAT(code.function("_ZN4Grid4bumpEv").accesses(), testing::SizeIs(2));
}

TEST(Accesses, LocalsThatStayAreLeftOut) {
  const Compiled code(R"(#include <algorithm>
int f(int n) {
  int sum = 0;
  int values[4] = {1, 2, 3, 4};
  for (int i = 0; i < n; ++i) sum += values[i & 3];
  int* p = &sum;
  *values = n;
  return std::max(sum, n) + (p == nullptr);
}
)");
  EXPECT_THAT(code.function("_Z1fi").accesses(), ElementsAre("read 8:10 (4)"))
      << "only the reference that std::max returns is not known to stay";
}

TEST(Accesses, LocalsThatEscapeAreRecorded) {
  const Compiled code(R"(void publish(int*);
struct Cell { int* where; };
Cell cell;
void by_call() { int x = 0; publish(&x); x = 1; }
void by_store() { int x = 0; cell.where = &x; x = 1; }
static void keep(int* p) { cell.where = p; }
static int only_read(const int* p) { return *p; }
void by_callee() { int x = 0; keep(&x); x = 1; }
int stays() { int x = 0; x = 2; return only_read(&x); }
void by_lambda() { int x = 0; auto f = [&x] { x = 5; }; f(); x = 1; }
)");
  EXPECT_THAT(code.function("_Z7by_callv").accesses(),
              ElementsAre("write 4:22 x (4)", "write 4:44 x (4)"));
  EXPECT_THAT(code.function("_Z8by_storev").accesses(), testing::SizeIs(3));
  EXPECT_THAT(code.function("_Z9by_calleev").accesses(), testing::SizeIs(2));
  EXPECT_THAT(code.function("_Z5staysv").accesses(), IsEmpty());
  EXPECT_THAT(code.function("_Z9by_lambdav").accesses(), testing::Contains("write 10:64 x (4)"));
}

TEST(Accesses, ConstantsTablesAndThreadLocalsAreLeftOut) {
  const Compiled code(R"(const int limits[3] = {1, 2, 3};
struct Shape { virtual int area(); virtual ~Shape(); };
static thread_local int mine;
thread_local int everyones;
int constants(int i) { return limits[i] + "text"[i]; }
int virtual_call(Shape* s) { return s->area(); }
int own() { return ++mine; }
int others() { return everyones; }
)");
  EXPECT_THAT(code.function("_Z9constantsi").sites, IsEmpty());
  EXPECT_THAT(code.function("_Z12virtual_callP5Shape").accesses(), IsEmpty());
  EXPECT_THAT(code.function("_Z12virtual_callP5Shape").calls(), testing::SizeIs(1));
  EXPECT_THAT(code.function("_Z3ownv").sites, IsEmpty());
  EXPECT_THAT(code.function("_Z6othersv").accesses(), ElementsAre("read 8:23 everyones (4)"));
}

TEST(Accesses, ATableOfFunctionsThatIsNoVirtualOneIsRecorded) {
  const Compiled code(
      "struct Ops { int (*run)(int); };\nstruct Device { Ops* ops; };\n"
      "int call(Device* d) { return d->ops->run(1); }\n");
  EXPECT_THAT(code.function("_Z4callP6Device").accesses(),
              ElementsAre("read 3:33 Device::ops+0 (8)", "read 3:38 Ops::run+0 (8)"));
}

TEST(Accesses, WhatLiesBeforeATableIsLeftOutAndBeforeAnElementIsNot) {
  const Compiled code(R"(#include <typeinfo>
struct Base { int b; virtual ~Base(); };
struct Shape : virtual Base { int s; };
struct List { long size; int* last; };
int base(Shape* s) { return s->b; }
void* whole(Base* s) { return dynamic_cast<void*>(s); }
const std::type_info& type(Base* s) { return typeid(*s); }
int int_before(int* p) { return p[-1]; }
long long_before(long* p) { return p[-2]; }
int* pointer_before(int** p) { return *--p; }
int last(List* l) { return l->last[-1]; }
)");
  EXPECT_THAT(code.function("_Z4baseP5Shape").accesses(), testing::SizeIs(1));
  EXPECT_THAT(code.function("_Z5wholeP4Base").accesses(), IsEmpty());
  EXPECT_THAT(code.function("_Z4typeP4Base").accesses(), IsEmpty());
  EXPECT_THAT(code.function("_Z10int_beforePi").accesses(), testing::SizeIs(1));
  EXPECT_THAT(code.function("_Z11long_beforePl").accesses(), testing::SizeIs(1));
  EXPECT_THAT(code.function("_Z14pointer_beforePPi").accesses(), testing::SizeIs(1));
  EXPECT_THAT(code.function("_Z4lastP4List").accesses(), testing::SizeIs(2));
}

TEST(Accesses, MemoryIntrinsicsAreRanges) {
  const char* const source = R"(#include <cstring>
struct Big { int v[8]; };
void small(Big* a, Big* b) { *a = *b; }
void large(char* a, char* b, unsigned long n) { memcpy(a, b, n); memset(a, 0, n); memmove(a, b, 500); }
)";
  const Compiled code(source);
  EXPECT_THAT(code.function("_Z5smallP3BigS0_").accesses(),
              ElementsAre("range-read 3:33 Big::v[]+0 (32)", "range-write 3:33 Big::v[]+0 (32)"));
  EXPECT_THAT(code.function("_Z5largePcS_m").accesses(), testing::SizeIs(5));
  const std::string llvm = llvm_code(source, "-O0");
  EXPECT_THAT(llvm, HasSubstr("@__syndrome_memcpy("));
  EXPECT_THAT(llvm, HasSubstr("@__syndrome_memset("));
  EXPECT_THAT(llvm, HasSubstr("@__syndrome_memmove("));
}

TEST(Accesses, VolatileAndVectorsCount) {
  const Compiled code(
      "typedef float V __attribute__((vector_size(16)));\n"
      "volatile int v; V w;\nvoid f() { v++; w = w + w; }\n");
  EXPECT_THAT(
      code.function("_Z1fv").accesses(),
      ElementsAre("read 3:13 v (4)", "write 3:13 v (4)", "read 3:21 w (16)", "write 3:19 w (16)"));
}

TEST(Accesses, AreTheSameAtEveryLevel) {
  const char* const source = R"(#include <vector>
struct Account { long balance; int id; std::vector<int> log; };
Account accounts[8];
long total;
void move(Account& from, Account& to, long n) {
  if (from.balance < n) return;
  from.balance -= n;
  to.balance += n;
  to.log.push_back(to.id);
  for (auto& a : accounts) total += a.balance;
}
)";
  // The source's own: from -O1 on, those of push_back are its caller's.
  const auto accesses = [&](const char* level) {
    const Compiled code(source, std::string("-g ") + level);
    std::vector<std::string> own = code.function("_Z4moveR7AccountS0_l").accesses();
    constexpr int kLines = 12;
    std::erase_if(own, [](const std::string& access) {
      return std::stoi(access.substr(access.find(' ') + 1)) > kLines;
    });
    return own;
  };
  const std::vector<std::string> reference = accesses("-O0");
  ASSERT_THAT(reference, testing::Contains("write 7:16 Account::balance+0 (8)"));
  for (const char* level : {"-O1", "-O2", "-O3", "-Os"}) {
    EXPECT_EQ(accesses(level), reference) << level;
  }
}

TEST(Accesses, FastModeRecordsLess) {
  const char* const source =
      "int g;\nstatic int get() { return g; }\n"
      "int f() { return get() + get(); }\n";
  const Compiled fast(source, "-g -O2 --syndrome-mode=fast");
  EXPECT_THAT(fast.function("_Z1fv").accesses(), ElementsAre("read 2:27 g (4)"));
  EXPECT_THAT(fast.function("_Z1fv").calls(), testing::SizeIs(1)) << "the inlined one";
}

TEST(Accesses, FunctionsMayBeLeftOut) {
  const Compiled code(
      "#include <syndrome/syndrome.h>\nint g;\n"
      "SYNDROME_NO_PROBES int f() { return ++g; }\n");
  EXPECT_THAT(code.functions(), IsEmpty());
}

TEST(Accesses, ProbesNeedNoRedZone) {
  const std::string llvm = llvm_code("int g; int f() { return g; }", "-O2");
  EXPECT_THAT(llvm, HasSubstr("noredzone"));
  EXPECT_THAT(llvm, Not(HasSubstr("memory(read")));
}

}  // namespace
}  // namespace syndrome::test
