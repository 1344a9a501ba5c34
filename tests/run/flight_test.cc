// `syndrome run` of programs that do more than the rings hold (src/runtime/live.h): what is checked
// is the end of the run and the windows that were asked for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Two threads that do the first argument's number of rounds of work of their own, and wait for
/// each other. Then they do what the second one says.
constexpr char kLong[] = R"(
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int racy, guarded, there[2];
static long rounds;
static const char* how;
static unsigned numbers[2][4096];
__attribute__((noinline)) static void step(unsigned* own, unsigned at) { own[at & 4095] += at; }
__attribute__((noinline)) static void work(int id) {
  unsigned at = 1;
  for (long i = 0; i < rounds; ++i) step(numbers[id], at = at * 1664525 + 1013904223);
}
__attribute__((noinline)) static void last(int id) {
  if (strcmp(how, "race") == 0) racy = id;
  if (strcmp(how, "kill") == 0) {
    racy = id;
    if (id == 1 && write(there[1], "t", 1) == 1) pause();
    char byte;
    if (read(there[0], &byte, 1) == 1) raise(SIGKILL);
  }
  pthread_mutex_lock(&mutex);
  guarded += id;
  pthread_mutex_unlock(&mutex);
}
static void* body(void* id) {
  work((int)(long)id);
  pthread_barrier_wait(&barrier);
  last((int)(long)id);
  return 0;
}
int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 0;
  how = argc > 2 ? argv[2] : "";
  if (pipe(there) != 0) return 2;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_t a, b;
  pthread_create(&a, 0, body, (void*)0);
  pthread_create(&b, 0, body, (void*)1);
  pthread_join(a, 0);
  pthread_join(b, 0);
  if (strcmp(how, "disk") == 0) {
    fflush(stdout);
    return system("du -sk $TMPDIR | cut -f1") == 0 ? 0 : 2;
  }
}
)";

/// Two slow threads hand boxes to each other through a third one that has much else to do: the
/// order between them is in its words alone, which are soon gone.
constexpr char kHandOver[] = R"(
#include <pthread.h>
#include <stdlib.h>
enum { kEnough = 4000 };
struct Slot {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int* box;
};
static struct Slot first = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct Slot second = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static unsigned own[4096];
__attribute__((noinline)) static void put(struct Slot* slot, int* box) {
  pthread_mutex_lock(&slot->mutex);
  while (slot->box != 0) pthread_cond_wait(&slot->changed, &slot->mutex);
  slot->box = box;
  pthread_cond_broadcast(&slot->changed);
  pthread_mutex_unlock(&slot->mutex);
}
__attribute__((noinline)) static int* take(struct Slot* slot) {
  pthread_mutex_lock(&slot->mutex);
  while (slot->box == 0) pthread_cond_wait(&slot->changed, &slot->mutex);
  int* const box = slot->box;
  slot->box = 0;
  pthread_cond_broadcast(&slot->changed);
  pthread_mutex_unlock(&slot->mutex);
  return box;
}
__attribute__((noinline)) static void step(unsigned at) { own[at & 4095] += at; }
static void* giver(void* unused) {
  static int given[kEnough];
  for (int i = 0; i < kEnough; ++i) { given[i] = i; put(&first, &given[i]); }
  return unused;
}
static void* middle(void* unused) {
  unsigned at = 1;
  for (int i = 0; i < kEnough; ++i) {
    put(&second, take(&first));
    for (int k = 0; k < 500; ++k) step(at = at * 1664525 + 1013904223);
  }
  return unused;
}
static void* taker(void* unused) {
  for (int i = 0; i < kEnough; ++i) *take(&second) += 1;
  return unused;
}
int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, 0, giver, 0);
  pthread_create(&b, 0, middle, 0);
  pthread_create(&c, 0, taker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
}
)";

/// Threads of different speed that meet at a barrier before and after they read each other's cells.
constexpr char kRounds[] = R"(
#include <pthread.h>
enum { kThreads = 4, kRounds = 1500 };
static pthread_barrier_t barrier;
static int cells[kThreads];
static unsigned own[kThreads][1024];
__attribute__((noinline)) static void step(unsigned* mine, unsigned at) { mine[at & 1023] += at; }
__attribute__((noinline)) static void round_of(int id) {
  unsigned at = 1;
  cells[id] += 1;
  for (int k = 0; k < 40 * id; ++k) step(own[id], at = at * 1664525 + 1013904223);
  pthread_barrier_wait(&barrier);
  int sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += cells[i];
  own[id][0] += (unsigned)sum;
  pthread_barrier_wait(&barrier);
}
static void* body(void* id) {
  for (int i = 0; i < kRounds; ++i) round_of((int)(long)id);
  return 0;
}
int main(void) {
  pthread_t threads[kThreads];
  pthread_barrier_init(&barrier, 0, kThreads);
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], 0, body, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], 0);
}
)";

