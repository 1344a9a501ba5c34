// `--check nondeterminism` and `replay-check` as scripts call them, alone and under mpirun.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

/// The scopes can swap; and y is written twice, unordered.
constexpr std::string_view kTrace =
    "T1|acq(l)|a.cc:1\n"
    "T1|w(x)|a.cc:2\n"
    "T1|rel(l)|a.cc:3\n"
    "T2|acq(l)|b.cc:1\n"
    "T2|r(x)|b.cc:2\n"
    "T2|w(y)|b.cc:3\n"
    "T2|rel(l)|b.cc:4\n"
    "T1|w(y)|a.cc:9\n";

class NondeterminismCommand : public testing::Test {
 protected:
  NondeterminismCommand() { shell_.write("t.std", kTrace); }

  [[nodiscard]] Outcome check(const std::string& arguments) const {
    return shell_.run("syndrome check --check nondeterminism " + arguments);
  }

  const Shell shell_;
};

TEST_F(NondeterminismCommand, JsonHasTheFieldsOfEachRule) {
  const Outcome outcome = check("--format json t.std");
  ASSERT_EQ(outcome.code, 1) << outcome.err;
  const json entry = json::parse(outcome.out)["checks"][0];
  EXPECT_EQ(entry["verdict"], "violated");
  ASSERT_EQ(entry["findings"].size(), 2);
  const json& read = entry["findings"][0];
  EXPECT_EQ(read["rule"], "nondeterministic-read");
  EXPECT_EQ(read["certainty"], "predicted");
  EXPECT_EQ(read["event"], 5);
  EXPECT_EQ(read["read"], 5);
  EXPECT_EQ(read["write"], 2);
  EXPECT_EQ(read["challenger"], 0);
  EXPECT_EQ(read["schedule"], json::array({4, 5}));
  const json& final_value = entry["findings"][1];
  EXPECT_EQ(final_value["rule"], "unsettled-final-value");
  EXPECT_EQ(final_value["variable"], "y");
  EXPECT_EQ(final_value["write"], 8);
  EXPECT_EQ(final_value["challenger"], 6);
  EXPECT_EQ(final_value["schedule"], json::array({1, 2, 3, 4, 5, 8, 6, 7}));
}

TEST_F(NondeterminismCommand, TextDrawsBothOrdersAndWhereTheyPart) {
  const Outcome outcome = check("t.std");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("Nondeterminism found in t.std: on x and y."));
  EXPECT_THAT(outcome.out, HasSubstr("T2 reads x, from event 2"));
  EXPECT_THAT(outcome.out, HasSubstr("T2 reads x, initial value"));
  EXPECT_THAT(outcome.out, HasSubstr("╌╌╌╌"));
  // Saved findings look the same.
  (void)check("--format json -o saved.json t.std");
  EXPECT_EQ(shell_.run("syndrome report saved.json").out, outcome.out);
}

TEST_F(NondeterminismCommand, ExitCodesOfCleanAndUndecided) {
  shell_.write("clean.std", "T1|w(x)|0\nT1|r(x)|0\n");
  const Outcome clean = check("clean.std");
  EXPECT_EQ(clean.code, 0);
  EXPECT_THAT(clean.out, HasSubstr("in every order of these events"));
  shell_.write("late.std",
               "T1|acq(l)|0\nT1|r(x)|0\nT1|rel(l)|0\nT2|acq(l)|0\nT2|w(x)|0\nT2|rel(l)|0\n");
  EXPECT_EQ(check("late.std").code, 1);
  const Outcome undecided = check("--effort 1 late.std");
  EXPECT_EQ(undecided.code, 3);
  EXPECT_THAT(undecided.out, HasSubstr("raise --effort"));
  EXPECT_EQ(check("--effort 0 late.std").code, 2);
}

TEST_F(NondeterminismCommand, ReplayCheckJudgesSchedulesAlone) {
  (void)check("--format json -o saved.json t.std");
  const Outcome accepted = shell_.run("syndrome replay-check saved.json t.std");
  EXPECT_EQ(accepted.code, 0) << accepted.err;
  EXPECT_EQ(accepted.out, "t.std: 2 of 2 schedules accepted.\n");
  json saved = json::parse(shell_.read("saved.json"));
  saved["checks"][0]["findings"][0]["schedule"] = {1, 4, 5};
  shell_.write("forged.json", saved.dump());
  const Outcome rejected = shell_.run("syndrome replay-check forged.json t.std");
  EXPECT_EQ(rejected.code, 1);
  EXPECT_THAT(rejected.out, HasSubstr("step 2, event 4: it acquires a lock that another thread"));
  EXPECT_THAT(rejected.out, HasSubstr("1 of 2 schedules accepted"));
  EXPECT_EQ(shell_.run("syndrome replay-check saved.json nowhere.std").code, 2);
  EXPECT_EQ(shell_.run("syndrome replay-check t.std t.std").code, 2);
}

/// As it is called where it may be more than there are cores, also by root.
constexpr const char* kMpirun =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_"
    "mechanism=none mpirun --oversubscribe ";

class NondeterminismRanks : public NondeterminismCommand {
 protected:
  void SetUp() override {
    const Outcome there = shell_.run(
        "command -v mpirun && ls \"$(dirname \"$(readlink -f \"$(command -v syndrome)\")\")"
        "/../lib/syndrome/libsyndrome_mpi.so\"");
    if (there.code != 0) GTEST_SKIP() << "no mpirun, or built without OpenMPI";
  }
};

