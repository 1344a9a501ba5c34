#include "check/recording_differential.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "check/atomic_sets/oracle.h"
#include "check/atomic_sets_role.h"
#include "trace/capture_reader.h"
#include "trace/capture_reduce.h"
#include "trace/capture_testing.h"

namespace syndrome::check::atomic_sets {
namespace {

using trace::testing::UnitBuilder;
using trace::testing::Versions;
using trace::testing::Words;
using wire::Sync;

constexpr std::uint64_t kHeap = 0x7f0000001000;
constexpr std::uint64_t kObject = 64;

struct Field {
  std::string_view name;
  std::int32_t offset;
  std::uint32_t bytes;
};
constexpr std::array<Field, 5> kFields = {{{"Pair::a", 0, 8},
                                           {"Pair::b", 8, 8},
                                           {"Outer::c", 16, 8},
                                           {"Pair::d", 24, 4},
                                           {"Pair::e", 28, 4}}};
constexpr std::array<std::string_view, 9> kFunctions = {
    "main", "body", "touch", "walk", "Pair::move", "go", "Outer::go", "std::help", "Pair::Pair"};
constexpr std::size_t kMain = 0;
constexpr std::size_t kBody = 1;

/// A program that runs at random, in an order that is its recording's.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {
    for (const std::string_view name : kFunctions) add_function(name, 0);
    add_function("peek", unit::kLeafOnly);
    add_function("Pair::first", unit::kLeafOnly);
    threads_.resize(2 + below(3));
    objects_ = 1 + below(3);
    calm_ = below(2) == 0;
    run();
  }

