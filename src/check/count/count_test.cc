// Guards against: an event counted twice or not at all at the seams between lanes and batches,
// nested blocks counted as blocks, dropped events counted as events of their kind.

#include "check/count/count.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace syndrome::check {
namespace {

Event event_of(EventKind kind, unsigned flags = 0) {
  Event event;
  event.kind = kind;
  event.flags = static_cast<std::uint8_t>(flags);
  return event;
}

TEST(Count, agrees_with_a_plain_loop_for_every_batch_size) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 40; ++size) {
    Count count;
    Counts expected;
    for (int batch = 0; batch < 3; ++batch) {
      std::vector<Event> events;
      for (std::size_t i = 0; i < size; ++i) {
        events.push_back(
            event_of(static_cast<EventKind>(random() % kEventKindCount), random() % 4));
        const Event& event = events.back();
        if ((event.flags & kDropped) != 0) {
          ++expected.dropped;
          continue;
        }
        ++expected.of_kind[static_cast<std::size_t>(event.kind)];
        expected.blocks += event.kind == EventKind::kBegin && event.flags == 0 ? 1U : 0U;
      }
      count.take({events, 1});
    }
    const Counts counts = count.counts();
    EXPECT_EQ(counts.of_kind, expected.of_kind);
    EXPECT_EQ(counts.blocks, expected.blocks);
    EXPECT_EQ(counts.dropped, expected.dropped);
    EXPECT_EQ(counts.events(), 3 * size);
  }
}

TEST(Count, as_a_check_is_clean_and_gives_its_figures_as_stats) {
  std::vector<Event> events = {event_of(EventKind::kBegin), event_of(EventKind::kWrite),
                               event_of(EventKind::kWrite), event_of(EventKind::kEnd)};
  const std::unique_ptr<Check> check = make_count({});
  check->take({events, 1}, Names());
  EXPECT_FALSE(check->end_of_pass(Names()));
  check->take({events, 1}, Names());  // a second pass, for another check
  const CheckResult result = check->result();
  EXPECT_EQ(result.check, "count");
  EXPECT_EQ(result.verdict, Verdict::kClean);
  ASSERT_EQ(result.stats.size(), 4U);
  EXPECT_EQ(result.stats[0].name, "w");
  EXPECT_EQ(result.stats[0].value, 2U);
  EXPECT_EQ(result.stats[3].name, "blocks");
  EXPECT_EQ(result.stats[3].value, 1U);
}

}  // namespace
}  // namespace syndrome::check
