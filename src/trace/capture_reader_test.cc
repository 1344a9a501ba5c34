// A made-up program runs in an order that the test knows; what the reader gives is held against it:
// program order, the order of synchronization, and which accesses touch the same bytes, byte by
// byte.

#include "trace/capture_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "trace/capture_testing.h"
#include "trace/input.h"
#include "trace/std_format.h"
#include "trace/syn_testing.h"
#include "trace/syn_writer.h"
#include "trace/text_testing.h"
#include "trace/wellformed.h"

namespace syndrome::trace {
namespace {

using testing::add_meta;
using testing::add_unit;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempFile;
using testing::UnitBuilder;
using testing::Versions;
using testing::Words;
using wire::Sync;

constexpr std::uint64_t kUnit = 0x555500000000;
constexpr std::uint64_t kHeap = 0x7f0000001000;

struct Read {
  std::vector<Event> events;
  std::vector<std::vector<std::string>> names;
  std::vector<std::string> warnings;
  std::string error;

  [[nodiscard]] std::string text(const Event& event) const {
    const auto of = [&](Space space, std::uint32_t id) {
      return names[static_cast<std::size_t>(space)][id];
    };
    std::string line = of(Space::kThread, event.thread.value) + " ";
    line += word_of(event.kind, event.order);
    if (const auto space = target_space(event.kind)) line += " " + of(*space, event.target);
    if (event.site.value != 0) line += " | " + of(Space::kSite, event.site.value);
    return line;
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> lines;
    for (const Event& event : events) lines.push_back(text(event));
    return lines;
  }
};

Read read(const std::string& path, unsigned jobs = 1) {
  Read result;
  auto input = Input::open(path, ReadOptions{jobs});
  if (!input) return {{}, {}, {}, input.error().message};
  auto source = input->read();
  if (!source) return {{}, {}, {}, source.error().message};
  for (;;) {
    const auto batch = (*source)->next();
    if (!batch) {
      result.error = batch.error().message;
      break;
    }
    if (batch->empty()) break;
    EXPECT_EQ(batch->first, result.events.size() + 1);
    result.events.insert(result.events.end(), batch->events.begin(), batch->events.end());
  }
  result.names = testing::strings_of((*source)->names());
  result.warnings = (*source)->warnings();
  return result;
}

/// Writes the recording, cut into chunks at random places, threads in turns.
void write(const std::string& path, const std::vector<std::byte>& meta,
           const std::vector<Words>& threads, std::mt19937_64& random, std::size_t most = 100) {
  auto writer = CaptureWriter::create(path);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  std::vector<std::size_t> done(threads.size());
  std::size_t meta_done = 0;
  const auto some = [&](std::size_t left) {
    return std::min<std::size_t>(left, 1 + random() % most);
  };
  for (bool more = true; more;) {
    more = false;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      if (meta_done < meta.size()) {
        const std::size_t size = some(meta.size() - meta_done);
        ASSERT_TRUE(writer->meta(std::span(meta).subspan(meta_done, size)).ok());
        meta_done += size;
        more = true;
      }
      const auto& words = threads[t].words();
      if (done[t] == words.size() || random() % 2 == 0) {
        more = more || done[t] < words.size();
        continue;
      }
      const std::size_t size = some(words.size() - done[t]);
      ASSERT_TRUE(writer
                      ->words(static_cast<std::uint32_t>(t), done[t],
                              std::span(words).subspan(done[t], size))
                      .ok());
      done[t] += size;
      more = true;
    }
  }
  ASSERT_TRUE(writer->close().ok());
}

TEST(CaptureReader, TellsWhatAProgramDid) {
  UnitBuilder unit(kUnit);
  const auto run = unit.function("main");
  const auto call = unit.site(unit::SiteKind::kCall, 0);
  const auto count = unit.site(unit::SiteKind::kReadWrite, 4, "counter");
  const auto transfer = unit.function("_ZN7Account8transferERS_i", unit::kAtomic);
  const auto lock = unit.site(unit::SiteKind::kCall, 0, "Account::mutex", 8);
  const auto balance = unit.site(unit::SiteKind::kWrite, 8, "Account::balance", 16);

  std::vector<std::byte> meta;
  add_meta(meta, wire::Meta::kProcess, {wire::kAbi, 7, 0, 0, 0}, std::string_view("bank\0-x", 7));
  add_unit(meta, unit);
  add_meta(meta, wire::Meta::kThread, {0, 100}, "bank");
  add_meta(meta, wire::Meta::kThread, {1, 101}, "worker");

  std::vector<Words> threads(2);
  Versions versions;
  const auto sync = [&](std::size_t t, std::uint64_t now, Sync kind, std::uint64_t object,
                        std::uint64_t operand = 0, std::uint32_t site = 0) {
    threads[t].sync(now, kind, object, versions.take(kind, object), operand, site);
  };
  sync(0, 1, Sync::kThreadStart, 0);
  threads[0].enter(2, unit.address(run));
  threads[0].access(3, 0x601000, count);
  sync(0, 4, Sync::kFork, 1, 0, call);
  sync(1, 5, Sync::kThreadStart, 1);
  threads[1].enter(6, unit.address(transfer), 0);
  sync(1, 7, Sync::kAcquire, kHeap + 8, 0, lock);
  threads[1].access(8, kHeap + 16, balance);
  sync(1, 9, Sync::kRelease, kHeap + 8, 0, lock);
  threads[1].exit(10, unit.address(transfer));
  sync(1, 11, Sync::kThreadStop, 1);
  sync(0, 12, Sync::kJoin, 1, 0, call);
  sync(0, 13, Sync::kFree, kHeap, 64);
  threads[0].enter(14, unit.address(transfer), call);
  threads[0].access(15, kHeap + 16, balance);
  threads[0].exit(16, unit.address(run));  // as longjmp leaves it

  std::mt19937_64 random(1);
  const TempFile file;
  write(file.path(), meta, threads, random);
  const Read got = read(file.path());
  EXPECT_EQ(got.error, "");
  EXPECT_THAT(got.warnings, IsEmpty());
  EXPECT_THAT(
      got.texts(),
      ElementsAre(
          "main thread_start", "main enter main", "main r counter:601000 | made-up.cc:2:3 main",
          "main w counter:601000 | made-up.cc:2:3 main",
          "main fork T1 \"worker\" | made-up.cc:1:3 main", "T1 \"worker\" thread_start",
          "T1 \"worker\" enter Account::transfer(Account&, int)",
          "T1 \"worker\" begin Account::transfer(Account&, int)",
          "T1 \"worker\" acq Account::mutex@7f0000001000 | made-up.cc:3:3 Account::transfer",
          "T1 \"worker\" w Account::balance@7f0000001000 | made-up.cc:4:3 Account::transfer",
          "T1 \"worker\" rel Account::mutex@7f0000001000 | made-up.cc:3:3 Account::transfer",
          "T1 \"worker\" end Account::transfer(Account&, int)",
          "T1 \"worker\" exit Account::transfer(Account&, int)", "T1 \"worker\" thread_stop",
          "main join T1 \"worker\" | made-up.cc:1:3 main",
          "main enter Account::transfer(Account&, int) | made-up.cc:1:3 main",
          "main begin Account::transfer(Account&, int) | made-up.cc:1:3 main",
          "main w Account::balance@7f0000001000~2 | made-up.cc:4:3 Account::transfer",
          "main end Account::transfer(Account&, int)", "main exit Account::transfer(Account&, int)",
          "main exit main"));
}

/// Through `sink`, as `trace convert` does.
void convert(const std::string& path, Result<std::unique_ptr<Sink>> sink) {
  ASSERT_TRUE(sink.ok()) << sink.error().message;
  auto input = Input::open(path, ReadOptions{1});
  ASSERT_TRUE(input.ok());
  auto source = input->read();
  ASSERT_TRUE(source.ok());
  for (;;) {
    const auto batch = (*source)->next();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    if (batch->empty()) break;
    const Status status = (*sink)->append(batch->events, (*source)->names());
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  ASSERT_TRUE((*sink)->close().ok());
}

/// Every kind of word that stands for an event, and every order.
TEST(CaptureReader, ConvertsToOtherFormatsWithoutLoss) {
  UnitBuilder unit(kUnit);
  const auto run = unit.function("main");
  const auto at = unit.site(unit::SiteKind::kAtomic, 4, "flag");
  const auto call = unit.site(unit::SiteKind::kCall, 0, "Queue::lock|", 8);
  const auto sum = unit.function("_Z3sumi", unit::kDeterministic);
  const auto push =
      unit.function("_ZN5Queue4pushEv", unit::kUnitOfWork | unit::kAtomic, "items,size");

  std::vector<std::byte> meta;
  add_meta(meta, wire::Meta::kProcess, {wire::kAbi, 7, 0, 0, 0}, std::string_view("queue"));
  add_unit(meta, unit);
  add_meta(meta, wire::Meta::kThread, {1, 101}, "#1|");
  add_meta(meta, wire::Meta::kString, {3}, "tally (all)");

  std::vector<Words> threads(2);
  Versions versions;
  std::uint64_t now = 1;
  const auto sync = [&](std::size_t t, Sync kind, std::uint64_t object, std::uint64_t operand = 0,
                        std::uint32_t site = 0) {
    threads[t].sync(now++, kind, object, versions.take(kind, object), operand, site);
  };
  sync(0, Sync::kThreadStart, 0);
  threads[0].enter(now++, unit.address(run));
  sync(0, Sync::kFork, 1, 0, call);
  sync(1, Sync::kThreadStart, 1);
  sync(1, Sync::kHappensAfter, kHeap, 0, call);
  threads[1].enter(now++, unit.address(sum));
  threads[1].exit(now++, unit.address(sum));
  threads[1].enter(now++, unit.address(push));
  threads[1].exit(now++, unit.address(push));
  for (std::uint64_t order = 0; order <= 5; ++order) {
    for (const Sync kind : {Sync::kAtomicLoad, Sync::kAtomicStore, Sync::kAtomicRmw}) {
      sync(0, kind, 0x601000, 4 | order << 8, at);
    }
    sync(0, Sync::kFence, 0, order << 8);
  }
  for (const Sync kind :
       {Sync::kAcquire, Sync::kRelease, Sync::kAcquireShared, Sync::kReleaseShared, Sync::kPost,
        Sync::kWait, Sync::kCondSignal, Sync::kCondBroadcast, Sync::kCondWait, Sync::kBarrierArrive,
        Sync::kBarrierLeave, Sync::kHappensBefore, Sync::kHappensAfter}) {
    sync(0, kind, kHeap + 8, 0, call);
  }
  for (const wire::Block block :
       {wire::Block::kAtomic, wire::Block::kDeterministic, wire::Block::kUnit}) {
    sync(0, Sync::kBlockBegin, 3, static_cast<std::uint64_t>(block));
    sync(0, Sync::kBlockEnd, 3, static_cast<std::uint64_t>(block));
  }
  sync(1, Sync::kThreadStop, 1);
  sync(0, Sync::kJoin, 1, 0, call);

  std::mt19937_64 random(2);
  const testing::Folder folder;
  write(folder.file("run.syn"), meta, threads, random);
  const Read got = read(folder.file("run.syn"));
  EXPECT_EQ(got.error, "");
  EXPECT_THAT(got.warnings, IsEmpty());

  std::vector<std::string> of_thread_1;
  std::set<std::string> words;
  for (const Event& event : got.events) {
    if (event.thread.value == 1) of_thread_1.push_back(got.text(event));
    words.emplace(word_of(event.kind, event.order));
  }
  EXPECT_THAT(
      of_thread_1,
      ElementsAre("T1 \"#1|\" thread_start", "T1 \"#1|\" happens_after semaphore@7f0000001000",
                  "T1 \"#1|\" enter sum(int)", "T1 \"#1|\" enter deterministic sum(int)",
                  "T1 \"#1|\" exit deterministic sum(int)", "T1 \"#1|\" exit sum(int)",
                  "T1 \"#1|\" enter Queue::push()", "T1 \"#1|\" begin Queue::push()",
                  "T1 \"#1|\" enter unit items,size", "T1 \"#1|\" exit unit items,size",
                  "T1 \"#1|\" end Queue::push()", "T1 \"#1|\" exit Queue::push()",
                  "T1 \"#1|\" thread_stop"));
  for (std::size_t order = 1; order < kMemoryOrderCount; ++order) {
    for (const EventKind kind :
         {EventKind::kRead, EventKind::kWrite, EventKind::kRmw, EventKind::kFence}) {
      const std::string word(word_of(kind, static_cast<MemoryOrder>(order)));
      EXPECT_TRUE(word.empty() || words.contains(word)) << word;
    }
  }
  for (const char* word : {"happens_before", "happens_after", "post", "wait"}) {
    EXPECT_TRUE(words.contains(word)) << word;
  }

  convert(folder.file("run.syn"), write_syn(folder.file("a.syn")));
  const Read syn = read(folder.file("a.syn"));
  EXPECT_EQ(syn.error, "");
  EXPECT_EQ(syn.texts(), got.texts());
  convert(folder.file("run.syn"), write_std(folder.file("a.std")));
  convert(folder.file("a.syn"), write_std(folder.file("b.std")));
  convert(folder.file("a.std"), write_syn(folder.file("b.syn")));
  convert(folder.file("b.syn"), write_std(folder.file("c.std")));
  // In STD a bar in a name is written "%7C", and so it comes back.
  const auto content = [&](const char* name) {
    return testing::read_whole(**Input::open(folder.file(name), ReadOptions{1})->read()).text;
  };
  EXPECT_EQ(content("a.std"), content("b.std"));
  EXPECT_EQ(content("a.std"), content("c.std"));
  std::vector<Event> through_std = read(folder.file("a.std")).events;
  ASSERT_EQ(through_std.size(), got.events.size());
  for (std::size_t i = 0; i < through_std.size(); ++i) {
    EXPECT_EQ(through_std[i].kind, got.events[i].kind) << i;
    EXPECT_EQ(through_std[i].order, got.events[i].order) << i;
  }
}

/// One operation of a simulated run, and the bytes that it touched: each byte of memory has a
/// number that is new after the byte was freed.
struct Operation {
  std::size_t thread = 0;
  EventKind kind = EventKind::kRead;
  std::set<std::uint64_t> bytes;
};

/// A run of a few threads on 64 bytes. With `ordered`, every operation is ordered with all others,
/// and memory is reused; without, only locks order them.
struct Simulation {
  std::vector<Words> threads;
  std::vector<Operation> operations;  // in the order in which they happened
  std::vector<std::byte> meta;

  Simulation(std::uint64_t seed, bool ordered, bool losses = true) {
    std::mt19937_64 random(seed);
    UnitBuilder unit(kUnit);
    const auto function = unit.function("f");
    // Each operation has a site of its own, so that its events can be told from the next one's.
    const auto new_site = [&](bool write, unsigned bytes) {
      if (random() % 3 == 0) {
        return unit.site(write ? unit::SiteKind::kWrite : unit::SiteKind::kRead, bytes, "S::f",
                         static_cast<std::int32_t>(random() % 4));
      }
      return unit.site(write ? unit::SiteKind::kWrite : unit::SiteKind::kRead, bytes,
                       random() % 2 == 0 ? "x" : "");
    };
    threads.resize(2 + random() % 4);
    std::vector<std::uint64_t> byte(64);
    std::uint64_t fresh = 0;
    for (std::uint64_t& b : byte) b = ++fresh;
    Versions versions;
    std::uint64_t now = 1;
    std::array<std::size_t, 3> holder{};
    holder.fill(SIZE_MAX);
    for (std::size_t t = 0; t < threads.size(); ++t)
      threads[t].enter(now++, unit.address(function));
    const std::size_t steps = 20 + random() % 100;
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t t = random() % threads.size();
      Words& words = threads[t];
      now += 1 + random() % 3;
      const auto sync = [&](Sync kind, std::uint64_t object, std::uint64_t operand = 0) {
        if (losses && random() % 50 == 0) static_cast<void>(versions.take(kind, object));  // lost
        const std::uint32_t site = kind == Sync::kOrdered ? 0 : new_site(false, 0);
        words.sync(now, kind, object, versions.take(kind, object), operand, site);
      };
      const auto touched = [&](EventKind kind, std::uint64_t at, std::uint64_t size) {
        Operation operation{t, kind, {}};
        for (std::uint64_t i = 0; i < size; ++i) operation.bytes.insert(byte[at + i]);
        operations.push_back(operation);
      };
      if (ordered) sync(Sync::kOrdered, 0x1000);
      const std::uint64_t choice = random() % 10;
      const bool write = random() % 2 == 0;
      if (choice < 5) {
        const unsigned size = random() % 4;
        const std::uint64_t at = random() % (65 - (1u << size));  // aligned or not
        words.access(now, kHeap + at, new_site(write, 1u << size));
        touched(write ? EventKind::kWrite : EventKind::kRead, at, 1u << size);
      } else if (choice == 5) {
        const std::uint64_t at = random() % 64;
        const std::uint64_t size = 1 + random() % (64 - at);
        words.range(now, write, kHeap + at, size, new_site(write, 0));
        touched(write ? EventKind::kWrite : EventKind::kRead, at, size);
      } else if (choice == 6) {
        const std::uint64_t at = random() % 60;
        sync(Sync::kAtomicRmw, kHeap + at, 4 | 5 << 8);
        touched(EventKind::kRmw, at, 4);
      } else if (choice == 7 && ordered) {
        const std::uint64_t at = random() % 64;
        const std::uint64_t size = 1 + random() % (64 - at);
        switch (random() % 3) {
          case 0: sync(Sync::kAlloc, kHeap + at, size); break;
          case 1: sync(Sync::kFree, kHeap + at, size); break;
          default: words.locals(now, kHeap + at, size); break;
        }
        for (std::uint64_t i = 0; i < size; ++i) byte[at + i] = ++fresh;
      } else {
        const std::size_t lock = random() % holder.size();
        if (holder[lock] == SIZE_MAX) {
          holder[lock] = t;
          sync(Sync::kAcquire, 0x2000 + 8 * lock);
          operations.push_back({t, EventKind::kAcquire, {}});
        } else if (holder[lock] == t) {
          holder[lock] = SIZE_MAX;
          sync(Sync::kRelease, 0x2000 + 8 * lock);
          operations.push_back({t, EventKind::kRelease, {}});
        }
      }
    }
    add_unit(meta, unit);
  }
};

/// What is wrong with the events of a run; empty when nothing is.
std::string compare(const Simulation& run, const Read& got, bool ordered) {
  std::vector<Event> events;
  for (const Event& event : got.events) {
    if (event.kind != EventKind::kEnter) events.push_back(event);
  }
  // Thread ids go by first appearance; the names tell which is which.
  const auto number = [&](ThreadId id) -> std::size_t {
    const std::string& name = got.names[0][id.value];
    return name == "main" ? 0 : std::stoul(name.substr(1));
  };
  // In the ordered run the whole sequence is known, otherwise each thread's.
  std::vector<std::vector<const Operation*>> expected(ordered ? 1 : run.threads.size());
  for (const Operation& operation : run.operations) {
    expected[ordered ? 0 : operation.thread].push_back(&operation);
  }
  std::vector<std::vector<Event>> actual(expected.size());
  for (const Event& event : events) actual[ordered ? 0 : number(event.thread)].push_back(event);
  std::vector<std::pair<const Operation*, std::set<std::uint32_t>>> all;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    std::size_t at = 0;
    for (const Operation* operation : expected[t]) {
      std::set<std::uint32_t> variables;
      if (at == actual[t].size()) return "too few events";
      const SiteId site = actual[t][at].site;
      for (; at < actual[t].size() && actual[t][at].site == site; ++at) {
        const Event& event = actual[t][at];
        if (number(event.thread) != operation->thread || event.kind != operation->kind) {
          return "another event than expected: " + got.text(event);
        }
        if (!operation->bytes.empty() && !variables.insert(event.target).second) {
          return "an access covers a variable twice: " + got.text(event);
        }
      }
      all.emplace_back(operation, variables);
    }
    if (at != actual[t].size()) return "too many events";
  }
  for (const auto& [a, a_vars] : all) {
    for (const auto& [b, b_vars] : all) {
      const auto meet = [](const auto& x, const auto& y) {
        return std::any_of(x.begin(), x.end(), [&](auto v) { return y.contains(v); });
      };
      if (meet(a->bytes, b->bytes) != meet(a_vars, b_vars)) {
        return meet(a->bytes, b->bytes)
                   ? "two accesses of one byte have no variable in common"
                   : "two accesses of different bytes have a variable in common";
      }
    }
  }
  return "";
}

