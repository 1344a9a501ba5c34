// Signals and processes: the program finds its own handlers and its own environment.

#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_log.h"
#include "recorded.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // sigset

namespace syndrome {
namespace {

pthread_mutex_t in_handler = PTHREAD_MUTEX_INITIALIZER;
volatile int handled = 0;
void handle(int) {
  handled = handled + 1;
  pthread_mutex_lock(&in_handler);
  pthread_mutex_unlock(&in_handler);
}
void handle_long(int, siginfo_t* information, void*) {
  handled = information->si_signo;
}

TEST(InterposedSignals, HandlersRunBetweenEnterAndLeave) {
  Recorded recorded;
  recorded.signals = true;
  recorded.name(&in_handler, "m");
  EXPECT_EQ(recorded.run([] {
    EXPECT_EQ(signal(SIGUSR1, handle), SIG_DFL);
    raise(SIGUSR1);
    EXPECT_EQ(signal(SIGUSR1, SIG_IGN), handle);
    raise(SIGUSR1);
    EXPECT_EQ(signal(SIGUSR1, SIG_DFL), SIG_IGN);
  }),
            (Lines{"0 enters", "0 acquire m", "0 release m", "0 leaves"}));
}

TEST(InterposedSignals, SigactionGivesBackWhatTheProgramSet) {
  Recorded().run([] {
    struct sigaction wanted{};
    wanted.sa_sigaction = handle_long;
    wanted.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaddset(&wanted.sa_mask, SIGUSR2);
    EXPECT_EQ(sigaction(SIGUSR1, &wanted, nullptr), 0);
    raise(SIGUSR1);
    EXPECT_EQ(handled, SIGUSR1);
    struct sigaction found{};
    EXPECT_EQ(sigaction(SIGUSR1, nullptr, &found), 0);
    EXPECT_EQ(found.sa_sigaction, handle_long);
    EXPECT_EQ(found.sa_flags & (SA_SIGINFO | SA_RESTART), SA_SIGINFO | SA_RESTART);
    EXPECT_EQ(sigismember(&found.sa_mask, SIGUSR2), 1);
    struct sigaction once{};
    once.sa_handler = handle;
    once.sa_flags = static_cast<int>(SA_RESETHAND);
    EXPECT_EQ(sigaction(SIGUSR1, &once, &found), 0);
    EXPECT_EQ(found.sa_sigaction, handle_long);
    raise(SIGUSR1);
    EXPECT_EQ(sigaction(SIGUSR1, nullptr, &found), 0);
    EXPECT_EQ(found.sa_handler, SIG_DFL);
    errno = 0;
    EXPECT_EQ(sigaction(SIGKILL, &once, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(signal(9999, handle), SIG_ERR);
  });
}

TEST(InterposedSignals, AHandlerSetBeforeRecordingStays) {
  EXPECT_EQ(signal(SIGUSR2, handle), SIG_DFL);
  Recorded().run([] { EXPECT_EQ(signal(SIGUSR2, SIG_DFL), handle); });
}

TEST(InterposedSignals, SigsetKeepsTheMask) {
  Recorded().run([] {
    EXPECT_EQ(sigset(SIGUSR2, SIG_HOLD), SIG_DFL);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGUSR2), 1);
    EXPECT_EQ(sigset(SIGUSR2, handle), SIG_HOLD);
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGUSR2), 0);
    EXPECT_EQ(sigset(SIGUSR2, SIG_DFL), handle);
  });
}

int exit_code_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A shell command that succeeds when the variable is as it should be.
constexpr char kCheck[] = "test \"$SYNDROME_SESSION\" = /the/session && test \"$OWN\" = yes";

class InterposedProcesses : public testing::Test {
 protected:
  InterposedProcesses() {
    setenv("OWN", "yes", 1);
    fake_session("/the/session");
    fake_start();
  }
  ~InterposedProcesses() override {
    fake_stop();
    fake_session(nullptr);
  }
  template <typename Body>
  static int in_child(Body body) {
    const pid_t child = fork();
    if (child != 0) return exit_code_of(child);
    body();
    _exit(99);
  }
};

TEST_F(InterposedProcesses, WhatIsStartedFindsTheSession) {
  char shell[] = "/bin/sh";
  char name[] = "sh";
  char option[] = "-c";
  char command[sizeof kCheck];
  strcpy(command, kCheck);
  char* const arguments[] = {name, option, command, nullptr};
  EXPECT_EQ(in_child([&] { execv(shell, arguments); }), 0);
  EXPECT_EQ(in_child([&] { execve(shell, arguments, environ); }), 0);
  EXPECT_EQ(in_child([&] { execvp(name, arguments); }), 0);
  EXPECT_EQ(in_child([&] { execvpe(name, arguments, environ); }), 0);
  EXPECT_EQ(in_child([&] { execl(shell, name, option, kCheck, nullptr); }), 0);
  EXPECT_EQ(in_child([&] { execlp(name, name, option, kCheck, nullptr); }), 0);
  EXPECT_EQ(in_child([&] { execle(shell, name, option, kCheck, nullptr, environ); }), 0);
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, shell, nullptr, nullptr, arguments, environ), 0);
  EXPECT_EQ(exit_code_of(child), 0);
  ASSERT_EQ(posix_spawnp(&child, name, nullptr, nullptr, arguments, environ), 0);
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(system(kCheck), 0);
  FILE* const pipe = popen(kCheck, "r");
  ASSERT_NE(pipe, nullptr);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(getenv("SYNDROME_SESSION"), nullptr);
}

TEST_F(InterposedProcesses, FailuresAreTheProgramsToSee) {
  char* const none[] = {nullptr};
  errno = 0;
  EXPECT_EQ(execv("/does/not/exist", none), -1);
  EXPECT_EQ(errno, ENOENT);
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, "/does/not/exist", nullptr, nullptr, none, environ), ENOENT);
}

TEST_F(InterposedProcesses, ChildrenOfEveryKindOfForkGoOn) {
  const pid_t forked = fork();
  if (forked == 0) _exit(3);
  EXPECT_EQ(exit_code_of(forked), 3);
  const pid_t bare = _Fork();
  if (bare == 0) _exit(4);
  EXPECT_EQ(exit_code_of(bare), 4);
  const pid_t borrowed = vfork();
  if (borrowed == 0) _exit(5);
  EXPECT_EQ(exit_code_of(borrowed), 5);
}

// What the program's own handlers do in the child already belongs to the child's log.
int records_in_child_handler = -1;
TEST_F(InterposedProcesses, ChildsLogBeginsBeforeItsOwnForkHandlers) {
  pthread_atfork(nullptr, nullptr, [] {
    std::size_t count = 0;
    fake_records(&count);
    records_in_child_handler = static_cast<int>(count);
  });
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&in_handler);
    pthread_mutex_unlock(&in_handler);
  }
  const pid_t child = fork();
  if (child == 0) _exit(records_in_child_handler < 100 ? 0 : 1);
  EXPECT_EQ(exit_code_of(child), 0);
}

}  // namespace
}  // namespace syndrome
