// Whatever way a thread takes out of a pair, the next one finds the lock free; and what a hardened
// program says when a lock was waited for in vain.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Records `source` as it runs without arguments, and hardens it for x.
void harden(const Shell& shell, std::string_view source) {
  shell.write("x.c", std::string(source));
  const Outcome built = shell.run(
      "syndrome cc -g -O1 x.c -o probes && syndrome record -q -o r.syn -- ./probes && "
      "syndrome infer -q -o profile r.syn && syndrome plan -q --only x -o plan profile probes && "
      "syndrome cc --syndrome-enforce=plan -g -O1 x.c -o hardened");
  ASSERT_EQ(built.code, 0) << built.err;
}

// Two threads, one after the other, leave update() between its read and its write.
constexpr std::string_view kLeaves = R"(
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
static int x;
static const char* way = "";
static __thread jmp_buf back;
static void leave(void) {
  if (strcmp(way, "longjmp") == 0) longjmp(back, 1);
  if (strcmp(way, "exit") == 0) pthread_exit(NULL);
  if (strcmp(way, "cancel") == 0) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
}
static void update(void) {
  const int before = x;
  leave();
  x = before + 1;
}
static void try_it(void) {
  if (setjmp(back) == 0) update();
}
static void* work(void* unused) {
  try_it();
  try_it();
  return unused;
}
int main(int argc, char** argv) {
  if (argc > 1) way = argv[1];
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
  }
  printf("%d\n", x);
  return 0;
})";

TEST(EnforceLeaving, EveryWayOutGivesTheLockBack) {
  const Shell shell;
  ASSERT_NO_FATAL_FAILURE(harden(shell, kLeaves));
  EXPECT_EQ(shell.run("./hardened").out, "4\n");
  for (const std::string way : {"longjmp", "exit", "cancel"}) {
    const Outcome left = shell.run("SYNDROME_ENFORCE_WATCHDOG=1 ./hardened " + way);
    EXPECT_EQ(left.code, 0) << way << left.err;
    EXPECT_EQ(left.out, "0\n") << way;
    EXPECT_THAT(left.err, Not(HasSubstr("of the plan:"))) << way;
    EXPECT_THAT(left.err, HasSubstr("0 in a cycle, 0 after 1000 ms")) << way;
  }
}

// The first thread waits by a flag of its own, which the second sets after it has accessed x.
constexpr std::string_view kOwnMeans = R"(
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int x, together, read_it, flag;
static void wait_for(int* what) {
  while (together && !__atomic_load_n(what, __ATOMIC_SEQ_CST)) usleep(1000);
}
static void* first(void* unused) {
  const int before = x;
  __atomic_store_n(&read_it, 1, __ATOMIC_SEQ_CST);
  wait_for(&flag);
  x = before + 1;
  return unused;
}
static void* second(void* unused) {
  wait_for(&read_it);
  x = x + 1;
  __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
  return unused;
}
int main(int argc, char** argv) {
  pthread_t threads[2];
  together = argc > 1;
  pthread_create(&threads[0], NULL, first, NULL);
  if (!together) pthread_join(threads[0], NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  if (together) pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  puts("done");
  return argv == NULL;
})";

TEST(EnforceLeaving, TheWatchdogTellsOfALockThatWasWaitedForInVain) {
  const Shell shell;
  ASSERT_NO_FATAL_FAILURE(harden(shell, kOwnMeans));
  const Outcome ran =
      shell.run("SYNDROME_ENFORCE_WATCHDOG=1 SYNDROME_ENFORCE_PATIENCE_MS=50 ./hardened together");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "done\n") << "it does not hang";
  EXPECT_THAT(ran.err, HasSubstr("lock 0 of the plan: was not free for too long; went on without"));
  EXPECT_THAT(ran.err, HasSubstr("0 in a cycle, 1 after 50 ms"));
  EXPECT_EQ(shell.run("SYNDROME_ENFORCE_PATIENCE_MS=50 ./hardened together").err, "")
      << "silent without being asked";
}

}  // namespace
}  // namespace syndrome::test
