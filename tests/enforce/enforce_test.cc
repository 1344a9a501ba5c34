// The bugs of Table 1 (Weeratunge, Zhang and Jagannathan), re-created in bench/programs/enforce:
// hardened by what runs that passed have shown, they do not happen any more, in the schedule that
// shows them and under noise. And what a user may get wrong on the way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Case {
  std::string_view program;   // with its suffix
  std::string_view variable;  // that must have a lock
  std::string_view function;  // whose pair it keeps
  std::string_view infer = "";
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.program;
}

constexpr Case kCases[] = {
    {"aget.c", "bwritten", "save_log"},
    {"pbzip2.c", "queue::mut", "consume"},
    {"nszip.c", "nsZipItem::flags", "SeekToItem"},
    {"apache_fdqueue.c", "recycled_pool::next", "ap_queue_info_set_idle"},
    {"apache_log.c", "buffered_log::outcnt", "ap_buffered_log_writer"},
    {"spidermonkey.c", "JSRuntime::state", "run_script"},
    {"mysql_binlog.cc", "MYSQL_LOG::log_type", "MYSQL_LOG::new_file()"},
    {"mysql_query_cache.cc", "Query_cache::bins", "Query_cache::resize()"},
    {"mysql_hash_index.c", "buf_block_struct::index", "btr_search_drop_page_hash_index"},
    {"mysql_awake.cc", "THD::mysys_var", "THD::awake()"},
    {"mysql_safe_mutex.c", "safe_mutex_t::count+safe_mutex_t::thread", "safe_mutex_lock",
     "--correlate"},
    {"mysql_end_slave.cc", "Master_info::run_lock", "handle_slave_io(Master_info*)"},
};

class Enforce : public testing::TestWithParam<Case> {};

// A plan without a lock: the program as it was, with steps.
constexpr std::string_view kNothing =
    R"({"version": 1, "kind": "syndrome-plan", "locks": [], "functions": []})";

TEST_P(Enforce, TheBugIsGone) {
  const Case& one = GetParam();
  const Shell shell;
  const std::string source = "'" + (source_directory() / "bench/programs/enforce").string() + "/" +
                             std::string(one.program) + "'";
  const std::string driver =
      one.program.ends_with(".cc") ? "syndrome c++ -std=c++20" : "syndrome cc";
  const std::string flags = " -g -O1 -Wall -Wextra -Werror -pthread " + source;
  const auto build = [&](const std::string& more, const std::string& name) {
    const Outcome built = shell.run(driver + more + flags + " -o " + name);
    EXPECT_EQ(built.code, 0) << built.err;
    return built.code == 0;
  };
  const Outcome learned = shell.run(driver + flags +
                                    " -o probes && syndrome record -o 1.syn -- ./probes && "
                                    "syndrome record -o 2.syn -- ./probes && syndrome infer " +
                                    std::string(one.infer) + " -o profile 1.syn 2.syn");
  ASSERT_EQ(learned.code, 0) << learned.err;
  const Outcome planned = shell.run("syndrome plan -o plan profile probes");
  ASSERT_EQ(planned.code, 0) << planned.err;
  // A lock of its own, or one that it shares with others that are accessed at the same place.
  EXPECT_THAT(planned.out,
              testing::AnyOf(HasSubstr(" for " + std::string(one.variable) + ":"),
                             HasSubstr("also for " + std::string(one.variable) + "\n")));
  EXPECT_THAT(planned.out, HasSubstr("\n  " + std::string(one.function) + "\n"));
  // But for what main() has set before it waits for the threads, every pair is kept.
  EXPECT_THAT(planned.out, Not(HasSubstr(": no path in"))) << planned.out;
  EXPECT_THAT(planned.out, Not(HasSubstr("could not be made free of cycles"))) << planned.out;

  // It runs by itself, in the schedule of the bug too, and no lock is waited for in vain.
  ASSERT_TRUE(build(" --syndrome-enforce=plan", "hardened"));
  const Outcome ran = shell.run(
      "set -e; export SYNDROME_ENFORCE_WATCHDOG=1; ./hardened fail; ./hardened; "
      "./hardened work 2000");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("of the plan:")));

  // Under no schedule with one preemption does it fail or wait forever; as it was, it does.
  shell.write("nothing", kNothing);
  ASSERT_TRUE(build(" --syndrome-enforce=nothing --syndrome-steps", "plain-steps"));
  ASSERT_TRUE(build(" --syndrome-enforce=plan --syndrome-steps", "hardened-steps"));
  const Outcome before = shell.run("SYNDROME_STEPS=explore:1 ./plain-steps together 1");
  EXPECT_EQ(before.code, 1) << before.err;
  EXPECT_THAT(before.err, Not(HasSubstr(": 0 failed"))) << before.err;
  EXPECT_THAT(before.err, HasSubstr(" 0 deadlocked, 0 waited in vain, 0 unfinished\n"));
  const Outcome after = shell.run("SYNDROME_STEPS=explore:1 ./hardened-steps together 1");
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_THAT(after.err, HasSubstr(": 0 failed, 0 deadlocked, 0 waited in vain, 0 unfinished\n"));

  // Nor with noise. (How often it does as it was depends on the machine: `make results` tells.)
  const Outcome noise = shell.run(
      "for i in 1 2 3 4 5 6; do SYNDROME_STEPS=noise:$i ./hardened-steps together 20 || exit 1; "
      "done");
  EXPECT_EQ(noise.code, 0) << noise.err;

  // And the check for atomicity, which sees our locks, finds what it finds without them no more.
  ASSERT_TRUE(build(" --syndrome-enforce=plan --syndrome-probes", "hardened-probes"));
  shell.write("spec.toml", "[blocks]\natomic = [\"re:^" +
                               std::string(one.function.substr(0, one.function.find('('))) +
                               "\"]\n");
  const std::string check = "syndrome run -q --order exact --check atomicity --spec spec.toml -- ";
  // Nothing keeps the second side from coming here, however long that takes.
  EXPECT_EQ(shell.run(check + "./probes fail 600000").code, 66);
  const Outcome checked = shell.run(check + "./hardened-probes fail");
  EXPECT_EQ(checked.code, 0) << checked.err;
}

