// `syndrome refine` on traces and on programs, and what its spec is good for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/traces.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::set<std::string> entries(const json& list) {
  std::set<std::string> result;
  for (const json& each : list) result.insert(each.at("entry").get<std::string>());
  return result;
}

TEST(RefineCommand, DropsWhatARunViolates) {
  const Shell shell;
  shell.write("clean.std", kClean);
  shell.write("violated.std", kViolated);
  const Outcome clean = shell.run("syndrome refine clean.std -o clean.toml");
  EXPECT_EQ(clean.code, 0) << clean.err;
  EXPECT_THAT(clean.out + clean.err, IsEmpty());
  EXPECT_EQ(shell.run("syndrome check -q --spec clean.toml clean.std").code, 0);
  EXPECT_EQ(shell.run("syndrome check -q --spec clean.toml violated.std").code, 1);

  const Outcome both = shell.run("syndrome refine clean.std violated.std -o both.toml");
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.err, AllOf(HasSubstr("run 2"), HasSubstr("transfer")));
  const std::string spec = shell.read("both.toml");
  EXPECT_THAT(spec, AllOf(HasSubstr("\"transfer\""), HasSubstr("\"pay\""), HasSubstr("bank.c:2"),
                          HasSubstr("bank.c:12")));
  EXPECT_LT(spec.find("\"pay\""), spec.find("exclude = ["));
  EXPECT_GT(spec.find("\"transfer\""), spec.find("exclude = ["));
  for (const std::string trace : {"clean.std", "violated.std"}) {
    const Outcome checked = shell.run("syndrome check -q --spec both.toml " + trace);
    EXPECT_EQ(checked.code, 0) << trace;
  }
}

TEST(RefineCommand, SaysTheSameInJson) {
  const Shell shell;
  shell.write("violated.std", kViolated);
  const Outcome outcome = shell.run("syndrome refine -q --format json violated.std");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  const json learned = json::parse(outcome.out);
  EXPECT_EQ(learned["version"], 1);
  EXPECT_EQ(learned["runs"]["passed"], 1);
  EXPECT_THAT(entries(learned["atomic"]), ElementsAre("pay"));
  EXPECT_EQ(learned["atomic"][0]["calls"], 1);
  EXPECT_EQ(learned["atomic"][0]["certainty"], "not tested");
  EXPECT_THAT(entries(learned["exclude"]), ElementsAre("transfer"));
  EXPECT_EQ(learned["exclude"][0]["why"], "violated");
  EXPECT_THAT(learned["exclude"][0]["reason"].get<std::string>(), HasSubstr("bank.c:12"));
}

TEST(RefineCommand, WrongCallsAreTwo) {
  const Shell shell;
  shell.write("clean.std", kClean);
  shell.write("bad.std", kIllFormed);
  for (const std::string call :
       {"", "-o x.toml", "missing.syn", "bad.std", "-", "clean.std -o clean.std",
        "--format yaml clean.std", "--runs 0 clean.std", "-- true", "clean.std -o x.toml -- true",
        "-o x.toml --runs 5 --most 4 -- true", "-o x.toml -- ./no-such-program",
        "-o x.toml -- true"}) {
    const Outcome outcome = shell.run("syndrome refine " + call);
    EXPECT_EQ(outcome.code, 2) << call << outcome.out;
    EXPECT_THAT(outcome.err, Not(IsEmpty())) << call;
    EXPECT_THAT(outcome.out, IsEmpty()) << call;
    EXPECT_NE(shell.run("test -e x.toml").code, 0) << call;
  }
  EXPECT_EQ(shell.run("syndrome refine -q --lenient bad.std -o lenient.toml").code, 0);
}

