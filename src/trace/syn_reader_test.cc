// A file that was cut off is read to its last whole chunk and says so; a file with a damaged byte
// anywhere is an error with its position; a file made to harm does none.

#include "trace/syn_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trace/syn_testing.h"

namespace syndrome::trace {
namespace {

using ::testing::HasSubstr;
using testing::lock_trace;
using testing::random_trace;
using testing::read;
using testing::Reading;
using ::testing::StartsWith;
using testing::strings_of;
using testing::TempFile;
using testing::Trace;
using testing::write;

using File = std::vector<std::byte>;

/// A small file with several chunks of events and of names.
File small_file(const Trace& trace) {
  const TempFile file;
  write(trace, file.path(), {.level = 1, .chunk_events = 25});
  return file.bytes();
}

struct Place {
  std::size_t offset = 0;
  ChunkHeader header;
};

std::vector<Place> chunks_of(const File& file) {
  std::vector<Place> places;
  for (std::size_t at = kFileHeaderBytes; at + kChunkHeaderBytes <= file.size();) {
    Place place{at, {}};
    EXPECT_TRUE(parse_chunk_header(
        std::span<const std::byte, kChunkHeaderBytes>(&file[at], kChunkHeaderBytes), place.header));
    places.push_back(place);
    at += kChunkHeaderBytes + place.header.stored;
  }
  return places;
}

/// The file with this chunk's checksums made right, so that only its content is wrong.
void sign(File& file, std::size_t offset, ChunkHeader header) {
  const std::size_t start = offset + kChunkHeaderBytes;
  const std::size_t size = std::min<std::size_t>(header.stored, file.size() - start);
  header.payload_checksum = checksum(Bytes(file).subspan(start, size));
  const auto bytes = make_chunk_header(header);
  std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(offset));
}

File with_chunk(const File& file, std::size_t at, ChunkHeader header, std::size_t payload) {
  File chunk(kChunkHeaderBytes + payload);
  header.stored = static_cast<std::uint32_t>(payload);
  sign(chunk, 0, header);
  File result = file;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(at), chunk.begin(), chunk.end());
  return result;
}

TEST(SynReader, ReadsAFileThatWasCutOffAnywhereToItsLastWholeChunk) {
  const Trace trace = random_trace(1, 110, 3, 4);
  const File file = small_file(trace);
  const TempFile cut;
  std::size_t last_count = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    cut.fill(std::span(file).first(size));
    const Reading reading = read(cut.path(), size % 7 == 0 ? 3 : 1);
    if (size < kFileHeaderBytes) {
      EXPECT_THAT(reading.error, HasSubstr("the file ends inside of its 24-byte header"));
      continue;
    }
    ASSERT_EQ(reading.error, "");
    std::size_t whole = 0;
    for (const Place& place : chunks_of(file)) {
      const bool in = place.offset + kChunkHeaderBytes + place.header.stored <= size;
      if (place.header.type == kEventsChunk && in) whole += place.header.count;
    }
    ASSERT_EQ(reading.events.size(), whole);
    ASSERT_TRUE(std::equal(reading.events.begin(), reading.events.end(), trace.events.begin()));
    ASSERT_EQ(reading.warnings.size(), 1u);
    EXPECT_THAT(reading.warnings[0], HasSubstr("at byte " + std::to_string(size) + ","));
    EXPECT_THAT(reading.warnings[0], HasSubstr(std::to_string(whole) + " events before it"));
    last_count = whole;
  }
  EXPECT_EQ(last_count, trace.events.size());
  cut.fill(file);
  const Reading reading = read(cut.path());
  EXPECT_TRUE(reading.warnings.empty() && reading.error.empty());
}

TEST(SynReader, FindsADamagedByteAnywhere) {
  const Trace trace = random_trace(2, 60, 3, 4);
  const File file = small_file(trace);
  const TempFile damaged;
  for (std::size_t at = 0; at < file.size(); ++at) {
    SCOPED_TRACE(at);
    for (const unsigned flip : {0x01u, 0x02u, 0x04u, 0x08u, 0x10u, 0x20u, 0x40u, 0x80u, 0xffu}) {
      File bad = file;
      bad[at] ^= static_cast<std::byte>(flip);
      damaged.fill(bad);
      const Reading reading = read(damaged.path());
      ASSERT_THAT(reading.error, StartsWith("byte "));
      ASSERT_TRUE(reading.warnings.empty());
      ASSERT_TRUE(std::equal(reading.events.begin(), reading.events.end(), trace.events.begin()));
      const std::size_t byte = std::stoul(reading.error.substr(5));
      ASSERT_LE(byte, at);  // where the damaged part begins
      ASSERT_FALSE(read_syn_summary(damaged.path()).ok());
    }
  }
}

