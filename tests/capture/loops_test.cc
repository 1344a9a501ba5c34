// A loop that leaves one record tells the same as one that records each access: random loops are
// run by one thread, once with --order exact, which records accesses one by one.

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <random>
#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

/// Functions f0, f1, … of n, which has the values 0, 1, 2, 3, 9 and now and then 5,000.
class LoopWriter {
 public:
  explicit LoopWriter(unsigned seed) : random_(seed) {}

  std::string program(int functions) {
    std::string text =
        "struct Point { int x; short y; char tag[3]; };\n"
        "int a[20000], b[20000], limit = 4, sum, *pointer = b;\n"
        "Point points[20000];\n"
        "double grid[100][100];\n"
        "unsigned char bytes[20000];\n";
    std::string calls;
    for (int i = 0; i < functions; ++i) {
      const std::string name = "f" + std::to_string(i);
      text += "__attribute__((noinline)) int " + name + "(int n) {\n  unsigned s = 0;\n" + nest(2) +
              "  return s;\n}\n";
      for (const char* n : {"0", "1", "2", "3", "9"}) calls += "  s += " + name + "(" + n + ");\n";
      if (i % 16 == 0) calls += "  s += " + name + "(5000);\n";
    }
    return text +
           "extern \"C\" unsigned __syndrome_follows;\n"
           "int main(int argc, char**) {\n  unsigned s = 0;\n"
           "  if (argc > 1) __syndrome_follows = 1;\n" +
           calls + "  return s == 123456789;\n}\n";
  }

 private:
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  template <std::size_t kCount>
  std::string one_of(const std::array<std::string, kCount>& texts) {
    return texts[static_cast<std::size_t>(below(static_cast<int>(kCount)))];
  }

  std::string place() {
    return one_of<16>({"a[i]", "a[i + 1]", "a[2 * i]", "a[9999 - i]", "b[i]", "pointer[i]",
                       "points[i].x", "points[i].y", "points[i].tag[1]", "grid[3][i % 100]",
                       "bytes[i]", "a[b[i] & 15]", "sum", "a[n]", "points[n].y", "b[i / 2]"});
  }
  std::string statement() {
    switch (below(10)) {
      case 0: return "s += " + place() + " + " + place() + ";";
      case 1: return place() + " = s;";
      case 2: return place() + " += 1;";
      case 3: return "if (" + place() + " == 77) break;";
      case 4: return "if (s > (unsigned)limit * 100) break;";
      case 5: return "if (i % 3 == 1) " + place() + " = i;";
      case 6: return "if (i % 5 == 4) continue;";
      case 7: return place() + " = " + place() + " + limit;";
      case 8: return "if (i == n - 1) return s;";
      default: return "s ^= (unsigned)" + place() + ";";
    }
  }
  std::string body() {
    std::string text;
    for (int i = 1 + below(4); i > 0; --i) text += "    " + statement() + "\n";
    return text;
  }
  std::string loop(const std::string& inside) {
    switch (below(7)) {
      case 0: return "  for (int i = n - 1; i >= 0; --i) {\n" + inside + "  }\n";
      case 1: return "  for (unsigned i = 0; i + 1 < (unsigned)n; i += 2) {\n" + inside + "  }\n";
      case 2: return "  for (int i = 0; i < limit; ++i) {\n" + inside + "  }\n";
      case 3: return "  { int i = 0; if (n > 0) do {\n" + inside + "  } while (++i < n); }\n";
      case 4: return "  { int i = 0; while (i < n && a[i] < 50) {\n  ++i;\n" + inside + "  } }\n";
      default: return "  for (int i = 0; i < n; ++i) {\n" + inside + "  }\n";
    }
  }
  /// Two that go on where they have stopped, and what is done where they stop.
  std::string searches() {
    const std::string type = one_of<3>({"int", "long", "unsigned char"});
    const std::string found = one_of<4>({"const " + type + " t = *l; *l++ = *r + 1; *r-- = t;",
                                         "*l++ += 1; if (*r != 3) *r = 7; --r;",
                                         "s += *l++; *r-- = s;", "*l = 1; l += 1 + s % 3; --r;"});
    const auto goes_on = [&](const std::string& at) {
      const std::string here = "((unsigned long)" + at + " & 56) != 0", other = "*" + at + " != 7";
      return below(3) == 0 ? here + " && " + other : other + " && " + here;
    };
    return "  { auto* l = (" + type + "*)a + 3; auto* r = (" + type + "*)a + 200 + n % 100;\n" +
           "  while (l < r) {\n    while (" + goes_on("l") + ") ++l;\n    while (" + goes_on("r") +
           ") --r;\n    " + found + "\n  } }\n";
  }
  std::string nest(int depth) {
    if (depth > 1 && below(4) == 0) {
      return "  for (int k = 0; k < 3; ++k) {\n    s += b[k];\n" + nest(depth - 1) +
             "    points[k].x = s;\n  }\n";
    }
    if (below(6) == 0) return searches();
    std::string text = loop(body());
    if (below(3) == 0) text += loop(body());
    return text;
  }

