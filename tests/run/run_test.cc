// `syndrome run` as a user calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Threads that take turns by a lock; with an argument, each add is two locked steps. It ends as
/// the second argument says.
constexpr char kProgram[] = R"(
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "syndrome/syndrome.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int count, broken;
SYNDROME_ATOMIC static void add(int first) {
  pthread_mutex_lock(&mutex);
  int seen = count;
  if (broken) {
    pthread_mutex_unlock(&mutex);
    if (first) { pthread_barrier_wait(&barrier); pthread_barrier_wait(&barrier); }
    pthread_mutex_lock(&mutex);
  }
  count = seen + 1;
  pthread_mutex_unlock(&mutex);
}
static void* one(void* unused) { add(1); return unused; }
static void* two(void* unused) {
  if (broken) pthread_barrier_wait(&barrier);
  add(0);
  if (broken) pthread_barrier_wait(&barrier);
  return unused;
}
int main(int argc, char** argv) {
  const char* end = argc > 2 ? argv[2] : "";
  broken = argc > 1 && strcmp(argv[1], "broken") == 0;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  printf("the program says %d\n", count > 0);
  fflush(stdout);
  if (strcmp(end, "abort") == 0) abort();
  if (strcmp(end, "crash") == 0) raise(SIGSEGV);
  if (strcmp(end, "wait") == 0) { printf("waiting\n"); fflush(stdout); for (;;) pause(); }
  return atoi(end);
}
)";

/// A race for each round, in an order that pipes force and no tool sees, while a handler with many
/// accesses of its own comes again and again.
constexpr char kSignals[] = R"(
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
enum { kRounds = 3000 };
static long racy[kRounds], of_handler[64];
static int numbers[4096], there[2], back[2];
__attribute__((noinline)) static void note(int i) { of_handler[i] = i; }
static void handle(int number) { for (int i = 0; i < 64; ++i) note(i); (void)number; }
__attribute__((noinline)) static void leaf(int i) { numbers[i % 4096] = i; }
static void give(const int* turn) { if (write(turn[1], "t", 1) != 1) abort(); }
static void take(const int* turn) { char byte; if (read(turn[0], &byte, 1) != 1) abort(); }
static void* other(void* unused) {
  for (int i = 0; i < kRounds; ++i) { take(there); racy[i] = 2; give(back); }
  return unused;
}
int main(void) {
  if (pipe(there) != 0 || pipe(back) != 0) abort();
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, 0);
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  pthread_sigmask(SIG_UNBLOCK, &alarms, 0);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, 0);
  struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, 0);
  for (int i = 0; i < kRounds; ++i) {
    for (int k = 0; k < 600; ++k) leaf(k * 7 + i);
    racy[i] = 1;
    give(there);
    take(back);
  }
  setitimer(ITIMER_REAL, &never, 0);
  pthread_join(thread, 0);
}
)";

class Run : public testing::Test {
 protected:
  Run() {
    shell_.write("program.c", kProgram);
    const Outcome built = shell_.run("syndrome cc -g -O1 -pthread program.c -o program");
    EXPECT_EQ(built.code, 0) << built.err;
  }
  [[nodiscard]] Outcome run(const std::string& command) const { return shell_.run(command); }

  Shell shell_;
};

TEST_F(Run, IsQuietAboutACleanProgramAndEndsAsItDid) {
  Outcome outcome = run("syndrome run -- ./program fine");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "the program says 1\n");
  EXPECT_THAT(outcome.err, Not(HasSubstr("violated")));
  outcome = run("syndrome run -- ./program fine 7");
  EXPECT_EQ(outcome.code, 7) << outcome.err;
  outcome = run("mkdir here && TMPDIR=$PWD/here syndrome run -q -- ./program fine && ls here");
  EXPECT_EQ(outcome.out, "the program says 1\n") << outcome.err;
}

TEST_F(Run, ReportsOnStandardErrorAndExitsWith66) {
  const Outcome outcome = run("syndrome run --check atomicity -- ./program broken 7");
  EXPECT_EQ(outcome.code, 66) << outcome.err;
  EXPECT_EQ(outcome.out, "the program says 1\n");
  EXPECT_THAT(outcome.err, HasSubstr("Atomicity violated in ./program broken 7"));
  EXPECT_THAT(outcome.err, HasSubstr("program.c:"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("syndrome-run-")));
  EXPECT_EQ(run("syndrome run -q --check atomicity --error-exitcode=9 -- ./program broken").code,
            9);
}