INSTANTIATE_TEST_SUITE_P(TableOne, Enforce, testing::ValuesIn(kCases), [](const auto& test) {
  return std::string(test.param.program.substr(0, test.param.program.find('.')));
});

// Two fields that must agree: each is accessed once, and has no pair of its own.
constexpr std::string_view kTwoFields = R"(
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <syndrome/syndrome.h>
#ifdef ANNOTATED
#define TOGETHER SYNDROME_ATOMIC_SET(Message)
#else
#define TOGETHER
#endif
struct message {
  TOGETHER const char* text;
  TOGETHER unsigned long length;
};
static struct message* shown;
static int together, torn;

static void show(struct message* m, const char* text) {
  m->text = text;
  m->length = strlen(text);
}
static int is_whole(struct message* m) {
  const unsigned long length = m->length;
  return strlen(m->text) == length;
}
static void* writer(void* unused) { show(shown, "hello"); return unused; }
static void* reader(void* unused) {
  if (!is_whole(shown)) torn = 1;
  return unused;
}
int main(int argc, char** argv) {
  pthread_t threads[2];
  together = argc > 1;
  shown = calloc(1, sizeof *shown);
  shown->text = "";
  pthread_create(&threads[0], NULL, writer, NULL);
  if (!together) pthread_join(threads[0], NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  if (together) pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return argv == NULL || torn;
})";

TEST(EnforceTogether, FieldsThatMustAgreeCountAsOne) {
  const Shell shell;
  shell.write("two.c", kTwoFields);
  const auto explored = [&shell](const std::string& build, const std::string& infer) {
    const Outcome made =
        shell.run("syndrome cc -g -O1 " + build +
                  " two.c -o probes && syndrome record -q -o r.syn ./probes "
                  "&& syndrome infer -q " +
                  infer +
                  " -o profile r.syn && syndrome plan -q -o plan profile "
                  "probes && syndrome cc --syndrome-enforce=plan --syndrome-steps -g -O1 " +
                  build + " two.c -o hardened");
    EXPECT_EQ(made.code, 0) << made.err;
    return shell.run("SYNDROME_STEPS=explore:1 ./hardened together").err;
  };
  EXPECT_THAT(explored("", ""), HasSubstr(": 3 failed, 0 deadlocked")) << "each by itself";
  const auto none = HasSubstr(": 0 failed, 0 deadlocked, 0 waited in vain, 0 unfinished\n");
  EXPECT_THAT(explored("", "--correlate"), none);
  EXPECT_THAT(explored("-DANNOTATED", ""), none);
  // A profile keeps what counted as one, also for runs that are added to it.
  const Outcome added = shell.run(
      "syndrome cc -g -O1 two.c -o probes && syndrome record -q -o r.syn ./probes && "
      "syndrome infer -q --correlate -o first r.syn && syndrome infer -o both first r.syn");
  EXPECT_THAT(added.out, HasSubstr("message::length+message::text\n"));
  EXPECT_THAT(added.out, HasSubstr("seen 2\n2 variables of 2 runs: 2 exclusive-atomic"));
  EXPECT_THAT(shell.run("syndrome infer --correlate=90 -o third r.syn").out,
              HasSubstr("3 variables of 1 run: 0 exclusive-atomic"))
      << "main sets one of them by itself: two of three functions access both";
  EXPECT_THAT(shell.run("syndrome infer -o r.syn r.syn").err, HasSubstr("is an input"));
}