TEST_F(NondeterminismRanks, FindTheSame) {
  (void)shell_.run(
      "syndrome trace generate --events 2000 --threads 4 --variables 50 --locks 5 -o g.std");
  (void)check("--all --format json -o one.json g.std");
  const json expected = json::parse(shell_.read("one.json"))["checks"][0];
  ASSERT_GT(expected["findings"].size(), 10U);
  for (const char* ranks : {"1", "2", "4"}) {
    const Outcome outcome = shell_.run(
        kMpirun + std::string("-n ") + ranks +
        " syndrome check --check nondeterminism --all --format json -o ranks.json g.std");
    ASSERT_EQ(outcome.code, 1) << ranks << outcome.err;
    const json found = json::parse(shell_.read("ranks.json"))["checks"][0];
    EXPECT_EQ(found["findings"], expected["findings"]) << ranks;
    EXPECT_EQ(found["verdict"], expected["verdict"]) << ranks;
  }
}

TEST_F(NondeterminismRanks, ShareManyTracesWithEveryCheck) {
  shell_.write("clean.std", "T1|w(x)|0\nT1|r(x)|0\n");
  const std::string call =
      "syndrome check --check races,nondeterminism t.std clean.std missing.std t.std";
  const Outcome one = shell_.run(call);
  const Outcome two = shell_.run(kMpirun + std::string("-n 2 ") + call);
  EXPECT_EQ(one.code, 2);
  EXPECT_EQ(two.code, 2) << two.err;
  EXPECT_EQ(two.out, one.out);
  EXPECT_THAT(two.err, HasSubstr("missing.std"));
}

TEST_F(NondeterminismRanks, ALostRankIsAnErrorAndNoVerdict) {
  const Outcome outcome =
      shell_.run(kMpirun + std::string("-n 1 syndrome check --check nondeterminism t.std "
                                       ": -n 1 sh -c 'kill -9 $$'"));
  EXPECT_THAT(outcome.code, Not(AnyOf(Eq(0), Eq(1), Eq(3))));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Nondeterminism")));
  // mpirun says it, in one of two ways: it depends on who notices first.
  EXPECT_THAT(outcome.err + outcome.out,
              AnyOf(HasSubstr("rank 1"), HasSubstr("1 process returned\na non-zero exit code")));
}

TEST_F(NondeterminismRanks, ATraceThatARankCannotReadIsAnError) {
  const Outcome outcome =
      shell_.run(kMpirun + std::string("-n 2 syndrome check --check nondeterminism nowhere.std"));
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("nowhere.std"));
}

// The node goes from thread to thread through code without probes: no other order of the same
// events uses it before it is made.
TEST_F(NondeterminismCommand, MemoryIsNotUsedBeforeItIsAllocated) {
  shell_.write("box.c",
               "static void* kept;\nvoid box_put(void* what) { kept = what; }\n"
               "void* box_get(void) { return kept; }\n");
  shell_.write("node.c", R"(
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
void box_put(void*);
void* box_get(void);
struct Node { int value; };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void* produce(void* unused) {
  struct Node* node = malloc(sizeof *node);
  node->value = 7;
  pthread_mutex_lock(&mutex);
  box_put(node);
  pthread_mutex_unlock(&mutex);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, produce, NULL);
  struct Node* node = NULL;
  while (node == NULL) {
    pthread_mutex_lock(&mutex);
    node = box_get();
    pthread_mutex_unlock(&mutex);
    sched_yield();
  }
  const int value = node->value;
  pthread_join(thread, NULL);
  return value;
}
)");
  const Outcome made = shell_.run(
      "clang-19 -c -O1 box.c && syndrome cc -g -O1 -pthread node.c box.o -o node && "
      "syndrome record -o n.syn -- ./node");
  ASSERT_EQ(made.code, 7) << made.err;
  const Outcome outcome = check("--format json -o found.json n.syn");
  EXPECT_EQ(outcome.code, 0) << shell_.read("found.json") << outcome.err;
  // Nor does the verifier believe it.
  const json before = json::parse(shell_
                                      .run("syndrome trace cat n.syn | grep -n 'Node::value' | "
                                           "cut -d: -f1 | paste -sd, | sed 's/.*/[&]/'")
                                      .out);
  ASSERT_EQ(before.size(), 2);
  json claimed = json::parse(shell_.read("found.json"));
  json schedule = json::array();
  const Outcome of_main = shell_.run(
      "syndrome trace cat n.syn | grep -n '^main|' | cut -d: -f1 | paste -sd, | sed 's/.*/[&]/'");
  for (const json& event : json::parse(of_main.out)) {
    if (event <= before[1]) schedule.push_back(event);
  }
  claimed["checks"][0]["findings"] = json::array({{{"check", "nondeterminism"},
                                                   {"rule", "nondeterministic-read"},
                                                   {"certainty", "predicted"},
                                                   {"message", "m"},
                                                   {"fingerprint", "f"},
                                                   {"event", before[1]},
                                                   {"read", before[1]},
                                                   {"write", before[0]},
                                                   {"challenger", 0},
                                                   {"variable", "x"},
                                                   {"schedule", schedule},
                                                   {"sites", json::array()}}});
  shell_.write("claimed.json", claimed.dump());
  const Outcome replayed = shell_.run("syndrome replay-check claimed.json n.syn");
  EXPECT_EQ(replayed.code, 1) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("it uses memory that it cannot know of yet"));
}

}  // namespace
}  // namespace syndrome::test