TEST(SynReader, TellsWhatIsDamagedAndHowMuchIsGood) {
  const File file = small_file(random_trace(2, 60, 3, 4));
  std::vector<Place> events;
  for (const Place& place : chunks_of(file)) {
    if (place.header.type == kEventsChunk) events.push_back(place);
  }
  ASSERT_EQ(events.size(), 3u);
  const TempFile damaged;
  const auto error_at = [&](std::size_t at) {
    File bad = file;
    bad[at] ^= std::byte{1};
    damaged.fill(bad);
    return read(damaged.path(), 2).error;
  };
  const std::size_t second = events[1].offset;
  EXPECT_THAT(error_at(second + 8),
              StartsWith("byte " + std::to_string(second) + ": the header of"));
  EXPECT_THAT(error_at(second + 8), HasSubstr("the 25 events before it are good"));
  EXPECT_THAT(error_at(second + 50),
              StartsWith("byte " + std::to_string(second + kChunkHeaderBytes) + ": the "));
  EXPECT_THAT(error_at(9), HasSubstr("the file's header is damaged"));
  EXPECT_THAT(error_at(1), StartsWith("byte 1: a .syn trace has 0x53 here, found 0x52"));
}

TEST(SynReader, RefusesBytesBehindTheEnd) {
  File file = small_file(random_trace(2, 60, 3, 4));
  const std::size_t size = file.size();
  file.push_back(std::byte{0});
  const TempFile longer;
  longer.fill(file);
  EXPECT_THAT(read(longer.path()).error,
              StartsWith("byte " + std::to_string(size) + ": bytes follow"));
}

TEST(SynReader, RefusesNewerVersionsByName) {
  const File file = small_file(random_trace(2, 60, 3, 4));
  for (const std::size_t field : {std::size_t{8}, std::size_t{12}}) {
    File newer = file;
    store(&newer[field], 4, 2);
    store(&newer[16], 8, checksum(Bytes(newer).first(16)));
    const TempFile path;
    path.fill(newer);
    EXPECT_THAT(read(path.path()).error, HasSubstr("this syndrome reads version 1"));
    EXPECT_THAT(read(path.path()).error, HasSubstr("or a newer one"));
  }
}

TEST(SynReader, PassesOverOptionalChunksThatItDoesNotKnowAndRefusesOthers) {
  const Trace trace = random_trace(2, 60, 3, 4);
  const File file = small_file(trace);
  const TempFile path;
  const std::size_t at = chunks_of(file)[3].offset;
  // The end chunk counts chunks, so a writer of new chunks counts them too.
  const auto recount = [](File& bytes) {
    const auto places = chunks_of(bytes);
    const std::size_t start = places.back().offset + kChunkHeaderBytes;
    SynTotals totals = decode_totals(Bytes(bytes).subspan(start)).value();
    totals.chunks = places.size() - 1;
    const auto payload = encode_totals(totals);
    std::copy(payload.begin(), payload.end(), bytes.begin() + static_cast<std::ptrdiff_t>(start));
    sign(bytes, places.back().offset, places.back().header);
  };
  File with_optional = with_chunk(file, at, {.type = chunk_type("iDEX"), .space = 7}, 100);
  recount(with_optional);
  path.fill(with_optional);
  const Reading reading = read(path.path(), 2);
  EXPECT_EQ(reading.error, "");
  EXPECT_TRUE(reading.events == trace.events);
  with_optional[at + kChunkHeaderBytes + 9] ^= std::byte{4};
  path.fill(with_optional);
  EXPECT_THAT(read(path.path()).error, HasSubstr("are damaged"));

  path.fill(with_chunk(file, at, {.type = chunk_type("IDEX")}, 100));
  EXPECT_THAT(read(path.path()).error, HasSubstr("a chunk of type IDEX"));
  EXPECT_THAT(read(path.path()).error, HasSubstr("use a newer syndrome"));
}

