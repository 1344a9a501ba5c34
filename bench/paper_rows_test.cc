// The traces of the paper's rows are what their header promises.

#include "paper_rows.h"

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>

#include "check/analysis.h"
#include "check/atomicity/reach.h"
#include "trace/wellformed.h"

namespace syndrome::bench {

/// So that a test is named by its row, not by the bytes of it.
void PrintTo(const PaperRow& row, std::ostream* out) {
  *out << row.name;
}
namespace {

constexpr std::uint64_t kLimit = 200'000;

struct Seen {
  std::uint64_t events = 0;
  std::uint64_t begins = 0;
  std::set<std::uint32_t> threads;
  std::set<std::uint32_t> locks;
  EventNumber violation = 0;
  std::string fault;
};

Seen look_at(const PaperShape& shape) {
  Seen seen;
  PaperSource source(shape);
  trace::WellFormed stage([&](const trace::Fault& fault) {
    seen.fault = std::to_string(fault.event) + ": " + fault.message;
    return false;
  });
  check::Reach engine;
  while (true) {
    Result<Batch> batch = source.next();
    EXPECT_TRUE(batch.ok());
    if (batch->empty()) break;
    if (!stage.apply(*batch, source.names())) break;
    for (const Event& event : batch->events) {
      ++seen.events;
      seen.begins += event.kind == EventKind::kBegin ? 1 : 0;
      seen.threads.insert(event.thread.value);
      if (event.kind == EventKind::kAcquire) seen.locks.insert(event.target);
    }
    if (engine.violation().event == 0) {
      check::dispatch(engine, *batch, [&] { return engine.violation().event != 0; });
    }
  }
  seen.violation = engine.violation().event;
  return seen;
}

class PaperRowTest : public testing::TestWithParam<PaperRow> {};

TEST_P(PaperRowTest, HasTheShapeOfItsRow) {
  const PaperShape shape = scaled(GetParam(), kLimit);
  const Seen seen = look_at(shape);
  EXPECT_EQ(seen.fault, "");
  EXPECT_EQ(seen.threads.size(), shape.threads);
  EXPECT_GT(seen.locks.size(), shape.locks / 2);
  EXPECT_LE(seen.locks.size(), shape.locks);
  EXPECT_NEAR(static_cast<double>(seen.events), static_cast<double>(shape.events), 5);
  // One for an old block, one for a violation that found its thread outside of blocks.
  EXPECT_GE(seen.begins, shape.transactions);
  EXPECT_LE(seen.begins, shape.transactions + 2);
}

TEST_P(PaperRowTest, ViolatesWhereItSays) {
  const PaperShape shape = scaled(GetParam(), kLimit);
  const Seen seen = look_at(shape);
  EXPECT_EQ(shape.violation == 0, GetParam().atomic);
  if (GetParam().atomic) {
    EXPECT_EQ(seen.violation, 0U);
  } else {
    EXPECT_NEAR(static_cast<double>(seen.violation), static_cast<double>(shape.violation), 6);
  }
}

TEST_P(PaperRowTest, IsAtomicWithoutItsViolation) {
  PaperShape shape = scaled(GetParam(), kLimit);
  shape.violation = 0;
  EXPECT_EQ(look_at(shape).violation, 0U);
}

INSTANTIATE_TEST_SUITE_P(Paper, PaperRowTest,
                         testing::ValuesIn(paper_rows().begin(), paper_rows().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace syndrome::bench
