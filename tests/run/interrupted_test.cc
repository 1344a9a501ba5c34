// A run that is ended from outside: what was found so far is said soon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A race at once, then more and more words until somebody ends it; says when it works.
constexpr char kProgram[] = R"(
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int racy;
static volatile long cells[4096];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void* race(void* unused) { racy = racy + 1; return unused; }
static void* work(void* arguments) {
  char** argv = arguments;
  for (long i = 0;; ++i) {
    pthread_mutex_lock(&mutex);
    for (int k = 0; k < 64; ++k) cells[(i * 64 + k) % 4096] += 1;
    pthread_mutex_unlock(&mutex);
    if (i == atol(argv[1])) say_ready();
  }
  return arguments;
}
)";

class Interrupted : public testing::Test {
 protected:
  void SetUp() override {
    std::string program = kProgram;
    program.insert(program.find("static int racy;"),
                   "static void say_ready(void) { FILE* f = fopen(\"ready\", \"w\"); "
                   "fprintf(f, \"%d %d\\n\", getppid(), getpid()); fclose(f); }\n");
    program +=
        "int main(int argc, char** argv) {\n"
        "  pthread_t a, b;\n  (void)argc;\n"
        "  pthread_create(&a, 0, race, 0);\n  pthread_create(&b, 0, race, 0);\n"
        "  pthread_join(a, 0);\n  pthread_join(b, 0);\n"
        "  pthread_create(&a, 0, work, argv);\n  pthread_create(&b, 0, work, argv);\n"
        "  pthread_join(a, 0);\n  return 0;\n}\n";
    shell_.write("work.c", program);
    const Outcome built = shell_.run("syndrome cc -g -O1 -pthread work.c -o work");
    ASSERT_EQ(built.code, 0) << built.err;
  }

  /// Runs it until it has done `rounds`, then does `end`; $r is `syndrome run`, $p the program. The
  /// exit code is that of `syndrome run`.
  [[nodiscard]] Outcome ended(const std::string& options, long rounds,
                              const std::string& end) const {
    // What the shell puts into the background ignores SIGINT.
    return shell_.run(
        "rm -f ready; (while ! test -s ready; do sleep 0.05; done; read r p <ready; "
        "date +%s%N >asked; " +
        end + ") & syndrome run " + options + " -- ./work " + std::to_string(rounds) +
        "; code=$?; date +%s%N >done; exit $code");
  }
  /// From the signal to the end.
  [[nodiscard]] double seconds() const {
    return (std::stod(shell_.read("done")) - std::stod(shell_.read("asked"))) / 1e9;
  }

  const Shell shell_;
};

TEST_F(Interrupted, ADefaultRunSaysWhatItFoundWhenItGetsSigterm) {
  for (const std::string signal : {"TERM", "HUP"}) {
    const Outcome outcome = ended("", 1000, "kill -" + signal + " $r");
    EXPECT_EQ(outcome.code, signal == "TERM" ? 128 + 15 : 128 + 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("data race on racy")) << signal;
  }
}

// What GNU timeout and test runners do: first the process, then its group.
TEST_F(Interrupted, ADefaultRunSaysWhatItFoundWhenATestRunnerGivesUp) {
  const Outcome outcome = shell_.run("timeout 2 syndrome run -- ./work 1000");
  EXPECT_EQ(outcome.code, 124);
  EXPECT_THAT(outcome.err, HasSubstr("data race on racy"));
}

TEST_F(Interrupted, AnotherCtrlCEndsTheCheckAndNotTheReport) {
  // The second comes when the program has ended: while the recorder writes what is left, or later.
  const Outcome outcome =
      ended("", 20'000, "kill -INT $r; while kill -0 $p 2>/dev/null; do :; done; kill -INT $r");
  EXPECT_EQ(outcome.code, 128 + 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("data race on racy"));
}

// Much more than can be looked at in that time.
TEST_F(Interrupted, ALargeRunIsNotLookedAtToTheEnd) {
  const Outcome outcome = ended("", 100'000, "kill -TERM $r");
  EXPECT_EQ(outcome.code, 128 + 15) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("data race on racy"));
  RecordProperty("seconds", std::to_string(seconds()));
}

}  // namespace
}  // namespace syndrome::test
