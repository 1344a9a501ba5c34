// What is written comes back: every kind, any number of threads, in any number of pieces.

#include "trace/syn_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "trace/syn_reader.h"
#include "trace/syn_testing.h"

namespace syndrome::trace {
namespace {

using testing::lock_trace;
using testing::random_trace;
using testing::read;
using testing::Reading;
using testing::strings_of;
using testing::TempFile;
using testing::Trace;
using testing::write;

void expect_same(const Trace& trace, const Reading& reading) {
  EXPECT_EQ(reading.error, "");
  EXPECT_TRUE(reading.warnings.empty());
  EXPECT_EQ(reading.events.size(), trace.events.size());
  EXPECT_TRUE(reading.events == trace.events);
  EXPECT_EQ(reading.names, strings_of(trace.names));
}

void expect_round_trip(const Trace& trace, SynWriteOptions options = {}) {
  const TempFile file;
  write(trace, file.path(), options);
  expect_same(trace, read(file.path(), 1));
  expect_same(trace, read(file.path(), 3));
}

TEST(SynRoundTrip, KeepsEveryKindOfEvent) {
  Trace trace = random_trace(1, 0, 4, 4);
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    Event event;
    event.kind = static_cast<EventKind>(kind);
    event.thread = ThreadId(2u);
    event.target = target_space(event.kind) ? 3 : 0;
    event.site = SiteId(4u);
    for (std::size_t order = 0; order < kMemoryOrderCount; ++order) {
      event.order = static_cast<MemoryOrder>(order);
      if (!word_of(event.kind, event.order).empty()) trace.events.push_back(event);
    }
  }
  ASSERT_EQ(trace.events.size(), kEventKindCount + 3 + 3 + 5 + 4);
  expect_round_trip(trace);
}

TEST(SynRoundTrip, KeepsRandomTraces) {
  std::mt19937_64 random(7);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto threads = static_cast<std::uint32_t>(1 + random() % 40);
    const auto targets = static_cast<std::uint32_t>(1 + random() % 300);
    const auto sites = static_cast<std::uint32_t>(random() % 300);
    const Trace trace = random_trace(seed, 1 + random() % 3000, threads, targets, sites);
    SCOPED_TRACE(seed);
    expect_round_trip(trace,
                      {.level = 1, .chunk_events = 1u + static_cast<unsigned>(random() % 999)});
  }
}

TEST(SynRoundTrip, KeepsGeneratedTraces) {
  expect_round_trip(lock_trace(1, 300000, 8, 10000, 100));
}

TEST(SynRoundTrip, KeepsAnEmptyTrace) {
  Trace trace;
  expect_round_trip(trace);
  trace.names.table(Space::kObject).append("Account");
  expect_round_trip(trace);
}

TEST(SynRoundTrip, KeepsMoreThreadsThanAByteOrTwoCanNumber) {
  for (const std::uint32_t threads : {11u, 257u, 3000u, 70000u}) {
    Trace trace = random_trace(threads, 0, threads, 2);
    for (std::uint32_t i = 0; i < threads; ++i) {
      Event event;
      event.kind = EventKind::kWrite;
      event.thread = ThreadId(threads - 1 - i);
      trace.events.push_back(event);
    }
    expect_round_trip(trace, {.level = 1, .chunk_events = 1u << 17});
  }
}

TEST(SynRoundTrip, KeepsArraysThatAreWalkedInFewBytes) {
  Trace trace = random_trace(3, 0, 4, 50000);
  for (std::uint32_t i = 0; i < 200000; ++i) {
    Event event;
    event.thread = ThreadId(i % 4);
    event.target = i / 4;
    trace.events.push_back(event);
  }
  expect_round_trip(trace);
  const TempFile file;
  write(trace, file.path());
  const auto summary = read_syn_summary(file.path());
  ASSERT_TRUE(summary.ok());
  EXPECT_LT(summary->event_bytes, 2000u);
}

TEST(SynRoundTrip, TakesNamesAsTheyComeAndOddOnes) {
  const TempFile file;
  auto sink = write_syn(file.path(), {.level = 1, .chunk_events = 3});
  ASSERT_TRUE(sink.ok());
  Trace trace;
  for (std::uint32_t i = 0; i < 50; ++i) {
    trace.names.table(Space::kThread).append("T" + std::to_string(i));
    trace.names.table(Space::kVariable)
        .append(std::string(std::size_t{i} * 1000, static_cast<char>(i)));
    Event event;
    event.thread = ThreadId(i);
    event.target = i;
    trace.events.push_back(event);
    ASSERT_TRUE((*sink)->append(std::span(&event, 1), trace.names).ok());
  }
  ASSERT_TRUE((*sink)->append({}, trace.names).ok());
  ASSERT_TRUE((*sink)->close().ok());
  expect_same(trace, read(file.path()));
  expect_same(trace, read(file.path(), 4));
}

TEST(SynRoundTrip, KeepsManyEqualNamesWithoutUnpackingTooFar) {
  Trace trace;
  for (int i = 0; i < 100000; ++i) trace.names.table(Space::kLock).append(std::string(40, 'm'));
  expect_round_trip(trace);
}

