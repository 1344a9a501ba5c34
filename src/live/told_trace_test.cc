#include "live/told_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "live/places.h"

namespace syndrome::live {
namespace {

class ToldTrace : public testing::Test {
 public:
  ToldTrace() {
    std::string name = testing::TempDir() + "/told-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/run.syn";
    names_.table(Space::kThread).append("main");
    names_.table(Space::kVariable).append("x");
  }
  ~ToldTrace() override { std::filesystem::remove_all(folder_); }
  ToldTrace(const ToldTrace&) = delete;
  ToldTrace& operator=(const ToldTrace&) = delete;

 protected:
  [[nodiscard]] static Event write(std::uint32_t site) {
    Event event;
    event.kind = EventKind::kWrite;
    event.site = SiteId(site);
    return event;
  }
  SiteId site(const std::string& text) { return SiteId(names_.table(Space::kSite).append(text)); }

  /// The sites of its events, in order; the numbers of the batches must follow each other.
  [[nodiscard]] std::vector<std::string> read() const {
    std::vector<std::string> sites;
    Result<std::unique_ptr<trace::Source>> source = read_told_trace(path_, {.jobs = 1});
    if (!source) return {source.error().message};
    for (;;) {
      const Result<Batch> batch = (*source)->next();
      if (!batch) return {batch.error().message};
      if (batch->empty()) return sites;
      EXPECT_EQ(batch->first, sites.size() + 1);
      for (const Event& event : batch->events) {
        sites.emplace_back((*source)->names().site(event.site));
      }
    }
  }

  std::string folder_;
  std::string path_;
  Names names_;
};

TEST_F(ToldTrace, HasLateEventsBehindTheirPositionsInTheirOrder) {
  Result<ToldTraceWriter> writer = ToldTraceWriter::create(path_);
  ASSERT_TRUE(writer) << writer.error().message;
  const SiteId a = site("a");
  const SiteId b = site("b");
  EXPECT_EQ(writer->append(write(a.value)), 1u);
  EXPECT_EQ(writer->append(write(b.value)), 2u);
  // Names that are new when the events before them are long written.
  writer->late(2, 0, write(site("behind b").value));
  writer->late(1, 5, write(site("second behind a").value));
  writer->late(1, 3, write(site("first behind a").value));
  ASSERT_TRUE(writer->close(names_));
  EXPECT_THAT(read(),
              testing::ElementsAre("a", "first behind a", "second behind a", "b", "behind b"));
}

TEST_F(ToldTrace, CanBeReadWhileItGrowsUpToItsLastSnapshot) {
  Result<ToldTraceWriter> writer = ToldTraceWriter::create(path_);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_THAT(read(), testing::ElementsAre(testing::HasSubstr(".late")));
  const SiteId a = site("a");
  for (int i = 0; i < 3; ++i) (void)writer->append(write(a.value));
  ASSERT_TRUE(writer->snapshot(names_));
  EXPECT_THAT(read(), testing::ElementsAre("a", "a", "a"));
  const SiteId later = site("later");
  for (int i = 0; i < 100'000; ++i) {
    (void)writer->append(write(later.value));
    ASSERT_TRUE(writer->flush(names_));
  }
  EXPECT_THAT(read(), testing::ElementsAre("a", "a", "a"));
  ASSERT_TRUE(writer->close(names_));
  EXPECT_EQ(read().size(), 100'003u);
}

TEST_F(ToldTrace, SaysWhenItIsNotThere) {
  EXPECT_THAT(read(), testing::ElementsAre(testing::HasSubstr(".late")));
}

TEST(Places, KnowTheEventOfEachPosition) {
  Places places;
  std::vector<EventNumber> expected;
  EventNumber event = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    event += i % 7 == 0 ? 254 + i % 4 : i % 3;
    if (i % 100 == 50) event += 5'000'000'000;
    expected.push_back(event);
    places.set(5 + i, ThreadId(i < 600 ? 1u : 2u), event);
  }
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(places.at(5 + i).event, expected[i]) << i;
    EXPECT_EQ(places.at(5 + i).thread, ThreadId(i < 600 ? 1u : 2u)) << i;
  }
  EXPECT_EQ(places.at(0).event, expected.front());
  EXPECT_EQ(places.at(5000).event, expected.back());
}

TEST(Places, AreBehindTheLastOneThatHasAnEvent) {
  Places places;
  places.set(3, ThreadId(1u), 10);
  places.set(7, ThreadId(1u), 12);
  places.set(5, ThreadId(1u), 13);  // cannot be
  std::vector<std::uint64_t> positions = {3, 7};
  std::vector<EventNumber> events = {10, 12};
  for (std::uint64_t i = 0; i < 500; ++i) {
    positions.push_back(positions.back() + (i % 9 == 0 ? 1000 + i : 1 + i % 3));
    events.push_back(events.back() + (i % 11 == 0 ? 300 : i % 2));
    places.set(positions.back(), ThreadId(1u), events.back());
  }
  for (std::size_t i = 0; i + 1 < positions.size(); ++i) {
    for (const std::uint64_t position : {positions[i], positions[i + 1] - 1}) {
      EXPECT_EQ(places.at(position).event, events[i]) << position;
      EXPECT_EQ(places.at(position).position, positions[i]) << position;
    }
  }
}

}  // namespace
}  // namespace syndrome::live
