// What variables are called.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrument/compile.h"

namespace syndrome::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;
using testing::UnorderedElementsAre;

TEST(Names, FieldsAreCalledByTheClassThatDeclaresThem) {
  const Compiled code(R"(namespace bank {
struct Base { long a; int b; };
struct Limits { int low, high; };
struct Account : Base { int in_padding; Limits limits; int history[4]; Account* next; };
}
void f(bank::Account* p, int i) {
  p->a = 1;
  p->b = 1;
  p->in_padding = 1;
  p->limits.high = 1;
  p->history[i] = 1;
  p->next->b = 1;
}
)");
  EXPECT_THAT(
      code.function("_Z1fPN4bank7AccountEi").accesses(),
      ElementsAre("write 7:8 bank::Base::a+0 (8)", "write 8:8 bank::Base::b+8 (4)",
                  "write 9:17 bank::Account::in_padding+16 (4)",
                  "write 10:18 bank::Account::limits.high+24 (4)",
                  "write 11:17 bank::Account::history[]+28 (4)",
                  "read 12:6 bank::Account::next+48 (8)", "write 12:14 bank::Base::b+8 (4)"));
}

TEST(Names, AFieldInTheTailPaddingOfABaseIsFound) {
  const Compiled code(
      R"(class Base { public: virtual ~Base(); long a; char b; };  // defined elsewhere
class Derived : public Base { public: char in_tail; int more; };
void f(Derived* d) { d->in_tail = 1; d->more = 2; d->b = 3; }
)");
  EXPECT_THAT(code.function("_Z1fP7Derived").accesses(),
              ElementsAre("write 3:33 Derived::in_tail+17 (1)", "write 3:46 Derived::more+20 (4)",
                          "write 3:56 Base::b+16 (1)"));
}

TEST(Names, UnionsAndBitFieldsAreAmbiguous) {
  const Compiled code(
      R"(struct Packet { union { int number; float real; }; unsigned a : 3, b : 5; };
void f(Packet* p) { p->real = 1; p->b = 2; }
)");
  EXPECT_THAT(code.function("_Z1fP6Packet").accesses(),
              ElementsAre("write 2:29 Packet::number+0? (4)", "read 2:39 Packet::a+4? (1)",
                          "write 2:39 Packet::a+4? (1)"));
}

TEST(Names, WhatKeepsItselfConsistentIsNoPartOfItsOwner) {
  const Compiled code(R"(#include <future>
#include <thread>
#include <vector>
struct Pool {
  std::vector<int> items;
  std::promise<int> done;
  std::thread worker;
};
bool f(Pool* pool) { return pool->worker.joinable() && !pool->items.empty(); }
void g(Pool* pool) { pool->done = std::promise<int>(); }
)",
                      "-g -O1 -std=c++20");
  EXPECT_THAT(code.function("_Z1fP4Pool").accesses(),
              testing::Contains(HasSubstr("Pool::items._M_")));
  for (const char* name : {"_Z1fP4Pool", "_Z1gP4Pool"}) {
    EXPECT_THAT(code.function(name).accesses(), testing::Not(testing::IsEmpty()));
    EXPECT_THAT(code.function(name).accesses(),
                testing::Each(testing::Not(
                    testing::AnyOf(HasSubstr("Pool::worker."), HasSubstr("Pool::done.")))));
  }
}

TEST(Names, GlobalsAndStatics) {
  const Compiled code(R"(namespace ns { int inside; namespace { int hidden; } }
struct Config { int limit; } config, many[3];
int table[2][3];
int* where;
struct Holder { static int shared; };
int Holder::shared;
void f(int i) {
  static int calls;
  ns::inside = 1;
  ns::hidden = 1;
  config.limit = 1;
  many[i].limit = 1;
  table[i][1] = 1;
  where[i] = 1;
  Holder::shared = 1;
  calls = 1;
}
)");
  EXPECT_THAT(
      code.function("_Z1fi").accesses(),
      ElementsAre("write 9:14 ns::inside (4)", "write 10:14 ns::(anonymous namespace)::hidden (4)",
                  "write 11:16 Config::limit+0 (4)", "write 12:17 Config::limit+0 (4)",
                  "write 13:15 table[] (4)", "read 14:3 where (8)", "write 14:12 (4)",
                  "write 15:18 Holder::shared (4)", "write 16:9 f::calls (4)"));
}

TEST(Names, TypedefsOfStructsInC) {
  const Compiled code(
      "typedef struct { int x, y; } Point;\nstruct named { int z; };\n"
      "void f(Point* p, struct named* n) { p->y = 1; n->z = 2; }\n",
      "-g -O0", "t.c");
  EXPECT_THAT(code.function("f").accesses(),
              ElementsAre("write 3:42 Point::y+4 (4)", "write 3:52 named::z+0 (4)"));
}

