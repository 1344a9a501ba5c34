// Runs the program under one schedule after another, each in a process of its own that is forked
// before main() begins. Depth first: the next schedule is the last one up to its last decision that
// has an untried choice within the bound.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enforce/steps/steps.h"

namespace syndrome::steps {
namespace {

constexpr int kMostMilliseconds = 10'000;

struct Tally {
  std::uint64_t schedules = 0;
  std::uint64_t failed = 0;
  std::uint64_t deadlocked = 0;
  std::uint64_t stuck = 0;
  std::uint64_t unfinished = 0;
};

Schedule* make_schedule() {
  void* memory = mmap(nullptr, sizeof(Schedule), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "syndrome: no memory for schedules: %s\n", strerror(errno));
    _exit(2);
  }
  return static_cast<Schedule*>(memory);
}

[[nodiscard]] bool is_preemption(const Decision& decision, std::uint32_t chosen) {
  return !decision.free && chosen != decision.current;
}

/// Chooses anew at the last decision that allows it. False: all is done.
bool next_schedule(Schedule& schedule, std::uint64_t* tried, std::uint32_t bound) {
  // Those after the given ones were made the first time, without preemption.
  for (std::uint32_t i = schedule.given; i < schedule.decisions; ++i) {
    tried[i] = std::uint64_t{1} << schedule.log[i].chosen;
  }
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < schedule.decisions; ++i) {
    if (is_preemption(schedule.log[i], schedule.log[i].chosen)) ++used;
  }
  for (std::uint32_t i = schedule.decisions; i-- > 0;) {
    Decision& decision = schedule.log[i];
    if (is_preemption(decision, decision.chosen)) --used;
    for (std::uint64_t left = decision.enabled & ~tried[i]; left != 0; left &= left - 1) {
      const auto choice = static_cast<std::uint32_t>(__builtin_ctzll(left));
      if (used + (is_preemption(decision, choice) ? 1 : 0) > bound) continue;
      tried[i] |= std::uint64_t{1} << choice;
      decision.chosen = static_cast<std::uint8_t>(choice);
      schedule.given = i + 1;
      return true;
    }
  }
  return false;
}

/// The exit status of the process; nothing when it hangs.
bool wait_for(pid_t child, int& status) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd event{handle, POLLIN, 0};
  const bool over = handle < 0 || poll(&event, 1, kMostMilliseconds) > 0;
  if (handle >= 0) close(handle);
  if (!over) kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return over;
}

void print_schedule(const Schedule& schedule) {
  fprintf(stderr, "syndrome: the first: SYNDROME_STEPS=replay:");
  for (std::uint32_t i = 0; i < schedule.decisions; ++i) {
    fprintf(stderr, "%s%u", i == 0 ? "" : ".", unsigned{schedule.log[i].chosen});
  }
  fprintf(stderr, "\n");
}

void replay(const char* choices) {
  Schedule* schedule = make_schedule();
  while (*choices != '\0' && schedule->given < kMostDecisions) {
    char* end = nullptr;
    const unsigned long thread = strtoul(choices, &end, 10);
    if (end == choices || thread >= kMostThreads) break;
    schedule->log[schedule->given++].chosen = static_cast<std::uint8_t>(thread);
    choices = *end == '.' ? end + 1 : end;
  }
  start_scheduler(schedule);
}

__attribute__((constructor)) void start() {
  const char* text = secure_getenv("SYNDROME_STEPS");
  if (text == nullptr || *text == '\0') return;
  char* end = nullptr;
  if (strncmp(text, "noise:", 6) == 0) {
    start_noise(strtoull(text + 6, nullptr, 10));
    mode = Mode::kNoise;
  } else if (strncmp(text, "replay:", 7) == 0) {
    replay(text + 7);
  } else if (strncmp(text, "explore:", 8) == 0) {
    const unsigned long bound = strtoul(text + 8, &end, 10);
    const unsigned long most = *end == ':' ? strtoul(end + 1, nullptr, 10) : 0;
    explore(static_cast<std::uint32_t>(bound), most == 0 ? 1'000'000 : most);
  } else {
    fprintf(stderr, "syndrome: SYNDROME_STEPS=%s: expected noise:SEED, explore:BOUND or replay:…\n",
            text);
    _exit(2);
  }
}

}  // namespace

void explore(std::uint32_t bound, std::uint64_t most) {
  Schedule* schedule = make_schedule();
  auto* tried = static_cast<std::uint64_t*>(calloc(kMostDecisions, sizeof(std::uint64_t)));
  Tally tally;
  bool more = true;
  while (more && tally.schedules < most) {
    ++tally.schedules;
    const pid_t child = fork();
    if (child < 0) {
      fprintf(stderr, "syndrome: cannot fork: %s\n", strerror(errno));
      _exit(2);
    }
    if (child == 0) {
      // What each of them prints says nothing about all of them.
      const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (nothing >= 0) {
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
      }
      start_scheduler(schedule);
      return;
    }
    int status = 0;
    const bool over = wait_for(child, status);
    const std::uint64_t before = tally.failed + tally.deadlocked + tally.unfinished + tally.stuck;
    if (!over || schedule->verdict == Verdict::kEndless ||
        schedule->verdict == Verdict::kDiverged) {
      ++tally.unfinished;
    } else if (schedule->verdict == Verdict::kDeadlock) {
      ++tally.deadlocked;
    } else if (status != 0) {
      ++tally.failed;
    } else if (schedule->stuck != 0) {
      ++tally.stuck;
    }
    if (before == 0 && tally.failed + tally.deadlocked + tally.unfinished + tally.stuck != 0) {
      print_schedule(*schedule);
    }
    more = next_schedule(*schedule, tried, bound);
  }
  fprintf(stderr,
          "syndrome: %s%llu schedules with at most %u preemption%s: %llu failed, %llu deadlocked, "
          "%llu waited in vain, %llu unfinished\n",
          more ? "the first " : "", static_cast<unsigned long long>(tally.schedules), bound,
          bound == 1 ? "" : "s", static_cast<unsigned long long>(tally.failed),
          static_cast<unsigned long long>(tally.deadlocked),
          static_cast<unsigned long long>(tally.stuck),
          static_cast<unsigned long long>(tally.unfinished));
  _exit(tally.failed + tally.deadlocked + tally.stuck + tally.unfinished == 0 ? 0 : 1);
}

}  // namespace syndrome::steps
