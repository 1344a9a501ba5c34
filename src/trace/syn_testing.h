// For the tests of .syn files: traces of every shape, and files as bytes.

#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/names.h"
#include "trace/syn_reader.h"
#include "trace/syn_writer.h"

namespace syndrome::trace::testing {

struct Trace {
  std::vector<Event> events;
  Names names;
};

/// A file of this test alone, gone with the object. In memory: some tests write thousands of them.
class TempFile {
 public:
  TempFile()
      : fd_(::memfd_create("syn-test", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(fd_)) {
    EXPECT_GE(fd_, 0);
  }
  ~TempFile() { ::close(fd_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::ifstream in(path_, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
  }
  void fill(std::span<const std::byte> bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }

 private:
  int fd_;
  std::string path_;
};

/// Any kinds in any order: no program makes it, a file must hold it.
inline Trace random_trace(std::uint64_t seed, std::size_t events, std::uint32_t threads,
                          std::uint32_t targets, std::uint32_t sites = 5) {
  std::mt19937_64 random(seed);
  Trace trace;
  for (std::size_t s = 0; s < kSpaceCount; ++s) {
    StringTable& table = trace.names.table(static_cast<Space>(s));
    const auto space = static_cast<Space>(s);
    const std::uint32_t wanted = space == Space::kThread ? threads
                                 : space == Space::kSite ? sites + 1
                                                         : targets;
    while (table.size() < wanted) {
      table.append(std::string(1, static_cast<char>('a' + s)) + std::to_string(table.size()));
    }
  }
  for (std::size_t i = 0; i < events; ++i) {
    Event event;
    event.kind = static_cast<EventKind>(random() % kEventKindCount);
    event.order = static_cast<MemoryOrder>(random() % kMemoryOrderCount);
    if (word_of(event.kind, event.order).empty()) event.order = MemoryOrder::kPlain;
    event.thread = ThreadId(static_cast<std::uint32_t>(random() % threads));
    if (const auto space = target_space(event.kind)) {
      event.target = static_cast<std::uint32_t>(random() % trace.names.table(*space).size());
    }
    event.site = SiteId(static_cast<std::uint32_t>(random() % (sites + 1)));
    trace.events.push_back(event);
  }
  return trace;
}

/// As `trace generate` makes them: blocks that are one lock scope with 4 to 16 accesses to the
/// lock's variables; ids in the order in which they first appear.
inline Trace lock_trace(std::uint64_t seed, std::size_t events, std::uint32_t threads,
                        std::uint32_t variables, std::uint32_t locks) {
  std::mt19937_64 random(seed);
  struct Thread {
    enum { kOutside, kBegun, kInside, kReleased } state = kOutside;
    std::uint32_t lock = 0;
    unsigned accesses = 0;
    bool block = false;
  };
  const auto below = [&random](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  Trace trace;
  for (std::uint32_t i = 0; i < threads; ++i) {
    trace.names.table(Space::kThread).append("T" + std::to_string(i));
  }
  for (std::uint32_t i = 0; i < locks; ++i) {
    trace.names.table(Space::kLock).append("L" + std::to_string(i));
  }
  std::vector<std::uint32_t> ids(variables, UINT32_MAX);
  std::vector<bool> held(locks, false);
  std::vector<Thread> state(threads);
  trace.events.reserve(events);
  while (trace.events.size() < events) {
    Event event;
    event.thread = ThreadId(below(threads));
    Thread& thread = state[event.thread.index()];
    switch (thread.state) {
      case Thread::kOutside:
        thread.block = below(10) != 0;
        thread.accesses = 4 + below(13);
        thread.state = Thread::kBegun;
        if (!thread.block) continue;
        event.kind = EventKind::kBegin;
        break;
      case Thread::kBegun:
        thread.lock = below(locks);
        if (held[thread.lock]) continue;
        held[thread.lock] = true;
        thread.state = Thread::kInside;
        event.kind = EventKind::kAcquire;
        event.target = thread.lock;
        break;
      case Thread::kInside: {
        if (thread.accesses-- == 0) {
          held[thread.lock] = false;
          thread.state = thread.block ? Thread::kReleased : Thread::kOutside;
          event.kind = EventKind::kRelease;
          event.target = thread.lock;
          break;
        }
        const std::uint32_t variable = below(variables / locks) * locks + thread.lock;
        if (ids[variable] == UINT32_MAX) {
          ids[variable] =
              trace.names.table(Space::kVariable).append("x" + std::to_string(variable));
        }
        event.kind = below(10) < 3 ? EventKind::kWrite : EventKind::kRead;
        event.target = ids[variable];
        break;
      }
      case Thread::kReleased:
        thread.state = Thread::kOutside;
        event.kind = EventKind::kEnd;
        break;
    }
    trace.events.push_back(event);
  }
  return trace;
}

inline void write(const Trace& trace, const std::string& path, SynWriteOptions options = {}) {
  auto sink = write_syn(path, options);
  ASSERT_TRUE(sink.ok()) << sink.error().message;
  const Status appended = (*sink)->append(trace.events, trace.names);
  ASSERT_TRUE(appended.ok()) << appended.error().message;
  const Status closed = (*sink)->close();
  ASSERT_TRUE(closed.ok()) << closed.error().message;
}

/// Everything that came out of a file before its end or an error.
struct Reading {
  std::vector<Event> events;
  std::vector<std::vector<std::string>> names;  // by space
  std::vector<std::string> warnings;
  std::string error;
};

inline std::vector<std::vector<std::string>> strings_of(const Names& names) {
  std::vector<std::vector<std::string>> spaces(kSpaceCount);
  for (std::size_t s = 0; s < kSpaceCount; ++s) {
    const StringTable& table = names.table(static_cast<Space>(s));
    for (std::size_t i = 0; i < table.size(); ++i) spaces[s].emplace_back(table[i]);
  }
  return spaces;
}

inline Reading read(const std::string& path, unsigned jobs = 1) {
  Reading reading;
  auto source = read_syn(path, ReadOptions{jobs});
  if (!source) {
    reading.error = source.error().message;
    return reading;
  }
  for (;;) {
    const auto batch = (*source)->next();
    if (!batch) {
      reading.error = batch.error().message;
      break;
    }
    if (batch->empty()) break;
    EXPECT_EQ(batch->first, reading.events.size() + 1);
    reading.events.insert(reading.events.end(), batch->events.begin(), batch->events.end());
  }
  reading.names = strings_of((*source)->names());
  reading.warnings = (*source)->warnings();
  return reading;
}

}  // namespace syndrome::trace::testing
