// CMake projects: with the drivers as compilers, and with find_package(Syndrome).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;

constexpr const char* kProject = R"(cmake_minimum_required(VERSION 3.25)
project(t LANGUAGES C CXX)
find_package(Threads REQUIRED)
add_library(part STATIC part.c)
add_executable(t main.cc)
target_link_libraries(t PRIVATE part Threads::Threads)
)";

class Project : public testing::Test {
 protected:
  Project() {
    shell_.write("part.c", "int value = 1;\nint get(void) { return value; }\n");
    shell_.write("main.cc",
                 "#include <syndrome/syndrome.h>\n#include <thread>\n"
                 "extern \"C\" int get();\nint result;\n"
                 "SYNDROME_ATOMIC void work() { result = get(); }\n"
                 "int main() { std::thread t(work); t.join(); return result - 1; }\n");
  }
  const Shell shell_;
};

TEST_F(Project, BuildsWithTheDriversAsCompilers) {
  shell_.write("CMakeLists.txt", kProject);
  const Outcome outcome = shell_.run(
      "CC='syndrome cc' CXX='syndrome c++' cmake -G Ninja -B b . > log 2>&1 && "
      "cmake --build b >> log 2>&1 && b/t || { cat log; exit 1; }");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(shell_.run("nm -D b/t").out, HasSubstr("__syndrome_unit"));
}

TEST_F(Project, FindsThePackageAndInstrumentsATarget) {
  shell_.write("CMakeLists.txt",
               std::string(kProject) +
                   "find_package(Syndrome 0.1 REQUIRED)\n"
                   "syndrome_instrument(part)\nsyndrome_instrument(t MODE fast)\n");
  const std::string configure =
      "cmake -G Ninja -B b . -DCMAKE_PREFIX_PATH='" SYNDROME_BUILD_DIR "' ";
  const Outcome outcome =
      shell_.run(configure +
                 "-DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 > log 2>&1 "
                 "&& cmake --build b >> log 2>&1 && b/t || { cat log; exit 1; }");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(shell_.run("readelf -d b/t").out, HasSubstr("libsyndrome_rt.so"));
  const Outcome other =
      shell_.run("rm -rf b; " + configure + "-DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++");
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("need clang 19"));
}

TEST_F(Project, WorksFromAnInstallation) {
  const Outcome install =
      shell_.run("cmake --install '" SYNDROME_BUILD_DIR "' --prefix \"$PWD/usr\"");
  ASSERT_EQ(install.code, 0) << install.err;
  shell_.write("one.c", "int value; int main(void) { return value; }\n");
  const Outcome outcome = shell_.run(
      "usr/bin/syndrome-cc one.c -o one && ./one && readelf -d one | grep -c "
      "\"$PWD/usr/lib/syndrome\" && "
      "test -f usr/include/syndrome/syndrome.h && test -f "
      "usr/lib/cmake/Syndrome/SyndromeConfig.cmake");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace syndrome::test