TEST(SynReader, RefusesChunksThatAreMissingOrTwice) {
  const File file = small_file(random_trace(2, 110, 3, 4));
  const auto places = chunks_of(file);
  const TempFile path;
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(places[i].offset);
    const auto end = file.begin() + static_cast<std::ptrdiff_t>(places[i + 1].offset);
    File less(file.begin(), begin);
    less.insert(less.end(), end, file.end());
    path.fill(less);
    EXPECT_NE(read(path.path()).error, "") << i;
    File more(file.begin(), end);
    more.insert(more.end(), begin, file.end());
    path.fill(more);
    EXPECT_NE(read(path.path()).error, "") << i;
  }
}

TEST(SynReader, HoldsHeadersToTheirBounds) {
  const File file = small_file(random_trace(2, 110, 3, 4));
  const auto places = chunks_of(file);
  const TempFile path;
  const auto error_with = [&](ChunkType type, auto change) {
    for (const Place& place : places) {
      if (place.header.type != type) continue;
      File bad = file;
      ChunkHeader header = place.header;
      change(header);
      sign(bad, place.offset, header);
      path.fill(bad);
      return read(path.path()).error;
    }
    return std::string();
  };
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.stored = kMaxChunkBytes + 1; }),
              HasSubstr("expected at most 67108864"));
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.raw = UINT32_MAX; }),
              HasSubstr("expected at most 67108864"));
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.count = 0; }), HasSubstr("expected 1 to"));
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.count = kMaxChunkEvents + 1; }),
              HasSubstr("expected 1 to 1048576"));
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.count = kMaxChunkEvents; }),
              HasSubstr("promises"));
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.first = 2; }), HasSubstr("expected 1"));
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.layout = 1; }), HasSubstr("must be 0"));
  EXPECT_THAT(error_with(kEventsChunk, [](auto& h) { h.space = 1; }), HasSubstr("must be 0"));
  EXPECT_THAT(error_with(kNamesChunk, [](auto& h) { h.space = 9; }), HasSubstr("space 9"));
  EXPECT_THAT(error_with(kNamesChunk, [](auto& h) { h.first = 1; }), HasSubstr("expected 0"));
  EXPECT_THAT(error_with(kNamesChunk, [](auto& h) { ++h.count; }), HasSubstr("has no length"));
  EXPECT_THAT(error_with(kNamesChunk, [](auto& h) { --h.count; }), HasSubstr("the lengths given"));
  EXPECT_THAT(error_with(kNamesChunk, [](auto& h) { h.raw = 1000000; }), HasSubstr("64 times"));
  EXPECT_THAT(error_with(kEndChunk, [](auto& h) { h.stored -= 1; }), HasSubstr("no totals"));
}

// Checksums are no defence against someone who makes the file on purpose.
TEST(SynReader, SurvivesHostileFilesWithRightChecksums) {
  const File file = small_file(random_trace(3, 110, 5, 40));
  const auto places = chunks_of(file);
  const TempFile path;
  std::mt19937_64 random(3);
  std::size_t refused = 0;
  for (int round = 0; round < 4000; ++round) {
    File bad = file;
    const Place& place = places[random() % places.size()];
    ChunkHeader header = place.header;
    const auto any = [&] {
      const std::uint32_t some[] = {0, 1, 2, 255, 65536, 1u << 20, 1u << 26, 1u << 31, UINT32_MAX};
      return random() % 2 == 0 ? some[random() % 9] : static_cast<std::uint32_t>(random());
    };
    switch (random() % 12) {
      case 0: header.count = any(); break;
      case 1: header.raw = any(); break;
      case 2: header.stored = any(); break;
      case 3: header.space = any() % 12; break;
      case 4: header.first = any(); break;
      case 5: header.type = places[random() % places.size()].header.type; break;
      default:
        for (std::uint64_t n = 1 + random() % 3; n > 0 && place.header.stored > 0; --n) {
          const std::size_t range =
              random() % 2 == 0 ? std::min(24u, place.header.stored) : place.header.stored;
          bad[place.offset + kChunkHeaderBytes + random() % range] =
              static_cast<std::byte>(random());
        }
    }
    sign(bad, place.offset, header);
    path.fill(bad);
    auto source = read_syn(path.path(), ReadOptions{round % 5 == 0 ? 2u : 1u});
    ASSERT_TRUE(source.ok());
    for (;;) {
      const auto batch = (*source)->next();
      if (!batch) ++refused;
      if (!batch || batch->empty()) break;
      for (const Event& event : batch->events) {  // every id has a name
        ASSERT_LT(static_cast<std::size_t>(event.kind), kEventKindCount);
        ASSERT_LT(event.thread.index(), (*source)->names().table(Space::kThread).size());
        ASSERT_LT(event.site.index(), (*source)->names().table(Space::kSite).size());
        if (const auto space = target_space(event.kind)) {
          ASSERT_LT(event.target, (*source)->names().table(*space).size());
        }
      }
    }
    static_cast<void>(read_syn_summary(path.path()).ok());
  }
  EXPECT_GT(refused, 2000u);
}

