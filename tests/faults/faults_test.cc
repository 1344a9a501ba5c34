// What programs do that could break a recording, and what happens to a recording that could break a
// program. Each program here (fault.h) runs alone and recorded: its output, its messages and its
// exit code stay its own, and the trace shows what it did before and after.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Names = std::set<std::string>;
constexpr int kFindings = 66;  // the exit code of `syndrome run` with findings

/// Under `syndrome record` and then `syndrome check`, or under `syndrome run`.
class Faults : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] bool live() const { return std::string(GetParam()) == "run"; }

  void build(const std::string& source, const std::string& flags = "") {
    const bool c = source.ends_with(".c");
    const std::string driver = c ? "syndrome cc -std=gnu17" : "syndrome c++ -std=c++20";
    name_ = source.substr(0, source.rfind('.'));
    const std::string here = (source_directory() / "tests/faults").string();
    const Outcome built =
        shell_.run(driver + " -g -O1 -pthread -D_GNU_SOURCE -Wno-infinite-recursion -I " + here +
                   " " + here + "/" + source + " " + flags + " -o " + name_);
    ASSERT_EQ(built.code, 0) << built.err;
  }

  [[nodiscard]] std::string recorded() const {
    return live() ? "syndrome run --check races -o run.syn --report report.txt -- "
                  : "syndrome record -o run.syn -- ";
  }

  /// The exit code of the whole, for a program that ends with this one and has a race.
  [[nodiscard]] int code_of(int programs) const {
    return live() && programs < 128 ? kFindings : programs;
  }

  /// Runs the program alone and recorded and compares them. `environment` stands before both.
  void run(const std::string& arguments = "", const std::string& environment = "") {
    const std::string program = "./" + name_ + " " + arguments;
    const std::string clean = "rm -rf run.syn* report.txt jail gone own.* pid; ";
    // Not as a child of the shell, which would say what it died of.
    const Outcome alone = shell_.run(clean + "exec env " + environment + " " + program);
    Outcome outcome = shell_.run(clean + "exec env " + environment + " " + recorded() + program);
    forget_warnings_of_children(outcome.err);
    EXPECT_EQ(outcome.out, alone.out) << program;
    EXPECT_EQ(outcome.err, alone.err) << program;
    EXPECT_EQ(outcome.code, code_of(alone.code)) << program;
    EXPECT_NE(alone.code, 71) << program << ": the fault did not happen: " << alone.err;
  }

  /// What a child of fork does in functions that its parent entered is not known (docs/capture.md),
  /// and that is said.
  static void forget_warnings_of_children(std::string& text) {
    for (std::size_t at = 0; (at = text.find("syndrome: run.syn.", at)) != std::string::npos;) {
      const std::size_t end = text.find('\n', at) + 1;
      if (text.substr(at, end - at).find("records speak of functions") == std::string::npos) {
        at = end;
      } else {
        text.erase(at, end - at);
      }
    }
  }

  /// The variables with races, from a trace that must be whole.
  Names races(const std::string& file = "run.syn") {
    const Outcome outcome = shell_.run("syndrome check --check races --format json --source '" +
                                       source_directory().string() + "' " + file);
    EXPECT_THAT(outcome.code, ::testing::AnyOf(0, 1)) << outcome.err;
    if (file == "run.syn") {
      EXPECT_THAT(outcome.err, IsEmpty());
    }
    Names names;
    const nlohmann::json report = nlohmann::json::parse(outcome.out, nullptr, false);
    if (report.is_discarded()) return names;
    for (const auto& finding : report["checks"][0]["findings"]) {
      for (const auto& site : finding["sites"]) names.insert(site["target"].get<std::string>());
    }
    if (live() && file == "run.syn") {
      const std::string text = shell_.read("report.txt");
      for (const std::string& name : names) EXPECT_THAT(text, HasSubstr(name));
    }
    return names;
  }

  /// Of the processes that are not the first.
  Names races_of_children() {
    Names names;
    const std::string list = shell_.run("ls run.syn.*").out;
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = list.find('\n', at);
      names.merge(races(list.substr(at, end - at)));
      at = end + 1;
    }
    return names;
  }

  void expect_all() { EXPECT_THAT(races(), ElementsAre("after_the_fault", "before_the_fault")); }

  static bool root() { return ::geteuid() == 0; }

  /// Runs `script` where `mounts` have been done and nobody else sees them.
  [[nodiscard]] Outcome mounted(const std::string& mounts, const std::string& script) const {
    shell_.write("mounted.sh", "set -e\n" + mounts + "\nset +e\n" + script + "\n");
    return shell_.run("unshare -m sh ./mounted.sh");
  }
  [[nodiscard]] bool can_mount() const {
    return root() && mounted("mount -t tmpfs none /mnt", "true").code == 0;
  }

  Shell shell_;
  std::string name_;
};

