// A window of made-up threads whose rings go round (as runtime/live.cc has them do): nothing that
// is left has happened before what is left out, and what is open where each thread begins is known.

#include "record/window.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "trace/capture_index.h"
#include "trace/capture_reader.h"
#include "trace/capture_testing.h"
#include "trace/capture_walk.h"
#include "trace/wellformed.h"

namespace syndrome::record {
namespace {

using wire::Word;

constexpr std::uint64_t kRingWords = 1024;  // parts of two lines
constexpr std::size_t kFunctions = 4;
constexpr std::size_t kLocks = 3;

struct Ring {
  rt::RingHeader header{};
  std::vector<Word> words = std::vector<Word>(kRingWords);
  std::unique_ptr<rt::FlightPages> pages = std::make_unique<rt::FlightPages>();
};

/// A thread that writes as the runtime does, and remembers all of it.
class Writer {
 public:
  Writer(Ring& ring, std::uint32_t number, std::uint64_t now) : ring_(&ring) {
    const std::uint64_t published = ring.header.published.load();
    line_ = (published + wire::kLineWords - 1) / wire::kLineWords * wire::kLineWords;
    for (std::uint64_t i = published; i < line_; ++i)
      at(i) = wire::control(wire::Control::kPad, 0, 0);
    ring.header.thread = number;
    ring.pages->open.begin(number);
    begin_line(now);
  }
  void record(std::uint64_t now, const std::vector<Word>& record) {
    if (used_ + record.size() >= wire::kLineWords) {
      while (used_ < wire::kLineWords)
        at(line_ + used_++) = wire::control(wire::Control::kPad, 0, 0);
      ring_->pages->open.take(&at(line_), &at(line_) + wire::kLineWords);
      line_ += wire::kLineWords;
      begin_line(now);
    }
    for (const Word word : record) at(line_ + used_++) = word;
    all.insert(all.end(), record.begin(), record.end());
  }
  void sync(std::uint64_t now, wire::Sync kind, std::uint64_t object, std::uint64_t version) {
    record(now, {wire::sync(kind, 3, 0), wire::operand(object), wire::operand(version),
                 wire::operand(now)});
    versions.emplace_back(wire::shard_of(kind, object), version);
  }
  void end() { ring_->header.published = line_ + used_; }

  std::vector<Word> all;  // without times and pads
  std::vector<std::pair<std::size_t, std::uint64_t>> versions;
  std::vector<std::size_t> functions;
  std::vector<std::size_t> locks;

 private:
  Word& at(std::uint64_t i) { return ring_->words[i % kRingWords]; }
  void begin_line(std::uint64_t now) {
    for (std::uint64_t i = 0; i < wire::kLineWords; ++i) at(line_ + i) = 0;
    const std::uint64_t part = rt::part_words(kRingWords);
    if (line_ % part == 0) {
      rt::FlightPages::Part& begun = ring_->pages->parts[line_ / part % rt::kParts];
      begun.begin = line_;
      begun.open = ring_->pages->open;
    }
    ring_->header.published = line_;
    at(line_) = wire::time(now);
    used_ = 1;
  }
  Ring* ring_;
  std::uint64_t line_ = 0;
  std::size_t used_ = 0;
};

struct Unit {
  Unit() {
    for (std::size_t i = 0; i < kFunctions; ++i) {
      builder.function("f" + std::to_string(i));
      builder.site(unit::SiteKind::kWrite, 4, "x");
    }
    trace::testing::add_meta(meta, wire::Meta::kProcess, {wire::kAbi | (7ull << 32), 0, 0, 0, 0});
    trace::testing::add_unit(meta, builder);
  }
  [[nodiscard]] std::uint64_t function(std::size_t i) const { return builder.address(i); }

