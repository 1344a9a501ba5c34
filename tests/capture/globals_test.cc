// What a global begins with is called as the rest of it is: a field of its class, an element of an
// array. So it belongs to the same object, for people and for the check of atomic sets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

TEST(Globals, BeginWithAFieldOrAnElement) {
  const Shell shell;
  shell.write("program.cc", R"(#include <string>
struct Queue { int head, tail; } queue, queues[2];
struct { int head, tail; } unnamed;
union { int whole; float part; } either;
int table[2], plain;
std::string text;
int main() {
  queue.head = queue.tail = 1;
  queues[0].head = queues[1].tail = 1;
  unnamed.head = unnamed.tail = 1;
  table[0] = table[1] = plain = either.whole = 1;
  text = "";
}
)");
  const Outcome built = shell.run("syndrome c++ -g -O1 program.cc -o program");
  ASSERT_EQ(built.code, 0) << built.err;
  ASSERT_EQ(shell.run("syndrome record -o run.syn -- ./program").code, 0);
  const std::string names =
      shell.run("syndrome trace cat run.syn | sed -n 's/^[^|]*|w(\\(.*\\))|.*program.cc.*/\\1/p'")
          .out;
  for (const char* const name :
       {"Queue::head@queue", "Queue::tail@queue", "Queue::head@queues", "Queue::tail@queues+8",
        "unnamed.head@unnamed", "unnamed.tail@unnamed", "table[]:table", "table[]:table+4", "plain",
        "either"}) {
    EXPECT_THAT("\n" + names, testing::HasSubstr("\n" + std::string(name) + "\n"));
  }
}

}  // namespace
}  // namespace syndrome::test
