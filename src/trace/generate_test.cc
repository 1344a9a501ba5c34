// Is a generated trace what trace/generate.h and contract.md say that it is?

#include "trace/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "trace/wellformed.h"

namespace syndrome::trace {
namespace {

using ::testing::HasSubstr;

struct Trace {
  std::unique_ptr<GeneratedSource> source;
  std::vector<Event> events;
};

Trace generate(const GenerateOptions& options) {
  auto source = GeneratedSource::make(options);
  EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().message);
  Trace trace;
  trace.source = std::move(*source);
  while (true) {
    const Result<Batch> batch = trace.source->next();
    EXPECT_TRUE(batch.ok());
    if (batch->empty()) break;
    EXPECT_EQ(batch->first, trace.events.size() + 1);
    trace.events.insert(trace.events.end(), batch->events.begin(), batch->events.end());
  }
  EXPECT_TRUE(trace.source->warnings().empty());
  EXPECT_EQ(trace.source->progress().done, trace.events.size());
  return trace;
}

void expect_well_formed(Trace& trace) {
  WellFormed stage([](const Fault& fault) {
    ADD_FAILURE() << "event " << fault.event << ": " << fault.message;
    return false;
  });
  Batch batch{trace.events, 1};
  EXPECT_TRUE(stage.apply(batch, trace.source->names()));
  for (const Event& event : trace.events) ASSERT_EQ(event.flags, 0) << "nothing is nested";
}

/// One lock scope of one thread.
struct Scope {
  bool in_block = false;
  LabelId label;
  LockId lock;
  std::vector<Event> accesses;
};

/// All scopes of a well-formed trace; each must be closed, and each access be in one.
std::vector<Scope> scopes_of(const Trace& trace) {
  std::vector<Scope> scopes;
  std::map<ThreadId, LabelId> block;
  std::map<ThreadId, Scope> open;
  for (const Event& event : trace.events) {
    switch (event.kind) {
      case EventKind::kBegin: block[event.thread] = event.label(); break;
      case EventKind::kEnd:
        EXPECT_EQ(block[event.thread], event.label());
        block.erase(event.thread);
        break;
      case EventKind::kAcquire: {
        EXPECT_FALSE(open.contains(event.thread)) << "one lock at a time";
        Scope& scope = open[event.thread];
        scope.lock = event.lock();
        scope.in_block = block.contains(event.thread);
        if (scope.in_block) scope.label = block[event.thread];
        break;
      }
      case EventKind::kRelease:
        scopes.push_back(std::move(open[event.thread]));
        open.erase(event.thread);
        break;
      case EventKind::kRead:
      case EventKind::kWrite:
        EXPECT_TRUE(open.contains(event.thread)) << "an access outside of a lock scope";
        open[event.thread].accesses.push_back(event);
        break;
      default: break;
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_TRUE(block.empty());
  return scopes;
}

/// The transactions that are on a cycle, as sets, by the definition: a node for each block and each
/// event outside, an edge for each conflict (those to the last conflicting ones give the same
/// reachability).
std::vector<std::vector<Event>> cyclic_components(const Trace& trace) {
  std::vector<std::vector<std::size_t>> edges;
  std::vector<Event> first_event;  // of each transaction
  std::map<ThreadId, std::size_t> open;
  std::map<ThreadId, std::size_t> last_of_thread;
  std::map<ThreadId, std::size_t> forker;
  std::map<std::uint32_t, std::size_t> last_write;
  std::map<std::uint32_t, std::set<std::size_t>> reads;
  std::map<std::uint32_t, std::size_t> last_release;
  for (const Event& event : trace.events) {
    std::size_t node = edges.size();
    if (open.contains(event.thread)) {
      node = open[event.thread];
    } else {
      edges.emplace_back();
      first_event.push_back(event);
      if (event.kind == EventKind::kBegin) open[event.thread] = node;
    }
    const auto edge = [&](const auto& map, const auto& key) {
      const auto found = map.find(key);
      if (found != map.end() && found->second != node) edges[found->second].push_back(node);
    };
    edge(last_of_thread, event.thread);
    edge(forker, event.thread);
    last_of_thread[event.thread] = node;
    switch (event.kind) {
      case EventKind::kEnd: open.erase(event.thread); break;
      case EventKind::kFork: forker[event.child()] = node; break;
      case EventKind::kJoin: edge(last_of_thread, event.child()); break;
      case EventKind::kAcquire: edge(last_release, event.target); break;
      case EventKind::kRelease: last_release[event.target] = node; break;
      case EventKind::kRead:
        edge(last_write, event.target);
        reads[event.target].insert(node);
        break;
      case EventKind::kWrite:
        edge(last_write, event.target);
        for (const std::size_t reader : reads[event.target]) {
          if (reader != node) edges[reader].push_back(node);
        }
        reads[event.target].clear();
        last_write[event.target] = node;
        break;
      default: break;
    }
  }
  // Kosaraju's two searches, without recursion: finishing order, then the reversed graph.
  const std::size_t count = edges.size();
  std::vector<std::vector<std::size_t>> reversed(count);
  for (std::size_t from = 0; from < count; ++from) {
    for (const std::size_t to : edges[from]) reversed[to].push_back(from);
  }
  std::vector<char> seen(count, 0);
  const auto search = [&seen](const auto& graph, std::size_t root, const auto& on_finish) {
    std::vector<std::pair<std::size_t, std::size_t>> stack = {{root, 0}};
    seen[root] = 1;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == graph[node].size()) {
        on_finish(node);
        stack.pop_back();
        continue;
      }
      const std::size_t to = graph[node][next++];
      if (seen[to] != 0) continue;
      seen[to] = 1;
      stack.emplace_back(to, 0);
    }
  };
  std::vector<std::size_t> finished;
  for (std::size_t node = 0; node < count; ++node) {
    if (seen[node] == 0) search(edges, node, [&](std::size_t n) { finished.push_back(n); });
  }
  std::fill(seen.begin(), seen.end(), 0);
  std::vector<std::vector<Event>> components;
  for (const auto root : std::ranges::reverse_view(finished)) {
    if (seen[root] != 0) continue;
    std::vector<Event> component;
    search(reversed, root, [&](std::size_t n) { component.push_back(first_event[n]); });
    if (component.size() > 1) components.push_back(std::move(component));
  }
  return components;
}

std::uint64_t checksum(const Trace& trace) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001B3U; };
  for (const Event& event : trace.events) {
    mix(event.thread.value);
    mix(event.target);
    mix(event.site.value);
    mix(static_cast<std::uint64_t>(event.kind));
  }
  return hash;
}