TEST(SynReader, TakesLittleMemoryForASmallFileThatPromisesMuch) {
  const auto used = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  File file;
  const auto start = make_file_header();
  file.insert(file.end(), start.begin(), start.end());
  File chunk(kChunkHeaderBytes);
  sign(chunk, 0,
       {.type = kEventsChunk,
        .stored = kMaxChunkBytes,
        .raw = kMaxChunkBytes,
        .count = kMaxChunkEvents,
        .first = 1});
  file.insert(file.end(), chunk.begin(), chunk.end());
  const TempFile path;
  path.fill(file);
  const auto before = used();
  const Reading reading = read(path.path());
  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.warnings.size(), 1u);
  EXPECT_LT(used() - before, 32 * 1024);
}

TEST(SynReader, GivesTheSameWithAnyNumberOfThreads) {
  const TempFile file;
  const Trace trace = lock_trace(8, 100000, 8, 1000, 10);
  write(trace, file.path(), {.level = 1, .chunk_events = 1000});
  for (const unsigned jobs : {0u, 1u, 2u, 3u, 8u, 200u}) {
    const Reading reading = read(file.path(), jobs);
    EXPECT_EQ(reading.error, "");
    EXPECT_TRUE(reading.events == trace.events);
    EXPECT_EQ(reading.names, strings_of(trace.names));
  }
}

TEST(SynReader, GivesTheSameDamageWithAnyNumberOfThreads) {
  const Trace trace = lock_trace(8, 20000, 8, 1000, 10);
  const TempFile path;
  write(trace, path.path(), {.level = 1, .chunk_events = 500});
  const File file = path.bytes();
  for (std::size_t at = 100; at < file.size(); at += file.size() / 40) {
    File bad = file;
    bad[at] ^= std::byte{0x40};
    path.fill(bad);
    const Reading one = read(path.path(), 1);
    const Reading four = read(path.path(), 4);
    EXPECT_NE(one.error, "");
    EXPECT_EQ(one.error, four.error);
    EXPECT_TRUE(one.events == four.events);
  }
}

TEST(SynReader, StopsWhenItIsNoLongerWanted) {
  const TempFile file;
  write(lock_trace(8, 50000, 8, 1000, 10), file.path(), {.level = 1, .chunk_events = 500});
  for (int batches = 0; batches < 12; ++batches) {
    for (const unsigned jobs : {1u, 2u, 5u}) {
      auto source = read_syn(file.path(), ReadOptions{jobs});
      ASSERT_TRUE(source.ok());
      for (int i = 0; i < batches; ++i) ASSERT_TRUE((*source)->next().ok());
    }
  }
}

TEST(SynReader, HandsOutSlicesWithTheirNamesAndItsProgress) {
  const TempFile file;
  const Trace trace = lock_trace(8, 200000, 8, 10000, 100);
  write(trace, file.path());
  auto source = read_syn(file.path(), ReadOptions{2});
  ASSERT_TRUE(source.ok());
  std::uint64_t before = 0;
  std::uint64_t events = 0;
  for (;;) {
    const auto batch = (*source)->next();
    ASSERT_TRUE(batch.ok());
    if (batch->empty()) break;
    EXPECT_LE(batch->events.size(), 16384u);
    EXPECT_EQ(batch->first, events + 1);
    events += batch->events.size();
    batch->events[0].flags = kNested;  // the batch is the caller's to change
    EXPECT_GE((*source)->progress().done, before);
    before = (*source)->progress().done;
  }
  EXPECT_EQ(events, trace.events.size());
  EXPECT_EQ((*source)->progress().done, (*source)->progress().total);
  EXPECT_EQ((*source)->progress().total, file.bytes().size());
  EXPECT_TRUE((*source)->next().ok() && (*source)->next()->empty());
}