/// `steps` is a file in which each run leaves a letter; `fails`: every second run.
void write_program(const Shell& shell, bool fails) {
  shell.write("prog.c", std::string("#include <pthread.h>\n"
                                    "#include <stdio.h>\n"
                                    "static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;\n"
                                    "static int x;\n"
                                    "void add(int n) {\n"
                                    "  pthread_mutex_lock(&mutex);\n"
                                    "  x += n;\n"
                                    "  pthread_mutex_unlock(&mutex);\n"
                                    "}\n"
                                    "void* work(void* p) {\n"
                                    "  for (int i = 0; i < 10; ++i) add(1);\n"
                                    "  return p;\n"
                                    "}\n"
                                    "int main(void) {\n"
                                    "  pthread_t t;\n"
                                    "  pthread_create(&t, 0, work, 0);\n"
                                    "  work(0);\n"
                                    "  pthread_join(t, 0);\n"
                                    "  FILE* f = fopen(\"steps\", \"a+\");\n"
                                    "  fputc('x', f);\n"
                                    "  const long n = ftell(f);\n"
                                    "  fclose(f);\n"
                                    "  return ") +
                            (fails ? "n % 2 == 1 ? 3 : 0;\n}\n" : "0;\n}\n"));
  const Outcome built = shell.run("syndrome cc -g -pthread prog.c -o prog");
  EXPECT_EQ(built.code, 0) << built.err;
}

TEST(RefineCommand, RunsAProgramUntilNothingIsDropped) {
  const Shell shell;
  write_program(shell, false);
  const Outcome outcome = shell.run("syndrome refine -o prog.toml --runs 3 -- ./prog");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(shell.read("steps"), "xxx");
  const std::string spec = shell.read("prog.toml");
  EXPECT_THAT(spec, AllOf(HasSubstr("60 calls in 3 runs by 2 threads"), HasSubstr("\"add\"")));
  EXPECT_LT(spec.find("\"add\""), spec.find("exclude = ["));
  EXPECT_GT(spec.find("\"work\""), spec.find("exclude = ["));
  const Outcome left = shell.run(
      "ls ${TMPDIR:-/tmp} | grep syndrome-refine-; syndrome record -o "
      "r.syn -- ./prog; syndrome check -q --check atomicity --spec prog.toml r.syn");
  EXPECT_EQ(left.code, 0) << left.err;
}

TEST(RefineCommand, AFailedRunIsLeftOut) {
  const Shell shell;
  write_program(shell, true);
  const Outcome outcome = shell.run("syndrome refine -o prog.toml --runs 2 -- ./prog");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(shell.read("steps"), "xxxx");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("run 1"), HasSubstr("exit code 3"), HasSubstr("run 3")));
  EXPECT_THAT(shell.read("prog.toml"),
              AllOf(HasSubstr("40 calls in 2 runs"), HasSubstr("2 more runs failed")));
  // The most runs are over before enough have passed: written, and said.
  const Outcome short_of = shell.run("syndrome refine -o most.toml --runs 3 --most 4 -- ./prog");
  EXPECT_EQ(short_of.code, 3) << short_of.err;
  EXPECT_THAT(short_of.err, HasSubstr("not stable"));
  EXPECT_THAT(shell.read("most.toml"), HasSubstr("NOT STABLE"));
  const Outcome never =
      shell.run("rm steps; syndrome refine -o n.toml --runs 1 --most 1 -- ./prog");
  EXPECT_EQ(never.code, 2);
  EXPECT_THAT(never.err, HasSubstr("nothing was learned"));
  EXPECT_NE(shell.run("test -e n.toml").code, 0);
}

TEST(Baseline, FingerprintsStayFromRunToRun) {
  const Shell shell;
  const std::string programs = (source_directory() / "tests/programs").string();
  const Outcome built = shell.run("syndrome cc -g -pthread -I '" + programs + "' '" + programs +
                                  "/bugs/annotated.c' -o annotated");
  ASSERT_EQ(built.code, 0) << built.err;
  std::set<std::string> seen;
  for (int run = 0; run < 4; ++run) {
    // Other addresses each time, also for what is not randomized by itself.
    const Outcome outcome = shell.run("PADDING=$(head -c " + std::to_string(1000 * run) +
                                      " /dev/zero | tr '\\0' x) "
                                      "syndrome record -o r.syn -- ./annotated > /dev/null; "
                                      "syndrome check --format json -o r" +
                                      std::to_string(run) + ".json r.syn");
    ASSERT_EQ(outcome.code, 1) << outcome.err;
    const json report = json::parse(shell.read("r" + std::to_string(run) + ".json"));
    std::string all;
    for (const json& finding : report["checks"][0]["findings"]) {
      all += finding["fingerprint"].get<std::string>() + " ";
    }
    seen.insert(all);
  }
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_EQ(shell.run("syndrome check -q --baseline r0.json r.syn").code, 0);
}

}  // namespace
}  // namespace syndrome::test
