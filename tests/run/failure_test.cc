// A program that fails, and --runs: what `syndrome run` says then.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// One thread stops in the middle of an update; the other sees that, and ends as it is told.
constexpr char kHalf[] = R"(
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
sem_t half, rest;
int g;
void on_abort(int number) { (void)number; }
void inc_dec(void) {
  pthread_mutex_lock(&m); g++; pthread_mutex_unlock(&m);
  sem_post(&half); sem_wait(&rest);
  pthread_mutex_lock(&m); g--; pthread_mutex_unlock(&m);
}
void *run(void *p) { inc_dec(); return p; }
void check(const char *end) {
  pthread_mutex_lock(&m);
  int seen = g;
  pthread_mutex_unlock(&m);
  if (seen == 0) return;
  if (!strcmp(end, "abort")) abort();
  if (!strcmp(end, "handled")) { signal(SIGABRT, on_abort); abort(); }
  if (!strcmp(end, "segv")) *(volatile int *)8 = 1;
  if (!strcmp(end, "exit")) exit(3);
  if (!strcmp(end, "_exit")) _exit(3);
  if (!strcmp(end, "kill")) { kill(getpid(), SIGKILL); pause(); }
}
void *other(void *end) { check((const char *)end); return 0; }
int main(int argc, char **argv) {
  pthread_t t, u;
  sem_init(&half, 0, 0); sem_init(&rest, 0, 0);
  pthread_create(&t, 0, run, 0);
  sem_wait(&half);
  if (argc > 2) { pthread_create(&u, 0, other, argv[1]); pthread_join(u, 0); }
  check(argv[1]);
  sem_post(&rest);
  pthread_join(t, 0);
  return strcmp(argv[1], "return") ? 0 : 3;
}
)";

class Failure : public testing::Test {
 protected:
  Failure() {
    shell_.write("half.c", kHalf);
    const Outcome built = shell_.run("syndrome cc -g -pthread half.c -o half");
    EXPECT_EQ(built.code, 0) << built.err;
  }
  [[nodiscard]] Outcome run(const std::string& command) const { return shell_.run(command); }
  [[nodiscard]] json report(const std::string& command) const {
    const Outcome outcome = run(command + " > /dev/null 2>&1; cat report.json");
    return json::parse(outcome.out);
  }

  Shell shell_;
};

TEST_F(Failure, IsExplainedByTheUnfinishedFunction) {
  const Outcome outcome = run("syndrome run -- ./half abort");
  EXPECT_EQ(outcome.code, 134);
  EXPECT_THAT(outcome.err, StartsWith("./half abort was killed by SIGABRT. Thread main was in "
                                      "check, last at half.c:"));
  EXPECT_THAT(outcome.err, HasSubstr("What could explain it:\n   1. main had read g at half.c:20. "
                                     "T1 wrote it at half.c:13 in inc_dec, which"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("--runs")));
}

TEST_F(Failure, NamesTheThreadHoweverItEndsTheProgram) {
  struct Case {
    std::string end;
    std::string key;
    json value;
    bool thread;
  };
  for (const Case& each :
       {Case{"abort", "signal", "SIGABRT", true}, Case{"handled", "signal", "SIGABRT", true},
        Case{"segv", "signal", "SIGSEGV", true}, Case{"exit", "exit", 3, true},
        Case{"_exit", "exit", 3, true}, Case{"kill", "signal", "SIGKILL", false}}) {
    for (const std::string options : {"", "--check races,atomicity"}) {
      const json found = report("syndrome run " + options +
                                " --format json --report report.json "
                                "-- ./half " +
                                each.end + " thread");
      ASSERT_TRUE(found.contains("program")) << each.end << options;
      EXPECT_EQ(found["program"][each.key], each.value) << each.end << options;
      ASSERT_EQ(found["program"].contains("thread"), each.thread) << each.end << options;
      if (!each.thread) continue;
      EXPECT_EQ(found["program"]["thread"], "T2") << each.end << options;
      EXPECT_EQ(found["program"]["site"]["file"].get<std::string>().substr(
                    found["program"]["site"]["file"].get<std::string>().size() - 6),
                "half.c");
      if (!options.empty()) continue;  // the trace has less then
      ASSERT_FALSE(found["explanations"].empty()) << each.end;
      EXPECT_EQ(found["explanations"][0]["kind"], "dirty-read") << each.end;
      EXPECT_EQ(found["explanations"][0]["function"], "inc_dec") << each.end;
      EXPECT_EQ(found["explanations"][0]["variable"], "g") << each.end;
    }
  }
}

TEST_F(Failure, IsAlsoAnExitCodeOfMain) {
  const json found = report("syndrome run --format json --report report.json -- ./half return");
  EXPECT_EQ(found["program"]["exit"], 3);
  EXPECT_EQ(found["program"]["thread"], "main");
  EXPECT_EQ(found["program"]["function"], "main");
}

TEST_F(Failure, IsSaidOfAProgramThatEndsWellInJsonAlone) {
  const json found = report("syndrome run --format json --report report.json -- ./half fine");
  EXPECT_EQ(found["program"], json({{"exit", 0}}));
  EXPECT_FALSE(found.contains("explanations"));
  const Outcome outcome = run("syndrome run -- ./half fine");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, Not(HasSubstr("explain")));
  EXPECT_THAT(outcome.err, HasSubstr("--noise or --runs N may show more"));
  EXPECT_THAT(run("syndrome run -q -- ./half fine").err, Not(HasSubstr("--runs")));
  EXPECT_THAT(run("syndrome run --noise -- ./half fine").err, Not(HasSubstr("--runs")));
}