// What the explorer says of programs whose schedules are known.
constexpr std::string_view kTwoLocks = R"(
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void both(pthread_mutex_t* first, pthread_mutex_t* second) {
  pthread_mutex_lock(first);
  pthread_mutex_lock(second);
  ++x;
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
}
static void* other(void* unused) { both(&b, &a); return unused; }
int main(int argc, char** argv) {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  if (argc > 1) pthread_join(thread, NULL);
  both(&a, &b);
  if (argc == 1) pthread_join(thread, NULL);
  return argv == NULL || x != 2;
})";

TEST(EnforceSteps, ADeadlockIsFoundAndShownAgain) {
  const Shell shell;
  shell.write("two.c", kTwoLocks);
  shell.write("nothing", kNothing);
  ASSERT_EQ(
      shell.run("syndrome cc --syndrome-enforce=nothing --syndrome-steps -g two.c -o two").code, 0);
  EXPECT_THAT(shell.run("SYNDROME_STEPS=explore:0 ./two").err,
              HasSubstr(": 0 failed, 0 deadlocked, 0 waited in vain, 0 unfinished\n"));
  const Outcome found = shell.run("SYNDROME_STEPS=explore:1 ./two");
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.err, HasSubstr(" 0 failed, 1 deadlocked, 0 waited in vain, 0 unfinished\n"));
  const std::size_t at = found.err.find("SYNDROME_STEPS=replay:");
  ASSERT_NE(at, std::string::npos);
  const std::string schedule = found.err.substr(at, found.err.find('\n', at) - at);
  EXPECT_EQ(shell.run(schedule + " ./two").code, 2) << "a deadlock ends the run";
  EXPECT_EQ(shell.run("SYNDROME_STEPS=explore:3 ./two one-after-the-other").code, 0);
  EXPECT_EQ(shell.run("./two one-after-the-other").code, 0) << "without a word of ours";
  EXPECT_EQ(shell.run("SYNDROME_STEPS=some ./two").code, 2);
}

// Figure 9: the first thread waits for a condition inside of a pair; the second needs the pair's
// variable before it signals. As the paper says, nobody waits forever: the lock is set aside.
constexpr std::string_view kFigureNine = R"(
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready, x;
static void* first(void* unused) {
  int before = x;
  pthread_mutex_lock(&m);
  while (!ready) pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
  x = before + 1;
  return unused;
}
static void* second(void* unused) {
  x = x + 1;
  pthread_mutex_lock(&m);
  ready = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return unused;
}
int main(int argc, char** argv) {
  pthread_t threads[2];
  const int together = argc > 1;
  pthread_create(&threads[1], NULL, second, NULL);
  if (!together) pthread_join(threads[1], NULL);
  pthread_create(&threads[0], NULL, first, NULL);
  if (together) pthread_join(threads[1], NULL);
  pthread_join(threads[0], NULL);
  return argv == NULL;
})";

TEST(EnforceSteps, FigureNineNeverWaitsForever) {
  const Shell shell;
  shell.write("nine.c", kFigureNine);
  const Outcome built = shell.run(
      "syndrome cc -g -O1 nine.c -o probes && syndrome record -q -o r.syn -- ./probes && "
      "syndrome infer -q -o profile r.syn && syndrome plan -o plan profile probes && "
      "syndrome cc --syndrome-enforce=plan --syndrome-steps -g -O1 nine.c -o nine");
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.out, HasSubstr("lock 0 for x")) << "the pair around the wait";
  EXPECT_THAT(built.out, HasSubstr("\n  first\n"));
  const Outcome explored = shell.run("SYNDROME_STEPS=explore:2 ./nine together");
  EXPECT_THAT(explored.err,
              HasSubstr(": 0 failed, 0 deadlocked, 0 waited in vain, 0 unfinished\n"));
}