std::string ill_formed(std::vector<Event> events, const Read& got) {
  Names names;
  for (std::size_t s = 0; s < kSpaceCount; ++s) {
    StringTable& table = names.table(static_cast<Space>(s));
    for (std::size_t i = table.size(); i < got.names[s].size(); ++i) table.append(got.names[s][i]);
  }
  std::string fault;
  WellFormed stage([&](const Fault& f) {
    fault = f.message;
    return false;
  });
  Batch batch{events, 1};
  static_cast<void>(stage.apply(batch, names));
  return fault;
}

TEST(CaptureReader, KeepsTheOrderAndTheBytesOfARunThatIsOrdered) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Simulation run(seed, true);
    std::mt19937_64 random(seed);
    const TempFile file;
    write(file.path(), run.meta, run.threads, random);
    const Read got = read(file.path(), 1 + seed % 2);
    ASSERT_EQ(got.error, "") << "seed " << seed;
    ASSERT_EQ(compare(run, got, true), "") << "seed " << seed;
    ASSERT_EQ(ill_formed(got.events, got), "") << "seed " << seed;
    std::set<std::string> names(got.names[1].begin(), got.names[1].end());
    ASSERT_EQ(names.size(), got.names[1].size()) << "seed " << seed << ": a name comes twice";
  }
}