  trace::testing::UnitBuilder builder{0x10000};
  std::vector<std::byte> meta;
};

/// Threads that differ in how often it is their turn by a factor of a hundred.
class Threads {
 public:
  explicit Threads(std::uint64_t seed) : random_(seed) {
    for (std::uint32_t i = 0; i < 4; ++i) start(rings_[i], i);
  }
  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      const std::uint64_t draw = below(100);
      step(draw < 1 ? 0 : draw < 3 ? 1 : draw < 20 ? 2 : 3);
    }
  }
  /// The thread of this ring ends, and another one has it.
  void replace(std::size_t ring) {
    for (const std::size_t lock : owned_[ring]->locks) release(*owned_[ring], lock);
    sync(*owned_[ring], wire::Sync::kThreadStop, numbers_[ring]);
    owned_[ring]->end();
    start(rings_[ring], ring);
  }
  [[nodiscard]] Window window(std::uint64_t end = UINT64_MAX) const {
    Window window(kRingWords);
    window.end_at(end);
    for (const Ring& ring : rings_) window.add(ring.header, ring.words.data(), *ring.pages);
    window.cut();
    return window;
  }
  [[nodiscard]] const Writer& thread(std::uint32_t number) const { return *threads_[number]; }
  [[nodiscard]] std::size_t count() const { return threads_.size(); }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  const Unit unit;

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  void start(Ring& ring, std::size_t place) {
    const auto number = static_cast<std::uint32_t>(threads_.size());
    threads_.push_back(std::make_unique<Writer>(ring, number, ++now_));
    owned_[place] = threads_.back().get();
    numbers_[place] = number;
    sync(*owned_[place], wire::Sync::kThreadStart, number);
  }
  void sync(Writer& thread, wire::Sync kind, std::uint64_t object) {
    now_ += 1 + below(5);
    thread.sync(now_, kind, object, versions_.take(kind, object));
  }
  void release(Writer& thread, std::size_t lock) {
    sync(thread, wire::Sync::kRelease, 0x7000 + lock * 64);
    taken_[lock] = false;
  }
  void step(std::size_t place) {
    Writer& thread = *owned_[place];
    now_ += 1 + below(5);
    const std::uint64_t what = below(10);
    if (what < 1 && thread.functions.size() < 300) {
      thread.functions.push_back(below(kFunctions));
      thread.record(
          now_, {wire::control(wire::Control::kEnter, unit.function(thread.functions.back()), 0)});
    } else if (what < 2 && !thread.functions.empty()) {
      thread.record(
          now_, {wire::control(wire::Control::kExit, unit.function(thread.functions.back()), 0)});
      thread.functions.pop_back();
    } else if (what < 3 && !thread.functions.empty()) {
      thread.record(now_,
                    {wire::control(wire::Control::kLeaf, unit.function(below(kFunctions)), 0)});
      thread.record(now_, {wire::access(0x8000 + below(64) * 4, 1)});
    } else if (what < 4) {
      const std::size_t lock = below(kLocks);
      if (!taken_[lock]) {
        taken_[lock] = true;
        thread.locks.push_back(lock);
        sync(thread, wire::Sync::kAcquire, 0x7000 + lock * 64);
      } else if (!thread.locks.empty()) {
        release(thread, thread.locks.back());
        thread.locks.pop_back();
      }
    } else if (!thread.functions.empty()) {
      thread.record(now_, {wire::access(0x8000 + below(64) * 4, 1)});
    }
  }

  std::mt19937_64 random_;
  std::array<Ring, 4> rings_;
  std::vector<std::unique_ptr<Writer>> threads_;
  std::array<Writer*, 4> owned_{};
  std::array<std::uint32_t, 4> numbers_{};
  std::array<bool, kLocks> taken_{};
  trace::testing::Versions versions_;
  std::uint64_t now_ = 100;
};

/// The window as a file that reads as a recording.
class Written {
 public:
  Written(const Window& window, const Unit& unit) : fd_(::memfd_create("window", MFD_CLOEXEC)) {
    auto writer = trace::CaptureWriter::adopt(::dup(fd_));
    EXPECT_TRUE(writer);
    EXPECT_TRUE(writer->meta(unit.meta));
    EXPECT_TRUE(window.write(*writer));
    EXPECT_TRUE(writer->close());
  }
  ~Written() { ::close(fd_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

  /// By thread, without times and pads.
  [[nodiscard]] std::map<std::uint32_t, std::vector<Word>> words() const {
    std::map<std::uint32_t, std::vector<Word>> all;
    auto index = trace::read_capture_index(path());
    auto loader = trace::WordLoader::open(path());
    EXPECT_TRUE(index && loader);
    for (const auto& thread : index->threads) {
      std::vector<std::uint64_t> words;
      for (const auto& at : thread.chunks) EXPECT_TRUE(loader->load(at, words));
      std::erase_if(words, [](Word word) {
        return wire::is_control(word) && (word & wire::kOperandBit) == 0 &&
               (wire::kind_of(word) == wire::Control::kTime ||
                wire::kind_of(word) == wire::Control::kPad);
      });
      all[thread.number] = words;
    }
    return all;
  }

 private:
  int fd_;
};

/// Shards and versions of synchronization.
std::vector<std::pair<std::size_t, std::uint64_t>> versions_in(const std::vector<Word>& words) {
  std::vector<std::pair<std::size_t, std::uint64_t>> found;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t length = wire::record_words(words.data() + at, words.data() + words.size());
    if (length == 4 && wire::is_control(words[at])) {
      found.emplace_back(wire::shard_of(wire::sync_of(words[at]), wire::value_of(words[at + 1])),
                         wire::value_of(words[at + 2]));
    }
    at += length;
  }
  return found;
}

/// Checks that what the window has of each thread is one piece of what that did, in the order of
/// all versions behind all that is left out before, and before all that is left out behind.
void expect_sound(const Threads& threads, const Window& window, bool ends = false) {
  const Written written(window, threads.unit);
  const auto words = written.words();
  std::map<std::size_t, std::uint64_t> before, first, last, after;
  for (std::uint32_t i = 0; i < threads.count(); ++i) {
    const auto& all = threads.thread(i).versions;
    const auto found = words.find(i);
    const auto kept =
        found == words.end() ? decltype(threads.thread(i).versions)() : versions_in(found->second);
    auto at = kept.empty() ? all.end() : std::ranges::find(all, kept.front());
    // A thread of which nothing is left is before, unless it may be behind.
    if (kept.empty() && ends) continue;
    for (auto it = all.begin(); it != at; ++it) {
      before[it->first] = std::max(before[it->first], it->second);
    }
    for (const auto& [shard, version] : kept) {
      ASSERT_NE(at, all.end());
      EXPECT_EQ(*at++, std::pair(shard, version));
      first.try_emplace(shard, version);
      first[shard] = std::min(first[shard], version);
      last[shard] = std::max(last[shard], version);
    }
    for (; at != all.end() && !kept.empty(); ++at) {
      after.try_emplace(at->first, at->second);
      after[at->first] = std::min(after[at->first], at->second);
    }
  }
  for (const auto& [shard, version] : first) EXPECT_GT(version, before[shard]);
  for (const auto& [shard, version] : last) {
    if (after.contains(shard)) {
      EXPECT_LT(version, after[shard]);
    }
  }
  // And readers find nothing wrong with it.
  auto source = trace::read_capture(written.path(), {1});
  ASSERT_TRUE(source);
  trace::WellFormed well_formed([](const trace::Fault& fault) {
    ADD_FAILURE() << fault.message;
    return true;
  });
  for (;;) {
    auto batch = (*source)->next();
    ASSERT_TRUE(batch);
    if (batch->empty()) break;
    ASSERT_TRUE(well_formed.apply(*batch, (*source)->names()));
  }
  EXPECT_TRUE((*source)->warnings().empty()) << (*source)->warnings().front();
}

TEST(Window, HasAllOfAShortRun) {
  Threads threads(1);
  threads.run(500);
  const Window window = threads.window();
  EXPECT_FALSE(window.is_cut());
  const Written written(window, threads.unit);
  const auto words = written.words();
  for (std::uint32_t i = 0; i < threads.count(); ++i) EXPECT_EQ(words.at(i), threads.thread(i).all);
}

TEST(Window, CutsAllThreadsAtOneMoment) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Threads threads(seed);
    threads.run(1000 + 37 * seed);
    const Window window = threads.window();
    EXPECT_TRUE(window.is_cut());
    EXPECT_GT(window.words(), kRingWords / 2);
    expect_sound(threads, window);
  }
}