TEST_F(Run, SaysTheSameAsRecordAndCheck) {
  for (const std::string way : {"fine", "broken"}) {
    const Outcome outcome =
        run("syndrome run --check atomicity,races,determinism --format json "
            "-o kept.syn --report run.json -- ./program " +
            way);
    EXPECT_EQ(outcome.code, way == "fine" ? 0 : 66) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    (void)run(
        "syndrome check --check atomicity,races,determinism --format json -o check.json kept.syn");
    EXPECT_EQ(run("for each in run check; do sed '/\"seconds\":/d' $each.json > $each.cut; done;"
                  "cmp run.cut check.cut")
                  .code,
              0);
  }
}

TEST_F(Run, TellsWhatItFoundInAProgramThatASignalKilled) {
  Outcome outcome = run("syndrome run --check atomicity -- ./program broken abort");
  EXPECT_EQ(outcome.code, 128 + 6) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("Atomicity violated"));
  outcome = run("syndrome run --check atomicity -- ./program broken crash");
  EXPECT_EQ(outcome.code, 128 + 11) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("Atomicity violated"));
  for (const std::string signal : {"HUP", "TERM"}) {
    // Sent to the tool alone, which passes it on.
    outcome =
        run("syndrome run --check atomicity -- ./program broken wait > out 2> err & "
            "until grep -q waiting out 2>/dev/null; do sleep 0.05; done; "
            "kill -" +
            signal + " $!; wait $!; code=$?; cat err; exit $code");
    EXPECT_EQ(outcome.code, signal == "HUP" ? 129 : 143) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("Atomicity violated"));
  }
}

// Of what is followed, and of what is recorded and looked at again and again.
TEST_F(Run, PrintsNewsWhileTheProgramRuns) {
  for (const std::string check : {"atomicity", "atomic-sets"}) {
    const Outcome outcome =
        run("rm -f err; syndrome run --eager --check " + check +
            " -- ./program broken wait > out 2> err & "
            "until grep -q ' violated in ' err 2>/dev/null; do sleep 0.05; done; "
            "grep -c 'there is news' err; kill -TERM $!; wait $!; grep -c ' violated in ' err");
    EXPECT_EQ(outcome.out, "1\n2\n") << check;
  }
}

// A trace that nobody keeps does not fill the disk: what comes behind its end is not checked.
TEST_F(Run, EndsATraceThatGrowsTooLarge) {
  shell_.write("much.c",
               "#include <stdio.h>\n"
               "static unsigned at = 1, table[1 << 16];\n"
               "int main(void) {\n"
               "  for (int i = 0; i < 1000000; i++) {\n"
               "    at = at * 1664525 + 1013904223;\n"
               "    table[at >> 16] += at;\n"
               "  }\n"
               "  puts(\"done\");\n"
               "}\n");
  EXPECT_EQ(run("syndrome cc -g -O1 -pthread much.c -o much").code, 0);
  const Outcome outcome = run("syndrome run --after --check atomic-sets --disk 1M -- ./much");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "done\n");
  EXPECT_THAT(outcome.err, HasSubstr("--disk"));
  EXPECT_THAT(outcome.err, HasSubstr("Atomic-sets clean"));
  EXPECT_THAT(run("syndrome run --after --check atomic-sets -- ./much").err,
              Not(HasSubstr("--disk")));
}