TEST(SynReader, ReadsFromAPipe) {
  const TempFile file;
  const Trace trace = lock_trace(8, 30000, 8, 1000, 10);
  write(trace, file.path());
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const File bytes = file.bytes();
  // The pipe holds the whole file, so that a reader that gives up fails the test and does not hang
  // it.
  ASSERT_GE(::fcntl(ends[1], F_SETPIPE_SZ, 1 << 18), static_cast<int>(bytes.size()));
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(ends[1]);
  const Reading reading = read("/proc/self/fd/" + std::to_string(ends[0]), 2);
  ::close(ends[0]);
  EXPECT_EQ(reading.error, "");
  EXPECT_TRUE(reading.events == trace.events);
}

TEST(SynReader, SaysWhyItCannotOpen) {
  EXPECT_EQ(read("/nonexistent").error, "cannot open: No such file or directory");
  EXPECT_EQ(read("/").error, "byte 0: cannot read: Is a directory");
}

TEST(SynSummary, TellsTotalsOfWholeAndOfCutFiles) {
  Trace trace = lock_trace(8, 5000, 8, 100, 10);
  Event event;  // a block inside of a block, and an end too many
  event.thread = ThreadId(trace.names.table(Space::kThread).append("nested"));
  for (const EventKind kind :
       {EventKind::kBegin, EventKind::kBegin, EventKind::kEnd, EventKind::kEnd, EventKind::kEnd}) {
    event.kind = kind;
    trace.events.push_back(event);
  }
  std::uint64_t begins = 0;
  for (const Event& e : trace.events) begins += e.kind == EventKind::kBegin ? 1 : 0;
  const TempFile path;
  write(trace, path.path(), {.level = 1, .chunk_events = 1000});
  const auto whole = read_syn_summary(path.path());
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->complete);
  EXPECT_EQ(whole->warning, "");
  EXPECT_EQ(whole->events, 5005u);
  EXPECT_EQ(whole->event_chunks, 6u);
  EXPECT_EQ(whole->threads, 9u);
  EXPECT_EQ(whole->locks, 10u);
  EXPECT_EQ(whole->variables, 100u);
  EXPECT_EQ(whole->blocks, begins - 1);
  EXPECT_EQ(whole->kinds[static_cast<std::size_t>(EventKind::kBegin)], begins);
  EXPECT_EQ(whole->bytes, path.bytes().size());
  EXPECT_LT(whole->event_bytes + whole->name_bytes, whole->bytes);

  File file = path.bytes();
  file.pop_back();  // only the end is gone: the totals must be found by reading
  path.fill(file);
  const auto cut = read_syn_summary(path.path());
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(cut->complete);
  EXPECT_THAT(cut->warning, HasSubstr("5005 events"));
  EXPECT_EQ(cut->events, whole->events);
  EXPECT_EQ(cut->blocks, whole->blocks);
  EXPECT_EQ(cut->kinds, whole->kinds);
  EXPECT_EQ(cut->names, whole->names);
}

TEST(SynTotals, OfAFileFromBeforeTheLastKindsAreRead) {
  SynTotals totals;
  totals.events = totals.kinds[1] = 5;
  std::vector<std::byte> payload = encode_totals(totals);
  std::byte& kinds = payload[payload.size() - 1 - kEventKindCount];
  ASSERT_EQ(kinds, static_cast<std::byte>(kEventKindCount));
  kinds = std::byte{24};
  EXPECT_EQ(decode_totals(payload), std::nullopt);
  payload.resize(payload.size() - (kEventKindCount - 24));
  EXPECT_EQ(decode_totals(payload), totals);
  payload[payload.size() - 25] = static_cast<std::byte>(kEventKindCount + 1);
  payload.resize(payload.size() + kEventKindCount - 24 + 1);
  EXPECT_EQ(decode_totals(payload), std::nullopt);
}

TEST(IsSyn, KnowsItsOwnAlsoWhenDamagedOrCutShort) {
  const auto header = make_file_header();
  EXPECT_TRUE(is_syn(header));
  EXPECT_TRUE(is_syn(std::span(header).first(1)));
  EXPECT_FALSE(is_syn({}));
  for (std::size_t i = 0; i < 8; ++i) {
    auto damaged = header;
    damaged[i] ^= std::byte{0xff};
    EXPECT_TRUE(is_syn(damaged));
  }
  const std::string text = "T0|begin|0\nT0|w(x)|1\n";
  EXPECT_FALSE(is_syn(std::as_bytes(std::span(text))));
}

}  // namespace
}  // namespace syndrome::trace
