#include "trace/pipelined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "trace/std_format.h"
#include "trace/text_testing.h"

namespace syndrome::trace {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::read_whole;
using testing::Whole;

/// Makes batches of two events, each with a new variable and a warning, as many as asked.
class Counting : public Source {
 public:
  Counting(std::uint64_t batches, std::atomic<std::uint64_t>& made, bool fail = false)
      : batches_(batches), made_(made), fail_(fail) {
    names_.table(Space::kThread).append("T");
  }

  Result<Batch> next() override {
    if (made_ == batches_) {
      if (fail_) return Error{"the end is missing"};
      return Batch{};
    }
    const std::uint32_t id = names_.table(Space::kVariable).append("V" + std::to_string(made_));
    events_[0].target = id;
    events_[1].target = id / 2;
    if (made_ < 3) warnings_.push_back("batch " + std::to_string(made_));
    const std::uint64_t batch = made_++;
    return Batch{events_, batch * 2 + 1};
  }
  const Names& names() const override { return names_; }
  Progress progress() const override { return {made_, batches_}; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  std::uint64_t batches_;
  std::atomic<std::uint64_t>& made_;
  bool fail_;
  Names names_;
  std::vector<Event> events_ = std::vector<Event>(2);
  std::vector<std::string> warnings_;
};

TEST(Pipelined, GivesTheSameAsTheSourceItself) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += "T" + std::to_string(i % 5) + "|r(V" + std::to_string(i % 7001) + ")|s" +
            std::to_string(i / 100) + "\n";
  }
  const Whole alone = read_whole(*read_std(bytes_of(text)));
  const Whole piped = read_whole(*pipelined(read_std(bytes_of(text))));
  EXPECT_EQ(piped.error, "");
  EXPECT_TRUE(piped.numbered);
  EXPECT_TRUE(piped.events == alone.events);
  EXPECT_TRUE(piped.text == text);
}

TEST(Pipelined, NamesAreThereWithTheirBatchAndNotBefore) {
  std::atomic<std::uint64_t> made = 0;
  const auto source = pipelined(std::make_unique<Counting>(1000, made));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto batch = source->next();
    ASSERT_TRUE(batch.ok());
    ASSERT_EQ(batch->first, 2 * i + 1);
    ASSERT_EQ(source->names().table(Space::kVariable).size(), i + 1);
    ASSERT_EQ(source->names().variable(batch->events[0].var()), "V" + std::to_string(i));
    ASSERT_EQ(source->progress().done, i + 1);
    // The batch is the caller's to change.
    batch->events[0].flags = kDropped;
  }
  EXPECT_TRUE(source->next()->empty());
  EXPECT_TRUE(source->next()->empty());
  EXPECT_THAT(source->warnings(), ElementsAre("batch 0", "batch 1", "batch 2"));
  // Names that every trace has are not handed over twice.
  EXPECT_EQ(source->names().table(Space::kSite).size(), 1U);
}

TEST(Pipelined, AnErrorComesAfterTheEventsBeforeItAndStays) {
  std::atomic<std::uint64_t> made = 0;
  const auto source = pipelined(std::make_unique<Counting>(10, made, true));
  const Whole whole = read_whole(*source);
  EXPECT_EQ(whole.events.size(), 20U);
  EXPECT_EQ(whole.error, "the end is missing");
  EXPECT_FALSE(source->next().ok());
}

TEST(Pipelined, IsAheadByAFewBatchesOnly) {
  std::atomic<std::uint64_t> made = 0;
  const auto source = pipelined(std::make_unique<Counting>(1'000'000, made));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(source->next().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(made, 3U);
  EXPECT_LE(made, 6U);
}

TEST(Pipelined, CanBeLeftAtAnyTime) {
  for (int taken = 0; taken < 200; ++taken) {
    std::atomic<std::uint64_t> made = 0;
    const auto source = pipelined(std::make_unique<Counting>(100, made, true));
    for (int i = 0; i < taken; ++i) static_cast<void>(source->next().ok());
  }
}

/// Waits until it is told to stop, as a pipe that nobody writes to.
class Waiting : public ByteSource {
 public:
  explicit Waiting(std::stop_token stop) : stop_(std::move(stop)) {}
  Result<std::size_t> read(std::span<char>) override {
    while (!stop_.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Error{"stopped"};
  }
  Progress progress() const override { return {}; }

 private:
  std::stop_token stop_;
};

TEST(Pipelined, StopsASourceThatWaits) {
  std::stop_source stop;
  auto inner = read_std(std::make_unique<Waiting>(stop.get_token()));
  pipelined(std::move(inner), stop).reset();  // or this never ends
}

}  // namespace
}  // namespace syndrome::trace
