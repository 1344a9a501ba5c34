// Guards against: a function that counts as tested although nobody was near.

#include "check/functions.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "check/samples/random_trace.h"

namespace syndrome::check {
namespace {

std::map<std::string, FunctionUse> survey(SmallTrace trace, std::size_t batch = 1000) {
  FunctionSurvey functions;
  for (std::size_t at = 0; at < trace.events.size(); at += batch) {
    const std::size_t size = std::min(batch, trace.events.size() - at);
    functions.take({std::span(trace.events).subspan(at, size), at + 1}, trace.names);
  }
  return functions.result(trace.names);
}

/// The definition, over every pair of events of every call.
std::map<std::string, FunctionUse> by_definition(const SmallTrace& trace) {
  std::map<std::string, FunctionUse> result;
  std::map<std::string, std::set<ThreadId>> threads;
  const auto access = [](const Event& e) {
    return e.kind == EventKind::kRead || e.kind == EventKind::kWrite || e.kind == EventKind::kRmw;
  };
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& enter = trace.events[i];
    if (enter.kind != EventKind::kBegin || enter.target == 0) continue;
    std::size_t depth = 0;
    std::size_t end = i + 1;
    for (; end < trace.events.size(); ++end) {
      const Event& e = trace.events[end];
      if (e.thread != enter.thread) continue;
      if (e.kind == EventKind::kBegin) ++depth;
      if (e.kind == EventKind::kEnd && depth-- == 0) break;
    }
    bool contended = false;
    for (std::size_t a = i; a < end; ++a) {
      for (std::size_t b = i; b < end; ++b) {
        const Event& mine = trace.events[a];
        const Event& other = trace.events[b];
        contended |= mine.thread == enter.thread && other.thread != enter.thread && access(mine) &&
                     access(other) && mine.target == other.target &&
                     (mine.kind != EventKind::kRead || other.kind != EventKind::kRead);
      }
    }
    const std::string name(trace.names.label(enter.label()));
    FunctionUse& use = result[name];
    ++use.calls;
    use.contended += contended ? 1 : 0;
    use.marked = true;
    threads[name].insert(enter.thread);
  }
  for (auto& [name, use] : result) use.threads = threads[name].size();
  return result;
}

TEST(Functions, agree_with_their_definition) {
  std::mt19937 random(5);
  std::uint64_t contended = 0;
  std::uint64_t calls = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SmallTrace trace = random_trace(seed);
    // Blocks of random names.
    std::vector<std::uint32_t> labels;
    for (const char* name : {"f", "g", "h"}) {
      labels.push_back(trace.names.table(Space::kLabel).append(name));
    }
    for (Event& event : trace.events) {
      if (event.kind == EventKind::kBegin) event.target = labels[random() % labels.size()];
    }
    const std::map<std::string, FunctionUse> seen = survey(trace, 1 + random() % 40);
    const std::map<std::string, FunctionUse> expected = by_definition(trace);
    for (const auto& [name, use] : expected) {
      ASSERT_TRUE(seen.contains(name)) << to_std(trace);
      ASSERT_EQ(seen.at(name).calls, use.calls) << name << "\n" << to_std(trace);
      ASSERT_EQ(seen.at(name).contended, use.contended) << name << "\n" << to_std(trace);
      ASSERT_EQ(seen.at(name).threads, use.threads) << name << "\n" << to_std(trace);
      calls += use.calls;
      contended += use.contended;
    }
    for (const auto& [name, use] : seen) {
      ASSERT_EQ(expected.contains(name), use.marked) << name << "\n" << to_std(trace);
    }
  }
  EXPECT_GT(contended, 1000U);
  EXPECT_GT(calls, 2 * contended);
}

TEST(Functions, the_first_of_the_programs_own_in_a_thread_is_an_entry) {
  const std::map<std::string, FunctionUse> seen = survey(from_std(R"(
      main|enter(main)
      main|fork(T1)
      main|enter(work)
      main|exit(work)
      T1|enter(std::thread::_M_run())
      T1|enter(std::get())
      T1|exit(std::get())
      T1|enter(lambda)
      T1|enter(work)
      T1|exit(work)
      T1|exit(lambda)
      T1|enter(callback)
      T1|exit(callback)
      T1|exit(std::thread::_M_run()))"));
  EXPECT_TRUE(seen.at("lambda").entry);
  EXPECT_TRUE(seen.at("callback").entry);
  EXPECT_FALSE(seen.at("work").entry);
  EXPECT_FALSE(seen.at("main").entry);
  EXPECT_EQ(seen.at("work").threads, 2U);
  EXPECT_FALSE(seen.contains("std::get()"));
}

TEST(Functions, a_marked_function_counts_once) {
  const std::map<std::string, FunctionUse> seen = survey(from_std(R"(
      T1|enter(f)
      T1|begin(f)
      T1|w(x)
      T2|w(x)
      T1|end(f)
      T1|exit(f)
      T1|enter(f))"));
  EXPECT_EQ(seen.at("f").calls, 2U);
  EXPECT_EQ(seen.at("f").contended, 1U);
  EXPECT_TRUE(seen.at("f").marked);
}

}  // namespace
}  // namespace syndrome::check