INSTANTIATE_TEST_SUITE_P(, Faults, ::testing::Values("record", "run"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST_P(Faults, TenThousandThreadsFiveHundredAtATime) {
  build("threads.c");
  run();
  expect_all();
}

TEST_P(Faults, MillionsOfAllocationsASecond) {
  build("allocations.cc");
  run();
  expect_all();
}

TEST_P(Faults, EveryEndOfAProcess) {
  build("ends.c");
  for (const char* const how : {"segv", "segv thread", "trap thread", "abort", "abort thread",
                                "kill", "_exit thread", "syscall thread"}) {
    run(how);
    EXPECT_THAT(races(), ElementsAre("after_the_fault", "before_the_fault")) << how;
  }
}

TEST_P(Faults, StoppedAndContinued) {
  build("stopped.c");
  const Outcome outcome = shell_.run(
      recorded() +
      "./stopped & r=$!; while ! grep -q '^State:.T' /proc/$(cat pid 2>/dev/null)/status "
      "2>/dev/null; do sleep 0.02; done; sleep 0.3; kill -CONT $(cat pid); wait $r");
  EXPECT_EQ(outcome.code, code_of(3)) << outcome.err;
  EXPECT_EQ(outcome.out, "continued\n");
  expect_all();
}

TEST_P(Faults, AThreadMakesProcesses) {
  build("forks.c");
  for (const char* const how : {"fork", "vfork", "clone", "syscall", "spawn", "bare", "system"}) {
    run(how);
    EXPECT_THAT(races(), ElementsAre("after_the_fault", "before_the_fault")) << how;
    EXPECT_THAT(races_of_children(), ElementsAre("in_the_child")) << how;
  }
}

TEST_P(Faults, AllDescriptorsClosed) {
  build("descriptors.c");
  for (const char* const from : {"3", "0"}) {
    run(from);
    EXPECT_THAT(races(), ElementsAre("after_the_fault", "before_the_fault", "in_the_child"));
    EXPECT_EQ(shell_.run("cat own.*").out, "mine\nmine\nmine\nmine\nmine\n");
  }
}

TEST_P(Faults, NoDescriptorLeft) {
  build("descriptors.c");
  run("3 all");
  EXPECT_THAT(races(), ElementsAre("after_the_fault", "before_the_fault", "in_the_child"));
}

TEST_P(Faults, AnotherDirectory) {
  build("elsewhere.c");
  for (const char* const where : {"chdir fork", "gone fork", "undumpable fork"}) {
    run(where);
    expect_all();
    EXPECT_THAT(races_of_children(), ElementsAre("in_the_child")) << where;
  }
}

TEST_P(Faults, AnotherRootOrUser) {
  if (!root()) GTEST_SKIP() << "only root may";
  build("elsewhere.c");
  for (const char* const where :
       {"setuid fork", "fork setresuid", "fork chroot", "fork chroot setuid"}) {
    run(where);
    expect_all();
    EXPECT_THAT(races_of_children(), ElementsAre("in_the_child")) << where;
  }
}

TEST_P(Faults, AChildBornBehindAChrootRunsUnrecorded) {
  if (!root()) GTEST_SKIP() << "only root may";
  build("elsewhere.c");
  const Outcome outcome = shell_.run(recorded() + "./elsewhere chroot fork");
  EXPECT_EQ(outcome.code, code_of(3));
  EXPECT_THAT(outcome.err, HasSubstr("this process is not recorded"));
  expect_all();
  EXPECT_THAT(races_of_children(), IsEmpty());
}

TEST_P(Faults, Limits) {
  build("limits.c");
  for (const char* const limit : {"as 40000000", "data 40000000", "fsize 4096", "fsize 1000000"}) {
    run(limit);
    EXPECT_THAT(races(), ElementsAre("after_the_fault", "before_the_fault")) << limit;
  }
}

/// As `run` without -o, where the program follows its accesses itself.
TEST(LiveFaults, AreSurvived) {
  const Shell shell;
  const std::string here = (source_directory() / "tests/faults").string();
  const std::vector<std::pair<std::string, std::vector<std::string>>> programs = {
      {"threads.c", {""}},
      {"allocations.cc", {""}},
      {"ends.c",
       {"segv", "segv thread", "abort", "abort thread", "kill", "_exit thread", "syscall thread"}},
      {"forks.c", {"fork", "vfork", "clone", "spawn"}},
      {"descriptors.c", {"3", "0", "3 all"}},
      {"limits.c", {"as 40000000", "data 40000000", "fsize 4096"}},
      {"stacks.c", {"overflow", "mend", "small"}},
      {"seccomp.c", {"", "mmap"}},
      {"own_malloc.c", {""}},
  };
  for (const auto& [source, ways] : programs) {
    const std::string driver =
        source.ends_with(".c") ? "syndrome cc -std=gnu17" : "syndrome c++ -std=c++20";
    const Outcome built = shell.run(driver + " -g -O1 -pthread -D_GNU_SOURCE -w -I " + here + " " +
                                    here + "/" + source + " -o program");
    ASSERT_EQ(built.code, 0) << built.err;
    for (const std::string& way : ways) {
      const Outcome alone = shell.run("exec ./program " + way);
      const Outcome outcome = shell.run(
          "rm -f report.txt; exec syndrome run --check races --report report.txt -- ./program " +
          way);
      EXPECT_EQ(outcome.out, alone.out) << source << way;
      EXPECT_EQ(outcome.err, alone.err) << source << way;
      const std::string report = shell.read("report.txt");
      EXPECT_THAT(report, HasSubstr("data race on before_the_fault")) << source << way;
      EXPECT_THAT(report, HasSubstr("data race on after_the_fault")) << source << way;
    }
  }
}

/// What a thread did last counts, however the process ends.
TEST(LiveFaults, TheLastWordsAreHeard) {
  const Shell shell;
  shell.write("last.cc", R"(#include <stdlib.h>
#include <unistd.h>
#include <string.h>
#include <thread>
int first, last;
int main(int count, char** arguments) {
  std::thread([] { first = 1; usleep(100000); last = 1; sleep(60); }).detach();
  usleep(50000);
  first = 2;
  usleep(200000);
  last = 2;
  const char* how = count > 1 ? arguments[1] : "";
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "fault") == 0) *(volatile int*)0 = 1;
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "exec") == 0) execl("/bin/true", "true", nullptr);
  if (strcmp(how, "signal") == 0) kill(getpid(), SIGTERM);
}
)");
  ASSERT_EQ(shell.run("syndrome c++ -g -O1 -pthread -include signal.h last.cc -o last").code, 0);
  for (const std::string how : {"", "abort", "fault", "_exit", "exec", "signal"}) {
    const Outcome alone = shell.run("exec ./last " + how);
    const Outcome outcome = shell.run(
        "rm -f report.txt; exec syndrome run --check races --report report.txt -- ./last " + how);
    const std::string report = shell.read("report.txt");
    EXPECT_THAT(report, HasSubstr("data race on first")) << how;
    EXPECT_THAT(report, HasSubstr("data race on last")) << how;
    // Whoever is killed by a signal is killed by the same one.
    if (alone.code > 128) {
      EXPECT_EQ(outcome.code, alone.code) << how;
    }
  }
}