TEST(CaptureReader, KeepsTheOrderOfThreadsAndLocksOfARunWithRaces) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Simulation run(seed, false);
    std::mt19937_64 random(seed);
    const TempFile file;
    write(file.path(), run.meta, run.threads, random);
    const Read got = read(file.path());
    ASSERT_EQ(got.error, "") << "seed " << seed;
    ASSERT_EQ(compare(run, got, false), "") << "seed " << seed;
    ASSERT_EQ(ill_formed(got.events, got), "") << "seed " << seed;
  }
}

TEST(CaptureReader, ReadsWhatACutLeaves) {
  // With nothing lost: behind a loss, a recording that was cut off has nothing to say.
  const Simulation run(3, true, false);
  std::mt19937_64 random(3);
  const TempFile file;
  write(file.path(), run.meta, run.threads, random, 2000);
  const std::vector<std::byte> whole = file.bytes();
  const std::size_t events = read(file.path()).events.size();
  std::size_t last = 0;
  for (std::size_t size = kFileHeaderBytes; size < whole.size(); ++size) {
    const TempFile cut;
    cut.fill(std::span(whole).first(size));
    const Read got = read(cut.path());
    ASSERT_EQ(got.error, "") << size;
    ASSERT_THAT(got.warnings, ::testing::Not(IsEmpty())) << size;
    ASSERT_GE(got.events.size(), last);
    last = got.events.size();
  }
  EXPECT_EQ(last, events);
}