class Flight : public testing::Test {
 protected:
  void build(const std::string& name, const std::string& text) {
    shell_.write(name + ".c", text);
    const Outcome built = shell_.run("syndrome cc -g -O1 -pthread " + name + ".c -o " + name);
    ASSERT_EQ(built.code, 0) << built.err;
  }
  [[nodiscard]] Outcome run(const std::string& command) const { return shell_.run(command); }

  Shell shell_;
};

TEST_F(Flight, FindsABugAtTheEndOfALongRun) {
  build("long", kLong);
  const Outcome racy = run("syndrome run --flight --buffer 64K -- ./long 300000 race");
  EXPECT_EQ(racy.code, 66) << racy.err;
  EXPECT_THAT(racy.err, HasSubstr("racy"));
  EXPECT_THAT(racy.err, HasSubstr("only the end of the run was checked"));
  EXPECT_THAT(racy.err, Not(HasSubstr("passed over")));
  const Outcome fine = run("syndrome run --flight --buffer 64K -- ./long 300000 fine");
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_THAT(fine.err, HasSubstr("only the end of the run was checked"));
  EXPECT_THAT(fine.err, Not(HasSubstr("passed over")));
}

TEST_F(Flight, AShortRunIsCheckedAsAWhole) {
  build("long", kLong);
  const Outcome racy = run("syndrome run --flight --buffer 64K -- ./long 100 race");
  EXPECT_EQ(racy.code, 66) << racy.err;
  EXPECT_THAT(racy.err, Not(HasSubstr("only the end")));
}

TEST_F(Flight, AKillCostsNothingOfTheEnd) {
  build("long", kLong);
  const Outcome outcome = run("syndrome run --flight --buffer 64K -- ./long 300000 kill");
  EXPECT_EQ(outcome.code, 128 + 9) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("Races found"));
  EXPECT_THAT(outcome.err, HasSubstr("racy"));
}

// Words of a million accesses were 8 MB on disk.
TEST_F(Flight, NothingOfALongRunIsOnDisk) {
  build("long", kLong);
  const Outcome outcome = run(
      "mkdir scratch && TMPDIR=$PWD/scratch syndrome run --flight -q --buffer 64K -- ./long 1000000 disk");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(std::stoi(outcome.out), 100) << outcome.out;
}

TEST_F(Flight, WindowsLoseNoOrder) {
  build("hand", kHandOver);
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = run("SYNDROME_WINDOW_EVERY=400 syndrome run --flight --buffer 64K -- ./hand");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("windows of what was before were checked as well"));
    EXPECT_THAT(outcome.err, HasSubstr("only the end of the run was checked"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("passed over")));
  }
}

// Some threads have left a round of a barrier at the cut, and others have not.
TEST_F(Flight, WindowsLoseNoBarrier) {
  build("rounds", kRounds);
  const Outcome outcome = run("SYNDROME_WINDOW_EVERY=300 syndrome run --flight --buffer 64K -- ./rounds");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("windows of what was before were checked as well"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("passed over")));
}

TEST_F(Flight, IsRefusedWhereTheWholeRunIsNeeded) {
  build("long", kLong);
  for (const char* const options : {"--check atomicity", "--after", "--eager", "-o run.syn"}) {
    EXPECT_EQ(run("syndrome run --flight " + std::string(options) + " -- ./long").code, 2);
  }
}

// What somebody has declared is followed for the whole run.
TEST_F(Flight, AnnotatedProgramsAreRecorded) {
  std::string text = kLong;
  text.insert(0, "#include <syndrome/syndrome.h>\n");
  text.replace(text.find("static void last("), 6, "SYNDROME_ATOMIC static");
  build("declared", text);
  const Outcome outcome = run("syndrome run --flight --buffer 64K -- ./declared 300000 race");
  EXPECT_EQ(outcome.code, 66) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("only the end")));
}

}  // namespace
}  // namespace syndrome::test