TEST_P(Faults, AStackOverflowThatIsHandled) {
  build("stacks.c");
  run("overflow");
  expect_all();
}

TEST_P(Faults, AFaultThatIsMended) {
  build("stacks.c");
  run("mend");
  expect_all();
}

TEST_P(Faults, TheSmallestStacks) {
  build("stacks.c");
  run("small");
  expect_all();
}

TEST_P(Faults, ForbiddenSystemCalls) {
  build("seccomp.c");
  run();
  expect_all();
  // Not even memory: the buffers of threads that have ended are there.
  run("mmap");
  expect_all();
}

TEST_P(Faults, AnAllocatorOfItsOwn) {
  build("own_malloc.c");
  run();
  expect_all();
  build("own_new.cc");
  run();
  expect_all();
}

TEST_P(Faults, AnAllocatorFromALibrary) {
  const std::string here = (source_directory() / "tests/faults").string();
  const Outcome part =
      shell_.run("clang-19 -O2 -fPIC -shared -DPART " + here + "/own_malloc.c -o libpart.so");
  ASSERT_EQ(part.code, 0) << part.err;
  build("usual_malloc.c", "-L. -lpart -Wl,-rpath,$PWD");
  run();
  expect_all();
}

TEST_P(Faults, AnAllocatorThatStandsInFrontOfTheRuntime) {
  const std::string here = (source_directory() / "tests/faults").string();
  const Outcome part =
      shell_.run("clang-19 -O2 -fPIC -shared -DPART " + here + "/own_malloc.c -o part.so");
  ASSERT_EQ(part.code, 0) << part.err;
  build("usual_malloc.c");
  // The runtime does not see it, and says so; it can be put in front.
  const Outcome behind = shell_.run("LD_PRELOAD=$PWD/part.so " + recorded() + "./usual_malloc");
  EXPECT_EQ(behind.code, code_of(3));
  EXPECT_THAT(behind.err, HasSubstr("stands in front of the runtime"));
  EXPECT_THAT(behind.err, HasSubstr("part.so"));
  const Outcome found =
      shell_.run("ldd usual_malloc | sed -n 's/.*=> \\(.*libsyndrome_rt[^ ]*\\).*/\\1/p'");
  ASSERT_THAT(found.out, HasSubstr("libsyndrome_rt"));
  run("", "LD_PRELOAD=" + found.out.substr(0, found.out.size() - 1) + ":$PWD/part.so");
  expect_all();
}