// Our lock is held over the program's in one function and taken under it in the other.
constexpr std::string_view kBothOrders = R"(
#include <pthread.h>
#include <threads.h>
#if defined(RWLOCK)
static pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;
#define INIT()
#define LOCK() pthread_rwlock_wrlock(&m)
#define LOCK_TOO() pthread_rwlock_rdlock(&m)
#define UNLOCK() pthread_rwlock_unlock(&m)
#elif defined(SPIN)
static pthread_spinlock_t m;
#define INIT() pthread_spin_init(&m, PTHREAD_PROCESS_PRIVATE)
#define LOCK() pthread_spin_lock(&m)
#define LOCK_TOO() LOCK()
#define UNLOCK() pthread_spin_unlock(&m)
#elif defined(ARRAY)
static pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
#define INIT()
#define LOCK() pthread_mutex_t* mine = &m[unused != NULL]; pthread_mutex_lock(mine)
#define LOCK_TOO() pthread_mutex_lock(&m[unused != NULL])
#define UNLOCK() pthread_mutex_unlock(&m[unused != NULL])
#else
static mtx_t m;
#define INIT() mtx_init(&m, mtx_plain)
#define LOCK() mtx_lock(&m)
#define LOCK_TOO() LOCK()
#define UNLOCK() mtx_unlock(&m)
#endif
static int x, calls;
static void* first(void* unused) {
  const int before = x;
  LOCK();
  ++calls;
  UNLOCK();
  x = before + 1;
  return unused;
}
static void* second(void* unused) {
  LOCK_TOO();
  x = x + 1;
  UNLOCK();
  return unused;
}
int main(int argc, char** argv) {
  pthread_t threads[2];
  INIT();
  pthread_create(&threads[0], NULL, first, NULL);
  if (argc == 1) pthread_join(threads[0], NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  if (argc > 1) pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return argv == NULL || x != 2;
})";

TEST(EnforceSteps, LocksOfEveryKindAreInTheOrder) {
  const Shell shell;
  shell.write("orders.c", kBothOrders);
  for (const std::string kind : {"RWLOCK", "SPIN", "ARRAY", "C11"}) {
    const Outcome built =
        shell.run("set -e; syndrome cc -D" + kind +
                  " -g -O1 orders.c -o probes; syndrome record -q -o r.syn "
                  "-- ./probes; syndrome infer -q -o profile r.syn; "
                  "syndrome plan -o plan profile probes; syndrome cc -D" +
                  kind + " --syndrome-enforce=plan --syndrome-steps -g -O1 orders.c -o hardened");
    ASSERT_EQ(built.code, 0) << kind << built.err;
    const std::string lock = kind == "ARRAY" ? "m[]" : "m";
    EXPECT_THAT(built.out, HasSubstr("hoisted before the program's " + lock +
                                     ": cycle of x, the program's " + lock + "\n"))
        << kind;
    const Outcome explored = shell.run("SYNDROME_STEPS=explore:2 ./hardened together");
    EXPECT_THAT(explored.err,
                HasSubstr(": 0 failed, 0 deadlocked, 0 waited in vain, 0 unfinished\n"))
        << kind;
  }
}

// Exceptions leave in the middle of a pair, and the lock is free again.
constexpr std::string_view kThrows = R"(
#include <pthread.h>
#include <stdexcept>
#include <cstdio>
struct Box { int value = 0; };
Box* box = new Box;
bool failing = false;
void check(int value) { if (value < 0 || failing) throw std::runtime_error("no"); }
void update() {
  int old = box->value;
  check(old);
  box->value = old + 1;
}
void* work(void*) {
  for (int i = 0; i < 100; ++i) {
    try { update(); } catch (const std::exception&) {}
  }
  return nullptr;
}
int main(int argc, char**) {
  failing = argc > 1;
  for (int round = 0; round < 2; ++round) {
    pthread_t thread;
    pthread_create(&thread, nullptr, work, nullptr);
    pthread_join(thread, nullptr);
  }
  std::printf("%d\n", box->value);
})";