  /// Where it can be read.
  [[nodiscard]] bool write(const std::string& path) {
    std::vector<std::byte> meta;
    trace::testing::add_meta(meta, wire::Meta::kProcess, {wire::kAbi, 7, 0, 0, 0},
                             std::string_view("program"));
    trace::testing::add_unit(meta, unit_);
    auto writer = trace::CaptureWriter::create(path);
    if (!writer || !writer->meta(meta)) return false;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      const std::vector<wire::Word>& words = threads_[t].words.words();
      for (std::size_t from = 0; from < words.size();) {
        const std::size_t size = std::min<std::size_t>(words.size() - from, 40 + below(200));
        if (!writer->words(static_cast<std::uint32_t>(t), from,
                           std::span(words).subspan(from, size))) {
          return false;
        }
        from += size;
      }
    }
    return writer->close().ok();
  }

 private:
  struct Thread {
    Words words;
    std::vector<std::size_t> stack;
    std::vector<std::uint64_t> held;
    bool running = false;
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }

  void add_function(std::string_view name, std::uint32_t flags) {
    unit_.function(name, flags);
    call_ = unit_.site(unit::SiteKind::kCall, 0);
    for (const Field& field : kFields) {
      for (const unit::SiteKind kind :
           {unit::SiteKind::kRead, unit::SiteKind::kWrite, unit::SiteKind::kReadWrite}) {
        unit_.site(kind, field.bytes, field.name, field.offset);
      }
    }
    for (const Field& field : kFields) {
      unit_.site(unit::SiteKind::kAtomic, field.bytes, field.name, field.offset);
    }
  }
  [[nodiscard]] static std::uint32_t site_of(std::size_t field, std::size_t kind) {
    return static_cast<std::uint32_t>(2 + 3 * field + kind);
  }

  void sync(std::size_t t, Sync kind, std::uint64_t object, std::uint64_t operand = 0,
            std::uint32_t site = 1) {
    // Times and versions may differ a little, as they do.
    const std::uint64_t time = now_ - (now_ > 20 && below(8) == 0 ? below(6) : 0);
    threads_[t].words.sync(time, kind, object, versions_.take(kind, object), operand, site);
  }
  void enter(std::size_t t, std::size_t function) {
    threads_[t].words.enter(now_, unit_.address(function), threads_[t].stack.empty() ? 0 : call_);
    threads_[t].stack.push_back(function);
  }
  void exit(std::size_t t) {
    std::vector<std::size_t>& stack = threads_[t].stack;
    // Now and then two at a time, as exceptions leave them.
    if (stack.size() > 3 && below(20) == 0) stack.pop_back();
    threads_[t].words.exit(now_, unit_.address(stack.back()));
    stack.pop_back();
  }
  std::uint64_t object(std::size_t t) {
    if (below(6) == 0) return kHeap + 0x1000 * (t + 1);  // its own
    return kHeap + kObject * below(objects_);
  }
  void access(std::size_t t) {
    const std::size_t field = below(kFields.size());
    threads_[t].words.access(now_, object(t) + static_cast<std::uint64_t>(kFields[field].offset),
                             site_of(field, below(3)));
  }
  void leaf(std::size_t t) {
    const std::size_t function = kFunctions.size() + below(2);
    threads_[t].words.record(now_,
                             {wire::control(wire::Control::kLeaf, unit_.address(function), call_)});
    access(t);
  }
  void range(std::size_t t) {
    threads_[t].words.range(now_, below(2) == 0, object(t), 8 * (1 + below(4)),
                            below(2) == 0 ? 0 : site_of(0, 0));
  }
  void loop(std::size_t t) {
    const std::uint64_t from = object(t);
    const auto stride = static_cast<std::int64_t>(below(3)) * 8;
    threads_[t].words.record(
        now_, {wire::run(1 + below(3), 2, static_cast<std::uint32_t>(below(2))),
               wire::operand(wire::stride_bits(stride, 0) | wire::stride_bits(8, 1)),
               wire::access(from, site_of(0, 0)), wire::access(from, site_of(1, below(2)))});
  }
  void lock(std::size_t t) {
    const std::uint64_t mutex = kHeap + 0x8000 + 64 * below(2);
    for (const Thread& thread : threads_) {
      if (std::ranges::find(thread.held, mutex) != thread.held.end()) return;
    }
    threads_[t].held.push_back(mutex);
    sync(t, Sync::kAcquire, mutex);
  }
  void unlock(std::size_t t) {
    std::vector<std::uint64_t>& held = threads_[t].held;
    if (held.empty()) return;
    sync(t, Sync::kRelease, held.back());
    held.pop_back();
  }
  void atomic(std::size_t t) {
    const std::size_t field = below(kFields.size());
    const auto site = static_cast<std::uint32_t>(2 + 3 * kFields.size() + field);
    sync(t, Sync::kAtomicRmw, object(t) + static_cast<std::uint64_t>(kFields[field].offset),
         kFields[field].bytes | (5u << 8), site);
  }
  void other(std::size_t t) {
    switch (below(8)) {
      case 0: return sync(t, Sync::kCondSignal, kHeap + 0x9000);
      case 1: return sync(t, Sync::kCondWait, kHeap + 0x9000);
      case 2: return sync(t, Sync::kAlloc, object(t), kObject);
      case 3: return sync(t, Sync::kFree, object(t), kObject);
      case 4: return atomic(t);
      case 5: return sync(t, Sync::kWait, kHeap + 0x9100);
      case 6: return sync(t, Sync::kPost, kHeap + 0x9100);
      default: threads_[t].words.locals(now_, object(t), kObject); return;
    }
  }

  void step(std::size_t t) {
    now_ += 1 + below(3);
    Thread& thread = threads_[t];
    const std::size_t what = below(100);
    if (calm_ && !thread.held.empty() && what < 30) return unlock(t);
    if (thread.stack.size() < 2 ? what < 40 : what < 15) {
      if (thread.stack.size() < 6) enter(t, 2 + below(kFunctions.size() - 2));
    } else if (what < 35) {
      if (thread.stack.size() > 1 && (!calm_ || thread.held.empty())) exit(t);
    } else if (what < 72) {
      if (calm_ && thread.held.empty()) return lock(t);
      access(t);
    } else if (what < 77) {
      if (calm_ && thread.held.empty()) return;
      leaf(t);
    } else if (what < 80) {
      if (calm_ && thread.held.empty()) return;
      below(2) == 0 ? range(t) : loop(t);
    } else if (what < 87) {
      lock(t);
    } else if (what < 95) {
      unlock(t);
    } else {
      other(t);
    }
  }
  void begin(std::size_t t, std::size_t function) {
    threads_[t].running = true;
    sync(t, Sync::kThreadStart, t);
    enter(t, function);
  }
  void end(std::size_t t) {
    ++now_;
    while (!threads_[t].held.empty()) unlock(t);
    while (!threads_[t].stack.empty()) exit(t);
    sync(t, Sync::kThreadStop, t);
    threads_[t].running = false;
  }
  void run() {
    begin(0, kMain);
    for (std::size_t i = below(30); i > 0; --i) step(0);
    std::size_t begun = 1;
    for (std::size_t i = 60 + below(250); i > 0; --i) {
      if (begun < threads_.size() && below(8) == 0) {
        ++now_;
        sync(0, Sync::kFork, begun);
        ++now_;
        begin(begun++, kBody);
        continue;
      }
      // In bursts, or all would be in each other's way all the time.
      if (below(calm_ ? 12 : 6) == 0) turn_ = below(begun);
      step(turn_ % begun);
    }
    for (std::size_t t = 1; t < begun; ++t) {
      end(t);
      ++now_;
      sync(0, Sync::kJoin, t);
    }
    for (std::size_t i = below(20); i > 0; --i) step(0);
    end(0);
    threads_.resize(begun);
  }

  std::mt19937_64 random_;
  UnitBuilder unit_{0x555500000000};
  std::uint32_t call_ = 0;
  Versions versions_;
  std::vector<Thread> threads_;
  std::size_t objects_ = 1;
  bool calm_ = false;  // most accesses are locked
  std::size_t turn_ = 0;
  std::uint64_t now_ = 100;
};