TEST_F(Failure, IsInTheTraceAndInSavedFindings) {
  const Outcome recorded = run("syndrome record -o half.syn -- ./half abort");
  EXPECT_EQ(recorded.code, 134);
  const Outcome checked = run("syndrome check half.syn");
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, StartsWith("half.syn: the program was killed by SIGABRT."));
  EXPECT_THAT(checked.out, HasSubstr("in inc_dec, which"));
  const Outcome again =
      run("syndrome check --format json half.syn > saved.json; syndrome report saved.json");
  EXPECT_THAT(again.out, StartsWith("half.syn: the program was killed by SIGABRT."));
  const std::string explained = checked.out.substr(checked.out.find("What could"));
  EXPECT_THAT(again.out, HasSubstr(explained));
  for (const std::string format : {"html", "sarif", "junit"}) {
    EXPECT_EQ(run("syndrome check --format " + format + " half.syn").code, 0) << format;
  }
}

/// Two locked steps with a pause between them: with noise, and mostly without, a lost update.
constexpr char kLost[] = R"(
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t both;
int count;
int racy;
void *add(void *p) {
  pthread_barrier_wait(&both);
  racy++;
  pthread_mutex_lock(&m); count++; pthread_mutex_unlock(&m);
  return p;
}
int main(int argc, char **argv) {
  pthread_t a, b;
  pthread_barrier_init(&both, 0, 2);
  pthread_create(&a, 0, add, 0); pthread_create(&b, 0, add, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  printf("ran\n"); fflush(stdout);
  if (argc > 1) abort();
  return 5;
}
)";

TEST_F(Failure, OfSeveralRunsIsOneReport) {
  shell_.write("lost.c", kLost);
  ASSERT_EQ(run("syndrome cc -g -pthread lost.c -o lost").code, 0);
  Outcome outcome = run("syndrome run --runs 3 --format json --report all.json -- ./lost");
  EXPECT_EQ(outcome.code, 66) << outcome.err;
  EXPECT_EQ(outcome.out, "ran\nran\nran\n");
  EXPECT_THAT(outcome.err, HasSubstr("syndrome: run 3 of 3\n"));
  const json all = json::parse(run("cat all.json").out);
  ASSERT_TRUE(all.is_object());
  EXPECT_EQ(all["runs"], 3);
  EXPECT_EQ(all["program"]["exit"], 5);
  const json& races = all["checks"][0];
  EXPECT_EQ(races["check"], "races");
  EXPECT_EQ(races["verdict"], "violated");
  ASSERT_FALSE(races["findings"].empty());
  std::set<std::string> fingerprints;
  std::uint64_t count = 0;
  for (const json& finding : races["findings"]) {
    EXPECT_TRUE(fingerprints.insert(finding["fingerprint"]).second);
    count += finding["count"].get<std::uint64_t>();
  }
  EXPECT_GE(count, 3U) << "each of the runs has the race";
  outcome = run("syndrome report all.json");
  EXPECT_THAT(outcome.out, HasSubstr("3 runs in one report"));
}

TEST_F(Failure, EndsASeriesOfRuns) {
  shell_.write("lost.c", kLost);
  ASSERT_EQ(run("syndrome cc -g -pthread lost.c -o lost").code, 0);
  const Outcome outcome = run("syndrome run --noise=7 --runs 3 -- ./lost abort");
  EXPECT_EQ(outcome.code, 134) << outcome.err;
  EXPECT_EQ(outcome.out, "ran\n");
  EXPECT_THAT(outcome.err, HasSubstr("syndrome: run 1 of 3, --noise=7\n"));
  EXPECT_THAT(outcome.err, HasSubstr("Run 1: ./lost abort was killed by SIGABRT."));
  EXPECT_THAT(outcome.err, HasSubstr("1 run in one report, with noise of seed 7"));
}

TEST_F(Failure, GivesEachRunTheNextSeedAndTheCodeOfTheLast) {
  const Outcome outcome = run("syndrome run --noise=7 --runs 3 -- ./half fine");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--noise=9\n"));
  EXPECT_THAT(outcome.err, HasSubstr("3 runs in one report, with noise of seed 7 to 9"));
  EXPECT_EQ(run("syndrome run --runs 2 -o kept.syn -- ./half fine").code, 2);
  EXPECT_EQ(run("syndrome run --runs 0 -- ./half fine").code, 2);
  EXPECT_EQ(run("syndrome run -q --runs 2 -- ./half return").code, 3);
}

TEST_F(Failure, LeavesASeriesThatIsInterruptedWithWhatThereIs) {
  shell_.write("wait.sh", "echo begun; kill -INT $PPID; ./half fine; exit 0\n");
  const Outcome outcome = run("syndrome run --runs 5 -- sh wait.sh");
  EXPECT_EQ(outcome.out, "begun\n") << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("run 2 of 5")));
}

}  // namespace
}  // namespace syndrome::test
