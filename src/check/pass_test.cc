// Guards against: an event that a check never sees or sees twice, a pass too many or too few,
// results that depend on where batches end, an interruption after which two passes see different
// traces.

#include "check/pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace syndrome::check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Events of two threads on one variable and one lock, in batches of a given size.
class FakeSource final : public trace::Source {
 public:
  FakeSource(std::vector<Event> events, std::size_t batch)
      : events_(std::move(events)), batch_(batch) {
    names_.table(Space::kThread).append("T1");
    names_.table(Space::kThread).append("T2");
    names_.table(Space::kVariable).append("x");
    names_.table(Space::kLock).append("m");
    names_.table(Space::kLabel).append("transfer");
  }

  Result<Batch> next() override {
    const std::size_t size = std::min(batch_, events_.size() - at_);
    const Batch batch{std::span(events_).subspan(at_, size), at_ + 1};
    at_ += size;
    return batch;
  }
  const Names& names() const override { return names_; }
  trace::Progress progress() const override { return {at_, events_.size()}; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  std::vector<Event> events_;
  std::size_t batch_;
  std::size_t at_ = 0;
  Names names_;
  std::vector<std::string> warnings_ = {"the source's own warning"};
};

Event event_of(EventKind kind, unsigned thread = 0) {
  Event event;
  event.kind = kind;
  event.thread = ThreadId(thread);
  return event;
}

std::vector<Event> writes(std::size_t count) {
  return std::vector<Event>(count, event_of(EventKind::kWrite));
}

/// A trace with a release that is not allowed as event 4.
std::vector<Event> ill_formed() {
  std::vector<Event> events = writes(6);
  events[3] = event_of(EventKind::kRelease);
  return events;
}

/// Notes what it sees; asks for `passes` passes; satisfied at event `enough`.
class Fake final : public Check {
 public:
  explicit Fake(unsigned passes = 1, EventNumber enough = 0) : passes_(passes), enough_(enough) {}

  void take(const Batch& batch, const Names&) override {
    EventNumber number = batch.first;
    for (const Event& event : batch.events) {
      if ((event.flags & kDropped) == 0) seen.push_back(number);
      ++number;
    }
  }
  bool satisfied() const override {
    return enough_ != 0 && !seen.empty() && seen.back() >= enough_;
  }
  bool end_of_pass(const Names& names) override {
    EXPECT_EQ(names.table(Space::kThread).size(), 2U);
    seen_in_pass.push_back(seen.size());
    seen.clear();
    return seen_in_pass.size() < passes_;
  }
  CheckResult result() override {
    CheckResult result;
    result.check = name;
    if (enough_ != 0) result.findings.emplace_back();
    return result;
  }

  std::string name = "fake";
  std::vector<EventNumber> seen;
  std::vector<std::size_t> seen_in_pass;

 private:
  unsigned passes_;
  EventNumber enough_;
};

struct Harness {
  explicit Harness(std::vector<Event> trace, std::size_t batch)
      : open([trace = std::move(trace), batch, this]() -> Result<std::unique_ptr<trace::Source>> {
          ++opened;
          return std::unique_ptr<trace::Source>(std::make_unique<FakeSource>(trace, batch));
        }) {}

  Fake& add(unsigned passes = 1, EventNumber enough = 0) {
    auto fake = std::make_unique<Fake>(passes, enough);
    Fake& reference = *fake;
    checks.push_back(std::move(fake));
    return reference;
  }

  int opened = 0;
  Opener open;
  std::vector<std::unique_ptr<Check>> checks;
};

TEST(Pass, every_check_sees_every_event_in_as_many_passes_as_it_wants) {
  Harness harness(writes(10), 3);
  Fake& one = harness.add(1);
  Fake& three = harness.add(3);
  const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(harness.opened, 3);
  EXPECT_THAT(three.seen_in_pass, ElementsAre(10, 10, 10));
  EXPECT_THAT(one.seen_in_pass, ElementsAre(10)) << "it is done, and must not be disturbed";
  EXPECT_EQ(result->trace.counts.events(), 10U);
  EXPECT_EQ(result->trace.counts.of(EventKind::kWrite), 10U);
  EXPECT_EQ(result->trace.threads, 2U);
  EXPECT_EQ(result->trace.variables, 1U);
  EXPECT_EQ(result->trace.locks, 1U);
  EXPECT_TRUE(result->trace.whole);
  EXPECT_FALSE(result->interrupted);
  EXPECT_THAT(result->warnings, ElementsAre("the source's own warning"));
  ASSERT_EQ(result->results.size(), 2U);
  EXPECT_GT(result->results[0].seconds, 0);
}

TEST(Pass, stops_when_all_are_satisfied_and_not_before) {
  Harness harness(writes(100), 10);
  Fake& early = harness.add(1, 5);
  Fake& late = harness.add(1, 35);
  const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, {});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(early.seen_in_pass, ElementsAre(10));
  EXPECT_THAT(late.seen_in_pass, ElementsAre(40));
  EXPECT_FALSE(result->trace.whole);
  EXPECT_EQ(result->trace.counts.events(), 40U);
  EXPECT_EQ(result->names.table(Space::kThread).size(), 2U) << "a finding needs the names";
}

TEST(Pass, refuses_an_ill_formed_trace_with_the_number_of_the_event) {
  for (const std::size_t batch : {1U, 3U, 100U}) {
    Harness harness(ill_formed(), batch);
    harness.add();
    const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, {});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, ::testing::StartsWith("event 4: "));
    EXPECT_THAT(result.error().message, HasSubstr("--lenient"));
  }
}