TEST(CaptureReader, ACutLeavesNoContradiction) {
  // One thread's words are all there, and the other's end inside of its critical section.
  std::vector<Words> threads(2);
  threads[0].sync(2, Sync::kAcquire, 0x70, 1);
  threads[1].sync(6, Sync::kAcquire, 0x70, 3);
  threads[1].sync(8, Sync::kRelease, 0x70, 4);
  const TempFile file;
  std::mt19937_64 random(1);
  write(file.path(), {}, threads, random, 1000);
  const std::vector<std::byte> whole = file.bytes();
  EXPECT_EQ(read(file.path()).events.size(), 3u);
  // Without its end.
  const TempFile cut;
  cut.fill(std::span(whole).first(whole.size() - 1));
  EXPECT_EQ(read(cut.path()).events.size(), 1u);
}

/// Makes the checksums right again.
void repair(std::vector<std::byte>& bytes) {
  for (std::size_t at = kFileHeaderBytes; at + kChunkHeaderBytes <= bytes.size();) {
    const std::size_t stored = load(&bytes[at + 8], 4);
    if (stored > bytes.size() - at - kChunkHeaderBytes) return;
    store(&bytes[at + 32], 8, checksum(Bytes(bytes).subspan(at + kChunkHeaderBytes, stored)));
    store(&bytes[at + 40], 8, checksum(Bytes(bytes).subspan(at, 40)));
    at += kChunkHeaderBytes + stored;
  }
}