TEST(Window, EndsAtOneMoment) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Threads threads(seed);
    threads.run(4000);
    const std::uint64_t end = threads.now();
    threads.run(50 + seed);
    const Window window = threads.window(end);
    EXPECT_GT(window.words(), 0u);
    expect_sound(threads, window, true);
  }
}

TEST(Window, KnowsThreadsThatHaveEndedInTheSameRing) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Threads threads(seed);
    for (std::size_t i = 0; i < 12; ++i) {
      threads.run(10 + seed * 3);
      threads.replace(i % 4);
    }
    threads.run(50);
    expect_sound(threads, threads.window());
  }
}

struct Stack {
  void access(const unit::Site&, std::uint32_t, std::uint64_t) {}
  void range(std::uint32_t, bool, std::uint64_t, std::uint64_t, bool) {}
  void enter(trace::OpenFrame&) {}
  void exit(const trace::OpenFrame&) {}
  bool time(std::uint64_t) { return true; }
  bool sync(const trace::SyncRecord&) { return true; }
  void locals(std::uint64_t, std::uint64_t) {}
};

std::vector<std::uint32_t> stack_behind(const std::vector<Word>& words,
                                        const trace::CaptureMeta& meta) {
  trace::ThreadWalk walk(meta);
  Stack stack;
  std::size_t at = 0;
  (void)walk.walk(words, at, stack);
  std::vector<std::uint32_t> functions;
  for (const trace::OpenFrame& frame : walk.open()) functions.push_back(frame.function);
  return functions;
}

// The walk is what a reader does with the words.
TEST(OpenWords, AreWhatAWalkFromTheBeginningHasOpen) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Threads threads(seed);
    threads.run(3000);
    const std::vector<Word>& all = threads.thread(3).all;
    const trace::CaptureMeta meta(threads.unit.meta);
    const auto cut = static_cast<std::ptrdiff_t>(seed * all.size() / 201);
    // Behind a whole record.
    std::ptrdiff_t at = 0;
    while (at < cut) {
      at +=
          static_cast<std::ptrdiff_t>(wire::record_words(all.data() + at, all.data() + all.size()));
    }
    auto open = std::make_unique<wire::OpenWords>();
    open->begin(3);
    open->take(all.data(), all.data() + at);
    std::vector<Word> rest;
    open->write([&](Word word) { rest.push_back(word); });
    EXPECT_EQ(stack_behind(rest, meta), stack_behind({all.begin(), all.begin() + at}, meta));
    rest.insert(rest.end(), all.begin() + at, all.end());
    EXPECT_EQ(stack_behind(rest, meta), stack_behind(all, meta));
  }
}

}  // namespace
}  // namespace syndrome::record