std::string error_of(const GenerateOptions& options) {
  const auto source = GeneratedSource::make(options);
  return source.ok() ? "" : source.error().message;
}

TEST(Generate, MakesExactlySoManyEventsAndClosesEveryScope) {
  // Every remainder of the budget at the end, from the smallest trace on.
  for (std::uint64_t events = 20; events < 140; ++events) {
    Trace trace =
        generate({.events = events, .threads = 8, .variables = 50, .locks = 5, .seed = events});
    ASSERT_EQ(trace.events.size(), events);
    expect_well_formed(trace);
    for (const Scope& scope : scopes_of(trace)) {
      ASSERT_GE(scope.accesses.size(), 4U);
      ASSERT_LE(scope.accesses.size(), 16U);
    }
  }
  for (const std::uint64_t events : {4095U, 4096U, 4097U, 8192U, 100'000U}) {
    Trace trace = generate({.events = events, .threads = 3, .variables = 50, .locks = 5});
    ASSERT_EQ(trace.events.size(), events);
    expect_well_formed(trace);
  }
}

TEST(Generate, HasTheProportionsOfTheContract) {
  Trace trace =
      generate({.events = 1'000'000, .threads = 8, .variables = 10'000, .locks = 100, .seed = 1});
  expect_well_formed(trace);
  double accesses = 0;
  double writes = 0;
  double outside = 0;
  std::map<std::size_t, double> lengths;
  std::map<LockId, double> locks;
  const std::vector<Scope> scopes = scopes_of(trace);
  for (const Scope& scope : scopes) {
    ++lengths[scope.accesses.size()];
    ++locks[scope.lock];
    for (const Event& event : scope.accesses) {
      ++accesses;
      if (event.kind == EventKind::kWrite) ++writes;
      if (!scope.in_block) ++outside;
      ASSERT_EQ(event.var().value / 100, scope.lock.value) << "a variable of another lock";
    }
  }
  // At 70,000 scopes the standard deviations are 0.002 at most.
  EXPECT_NEAR(writes / accesses, 0.30, 0.01);
  EXPECT_NEAR(outside / accesses, 0.10, 0.01);
  EXPECT_EQ(lengths.begin()->first, 4U);
  EXPECT_EQ(lengths.rbegin()->first, 16U);
  for (const auto& [length, count] : lengths) {
    EXPECT_NEAR(count / static_cast<double>(scopes.size()), 1.0 / 13, 0.01) << length;
  }
  EXPECT_EQ(locks.size(), 100U);
  std::map<ThreadId, double> by_thread;
  for (const Event& event : trace.events) ++by_thread[event.thread];
  for (const auto& [thread, count] : by_thread) {
    EXPECT_NEAR(count / 1e6, 1.0 / 8, 0.01) << thread.value;
  }
}

TEST(Generate, EveryVariableBelongsToOneLock) {
  // 7 does not divide 100: the shares differ by one.
  Trace trace = generate({.events = 200'000, .threads = 4, .variables = 100, .locks = 7});
  std::map<VarId, std::set<LockId>> owners;
  for (const Scope& scope : scopes_of(trace)) {
    for (const Event& event : scope.accesses) owners[event.var()].insert(scope.lock);
  }
  EXPECT_EQ(owners.size(), 100U);
  for (const auto& [var, locks] : owners) EXPECT_EQ(locks.size(), 1U) << var.value;
}

TEST(Generate, ForksFirstAndJoinsLast) {
  const Trace trace = generate({.events = 10'000, .threads = 5, .variables = 10, .locks = 2});
  for (std::uint32_t i = 1; i < 5; ++i) {
    const Event& fork = trace.events[i - 1];
    EXPECT_EQ(fork.kind, EventKind::kFork);
    EXPECT_EQ(fork.thread, ThreadId(0U));
    EXPECT_EQ(fork.child(), ThreadId(i));
    const Event& join = trace.events[trace.events.size() - 5 + i];
    EXPECT_EQ(join.kind, EventKind::kJoin);
    EXPECT_EQ(join.thread, ThreadId(0U));
    EXPECT_EQ(join.child(), ThreadId(i));
  }
}

TEST(Generate, NamesAreCompleteAndNatural) {
  const auto source = GeneratedSource::make(
      {.events = 1000, .threads = 3, .variables = 20, .locks = 4, .violations = 2});
  ASSERT_TRUE(source.ok());
  const Names& names = (*source)->names();
  EXPECT_EQ(names.table(Space::kThread).size(), 3U);
  EXPECT_EQ(names.thread(ThreadId(2U)), "T2");
  EXPECT_EQ(names.table(Space::kVariable).size(), 22U);
  EXPECT_EQ(names.variable(VarId(19U)), "V19");
  EXPECT_EQ(names.variable(VarId(21U)), "P1");
  EXPECT_EQ(names.table(Space::kLock).size(), 6U);
  EXPECT_EQ(names.lock(LockId(3U)), "L3");
  EXPECT_EQ(names.lock(LockId(4U)), "PL0");
  EXPECT_EQ(names.label(LabelId(1U)), "update_0");
  std::set<std::string> sites;
  for (std::size_t i = 0; i < names.table(Space::kSite).size(); ++i) {
    EXPECT_TRUE(sites.insert(std::string(names.site(SiteId(i)))).second) << "twice: " << i;
  }
  EXPECT_LT(sites.size(), 3000U);
}

TEST(Generate, ASiteIsOneOperationAndFollowsTheOneBefore) {
  const Trace trace = generate({.events = 300'000, .threads = 8, .variables = 100, .locks = 10});
  std::map<SiteId, EventKind> kind_at;
  std::map<ThreadId, SiteId> before;
  double followers = 0;
  for (const Event& event : trace.events) {
    const auto [at, fresh] = kind_at.emplace(event.site, event.kind);
    ASSERT_EQ(at->second, event.kind) << trace.source->names().site(event.site);
    ASSERT_LT(event.site.index(), trace.source->names().table(Space::kSite).size());
    if (event.site.value == before[event.thread].value + 1) ++followers;
    before[event.thread] = event.site;
  }
  EXPECT_GT(followers / 300'000, 0.9);
}

TEST(Generate, IsCleanByDefault) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_TRUE(
        cyclic_components(
            generate({.events = 3000, .threads = 6, .variables = 12, .locks = 3, .seed = seed}))
            .empty());
  }
}

class Planted : public ::testing::TestWithParam<GenerateOptions> {};

TEST_P(Planted, ExactlyThePlantedBlocksViolateAtomicity) {
  const GenerateOptions options = GetParam();
  Trace trace = generate(options);
  EXPECT_EQ(trace.events.size(), options.events);
  expect_well_formed(trace);
  std::set<std::string> planted;
  for (const std::vector<Event>& component : cyclic_components(trace)) {
    EXPECT_EQ(component.size(), 4U) << "the block and three events of the other thread";
    int blocks = 0;
    int writes = 0;
    for (const Event& event : component) {
      if (event.kind == EventKind::kWrite) ++writes;
      if (event.kind != EventKind::kBegin) continue;
      ++blocks;
      planted.insert(std::string(trace.source->names().label(event.label())));
    }
    EXPECT_EQ(blocks, 1);
    EXPECT_EQ(writes, 1) << "the other thread changes what the block has read";
  }
  EXPECT_EQ(planted.size(), options.violations);
  for (std::uint32_t i = 0; i < options.violations; ++i) {
    EXPECT_TRUE(planted.contains("planted_" + std::to_string(i)));
  }
  // Each site of a planted block occurs once in the trace.
  std::map<std::string, int> times;
  for (const Event& event : trace.events) {
    const std::string site(trace.source->names().site(event.site));
    if (site.starts_with("planted.cc:")) ++times[site];
  }
  EXPECT_EQ(times.size(), options.violations * 11);
  for (const auto& [site, count] : times) EXPECT_EQ(count, 1) << site;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Planted,
    ::testing::Values(
        GenerateOptions{.events = 5000, .threads = 6, .variables = 12, .locks = 3, .violations = 1},
        GenerateOptions{.events = 5000, .threads = 6, .variables = 12, .locks = 3, .violations = 9},
        GenerateOptions{.events = 5000, .threads = 2, .variables = 1, .locks = 1, .violations = 50},
        // Nothing but violations; a scope beside them; more threads than work.
        GenerateOptions{
            .events = 2 + 11 * 7, .threads = 2, .variables = 1, .locks = 1, .violations = 7},
        GenerateOptions{
            .events = 4 + 11 * 7 + 6, .threads = 3, .variables = 1, .locks = 1, .violations = 7},
        GenerateOptions{.events = 200 + 11 * 7 + 40,
                        .threads = 101,
                        .variables = 9,
                        .locks = 9,
                        .violations = 7}));

TEST(Generate, ViolationsAreSpreadEvenly) {
  const Trace trace =
      generate({.events = 100'000, .threads = 8, .variables = 100, .locks = 10, .violations = 10});
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::kBegin &&
        trace.source->names().label(event.label()).starts_with("planted_")) {
      at.push_back(i);
    }
  }
  ASSERT_EQ(at.size(), 10U);
  for (std::size_t i = 0; i < at.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(at[i]), 5000.0 + 10'000.0 * static_cast<double>(i), 500);
  }
}

TEST(Generate, OneThreadIsEnough) {
  Trace trace = generate({.events = 1000, .threads = 1, .variables = 1, .locks = 1});
  EXPECT_EQ(trace.events.size(), 1000U);
  expect_well_formed(trace);
  EXPECT_EQ(generate({.events = 6, .threads = 1, .variables = 1, .locks = 1}).events.size(), 6U);
}

TEST(Generate, TenThousandThreads) {
  Trace trace =
      generate({.events = 500'000, .threads = 10'000, .variables = 1000, .locks = 100, .seed = 3});
  EXPECT_EQ(trace.events.size(), 500'000U);
  expect_well_formed(trace);
  std::set<ThreadId> workers;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::kRead) workers.insert(event.thread);
  }
  EXPECT_GT(workers.size(), 9'000U);
}

TEST(Generate, IsTheSameOnEveryMachine) {
  const GenerateOptions options = {
      .events = 50'000, .threads = 8, .variables = 1000, .locks = 10, .seed = 42, .violations = 5};
  EXPECT_EQ(checksum(generate(options)), checksum(generate(options)));
  EXPECT_EQ(checksum(generate(options)), 13706983682175301070U);
  GenerateOptions other = options;
  other.seed = 43;
  EXPECT_NE(checksum(generate(options)), checksum(generate(other)));
}

TEST(Generate, RefusesWhatNoTraceCanBe) {
  const GenerateOptions good = {.events = 1000, .threads = 8, .variables = 100, .locks = 10};
  EXPECT_EQ(error_of(good), "");
  GenerateOptions bad = good;
  bad.threads = 0;
  EXPECT_EQ(error_of(bad), "threads: expected 1 to 1000000, found 0");
  bad.threads = 4'000'000'000U;
  EXPECT_EQ(error_of(bad), "threads: expected 1 to 1000000, found 4000000000");
  bad = good;
  bad.variables = 0;
  EXPECT_EQ(error_of(bad), "variables: expected 1 to 50000000, found 0");
  bad.variables = 4'000'000'000U;
  EXPECT_EQ(error_of(bad), "variables: expected 1 to 50000000, found 4000000000");
  bad = good;
  bad.locks = 101;
  EXPECT_EQ(error_of(bad),
            "locks: expected 1 to 100, found 101: each lock has a variable of its own at least, "
            "and there are 100 variables");
  bad.locks = 0;
  EXPECT_THAT(error_of(bad), HasSubstr("locks: expected 1 to 100, found 0"));
  bad = good;
  bad.events = 0;
  EXPECT_EQ(error_of(bad), "events: expected 1 to 1000000000000, found 0");
  bad.events = ~0ULL;
  EXPECT_EQ(error_of(bad), "events: expected 1 to 1000000000000, found 18446744073709551615");
  bad = good;
  bad.violations = 1;
  bad.threads = 1;
  EXPECT_THAT(error_of(bad), HasSubstr("a violation takes two threads"));
  bad = good;
  bad.violations = 2'000'000;
  EXPECT_EQ(error_of(bad), "violations: expected 0 to 1000000, found 2000000");
  bad.violations = 100;
  EXPECT_EQ(error_of(bad),
            "events: 1000 are too few: to fork and join 8 threads takes 14, 100 violations take "
            "1100, and the smallest lock scope takes 6; give at least 1120, or exactly 1114");
  bad = good;
  bad.events = 5;
  bad.threads = 1;
  EXPECT_THAT(error_of(bad), HasSubstr("give at least 6"));
  bad = good;
  for (bad.events = 1; bad.events < 25; ++bad.events) {
    EXPECT_EQ(error_of(bad).empty(), bad.events == 14 || bad.events >= 20) << bad.events;
  }
}

}  // namespace
}  // namespace syndrome::trace