TEST(CaptureReader, SurvivesAnyBitThatIsWrong) {
  const Simulation run(5, true);
  std::mt19937_64 random(5);
  const TempFile file;
  write(file.path(), run.meta, run.threads, random, 2000);
  const std::vector<std::byte> whole = file.bytes();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> bytes = whole;
    bytes[i] ^= static_cast<std::byte>(1u << (random() % 8));
    const TempFile damaged;
    damaged.fill(bytes);
    if (i >= kSynMagic.size()) {
      const Read got = read(damaged.path());
      ASSERT_NE(got.error, "") << "byte " << i;
    }
    repair(bytes);
    damaged.fill(bytes);
    static_cast<void>(read(damaged.path()));  // anything but a crash
  }
}

TEST(CaptureReader, RefusesWhatAnotherVersionHasRecorded) {
  UnitBuilder unit(kUnit);
  std::mt19937_64 random(5);
  std::vector<Words> threads(1);
  threads[0].access(10, kHeap, 0);
  const TempFile file;
  const auto error_of = [&](std::uint64_t abi) {
    std::vector<std::byte> meta;
    add_meta(meta, wire::Meta::kProcess, {abi, 0, 0, 0, 0});
    write(file.path(), meta, threads, random);
    return read(file.path()).error;
  };
  EXPECT_EQ(error_of(wire::kAbi), "");
  EXPECT_THAT(error_of(wire::kAbi + 1), HasSubstr("recorded by a newer Syndrome"));
  EXPECT_THAT(error_of(wire::kAbi - 1), HasSubstr("recorded by an older Syndrome"));

  // Another packing of words.
  ASSERT_EQ(error_of(wire::kAbi), "");
  std::vector<std::byte> bytes = file.bytes();
  for (std::size_t at = kFileHeaderBytes; at < bytes.size();) {
    ChunkHeader header;
    const std::span<std::byte, kChunkHeaderBytes> place(&bytes[at], kChunkHeaderBytes);
    ASSERT_TRUE(parse_chunk_header(place, header));
    at += kChunkHeaderBytes + header.stored;
    if (header.type != kWordsChunk) continue;
    header.layout = kWordsLayout + 1;
    std::ranges::copy(make_chunk_header(header), place.begin());
  }
  file.fill(bytes);
  EXPECT_THAT(read(file.path()).error, HasSubstr("recorded by a newer Syndrome"));
}

TEST(CaptureReader, SaysWhichWordsAreMissing) {
  const Simulation run(2, false);
  const TempFile file;
  auto writer = CaptureWriter::create(file.path());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->meta(run.meta).ok());
  const auto& words = run.threads[0].words();
  ASSERT_GT(words.size(), 32u) << "a seed with a longer run is needed";
  ASSERT_TRUE(writer->words(0, 32, std::span(words).subspan(32)).ok());
  ASSERT_TRUE(writer->close().ok());
  const Read got = read(file.path());
  EXPECT_EQ(got.error, "");
  ASSERT_FALSE(got.warnings.empty());
  EXPECT_THAT(got.warnings[0], HasSubstr("thread 0: 32 of its"));
}

}  // namespace
}  // namespace syndrome::trace