  std::mt19937 random_;
};

struct Build {
  const char* name;
  const char* options;
};

void PrintTo(const Build& build, std::ostream* out) {
  *out << build.options;
}

class Loops : public testing::TestWithParam<Build> {};

TEST_P(Loops, TellTheSameAsTheirAccesses) {
  const Shell shell;
  shell.write("loops.cc", LoopWriter(7).program(120));
  const std::string build =
      std::string("syndrome c++ -w -std=c++20 -g ") + GetParam().options + " loops.cc -o loops";
  Outcome outcome = shell.run(build +
                              " && syndrome record -o runs.syn -- ./loops && "
                              "syndrome record --order exact -o words.syn -- ./loops");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  // What happens to each variable, in its order: reads that a loop repeats may be recorded earlier
  // or later than those of other variables.
  outcome = shell.run(
      "for way in runs words; do syndrome trace cat $way.syn | sed -n '/enter(main)/,$p' |"
      " awk -F'|' '{ target = $2; sub(/^[^(]*/, \"\", target); print target \"|\" $0 }' |"
      " LC_ALL=C sort -s -t'|' -k1,1 > $way; done; cmp runs words && wc -l < runs");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err
                             << shell.run("diff words runs | head -40").out;
  EXPECT_GT(std::stoul("0" + outcome.out), 100'000U);
  // And that there was something to compare.
  const std::string words = "syndrome trace info runs.syn | awk '$1 == \"words\" { print $2 }'";
  const std::string each = "syndrome trace info words.syn | awk '$1 == \"words\" { print $2 }'";
  outcome = shell.run("test $(" + words + " | tr -d ,) -lt $(($(" + each + " | tr -d ,) / 2))");
  EXPECT_EQ(outcome.code, 0) << shell.run(words + "; " + each).out;
}

/// As in a process that follows its accesses: what stretches (instrument/stretches.h) tell, and
/// without reads of what was just accessed.
TEST_P(Loops, TellTheSameInStretches) {
  const Shell shell;
  shell.write("loops.cc", LoopWriter(11).program(120));
  Outcome outcome = shell.run(std::string("syndrome c++ -w -std=c++20 -g ") + GetParam().options +
                              " loops.cc -o loops && syndrome record -o runs.syn -- ./loops && "
                              "syndrome record -o stretches.syn -- ./loops follow");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  // A variable may have the name of another access, which came first.
  outcome = shell.run(
      "export LC_ALL=C; for way in runs stretches; do"
      " syndrome trace cat $way.syn | sed -n '/enter(main)/,$p' |"
      " sed -E 's/\\(([^():|]*(::[^():|]*)*):([^:])/(\\3/' | sort > $way;"
      " grep '|w(' $way > $way.writes; grep '|[rw](' $way | sed 's/.*|[rw](//; s/)|.*//' |"
      " sort -u > $way.places; done;"
      " cmp runs.writes stretches.writes && cmp runs.places stretches.places &&"
      " comm -13 runs stretches | head -20 && wc -l < stretches");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err
                             << shell.run("diff runs stretches | head -40").out;
  // Nothing else, and not much less.
  EXPECT_GT(std::stoul("0" + outcome.out), 50'000U) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(
    Builds, Loops,
    testing::Values(Build{"O1", "-O1"}, Build{"O2", "-O2"}, Build{"O3", "-O3 -march=native"},
                    Build{"Size", "-Os"}, Build{"Lto", "-O2 -flto"},
                    Build{"ThinLto", "-O2 -flto=thin"}, Build{"Fast", "-O2 --syndrome-mode=fast"}),
    [](const testing::TestParamInfo<Build>& build) { return build.param.name; });

}  // namespace
}  // namespace syndrome::test
