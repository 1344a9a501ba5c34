// kill -9 at random moments loses nothing that had been recorded: how far the program was when it
// died stands in memory that it shares with this test (count.c), and the trace goes at least that
// far. SYNDROME_KILLS says how many (10).

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "support/shell.h"

extern "C" {
#include "capture/witness.h"
}

namespace syndrome::test {
namespace {

using Clock = std::chrono::steady_clock;

class SharedPage {
 public:
  explicit SharedPage(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ::ftruncate(file, 4096) != 0) std::abort();
    void* place = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (place == MAP_FAILED) std::abort();
    ::close(file);
    page_ = static_cast<volatile Page*>(place);
  }
  ~SharedPage() { ::munmap(const_cast<Page*>(page_), 4096); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  volatile Page& operator*() { return *page_; }

 private:
  volatile Page* page_;
};

std::uint64_t count_writes(const std::string& trace, const std::string& variable) {
  const std::string wanted = "|w(" + variable + ")|";
  std::uint64_t count = 0;
  for (std::size_t at = trace.find(wanted); at != std::string::npos;
       at = trace.find(wanted, at + wanted.size())) {
    ++count;
  }
  return count;
}

TEST(Kill, LosesNothingThatWasRecorded) {
  const char* wanted = std::getenv("SYNDROME_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 10;
  ASSERT_GT(kills, 0);
  const Shell shell;
  const std::string here = (source_directory() / "tests/capture").string();
  const Outcome built =
      shell.run("clang-19 -O2 -c " + here + "/witness.c -o witness.o && " +
                "syndrome cc -g -O2 -pthread " + here + "/count.c witness.o -o count");
  ASSERT_EQ(built.code, 0) << built.err;

  std::mt19937 random(20260101);
  // From the first instruction to some tens of thousands of events.
  std::exponential_distribution<double> milliseconds(1.0 / 10);
  for (int kill = 0; kill < kills; ++kill) {
    SharedPage page(shell.directory() / "page");
    Outcome recorded;
    std::thread recorder([&] {
      recorded = shell.run("rm -f run.syn*; syndrome record -o run.syn -- ./count page");
    });
    const Clock::time_point give_up = Clock::now() + std::chrono::seconds(20);
    while ((*page).pid == 0 && Clock::now() < give_up) std::this_thread::yield();
    const pid_t victim = static_cast<pid_t>((*page).pid);
    if (victim != 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds(random)));
      ::kill(victim, SIGKILL);
    }
    recorder.join();
    ASSERT_NE(victim, 0) << "the program did not start: " << recorded.err;
    EXPECT_EQ(recorded.code, 128 + SIGKILL) << recorded.err;

    const Outcome trace = shell.run("syndrome trace cat run.syn");
    ASSERT_EQ(trace.code, 0) << "kill " << kill << ": " << trace.err;
    const std::uint64_t first = (*page).counts[0];
    const std::uint64_t second = (*page).counts[1];
    EXPECT_GE(count_writes(trace.out, "first_count"), first) << "kill " << kill;
    EXPECT_GE(count_writes(trace.out, "second_count"), second) << "kill " << kill;
    // At most the one write that happened after the last count.
    EXPECT_LE(count_writes(trace.out, "first_count"), first + 1) << "kill " << kill;
    EXPECT_LE(count_writes(trace.out, "second_count"), second + 1) << "kill " << kill;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace syndrome::test
