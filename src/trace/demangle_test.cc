#include "trace/demangle.h"

#include <gtest/gtest.h>

namespace syndrome::trace {
namespace {

TEST(Demangle, WritesNamesAsPeopleDo) {
  EXPECT_EQ(demangle("_ZN7Account8transferERS_i"), "Account::transfer(Account&, int)");
  EXPECT_EQ(demangle("_ZN5Cache3getB5cxx11Ei"), "Cache::get(int)");
  EXPECT_EQ(demangle("_ZN5CacheB1xB1y3getB5cxx11Ei"), "Cache::get(int)");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle(""), "");
}

TEST(Demangle, LeavesParametersOut) {
  const auto shown = [](std::string_view name) { return std::string(without_parameters(name)); };
  EXPECT_EQ(shown("Account::transfer(Account&, int) const"), "Account::transfer");
  EXPECT_EQ(shown("bool store::put<int>(int)"), "store::put<int>");
  EXPECT_EQ(shown("void f<void (*)(int)>(void (*)(int))"), "f<void (*)(int)>");
  EXPECT_EQ(shown("(anonymous namespace)::run(int)"), "(anonymous namespace)::run");
  EXPECT_EQ(shown("Task::operator()(int) const"), "Task::operator()");
  EXPECT_EQ(shown("Task::operator bool() const"), "Task::operator bool");
  EXPECT_EQ(shown("main::{lambda(int)#1}::operator()(int) const"),
            "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(shown("f() [clone .cold]"), "f");
  EXPECT_EQ(shown("main"), "main");
  EXPECT_EQ(shown(""), "");
}

}  // namespace
}  // namespace syndrome::trace
