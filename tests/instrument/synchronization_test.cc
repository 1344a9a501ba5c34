// Atomics, fences, guards, and what is recognized by function.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event/wire.h"
#include "instrument/compile.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string what(wire::Sync kind, unsigned bytes, unsigned order) {
  return "i32 " + std::to_string(static_cast<unsigned>(kind) | (bytes << 8) | (order << 16)) + ")";
}

TEST(Synchronization, AtomicsSayKindSizeAndOrder) {
  const std::string llvm = llvm_code(R"(long a;
void store() { __atomic_store_n(&a, 1, __ATOMIC_RELEASE); }
long load() { return __atomic_load_n(&a, __ATOMIC_ACQUIRE); }
long add() { return __atomic_fetch_add(&a, 1, __ATOMIC_RELAXED); }
)",
                                     "-O0");
  EXPECT_THAT(llvm, HasSubstr(what(wire::Sync::kAtomicStore, 8, 3)));
  EXPECT_THAT(llvm, HasSubstr(what(wire::Sync::kAtomicLoad, 8, 2)));
  EXPECT_THAT(llvm, HasSubstr(what(wire::Sync::kAtomicRmw, 8, 0)));
  EXPECT_THAT(llvm, HasSubstr("call void @__syndrome_atomic_begin(ptr @a)"));
}

TEST(Synchronization, AFailedExchangeIsALoad) {
  const std::string llvm = llvm_code(
      "int a; bool f(int e) { return __atomic_compare_exchange_n(&a, &e, 1, false, "
      "__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); }",
      "-O0");
  const auto number = [](wire::Sync kind, unsigned order) {
    return std::to_string(static_cast<unsigned>(kind) | (4u << 8) | (order << 16));
  };
  EXPECT_THAT(llvm, HasSubstr("i32 " + number(wire::Sync::kAtomicRmw, 4) + ", i32 " +
                              number(wire::Sync::kAtomicLoad, 2)));
}

TEST(Synchronization, LargeAtomicsAreCallsOfTheLibrary) {
  const std::string llvm = llvm_code(
      "struct Big { long v[4]; }; Big big; Big f() { Big b; "
      "__atomic_load(&big, &b, __ATOMIC_ACQUIRE); return b; }",
      "-O0");
  EXPECT_THAT(llvm, HasSubstr("call void @__syndrome_atomic_begin(ptr @big)"));
  EXPECT_THAT(llvm, HasSubstr(what(wire::Sync::kAtomicLoad, 32, 2)));
}

TEST(Synchronization, FencesAndGuards) {
  const std::string llvm = llvm_code(R"(int make();
int& once() { static int value = make(); return value; }
void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); __atomic_signal_fence(__ATOMIC_SEQ_CST); }
)",
                                     "-O0");
  EXPECT_THAT(llvm, HasSubstr(what(wire::Sync::kHappensAfter, 1, 2)));
  const std::string call = "call void @__syndrome_fence(";
  ASSERT_THAT(llvm, HasSubstr(call));
  EXPECT_EQ(llvm.find(call), llvm.rfind(call)) << "a signal fence orders nothing between threads";
}

TEST(Synchronization, AtomicsOfLocalsThatStayAreLeftOut) {
  const std::string llvm =
      llvm_code("int f() { int a = 0; return __atomic_fetch_add(&a, 1, 5); }", "-O0");
  EXPECT_THAT(llvm, Not(HasSubstr("__syndrome_atomic")));
}

constexpr const char* kLibrary = R"(#include <barrier>
#include <latch>
#include <semaphore>
#include <thread>
int done, data;
struct Completion { void operator()() noexcept { done += data; } };
std::latch latch(1);
std::counting_semaphore<4> semaphore(0);
std::barrier<Completion> barrier(2, Completion{});
std::atomic<int> flag;
int main() {
  std::thread other([] {
    data = 1;
    latch.count_down();
    semaphore.release();
    barrier.arrive_and_wait();
    flag.store(1);
    flag.notify_one();
  });
  latch.wait();
  semaphore.acquire();
  if (semaphore.try_acquire()) return 2;
  barrier.arrive_and_wait();
  flag.wait(0);
  other.join();
  return done - 1;
}
)";