TEST_P(Faults, NoSharedMemoryAndAReadOnlyTmp) {
  if (!can_mount()) GTEST_SKIP() << "nothing can be mounted here";
  build("elsewhere.c");
  // Only the directory of the test can be written.
  const Outcome outcome = mounted(
      "mount --bind . /mnt; for place in /tmp /var/tmp; do mount --bind $place $place;"
      " mount -o remount,bind,ro $place; done; mount -t tmpfs -o ro none /dev/shm; cd /mnt",
      recorded() + "./elsewhere chdir fork");
  EXPECT_EQ(outcome.code, code_of(3)) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_all();
  EXPECT_THAT(races_of_children(), ElementsAre("in_the_child"));
  // The recorder clears away behind itself, which nobody waits for.
  EXPECT_EQ(shell_.run("while ls -d syndrome-* >/dev/null 2>&1; do sleep 0.05; done").code, 0);
}

TEST_P(Faults, ARelativeFolderForTemporaryFiles) {
  if (!can_mount()) GTEST_SKIP() << "nothing can be mounted here";
  build("elsewhere.c");
  const Outcome outcome =
      mounted("mount -t tmpfs -o ro none /dev/shm; mkdir mine",
              "TMPDIR=mine " + recorded() + "./elsewhere chdir fork; c=$?; ls mine; exit $c");
  EXPECT_EQ(outcome.code, code_of(3)) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_all();
}

TEST_P(Faults, AContainerInside) {
  if (!can_mount()) GTEST_SKIP() << "nothing can be mounted here";
  build("elsewhere.c");
  // Its process has number 1, which is another one's outside; with and without a /proc of its own.
  for (const char* const way : {"unshare -p -f ", "unshare -p -f --mount-proc "}) {
    const Outcome outcome = shell_.run("rm -f run.syn*; " + recorded() + way + "./elsewhere fork");
    EXPECT_EQ(outcome.code, code_of(3)) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    expect_all();
    EXPECT_THAT(races_of_children(), ElementsAre("in_the_child"));
  }
}

