// What a loop that neither calls nor synchronizes leaves behind it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrument/compile.h"

namespace syndrome::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kRun[] = "call void @__syndrome_run(";
constexpr char kStretch[] = "call void @__syndrome_stretch(";
constexpr char kGap[] = "__syndrome_gap@";

TEST(Loops, OneThatCountsHasARun) {
  EXPECT_THAT(
      llvm_code("long f(int* p, long n) { long s = 0; for (long i = 0; i < n; ++i) s += p[i];"
                " return s; }",
                "-O2"),
      AllOf(HasSubstr(kRun), Not(HasSubstr(kStretch))));
}

TEST(Loops, ASearchHasStretches) {
  EXPECT_THAT(llvm_code("int* f(int* p, int v) { while (*p < v) ++p; return p; }", "-O2"),
              AllOf(HasSubstr(kStretch), HasSubstr(kGap), Not(HasSubstr(kRun))));
  EXPECT_THAT(llvm_code("char* f(char* p) { while (*p != 0) --p; return p; }", "-O2"),
              AllOf(HasSubstr(kStretch), HasSubstr(kGap)));
}

TEST(Loops, SoHasWhatALoopDoesInEachRoundBesideOtherThings) {
  EXPECT_THAT(llvm_code("long f(int* p, long* q, long n) { long s = 0; for (long i = 0; i < n; ++i)"
                        " s += q[p[i]]; return s; }",
                        "-O2"),
              AllOf(HasSubstr(kStretch), Not(HasSubstr(kRun))));
}

TEST(Loops, WhatIsDoneWhereASearchStopsIsASpot) {
  EXPECT_THAT(
      llvm_code("void f(int* l, int* r, int v) { while (1) { while (*l < v) ++l;"
                " while (v < *r) --r; if (l >= r) return; int t = *l; *l++ = *r; *r-- = t; } }",
                "-O2"),
      AllOf(HasSubstr(kStretch), HasSubstr("call void @__syndrome_spots("),
            HasSubstr("__syndrome_far@")));
}

TEST(Loops, OneThatCallsOrSkipsHasNeither) {
  const auto neither = AllOf(Not(HasSubstr(kRun)), Not(HasSubstr(kStretch)));
  EXPECT_THAT(llvm_code("void g(); void f(int* p) { while (*p != 0) { ++p; g(); } }", "-O2"),
              neither);
  EXPECT_THAT(llvm_code("int* f(int* p) { while (*p != 0) p += 2; return p; }", "-O2"), neither);
  EXPECT_THAT(
      llvm_code("struct N { N* next; }; N* f(N* p) { while (p->next) p = p->next; return p; }",
                "-O2"),
      neither);
  EXPECT_THAT(llvm_code("int* f(int* p, int v) { while (*p < v) ++p; return p; }", "-O0"), neither);
}

}  // namespace
}  // namespace syndrome::test
