// Guards against: a kind without a line, a wrong table for a target's name, an unknown site
// printed as an empty field, which other readers of STD refuse.

#include "check/print/print.h"

#include <gtest/gtest.h>

#include <vector>

namespace syndrome::check {
namespace {

TEST(Print, gives_every_kind_its_line_with_the_name_from_its_own_space) {
  Names names;
  names.table(Space::kThread).append("T1");
  names.table(Space::kVariable).append("x");
  names.table(Space::kLock).append("m");
  names.table(Space::kBarrier).append("b");
  names.table(Space::kSemaphore).append("s");
  names.table(Space::kCondition).append("c");
  names.table(Space::kLabel).append("f");
  names.table(Space::kSite).append("a.cc:3");

  std::vector<Event> events;
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    Event event;
    event.kind = static_cast<EventKind>(kind);
    event.target = target_space(event.kind) == Space::kLabel ? 1 : 0;
    event.site = SiteId(kind == 0 ? 1U : 0U);
    event.flags = event.kind == EventKind::kEnd ? kNested : 0;
    events.push_back(event);
  }
  Print print;
  print.take({events, 1}, names);
  EXPECT_EQ(print.text(),
            "T1|r(x)|a.cc:3\nT1|w(x)|0\nT1|rmw(x)|0\nT1|acq(m)|0\nT1|rel(m)|0\n"
            "T1|acq_shared(m)|0\nT1|rel_shared(m)|0\nT1|fork(T1)|0\nT1|join(T1)|0\n"
            "T1|begin(f)|0\nT1|end(f)|0\nT1|barrier_arrive(b)|0\nT1|barrier_leave(b)|0\n"
            "T1|post(s)|0\nT1|wait(s)|0\nT1|cond_wait(c)|0\nT1|cond_signal(c)|0\n"
            "T1|cond_broadcast(c)|0\nT1|thread_start()|0\nT1|thread_stop()|0\nT1|alloc(x)|0\n"
            "T1|free(x)|0\nT1|enter(f)|0\nT1|exit(f)|0\nT1|fence()|0\nT1|happens_before(s)|0\n"
            "T1|happens_after(s)|0\n");
}

TEST(Print, says_the_memory_order) {
  Names names;
  names.table(Space::kThread).append("T1");
  names.table(Space::kVariable).append("x");
  std::vector<Event> events(2);
  events[0].order = MemoryOrder::kAcquire;
  events[1].kind = EventKind::kFence;
  events[1].order = MemoryOrder::kSeqCst;
  Print print;
  print.take({events, 1}, names);
  EXPECT_EQ(print.text(), "T1|r_acquire(x)|0\nT1|fence_seq_cst()|0\n");
}

TEST(Print, numbers_lines_when_asked_and_passes_over_what_was_dropped) {
  Names names;
  names.table(Space::kThread).append("T1");
  names.table(Space::kVariable).append("x");
  std::vector<Event> events(3);
  events[1].flags = kDropped;
  Print print(true);
  print.take({events, 7}, names);
  EXPECT_EQ(print.text(), "7\tT1|r(x)|0\n9\tT1|r(x)|0\n");
}

TEST(Print, as_a_check_prints_the_trace_once) {
  Names names;
  names.table(Space::kThread).append("T1");
  names.table(Space::kVariable).append("x");
  std::vector<Event> events(1);
  std::string text;
  Options options;
  options.out = [&text](std::string_view part) { text += part; };
  const std::unique_ptr<Check> check = make_print(options);
  check->take({events, 1}, names);
  check->take({events, 2}, names);
  EXPECT_FALSE(check->end_of_pass(names));
  check->take({events, 1}, names);
  EXPECT_EQ(text, "1\tT1|r(x)|0\n2\tT1|r(x)|0\n");
  EXPECT_EQ(check->result().verdict, Verdict::kClean);
}

}  // namespace
}  // namespace syndrome::check