TEST(SynWriter, TakesAtMostThreeBytesForAnEventOfAGeneratedTrace) {
  const TempFile file;
  const Trace trace = lock_trace(1, 1000000, 8, 10000, 100);
  write(trace, file.path());
  EXPECT_LE(static_cast<double>(file.bytes().size()), 3.0 * 1e6);
}

TEST(SynWriter, DoesNotDependOnHowTheEventsWereHandedOver) {
  const Trace trace = lock_trace(5, 5000, 4, 100, 5);
  const TempFile whole;
  write(trace, whole.path(), {.level = 1, .chunk_events = 512});
  const TempFile pieces;
  auto sink = write_syn(pieces.path(), {.level = 1, .chunk_events = 512});
  ASSERT_TRUE(sink.ok());
  for (std::size_t i = 0; i < trace.events.size(); i += 7) {
    const auto size = std::min<std::size_t>(7, trace.events.size() - i);
    ASSERT_TRUE((*sink)->append(std::span(trace.events).subspan(i, size), trace.names).ok());
  }
  ASSERT_TRUE((*sink)->close().ok());
  EXPECT_EQ(whole.bytes(), pieces.bytes());
}

TEST(SynWriter, RefusesIdsWithoutANameAndTargetsWhereThereIsNone) {
  const auto error_for = [](auto change) {
    const TempFile file;
    Trace trace = random_trace(1, 3, 2, 3);
    trace.events[2] = Event{};
    change(trace.events[2]);
    auto sink = write_syn(file.path());
    EXPECT_TRUE(sink.ok());
    const Status status = (*sink)->append(trace.events, trace.names);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE((*sink)->close().ok());
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(error_for([](Event& e) { e.target = 3; }),
            "event 3: variable 3 has no name: the trace has named 3 so far");
  EXPECT_EQ(error_for([](Event& e) { e.thread = ThreadId(2u); }),
            "event 3: thread 2 has no name: the trace has named 2 so far");
  EXPECT_EQ(error_for([](Event& e) { e.site = SiteId(6u); }),
            "event 3: site 6 has no name: the trace has named 6 so far");
  EXPECT_EQ(error_for([](Event& e) { e.kind = EventKind::kThreadStart, e.target = 1; }),
            "event 3: thread_start has no target, found 1");
  EXPECT_EQ(error_for([](Event& e) { e.kind = static_cast<EventKind>(kEventKindCount); }),
            "event 3: there is no event kind " + std::to_string(kEventKindCount));
}

TEST(SynWriter, LeavesACutFileWhenItIsNotClosed) {
  const TempFile file;
  const Trace trace = random_trace(2, 10, 2, 3);
  {
    auto sink = write_syn(file.path(), {.level = 1, .chunk_events = 4});
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->append(trace.events, trace.names).ok());
  }
  const Reading reading = read(file.path());
  EXPECT_EQ(reading.error, "");
  ASSERT_EQ(reading.warnings.size(), 1u);
  EXPECT_NE(reading.warnings[0].find("10 events before it were read"), std::string::npos);
  EXPECT_TRUE(reading.events == trace.events);
}

TEST(SynWriter, SaysWhyItCannotWrite) {
  const auto missing = write_syn("/nonexistent/folder/t.syn");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "cannot create: No such file or directory");
  if (::access("/dev/full", W_OK) == 0) {
    const auto full = write_syn("/dev/full");
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().message,
              "byte 0: cannot write: No space left on device; the 0 events before it are kept");
  }
}

// A limit on the file's size stands in for a disk that fills up: in a child, because the limit
// holds for the whole process.
TEST(SynWriter, KeepsWholeChunksWhenTheDiskIsFull) {
  const TempFile file;
  const Trace trace = random_trace(4, 2000, 3, 50);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4000, 4000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto sink = write_syn(file.path(), {.level = 1, .chunk_events = 100});
    const Status status = (*sink)->append(trace.events, trace.names);
    const bool said = !status && status.error().message.find("File too large") != std::string::npos;
    ::_exit(said && !(*sink)->close() ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  const Reading reading = read(file.path());
  EXPECT_EQ(reading.error, "");
  ASSERT_EQ(reading.warnings.size(), 1u);
  EXPECT_NE(reading.warnings[0].find("behind a chunk"), std::string::npos);
  EXPECT_GE(reading.events.size(), 500u);
  EXPECT_EQ(reading.events.size() % 100, 0u);
  EXPECT_TRUE(std::equal(reading.events.begin(), reading.events.end(), trace.events.begin()));
}

TEST(SynWriter, WritesToStandardOutput) {
  const TempFile file;
  const Trace trace = random_trace(9, 500, 3, 50);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int fd = ::open(file.path().c_str(), O_WRONLY | O_TRUNC);
    ::dup2(fd, STDOUT_FILENO);
    write(trace, "-");
    ::_exit(0);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  expect_same(trace, read(file.path()));
}

}  // namespace
}  // namespace syndrome::trace