TEST(Pass, a_fault_behind_the_first_finding_does_not_matter_for_any_batch_size) {
  for (const std::size_t batch : {1U, 3U, 100U}) {
    Harness harness(ill_formed(), batch);
    harness.add(1, 3);
    EXPECT_TRUE(run_pass(harness.open, trace::Format::kStd, harness.checks, {}).ok()) << batch;
  }
}

TEST(Pass, lenient_goes_on_and_says_what_it_passed_over) {
  Harness harness(ill_formed(), 2);
  Fake& fake = harness.add(2);
  PassOptions options;
  options.lenient = true;
  const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, options);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(fake.seen_in_pass, ElementsAre(5, 5));
  EXPECT_EQ(result->trace.counts.dropped, 1U);
  EXPECT_EQ(result->trace.counts.events(), 6U);
  ASSERT_EQ(result->warnings.size(), 3U);
  EXPECT_EQ(result->warnings[1], "--lenient passed over 1 ill-formed event");
  EXPECT_THAT(result->warnings[2], ::testing::StartsWith("event 4: "));
}

TEST(Pass, lenient_tells_the_first_few_faults_only) {
  std::vector<Event> events(1000, event_of(EventKind::kRelease));
  Harness harness(std::move(events), 64);
  PassOptions options;
  options.lenient = true;
  const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, options);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->warnings.size(), 8U);
  EXPECT_EQ(result->warnings[1], "--lenient passed over 1000 ill-formed events");
  EXPECT_EQ(result->warnings[7], "and 995 more");
}

TEST(Pass, after_an_interruption_a_second_pass_sees_the_same_events) {
  Harness harness(writes(100), 10);
  Fake& fake = harness.add(2);
  PassOptions options;
  int asked = 0;
  options.interrupted = [&asked] { return ++asked == 3; };
  const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_FALSE(result->trace.whole);
  EXPECT_EQ(asked, 3) << "not asked again once it said yes";
  EXPECT_EQ(result->trace.counts.events(), 30U);
  EXPECT_THAT(fake.seen_in_pass, ElementsAre(30, 30));
}

TEST(Pass, an_interrupted_second_pass_still_sees_what_the_first_has_seen) {
  Harness harness(writes(100), 10);
  Fake& fake = harness.add(3);
  PassOptions options;
  int asked = 0;
  options.interrupted = [&asked] { return ++asked == 12; };
  const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_EQ(result->trace.counts.events(), 100U);
  EXPECT_THAT(fake.seen_in_pass, ElementsAre(100, 100, 100));
}

/// Decides early in its first pass, reads all of the trace in its second, and in its third is
/// content with the last event, before it has seen that the trace ends there.
class Decides final : public Check {
 public:
  void take(const Batch&, const Names&) override { ++batches_; }
  bool satisfied() const override {
    return (pass_ == 1 && batches_ == 3) || (pass_ == 3 && batches_ == 10);
  }
  bool end_of_pass(const Names&) override {
    batches_ = 0;
    return ++pass_ <= 3;
  }
  CheckResult result() override { return {}; }

 private:
  int pass_ = 1;
  int batches_ = 0;
};

TEST(Pass, the_pass_that_came_furthest_speaks_for_the_trace) {
  std::vector<Event> events = writes(100);
  events[5] = event_of(EventKind::kRelease);
  events[95] = event_of(EventKind::kRelease);
  Harness harness(std::move(events), 10);
  harness.checks.push_back(std::make_unique<Decides>());
  PassOptions options;
  options.lenient = true;
  const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(harness.opened, 3);
  EXPECT_TRUE(result->trace.whole);
  EXPECT_EQ(result->trace.counts.events(), 100U);
  EXPECT_EQ(result->warnings[1], "--lenient passed over 2 ill-formed events");
}

TEST(Pass, a_spec_decides_which_blocks_count_and_is_told_what_matches_nothing) {
  std::vector<Event> events = {event_of(EventKind::kBegin), event_of(EventKind::kWrite),
                               event_of(EventKind::kEnd)};
  events[0].target = events[2].target = 1;
  for (const bool excluded : {false, true}) {
    Harness harness(events, 2);
    const auto spec = spec::parse_spec(excluded ? "[blocks]\nexclude = [\"transfer\"]\n"
                                                : "[blocks]\nexclude = [\"transfers\"]\n");
    ASSERT_TRUE(spec.ok());
    PassOptions options;
    options.spec = &*spec;
    const auto result = run_pass(harness.open, trace::Format::kStd, harness.checks, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->trace.counts.blocks, excluded ? 0U : 1U);
    if (excluded) {
      EXPECT_EQ(result->warnings.size(), 1U);
    } else {
      ASSERT_EQ(result->warnings.size(), 2U);
      EXPECT_THAT(result->warnings[1], HasSubstr("\"transfers\" matches nothing"));
      EXPECT_THAT(result->warnings[1], HasSubstr("nearest: transfer"));
    }
  }
}

TEST(Pass, only_atomicity_pays_for_the_names_that_a_spec_could_have) {
  for (const bool atomicity : {false, true}) {
    Harness harness({event_of(EventKind::kEnter), event_of(EventKind::kExit)}, 1);
    harness.add().name = atomicity ? "atomicity" : "races";
    ASSERT_TRUE(run_pass(harness.open, trace::Format::kStd, harness.checks, {}).ok());
    EXPECT_EQ(harness.opened, atomicity ? 2 : 1);
  }
}

TEST(Pass, a_trace_that_cannot_be_opened_is_an_error) {
  const Opener open = []() -> Result<std::unique_ptr<trace::Source>> {
    return Error{"no such file"};
  };
  const auto result = run_pass(open, trace::Format::kStd, {}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "no such file");
}

}  // namespace
}  // namespace syndrome::check