TEST_P(Faults, AFullDiskCostsOnlyTheTrace) {
  if (!can_mount()) GTEST_SKIP() << "nothing can be mounted here";
  build("endless.c");
  const std::string alone = shell_.run("./endless 100000").out;
  const Outcome outcome =
      mounted("mount -t tmpfs -o size=256k none /mnt; ln -s /mnt/run.syn run.syn",
              recorded() + "./endless 100000; c=$?; cp /mnt/run.syn cut.syn; exit $c");
  EXPECT_EQ(outcome.out, alone);
  EXPECT_THAT(outcome.err, HasSubstr("no longer recorded"));
  EXPECT_THAT(outcome.err, HasSubstr("No space left"));
  EXPECT_THAT(outcome.code, ::testing::AnyOf(3, code_of(3)));
  // What is there can be read, and has the beginning.
  const Outcome checked = shell_.run("syndrome check --check races cut.syn");
  EXPECT_EQ(checked.code, 1) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("before_the_fault"));
}

TEST_P(Faults, NoRoomForTheBuffersOfAllThreads) {
  if (!can_mount()) GTEST_SKIP() << "nothing can be mounted here";
  build("elsewhere.c");
  const std::string alone = shell_.run("./elsewhere").out;
  // Too small for the ten threads that live together.
  const Outcome outcome = mounted(
      "mount -t tmpfs -o ro none /dev/shm; mount -t tmpfs -o size=3m none /mnt; export TMPDIR=/mnt",
      recorded() + "./elsewhere");
  EXPECT_EQ(outcome.out, alone);
  EXPECT_EQ(outcome.code, code_of(3));
  EXPECT_THAT(outcome.err, HasSubstr("no room for the buffer of another thread"));
  EXPECT_EQ(races().count("before_the_fault"), 1u);
}

TEST_P(Faults, AKilledRecorderCostsOnlyTheTrace) {
  build("endless.c");
  const std::string alone = shell_.run("touch killed; ./endless 600000 killed").out;
  const Outcome outcome = shell_.run(
      "rm pid killed; " + recorded() +
      "./endless 600000 killed & r=$!; while ! [ -s pid ]; do sleep 0.01; done; p=$(cat pid);"
      " for c in $(pgrep -P $r); do [ $c = $p ] || kill -9 $c; done; touch killed;"
      " wait $r");
  EXPECT_EQ(outcome.out, alone);
  EXPECT_THAT(outcome.code, ::testing::AnyOf(3, code_of(3))) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the recorder ended before the program"));
  // Threads are cut off at different moments: what is there is no contradiction.
  const Outcome checked = shell_.run("syndrome check --check races run.syn");
  EXPECT_THAT(checked.code, ::testing::AnyOf(0, 1)) << checked.err;
  EXPECT_THAT(checked.out, Not(HasSubstr("guarded")));
}

TEST_P(Faults, TheTerminalsSignal) {
  build("endless.c");
  // To the whole group, as a terminal sends it; with `set -m` a background process is in one of its
  // own, and does not ignore it.
  const auto interrupted = [&](const std::string& arguments) {
    return shell_.run("rm -f pid; bash -c 'set -m; " + recorded() + "./endless " + arguments +
                      " & r=$!; while ! [ -s pid ]; do sleep 0.01; done; sleep 0.1;"
                      " kill -INT -$r; wait $r'");
  };
  const Outcome killed = interrupted("");
  EXPECT_EQ(killed.code, 130) << killed.err;
  EXPECT_THAT(races(), ElementsAre("before_the_fault"));
  const Outcome caught = interrupted("catch");
  EXPECT_EQ(caught.code, code_of(3)) << caught.err;
  EXPECT_EQ(caught.out, "told 2\n");
  expect_all();
}

TEST_P(Faults, ASignalToSyndromeAlone) {
  build("endless.c");
  const Outcome outcome =
      shell_.run(recorded() +
                 "./endless & r=$!; while ! [ -s pid ]; do sleep 0.01; done; kill -TERM $r;"
                 " wait $r");
  EXPECT_EQ(outcome.code, 128 + 15) << outcome.err;
  EXPECT_THAT(races(), ElementsAre("before_the_fault"));
}

}  // namespace
}  // namespace syndrome::test