TEST(Synchronization, LatchBarrierAndSemaphoreAreEvents) {
  const std::string llvm = llvm_code(kLibrary, "-O0");
  for (const char* name : {"post", "wait", "barrier_arrive", "barrier_leave", "happens_after"}) {
    EXPECT_THAT(llvm, HasSubstr(std::string("call void @__syndrome_") + name + "(ptr"));
  }
}

/// The functions that a barrier calls are copies of the library's: the copy must say it as well.
TEST(Synchronization, ABarriersCompletionIsBetweenArrivalsAndDepartures) {
  const std::string llvm = llvm_code(kLibrary, "-O0");
  const std::string completion = "call void @_ZN10CompletionclEv(";
  std::size_t calls = 0;
  for (std::size_t at = llvm.find(completion); at != std::string::npos;
       at = llvm.find(completion, at + 1), ++calls) {
    const std::size_t block = llvm.rfind("\n\n", at);
    EXPECT_THAT(llvm.substr(block, at - block), HasSubstr("@__syndrome_happens_after(ptr"));
    EXPECT_THAT(llvm.substr(at, llvm.find("\n\n", at) - at),
                HasSubstr("@__syndrome_happens_before(ptr"));
  }
  EXPECT_GT(calls, 0U);
}

// A plan (docs/enforce.md) goes by the locks that the program takes, whatever has been inlined.
TEST(Synchronization, TheSummaryHasTheLocksOfGuards) {
  for (const char* guard : {"lock_guard<std::mutex>", "unique_lock<std::shared_mutex>",
                            "shared_lock<std::shared_mutex>", "scoped_lock<std::mutex>"}) {
    for (const char* level : {"-O0", "-O1"}) {
      const std::string type(guard);
      const std::string mutex = type.substr(type.find('<') + 1, type.size() - type.find('<') - 2);
      const std::string llvm =
          llvm_code("#include <mutex>\n#include <shared_mutex>\n" + mutex +
                        " m; int n;\nint f() { std::" + type + " guard(m); return n; }\n",
                    "-g " + std::string(level));
      EXPECT_THAT(llvm, HasSubstr("\\0AC\\09L\\09")) << guard << level;
      EXPECT_THAT(llvm, HasSubstr("\\0AC\\09U\\09")) << guard << level;
    }
  }
}

TEST(Synchronization, FastModeSeesThemToo) {
  const std::string llvm = llvm_code(kLibrary, "-O2 --syndrome-mode=fast");
  for (const char* name : {"post", "wait", "barrier_arrive", "barrier_leave"}) {
    EXPECT_THAT(llvm, HasSubstr(std::string("call void @__syndrome_") + name + "(ptr"));
  }
}

TEST(Synchronization, TheirInsidesHaveNoProbesAndTheProgramStillWorks) {
  const Shell shell;
  shell.write("t.cc", kLibrary);
  for (const char* level : {"-O0", "-O2"}) {
    const Outcome outcome =
        shell.run("syndrome c++ -std=c++20 -g " + std::string(level) + " t.cc -o t && ./t");
    EXPECT_EQ(outcome.code, 0) << level << outcome.err;
    const std::string program = shell.read("t");
    for (const UnitFunction& function : unit_functions(program)) {
      EXPECT_THAT(function.name, Not(HasSubstr("__waiter"))) << level;
      EXPECT_THAT(function.name, Not(testing::StartsWith("_ZNSt14__tree_barrier"))) << level;
    }
    EXPECT_EQ(unit_function(program, "_ZN10CompletionclEv").accesses().size(), 3u)
        << "the program's own function has its probes";
  }
}

}  // namespace
}  // namespace syndrome::test