// What is open when the process ends counts, however it ends.
TEST_F(Run, FindsWhatAProcessEndsIn) {
  shell_.write("ends.c",
               "#include <pthread.h>\n"
               "#include <signal.h>\n"
               "#include <stdlib.h>\n"
               "#include <string.h>\n"
               "#include <unistd.h>\n"
               "static int count, go[2], back[2];\n"
               "static const char* how;\n"
               "static char byte;\n"
               "static void add(void) {\n"
               "  int seen = count;\n"
               "  if (write(go[1], \"g\", 1) != 1 || read(back[0], &byte, 1) != 1) return;\n"
               "  count = seen + 1;\n"
               "  if (strcmp(how, \"abort\") == 0) abort();\n"
               "  if (strcmp(how, \"_exit\") == 0) _exit(0);\n"
               "  if (strcmp(how, \"exit\") == 0) exit(0);\n"
               "  if (strcmp(how, \"exec\") == 0) execlp(\"true\", \"true\", (char*)0);\n"
               "  if (strcmp(how, \"term\") == 0) raise(SIGTERM);\n"
               "  if (strcmp(how, \"thread\") == 0) pthread_exit(0);\n"
               "  if (strncmp(how, \"fails\", 5) == 0) return;\n"
               "  if (write(go[1], \"g\", 1) == 1) pause();\n"
               "}\n"
               "static void* body(void* unused) { add(); return unused; }\n"
               "static void set(void) { count = 5; }\n"
               "int main(int argc, char** argv) {\n"
               "  how = argv[argc - 1];\n"
               "  if (pipe(go) != 0 || pipe(back) != 0) return 2;\n"
               "  pthread_t thread;\n"
               "  pthread_create(&thread, 0, body, 0);\n"
               "  char mine;\n"
               "  if (read(go[0], &mine, 1) != 1) return 2;\n"
               "  if (strcmp(how, \"fails early\") == 0) execlp(\"./none\", \"none\", (char*)0);\n"
               "  set();\n"
               "  if (strcmp(how, \"fails\") == 0) execlp(\"./none\", \"none\", (char*)0);\n"
               "  if (write(back[1], \"b\", 1) != 1) return 2;\n"
               "  if (strcmp(how, \"main\") == 0 && read(go[0], &mine, 1) == 1) return 0;\n"
               "  pthread_join(thread, 0);\n"
               "}\n");
  EXPECT_EQ(run("syndrome cc -g -O1 -pthread ends.c -o ends").code, 0);
  for (const std::string how : {"abort", "_exit", "exit", "exec", "term", "thread", "main"}) {
    EXPECT_THAT(run("syndrome run --check atomic-sets -- ./ends " + how).err,
                HasSubstr("Atomic-sets violated in ./ends " + how))
        << how;
  }
  // Where exec fails, they go on.
  for (const std::string how : {"fails", "fails early"}) {
    EXPECT_THAT(run("syndrome run --check atomic-sets -- ./ends '" + how + "'").err,
                HasSubstr("Atomic-sets violated in ./ends"))
        << how;
  }
}

// What a unit of work does where it catches an exception is part of it, also when the function that
// throws has let go of the lock.
TEST_F(Run, FindsWhatIsBehindAnException) {
  shell_.write("thrown.cc", R"(
#include <pthread.h>
#include <unistd.h>
#include <mutex>
static int go[2], back[2];
static char byte;
struct Account {
  void check() {
    const std::lock_guard guard(mutex);
    if (balance >= 0) throw 1;
  }
  void take() {
    try {
      check();
    } catch (int) {
      if (write(go[1], "g", 1) != 1 || read(back[0], &byte, 1) != 1) return;
      const std::lock_guard guard(mutex);
      balance = 7;
    }
  }
  void set() {
    const std::lock_guard guard(mutex);
    balance = 5;
  }
  std::mutex mutex;
  int balance = 0;
} account;
static void* body(void* unused) {
  account.take();
  return unused;
}
int main() {
  if (pipe(go) != 0 || pipe(back) != 0) return 2;
  pthread_t thread;
  pthread_create(&thread, nullptr, body, nullptr);
  char mine;
  if (read(go[0], &mine, 1) != 1) return 2;
  account.set();
  if (write(back[1], "b", 1) != 1) return 2;
  pthread_join(thread, nullptr);
}
)");
  EXPECT_EQ(run("syndrome c++ -g -O1 -pthread thrown.cc -o thrown").code, 0);
  EXPECT_THAT(run("syndrome run --check atomic-sets --atomic-sets class -- ./thrown").err,
              HasSubstr("Atomic-sets violated in ./thrown: Account::balance"));
}

