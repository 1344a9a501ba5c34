// The order that a recording gives is the one that happened: the values that a program read prove
// it. The n-th access of a thread in the trace is the n-th in the program's own log (values.c), and
// replaying the trace's order over those values, each read must see what the last write left.

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "support/shell.h"

namespace syndrome::test {
namespace {

struct Access {
  int kind = 0;  // WitnessKind
  int index = 0;
  std::uint64_t seen = 0, written = 0;
};

struct Line {
  std::string thread, op, target;
};

// thread|op(target)|place
Line parse(const std::string& text) {
  const std::size_t bar = text.find('|');
  const std::size_t open = text.find('(', bar);
  const std::size_t close = text.find(")|", open);
  if (bar == std::string::npos || open == std::string::npos || close == std::string::npos) {
    return {};
  }
  return {text.substr(0, bar), text.substr(bar + 1, open - bar - 1),
          text.substr(open + 1, close - open - 1)};
}

struct Mode {
  const char* name;
  const char* options;  // for record
};

class Order : public testing::TestWithParam<std::tuple<Mode, const char*>> {};

TEST_P(Order, IsTheOneThatValuesProve) {
  const auto& [mode, level] = GetParam();
  const Shell shell;
  const std::string here = (source_directory() / "tests/capture").string();
  const Outcome built =
      shell.run("clang-19 -O2 -c " + here + "/witness.c -o witness.o && " + "syndrome cc -g " +
                level + " -pthread " + here + "/values.c witness.o -o values");
  ASSERT_EQ(built.code, 0) << built.err;
  const Outcome recorded = shell.run(std::string("syndrome record -o run.syn ") + mode.options +
                                     " -- ./values " + mode.name + " log");
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const Outcome trace = shell.run("syndrome trace cat run.syn");
  ASSERT_EQ(trace.code, 0) << trace.err;

  std::map<int, std::deque<Access>> logs;
  std::istringstream log(shell.read("log"));
  int worker = 0;
  for (Access one; log >> worker >> one.kind >> one.index >> one.seen >> one.written;) {
    logs[worker].push_back(one);
  }
  ASSERT_EQ(logs.size(), 4U);

  std::map<std::string, int> workers;   // by the trace's name
  std::map<std::string, int> index_of;  // by the name of a variable
  std::map<int, std::string> name_of;
  std::map<int, std::uint64_t> values;
  std::size_t reads = 0, wrong = 0, turns = 0;
  std::string before;
  std::istringstream lines(trace.out);
  for (std::string text; std::getline(lines, text);) {
    const Line line = parse(text);
    if (line.target.starts_with("marker")) workers[line.thread] = line.target[6] - '0';
    if (!line.target.starts_with("atoms") && !line.target.starts_with("cells")) continue;
    ASSERT_TRUE(workers.contains(line.thread)) << text;
    if (line.thread != before) ++turns;
    before = line.thread;
    std::deque<Access>& mine = logs[workers[line.thread]];
    ASSERT_FALSE(mine.empty()) << "more accesses than the program made: " << text;
    const Access access = mine.front();
    mine.pop_front();
    static constexpr std::string_view kOps[] = {"r", "w", "rmw"};
    ASSERT_EQ(line.op.substr(0, line.op.find('_')), kOps[access.kind]) << text;
    // A variable of the trace is one of the program, and the other way round.
    ASSERT_EQ(index_of.emplace(line.target, access.index).first->second, access.index) << text;
    ASSERT_EQ(name_of.emplace(access.index, line.target).first->second, line.target) << text;
    if (access.kind != 1) {
      ++reads;
      if (access.seen != values[access.index] && ++wrong <= 5) {
        ADD_FAILURE() << text << " saw " << access.seen << ", and the write before it in the trace "
                      << "wrote " << values[access.index];
      }
    }
    if (access.kind != 0) values[access.index] = access.written;
  }
  for (const auto& [number, left] : logs) {
    EXPECT_TRUE(left.empty()) << left.size() << " accesses of thread " << number
                              << " are not in the trace";
  }
  EXPECT_GT(reads, 10000U);
  EXPECT_GT(turns, 30U) << "the threads hardly met";
  EXPECT_EQ(wrong, 0U) << "of " << reads << " reads";
}

constexpr Mode kModes[] = {{"hot", ""},
                           {"many", ""},
                           {"locked", ""},
                           {"race", "--order exact"},
                           {"races", "--order exact"}};

INSTANTIATE_TEST_SUITE_P(Values, Order,
                         testing::Combine(testing::ValuesIn(kModes), testing::Values("-O0", "-O2")),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param).name) + "_" +
                                  (std::get<1>(tested.param) + 1);
                         });

}  // namespace
}  // namespace syndrome::test