struct Found {
  /// Of each violation: who u and u' are, and where.
  std::set<std::string> violations;
  std::vector<Event> events;
  std::string error;
  std::string text;  // of the events
};

Found read(const std::string& path, const trace::CaptureSelection& selection, bool& reduced) {
  Found found;
  std::shared_ptr<const trace::CaptureReduced> kept;
  auto source = trace::read_capture(path, {1}, selection, kept);
  if (!source) return {{}, {}, source.error().message, {}};
  for (;;) {
    const auto batch = (*source)->next();
    if (!batch) return {{}, {}, batch.error().message, {}};
    if (batch->empty()) break;
    found.events.insert(found.events.end(), batch->events.begin(), batch->events.end());
  }
  reduced = kept != nullptr;
  const Names& names = (*source)->names();
  const auto unit = [&](EventNumber begin) {
    const Event& event = found.events[begin - 1];
    const bool function = event.kind == EventKind::kEnter;
    return fmt::format("{} {}", names.of(Space::kThread, event.thread.value),
                       function ? names.of(Space::kLabel, event.target) : std::string_view());
  };
  for (const Event& event : found.events) {
    const auto space = target_space(event.kind);
    found.text += fmt::format("{} {} {}\n", names.of(Space::kThread, event.thread.value),
                              word_of(event.kind, event.order),
                              space ? names.of(*space, event.target) : std::string_view());
  }
  for (const Violation& one : oracle(found.events, names, {})) {
    std::array<std::string_view, 2> places = {names.of(Space::kVariable, one.first),
                                              names.of(Space::kVariable, one.second)};
    std::ranges::sort(places);
    // Which of the 14 it is, and so which is u, may be another one where an access was repeated.
    std::array<std::string, 2> units = {unit(one.unit), unit(one.other)};
    std::ranges::sort(units);
    found.violations.insert(
        fmt::format("{} / {}: {}, {}", units[0], units[1], places[0], places[1]));
  }
  return found;
}

std::string without(const std::set<std::string>& all, const std::set<std::string>& those) {
  std::string text;
  for (const std::string& one : all) {
    if (!those.contains(one)) text += "  " + one + "\n";
  }
  return text;
}

}  // namespace

std::optional<std::string> first_recording_disagreement(
    std::uint64_t first, std::uint64_t count, RecordingTally* tally,
    const std::function<void(std::uint64_t)>& progress) {
  RecordingTally unused;
  RecordingTally& counts = tally != nullptr ? *tally : unused;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const int fd = ::memfd_create("recording", MFD_CLOEXEC);
    if (fd < 0) return "no memory for a file";
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    std::optional<std::string> wrong;
    if (!RandomProgram(seed).write(path)) {
      wrong = "cannot write";
    } else {
      bool reduced = false;
      const trace::CaptureSelection slow{.only_shared = true,
                                         .every_function = false,
                                         .reduce = false,
                                         .role = {},
                                         .atomics = true};
      const Found all = read(path, slow, reduced);
      counts.violated += all.violations.empty() ? 0 : 1;
      counts.events += all.events.size();
      for (const bool by_calls : {false, true}) {
        if (wrong) break;
        const trace::CaptureSelection fast{
            .only_shared = true,
            .every_function = false,
            .reduce = true,
            .role = by_calls ? trace::FindUnitRole(role_of) : trace::FindUnitRole(),
            .atomics = seed % 2 == 0};
        const Found some = read(path, fast, reduced);
        counts.left += by_calls ? some.events.size() : 0;
        counts.reduced += by_calls && reduced ? 1 : 0;
        if (some.error != all.error || some.violations != all.violations) {
          wrong = fmt::format("seed {}, {}: {}{}\nlost:\n{}nowhere else:\n{}of\n{}left is\n{}",
                              seed, by_calls ? "by calls" : "what is shared", all.error, some.error,
                              without(all.violations, some.violations),
                              without(some.violations, all.violations), all.text, some.text);
          break;
        }
      }
    }
    ::close(fd);
    if (wrong) return wrong;
    if (progress) progress(seed - first + 1);
  }
  return std::nullopt;
}

}  // namespace syndrome::check::atomic_sets