/// What is checked when nobody says what (contract): races and atomic sets always; blocks where
/// there are some.
TEST_F(Run, SaysNothingFalseOfThreadsThatWorkWhenTheProcessEnds) {
  const Shell shell;
  shell.write("busy.c", R"(
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "syndrome/syndrome.h"
static _Thread_local volatile int ticks;
static void tick(int number) { ticks += number; }
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long given, taken;
SYNDROME_ATOMIC static void step(void) {
  pthread_mutex_lock(&mutex);
  ++given;
  ++taken;
  pthread_mutex_unlock(&mutex);
}
static void* work(void* unused) {
  for (;;) step();
  return unused;
}
static void fail(int number) {
  if (number != 0) execl("./none", "none", (char*)0);
}
int main(int argc, char** argv) {
  const char* how = argv[argc - 1];
  pthread_t threads[3];
  signal(SIGUSR1, fail);
  at_quick_exit(step);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, work, 0);
  usleep(20000);
  for (int i = 0; strcmp(how, "fails") == 0 && i < 100; ++i) {
    kill(getpid(), SIGUSR1);
    usleep(300);
  }
  if (strcmp(how, "timer") == 0) {
    signal(SIGALRM, tick);
    const struct itimerval often = {{0, 150}, {0, 150}};
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < 100; ++i) fail(1);
  }
  if (strcmp(how, "quick") == 0) quick_exit(0);
  exit(0);
}
)");
  const Outcome built = shell.run("syndrome cc -g -O2 -pthread busy.c -o busy");
  ASSERT_EQ(built.code, 0) << built.err;
  for (const std::string check : {"races", "atomicity", "races,atomicity", "atomic-sets"}) {
    for (const std::string how : {"ends", "quick", "fails", "timer"}) {
      constexpr int kRuns = 3;  // it was one of three that went wrong, or of ten
      for (int i = 0; i < kRuns; ++i) {
        const Outcome outcome = shell.run("syndrome run --check " + check + " -- ./busy " + how);
        EXPECT_EQ(outcome.code, 0) << check << " " << how << "\n" << outcome.err;
      }
    }
  }
}

TEST_F(Run, ChecksWhatFitsTheProgram) {
  const auto checks_of = [this](const std::string& command) {
    (void)run(command);
    return run("sed -n 's/.*\"check\": \"\\([a-z-]*\\)\",* *$/\\1/p' r.json | uniq").out;
  };
  const std::string fine = "syndrome run --format json --report r.json ";
  EXPECT_EQ(checks_of(fine + "-- ./program fine"), "races\natomic-sets\natomicity\n");
  EXPECT_EQ(checks_of(fine + "--check races -- ./program fine"), "races\n");
  shell_.write("spec.toml", "[blocks]\nexclude = [\"add\"]\n");
  EXPECT_EQ(checks_of(fine + "--spec spec.toml -- ./program fine"), "races\natomic-sets\n");
  shell_.write("spec.toml", "[blocks]\nexclude = [\"add\"]\ndeterministic = [\"one\"]\n");
  EXPECT_EQ(checks_of(fine + "--spec spec.toml -- ./program fine"),
            "races\natomic-sets\ndeterminism\n");
  // The same of its recording; of an imported trace, atomicity.
  EXPECT_EQ(checks_of("syndrome record -o r.syn -- ./program fine; "
                      "syndrome check --format json -o r.json r.syn"),
            "races\natomic-sets\natomicity\n");
  EXPECT_EQ(checks_of("syndrome trace convert r.syn -o r.std; "
                      "syndrome check --format json -o r.json r.std"),
            "atomicity\n");
  const Outcome broken = run("syndrome run -- ./program broken");
  EXPECT_EQ(broken.code, 66) << broken.err;
  EXPECT_THAT(broken.err, HasSubstr("Races clean"));
  EXPECT_THAT(broken.err, HasSubstr("Atomic-sets violated"));
  EXPECT_THAT(broken.err, HasSubstr("Atomicity violated"));
  EXPECT_EQ(run("syndrome run -q --check '' -- ./program fine").code, 2);
}

TEST_F(Run, SaysHowToNameBlocksWhenThereAreNone) {
  shell_.write("bare.c",
               "#include <pthread.h>\n"
               "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
               "int n;\n"
               "void add(void) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }\n"
               "int main(void) { add(); return 0; }\n");
  EXPECT_EQ(run("syndrome cc -g -pthread bare.c -o bare").code, 0);
  const Outcome outcome = run("syndrome run --check atomicity -- ./bare now");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("atomic = [\"add\"]"));
  EXPECT_THAT(outcome.err, HasSubstr("syndrome run --spec blocks.toml -- ./bare now"));
}