TEST(Names, LocksAreNamedAtTheCall) {
  const Compiled code(R"(#include <pthread.h>
struct Account { long n; pthread_mutex_t mutex; };
pthread_mutex_t lock;
void f(Account* a) { pthread_mutex_lock(&a->mutex); pthread_mutex_lock(&lock); }
)");
  EXPECT_THAT(code.function("_Z1fP7Account").calls(),
              ElementsAre("call 4:22 Account::mutex+8", "call 4:53 lock"));
}

TEST(Names, LocksAreNamedWhereAGuardIsMade) {
  const Compiled code(R"(#include <mutex>
struct Account { std::mutex mutex; long n; std::mutex other; };
void f(Account* a, Account* b) {
  std::mutex mine;
  std::lock_guard one(a->mutex);
  std::unique_lock two(b->other);
  std::lock_guard three(mine);
  std::scoped_lock four(a->mutex, b->mutex);
  std::scoped_lock five(a->mutex, b->other);
  a->n = 1;
}
)");
  const std::vector<std::string> calls = code.function("_Z1fP7AccountS0_").calls();
  EXPECT_THAT(calls, IsSupersetOf({"call 5:19 Account::mutex+0", "call 6:20 Account::other+48",
                                   "call 7:19 mine", "call 8:20 Account::mutex+0",
                                   "call 9:20 Account::mutex or Account::other?"}));
  // What ends the guards' lives names nothing.
  for (const std::string& call : calls) {
    for (const char* guard : {"one", "two", "three", "four", "five"}) {
      EXPECT_FALSE(call.ends_with(guard)) << call;
    }
  }
}

// From -O1 on the program calls what is inside of the container's function itself.
TEST(Names, AContainerIsNamedWhereItsFunctionsAreInlined) {
  const Compiled code(R"(#include <deque>
#include <optional>
#include <string>
struct Line {
  long count;
  std::deque<int> waiting;
  std::optional<std::string> last;
  Line();
  bool known() const;
};
Line::Line() {}
bool Line::known() const { return last.has_value(); }
)",
                      "-g -O1");
  EXPECT_THAT(code.function("_ZN4LineC2Ev").calls(), Contains(EndsWith(" Line::waiting+8")));
  EXPECT_THAT(code.function("_ZNK4Line5knownEv").accesses(),
              ElementsAre(HasSubstr(" Line::last._Optional_payload_base+32+120+120 (1)")));
}

TEST(Names, ALockThatBeginsAnObjectIsNamedAfterInlining) {
  const Compiled code(R"(#include <mutex>
struct Account { std::mutex mutex; long n; };
void f(Account* a) {
  std::lock_guard one(a->mutex);
  a->n = 1;
}
)",
                      "-g -O2 --syndrome-mode=fast");
  EXPECT_THAT(code.function("_Z1fP7Account").calls(),
              Contains(AllOf(StartsWith("call 7"), EndsWith(" Account::mutex+0"))));
}

TEST(Names, FilesHaveNoDots) {
  const Compiled code(
      "#line 1 \"/usr/lib/gcc/12/../../../include/./x.h\"\nint g;\nvoid f() { g = 1; }\n");
  EXPECT_EQ(code.function("_Z1fv").file, "/usr/include/x.h");
}

// clang 19 mangles a parameter's type into what libstdc++'s demangler does not know.
TEST(Names, FunctionsThatTheLibraryCannotDemangleAreDemangled) {
  const Compiled code(R"(#include <type_traits>
int g;
template <class T, std::enable_if_t<sizeof(T) == 4, int> = 0> void f(T value) { g = value; }
template <class T> void h(T value) { g = value; }
void all() { f(1); h(1); }
)");
  std::vector<std::string> names;
  for (const UnitFunction& function : code.functions()) names.push_back(function.name);
  EXPECT_THAT(names, UnorderedElementsAre("_Z3allv", StartsWith("void f<int, "), "_Z1hIiEvT_"));
}

TEST(Names, AtomicsOfAClassHaveTheNameOfTheField) {
  const Compiled code(
      "struct Account { int id; _Atomic int hits; };\n"
      "void f(struct Account* a) { a->hits++; }\n",
      "-g -O0", "t.c");
  EXPECT_THAT(code.function("f").accesses(), ElementsAre("atomic 2:36 Account::hits+4 (4)"));
}

}  // namespace
}  // namespace syndrome::test