TEST(EnforceBuild, AnExceptionGivesTheLockBack) {
  const Shell shell;
  shell.write("throws.cc", kThrows);
  const Outcome built = shell.run(
      "syndrome c++ -g -O1 throws.cc -o probes && syndrome record -o r.syn -- ./probes && "
      "syndrome infer -q -o profile r.syn && syndrome plan -q -o plan profile probes && "
      "syndrome c++ --syndrome-enforce=plan -g -O1 throws.cc -o hardened");
  ASSERT_EQ(built.code, 0) << built.err;
  const Outcome plain = shell.run("./hardened");
  EXPECT_EQ(plain.out, "200\n") << plain.err;
  // The second thread would wait for what the first one never gave back.
  const Outcome thrown = shell.run("SYNDROME_ENFORCE_WATCHDOG=1 ./hardened fail");
  EXPECT_EQ(thrown.out, "0\n") << thrown.err;
  EXPECT_THAT(thrown.err, Not(HasSubstr("of the plan:")));
  EXPECT_THAT(shell.run("ldd ./hardened").out, Not(HasSubstr("syndrome"))) << "it runs alone";
}

TEST(EnforceBuild, ChangedCodeIsNamed) {
  const Shell shell;
  shell.write("throws.cc", kThrows);
  ASSERT_EQ(shell
                .run("syndrome c++ -g -O1 throws.cc -o probes && "
                     "syndrome record -o r.syn -- ./probes && "
                     "syndrome infer -q -o profile r.syn && "
                     "syndrome plan -q -o plan profile probes")
                .code,
            0);
  // Other programs of a project have a main of their own.
  shell.write("conftest.c", "int main(void) { return 0; }");
  const Outcome other = shell.run("syndrome cc --syndrome-enforce=plan -g conftest.c -o conftest");
  EXPECT_EQ(other.code, 0) << other.err;
  std::string changed(kThrows);
  changed.replace(changed.find("old + 1;"), 8, "old + 1; check(old + 2);");
  shell.write("throws.cc", changed);
  const Outcome built =
      shell.run("syndrome c++ --syndrome-enforce=plan -g -O1 throws.cc -o hardened");
  EXPECT_NE(built.code, 0);
  EXPECT_THAT(built.err, HasSubstr("was made for other code: update()"));
  // And a profile of the old program does not fit the new one.
  changed.insert(changed.find("void update"), "\n\n");
  shell.write("throws.cc", changed);
  const Outcome planned =
      shell.run("syndrome c++ -g -O1 throws.cc -o probes && syndrome plan -o plan profile probes");
  EXPECT_EQ(planned.code, 2);
  EXPECT_THAT(planned.err, HasSubstr("update()"));
  EXPECT_THAT(shell.run("syndrome plan -o x profile /bin/true").err, HasSubstr("no summary"));
  EXPECT_THAT(shell.run("syndrome plan -o x probes probes").err, HasSubstr("not a profile"));
  EXPECT_THAT(shell.run("syndrome cc --syndrome-enforce=nowhere -c throws.cc").err,
              HasSubstr("no such file"));
}

// A plan is a file that anyone may have written: clang must not fall over it, and what it builds
// must not touch memory that the lock runtime does not have.
TEST(EnforceBuild, ADamagedPlanIsRefused) {
  const Shell shell;
  shell.write("main.c", "int main(void) { return 0; }");
  const auto build = [&shell](const std::string& plan) {
    shell.write("plan", plan);
    const Outcome outcome = shell.run("syndrome cc --syndrome-enforce=plan -c main.c -o main.o");
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    return outcome.err;
  };
  const auto with = [](const std::string& functions) {
    return R"({"version": 1, "kind": "syndrome-plan", "locks": [], "functions": )" + functions +
           "}";
  };
  EXPECT_THAT(build("["), HasSubstr("is not a plan"));
  EXPECT_THAT(build(std::string(1'000'000, '[')), HasSubstr("is not a plan"));
  const std::string deep(300'000, '[');
  EXPECT_THAT(build(with(deep + std::string(deep.size(), ']'))), HasSubstr("is not a plan"));
  const auto with_lock = [&with](const std::string& number) {
    return with(R"([{"function": "f", "name": "f", "file": "[{\"[{", "internal": false, "hash": 1,)"
                R"("nodes": 2, "operations": [{"node": 1, "op": "read", "origin": 1, "lock": )" +
                number + "}]}]");
  };
  EXPECT_THAT(build(with_lock("-1")), HasSubstr("incomplete"));
  EXPECT_THAT(build(with_lock("512")), HasSubstr("incomplete"));
  EXPECT_THAT(build(with_lock("4294967296")), HasSubstr("incomplete"));
  shell.write("plan", with_lock("511"));  // of another program
  EXPECT_EQ(shell.run("syndrome cc --syndrome-enforce=plan -c main.c -o main.o").code, 0);
}

}  // namespace
}  // namespace syndrome::test