// What is followed while the program runs, and what is recorded and looked at afterwards.
TEST_F(Run, FindsTheSameWhileTheProgramRunsAndAfterIt) {
  for (const std::string way : {"fine", "broken"}) {
    std::vector<std::string> said;
    for (const std::string when : {"", "--after "}) {
      (void)run("syndrome run --check atomicity,races,determinism --format json --report r.json " +
                when + "-- ./program " + way);
      said.push_back(run("grep -E '\"(verdict|rule|fingerprint)\"' r.json").out);
    }
    EXPECT_THAT(said[0], HasSubstr("verdict"));
    EXPECT_EQ(said[0], said[1]);
  }
}

// A loop that waits may go round a million times. Redis has such a loop.
TEST_F(Run, IsNotToldTheSameAgainAndAgainByALoopThatWaits) {
  shell_.write("wait.c",
               "#include <pthread.h>\n"
               "#include <stdatomic.h>\n"
               "#include <stdio.h>\n"
               "static atomic_int ready;\n"
               "static long rounds;\n"
               "__attribute__((noinline)) static int is_ready(void) {\n"
               "  return atomic_load_explicit(&ready, memory_order_acquire);\n"
               "}\n"
               "static void* waiter(void* unused) {\n"
               "  long count = 0;\n"
               "  while (!is_ready()) {\n"
               "    if (++count == 200000) break;\n"
               "  }\n"
               "  rounds = count;\n"
               "  return unused;\n"
               "}\n"
               "int main(void) {\n"
               "  pthread_t thread;\n"
               "  pthread_create(&thread, 0, waiter, 0);\n"
               "  pthread_join(thread, 0);\n"
               "  printf(\"%ld\\n\", rounds);\n"
               "  return 0;\n"
               "}\n");
  EXPECT_EQ(run("syndrome cc -g -O1 -pthread wait.c -o wait").code, 0);
  const Outcome outcome = run("syndrome run --check races -- ./wait");
  EXPECT_EQ(outcome.out, "200000\n");
  // "29 events, 2 threads, …"
  EXPECT_THAT(outcome.err, testing::ContainsRegex("\n[0-9]{1,3} events, 2 threads")) << outcome.err;
}

TEST_F(Run, RefusesAWrongCallBeforeTheProgramRuns) {
  for (const std::string options : {"--check nonsense", "--format nonsense", "--spec no.toml",
                                    "--suppressions no.supp", "--error-exitcode=300"}) {
    const Outcome outcome = run("syndrome run " + options + " -- ./program fine");
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_EQ(outcome.out, "") << options;
    EXPECT_THAT(outcome.err, HasSubstr("syndrome: ")) << options;
  }
  EXPECT_EQ(run("syndrome run -- ./nothing").code, 127);
  EXPECT_THAT(run("syndrome run -- true").err, HasSubstr("nothing that was built with"));
}

TEST_F(Run, TakesOptionsFromTheEnvironment) {
  Outcome outcome =
      run("SYNDROME_OPTIONS='--check atomicity --report found.txt' sh -c './program broken 3'");
  EXPECT_EQ(outcome.code, 66) << outcome.err;
  EXPECT_EQ(outcome.out, "the program says 1\n");
  EXPECT_THAT(shell_.read("found.txt"), HasSubstr("Atomicity violated in ./program broken 3"));
  outcome = run("SYNDROME_OPTIONS='--check atomicity' PATH=$PATH:. program fine 5");
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  outcome = run("SYNDROME_OPTIONS=--nonsense ./program fine");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  // What is recorded already is left alone.
  outcome = run("SYNDROME_OPTIONS='--report no.txt' syndrome record -o kept.syn -- ./program fine");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run("test -e no.txt").code, 1);
}

TEST_F(Run, FindsAllThatRacesWhateverSignalsComeInBetween) {
  shell_.write("signals.c", kSignals);
  ASSERT_EQ(run("syndrome cc -g -O1 -pthread signals.c -o signals").code, 0);
  const Outcome outcome =
      run("syndrome run --check races --all --format json --report races.json -- ./signals");
  EXPECT_EQ(outcome.code, 66) << outcome.err;
  EXPECT_EQ(run("grep -c '\"rule\":' races.json").out, "3000\n");
}

}  // namespace
}  // namespace syndrome::test
