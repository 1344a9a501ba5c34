// The columns of a chunk of events: every width and coding comes back, and whatever else may stand
// in a payload is refused in words.

#include "trace/syn_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace syndrome::trace {
namespace {

using ::testing::HasSubstr;

struct Encoded {
  ChunkHeader header;
  std::vector<std::byte> payload;
};

Encoded encode(std::span<const Event> events) {
  Encoded encoded;
  encoded.header.type = kEventsChunk;
  encoded.header.first = 1;
  EventEncoder(1).encode(events, encoded.payload, encoded.header);
  encoded.header.stored = static_cast<std::uint32_t>(encoded.payload.size());
  return encoded;
}

NameCounts names_of_each(std::uint64_t count) {
  NameCounts names;
  names.fill(count);
  return names;
}

std::string fault_in(const Encoded& encoded, const NameCounts& names) {
  std::vector<Event> out(encoded.header.count);
  return EventDecoder().decode(encoded.header, encoded.payload, names, out).value_or("");
}

TEST(SynEvents, KeepTargetsAndSitesOfEveryWidth) {
  std::mt19937_64 random(5);
  for (unsigned bits = 0; bits <= 32; ++bits) {
    for (const bool walk : {false, true}) {
      std::vector<Event> events(1500);
      const std::uint64_t range = std::uint64_t{1} << bits;
      std::uint32_t target = 0;
      for (Event& event : events) {
        event.thread = ThreadId(static_cast<std::uint32_t>(random() % 3));
        event.kind = random() % 2 == 0 ? EventKind::kRead : EventKind::kAcquire;
        target = static_cast<std::uint32_t>((walk ? target + 1 : random()) % range);
        event.target = std::min(target, UINT32_MAX - 1);
        event.site = SiteId(std::min(static_cast<std::uint32_t>(random() % range), UINT32_MAX - 1));
      }
      const Encoded encoded = encode(events);
      std::vector<Event> out(events.size());
      const auto fault =
          EventDecoder().decode(encoded.header, encoded.payload, names_of_each(UINT32_MAX), out);
      EXPECT_FALSE(fault.has_value()) << *fault;
      EXPECT_TRUE(out == events) << bits;
    }
  }
}

TEST(SynEvents, OfThreadsFarApartAreKept) {
  std::vector<Event> events(4);
  events[1].thread = ThreadId(4000000u);
  events[2].thread = ThreadId(70000u);
  const Encoded encoded = encode(events);
  std::vector<Event> out(4);
  EXPECT_FALSE(EventDecoder()
                   .decode(encoded.header, encoded.payload, names_of_each(4000001), out)
                   .has_value());
  EXPECT_TRUE(out == events);
  EXPECT_THAT(fault_in(encoded, names_of_each(4000000)), HasSubstr("thread without a name"));
}

TEST(SynEvents, WithIdsOutOfRangeAreRefused) {
  std::vector<Event> events(100);
  events[41].target = 7;
  events[77].site = SiteId(9u);
  const Encoded encoded = encode(events);
  EXPECT_EQ(fault_in(encoded, names_of_each(10)), "");
  EXPECT_EQ(fault_in(encoded, names_of_each(9)),
            "event 78: site 9 has no name: the trace has named 9 so far");
  EXPECT_EQ(fault_in(encoded, names_of_each(7)),
            "event 42: variable 7 has no name: the trace has named 7 so far");
}

// One event of one thread: 16 bytes of prelude, then sections of 4 bytes of length each: the table
// (2 bytes: thread 0, kind 0), the code, the target.
Encoded one_event() {
  Event event;
  event.target = 1;
  return encode(std::span(&event, 1));
}

TEST(SynEvents, WithAnythingWrongInThePayloadAreRefused) {
  const NameCounts names = names_of_each(2);
  ASSERT_EQ(one_event().payload.size(), 16u + 6 + 5 + 5);
  const auto fault_with = [&](std::size_t at, unsigned value) {
    Encoded encoded = one_event();
    encoded.payload[at] = static_cast<std::byte>(value);
    return fault_in(encoded, names);
  };
  EXPECT_THAT(fault_with(0, 0), HasSubstr("width"));  // of codes
  EXPECT_THAT(fault_with(0, 4), HasSubstr("width"));
  EXPECT_THAT(fault_with(1, 2), HasSubstr("coding"));  // of targets
  EXPECT_THAT(fault_with(2, 5), HasSubstr("width"));
  EXPECT_THAT(fault_with(2, 2), HasSubstr("promises"));  // one plane more than the header has
  EXPECT_THAT(fault_with(3, 3), HasSubstr("coding"));    // of sites
  EXPECT_THAT(fault_with(4, 5), HasSubstr("width"));
  EXPECT_THAT(fault_with(5, 1), HasSubstr("width or a coding"));
  EXPECT_THAT(fault_with(8, 0), HasSubstr("threads"));
  EXPECT_THAT(fault_with(8, 2), HasSubstr("2 threads for 1 events"));
  EXPECT_THAT(fault_with(12, 3), HasSubstr("promises"));
  EXPECT_THAT(fault_with(16, 3), HasSubstr("does not unpack"));
  EXPECT_THAT(fault_with(20, 2), HasSubstr("thread without a name"));
  EXPECT_THAT(fault_with(20, 0x80), HasSubstr("thread"));  // a number that goes on past its end
  EXPECT_THAT(fault_with(21, 0), HasSubstr("kind"));       // a thread that does nothing
  EXPECT_THAT(fault_with(21, 3), HasSubstr("kind"));       // more pairs than events
  EXPECT_THAT(fault_with(25, 0x80), HasSubstr("column"));  // not a zstd frame
  EXPECT_THAT(fault_with(26, 1), HasSubstr("code"));       // of no pair
  EXPECT_THAT(fault_with(31, 2), HasSubstr("variable 2 has no name"));

  Encoded encoded = one_event();
  encoded.payload.push_back(std::byte{0});
  EXPECT_THAT(fault_in(encoded, names), HasSubstr("follow the last column"));
  for (std::size_t size = 0; size < one_event().payload.size(); ++size) {
    encoded = one_event();
    encoded.payload.resize(size);
    EXPECT_NE(fault_in(encoded, names), "") << size;
  }
}

// A number of the table that stands for no kind: one behind the last, an order that reads cannot
// have (40 + 2: release), and the one after the orders of fences.
TEST(SynEvents, WithAKindThatDoesNotExistAreRefused) {
  for (const unsigned number : {static_cast<unsigned>(kEventKindCount), 39u, 42u, 60u, 63u}) {
    std::vector<std::byte> table;
    add_varint(0, table);
    add_varint(std::uint64_t{1} << number, table);
    Encoded encoded = one_event();
    encoded.payload.erase(encoded.payload.begin() + 20, encoded.payload.begin() + 22);
    encoded.payload.insert(encoded.payload.begin() + 20, table.begin(), table.end());
    store(&encoded.payload[12], 4, table.size());
    store(&encoded.payload[16], 4, table.size());
    encoded.header.raw += static_cast<std::uint32_t>(table.size() - 2);
    EXPECT_THAT(fault_in(encoded, names_of_each(2)), HasSubstr("kind that does not exist"))
        << number;
  }
}

TEST(SynEvents, WithAnOrderThatTheirKindCannotHaveAreFaults) {
  Event event;
  event.order = MemoryOrder::kRelease;
  const NameCounts names = names_of_each(1);
  EXPECT_EQ(fault_of(event, names), "r cannot have memory order 3");
  EXPECT_EQ(first_fault(std::span(&event, 1), names), 0u);
  event.kind = EventKind::kWrite;
  EXPECT_EQ(fault_of(event, names), std::nullopt);
  EXPECT_EQ(first_fault(std::span(&event, 1), names), std::nullopt);
  event.kind = EventKind::kAcquire;
  EXPECT_EQ(first_fault(std::span(&event, 1), names), 0u);
}

TEST(SynEvents, SurviveAnyMutationOfTheirPayload) {
  std::mt19937_64 random(11);
  std::vector<Event> events(300);
  for (Event& event : events) {
    event.thread = ThreadId(static_cast<std::uint32_t>(random() % 5));
    event.kind = static_cast<EventKind>(random() % 18);
    event.target = static_cast<std::uint32_t>(random() % 50);
    event.site = SiteId(static_cast<std::uint32_t>(random() % 3));
  }
  const Encoded good = encode(events);
  const NameCounts names = names_of_each(50);
  ASSERT_EQ(fault_in(good, names), "");
  EventDecoder decoder;
  for (int round = 0; round < 20000; ++round) {
    Encoded bad = good;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      const std::size_t range = random() % 2 == 0 ? 24 : bad.payload.size();
      bad.payload[random() % range] = static_cast<std::byte>(random());
    }
    if (random() % 8 == 0) bad.header.count = static_cast<std::uint32_t>(1 + random() % 400);
    if (random() % 8 == 0) bad.header.raw = static_cast<std::uint32_t>(random() % 5000);
    std::vector<Event> out(bad.header.count);
    if (decoder.decode(bad.header, bad.payload, names, out)) continue;
    EXPECT_FALSE(first_fault(out, names).has_value());
  }
}

}  // namespace
}  // namespace syndrome::trace
