#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "trace/std_format.h"
#include "trace/text_source.h"
#include "trace/text_testing.h"

namespace syndrome::trace {
namespace {

using testing::bytes_of;
using testing::read_whole;
using testing::Whole;

Whole read(std::string_view text, std::size_t piece = 1 << 20) {
  return read_whole(*read_std(bytes_of(text, piece)));
}

TEST(StdReader, ReadsEveryOperation) {
  std::string text;
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    const auto kind = static_cast<EventKind>(i);
    text += "T1|" + std::string(name_of(kind)) + (target_space(kind) ? "(x)" : "()") + "|7\n";
  }
  const Whole whole = read(text);
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text, text);
  ASSERT_EQ(whole.events.size(), kEventKindCount);
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    EXPECT_EQ(whole.events[i].kind, static_cast<EventKind>(i));
  }
}

TEST(StdReader, ReadsMemoryOrders) {
  const std::string text =
      "T|r(x)|1\nT|r_relaxed(x)|1\nT|r_acquire(x)|1\nT|r_seq_cst(x)|1\nT|w_relaxed(x)|1\n"
      "T|w_release(x)|1\nT|w_seq_cst(x)|1\nT|rmw(x)|1\nT|rmw_relaxed(x)|1\nT|rmw_acquire(x)|1\n"
      "T|rmw_release(x)|1\nT|rmw_acq_rel(x)|1\nT|rmw_seq_cst(x)|1\nT|fence_acquire()|1\n"
      "T|fence_release()|1\nT|fence_acq_rel()|1\nT|fence_seq_cst()|1\n";
  const Whole whole = read(text);
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text, text);
  ASSERT_EQ(whole.events.size(), 17U);
  EXPECT_EQ(whole.events[0].order, MemoryOrder::kPlain);
  EXPECT_EQ(whole.events[2].kind, EventKind::kRead);
  EXPECT_EQ(whole.events[2].order, MemoryOrder::kAcquire);
  EXPECT_EQ(whole.events[11].kind, EventKind::kRmw);
  EXPECT_EQ(whole.events[11].order, MemoryOrder::kAcqRel);
  EXPECT_EQ(whole.events[16].kind, EventKind::kFence);
  EXPECT_EQ(whole.events[16].order, MemoryOrder::kSeqCst);
  EXPECT_EQ(read("T|fence_seq_cst|1\n").text, "T|fence_seq_cst()|1\n");
  EXPECT_NE(read("T|fence_seq_cst(x)|1\n").error, "");
  EXPECT_NE(read("T|r_release(x)|1\n").error, "");
  EXPECT_NE(read("T|acq_relaxed(x)|1\n").error, "");
}

TEST(StdReader, ReadsAnEmptyFileAndOneOfCommentsAsNoEvents) {
  for (const std::string_view text : {"", "# nothing\n", "#", "\n", "\n\n", "# a\r\n\r\n"}) {
    const Whole whole = read(text);
    EXPECT_EQ(whole.error, "") << text;
    EXPECT_EQ(whole.events.size(), 0U) << text;
  }
}

TEST(StdReader, DoesNotCountComments) {
  const Whole whole = read("# one\nT1|r(x)|1\n# two\nT2|w(x)|2\n");
  EXPECT_EQ(whole.text, "T1|r(x)|1\nT2|w(x)|2\n");
  EXPECT_TRUE(whole.numbered);
}

TEST(StdReader, TakesEveryKindOfLineEnd) {
  const std::string expected = "T1|r(x)|12\nT1|acq(l)|0\nT1|end()|3\n";
  EXPECT_EQ(read("T1|r(x)|12\r\nT1|acq(l)|\r\nT1|end|3\r\n").text, expected);
  EXPECT_EQ(read("T1|r(x)|12\nT1|acq(l)|0\nT1|end()|3").text, expected);
  EXPECT_EQ(read("\xef\xbb\xbfT1|r(x)|12\nT1|acq(l)|0\nT1|end()|3\r\n\r\n\n").text, expected);
}

TEST(StdReader, LabelsAreOptional) {
  const Whole whole =
      read("T|begin|1\nT|begin()|1\nT|begin(f)|1\nT|end(f)|1\nT|end|1\nT|end()|1\n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text,
            "T|begin()|1\nT|begin()|1\nT|begin(f)|1\nT|end(f)|1\nT|end()|1\nT|end()|1\n");
  EXPECT_EQ(whole.events[0].target, 0U);
  EXPECT_EQ(whole.events[2].target, whole.events[3].target);
}

TEST(StdReader, TargetRunsToTheLastParenthesisBeforeTheNextBar) {
  const std::string text =
      "T1|begin(f(int, (*)(void)))|a(b)c\nT(1)|r(x))|9\nT1|r(()|9\nT1|w(a b,c)|x|y|z)\n";
  const Whole whole = read(text);
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text, text);
}

TEST(StdReader, EmptyAndZeroLocationsAreUnknown) {
  const Whole whole = read("T|r(x)|\nT|r(x)|0\nT|r(x)|00\nT|r(x)|1\n");
  EXPECT_EQ(whole.events[0].site.value, 0U);
  EXPECT_EQ(whole.events[1].site.value, 0U);
  EXPECT_NE(whole.events[2].site.value, 0U);
  EXPECT_NE(whole.events[3].site.value, 0U);
}

TEST(StdReader, EachSpaceCountsOnItsOwnInOrderOfFirstMention) {
  const Whole whole = read("A|fork(B)|1\nC|r(x)|1\nB|w(y)|1\nB|acq(x)|1\nC|r(x)|1\nA|join(C)|1\n");
  const auto& events = whole.events;
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0].thread.value, 0U);
  EXPECT_EQ(events[0].target, 1U);
  EXPECT_EQ(events[1].thread.value, 2U);
  EXPECT_EQ(events[2].thread.value, 1U);
  EXPECT_EQ(events[1].target, 0U);
  EXPECT_EQ(events[2].target, 1U);
  EXPECT_EQ(events[3].target, 0U);
  EXPECT_EQ(events[4].target, 0U);
  EXPECT_EQ(events[5].target, 2U);
}

struct Malformed {
  std::string_view text;
  std::string_view message;
  std::size_t events_before = 0;
};

TEST(StdReader, SaysWhatIsWrongWithALine) {
  using namespace std::string_view_literals;
  const Malformed cases[] = {
      {"hello\n", "line 1: expected thread|op(target)|location, found 'hello'"},
      {"T1 r(x) 3\n", "line 1: expected thread|op(target)|location, found 'T1 r(x) 3'"},
      {"T1|r(x)|1\n|r(x)|1\n", "line 2: expected a thread before the first '|', found '|r(x)|1'",
       1},
      {"T1|r(x)\n",
       "line 1: expected '|' and a location (0 when unknown) after the operation, found 'r(x)'"},
      {"T1|r\n",
       "line 1: expected '|' and a location (0 when unknown) after the operation, found 'r'"},
      {"T1|r(x\nT1|w(y)|3\n",
       "line 1: expected '|' and a location (0 when unknown) after the operation, found 'r(x'"},
      {"T1|r(x|1\n", "line 1: expected ')' before the next '|', found 'r(x'"},
      {"T1|r(a|b)|1\n", "line 1: expected ')' before the next '|', found 'r(a'"},
      {"T1|r(x)y|1\n", "line 1: expected '|' after ')', found 'y'"},
      {"T1|r()|1\n", "line 1: expected r(target), found 'r()'"},
      {"T1|acq|1\n", "line 1: expected acq(target), found 'acq'"},
      {"T1|thread_start(x)|1\n",
       "line 1: expected thread_start without a target, found 'thread_start(x)'"},
      {"T1|aqc(l)|1\n", "line 1: expected an operation, found 'aqc'; did you mean 'acq'?"},
      {"T1|begn(f)|1\n", "line 1: expected an operation, found 'begn'; did you mean 'begin'?"},
      {"T1|write(x)|1\n", "line 1: expected an operation, found 'write'; did you mean 'w'?"},
      {"T1|unlock(x)|1\n", "line 1: expected an operation, found 'unlock'; did you mean 'rel'?"},
      {"T1|frobnicate(x)|1\n",
       "line 1: expected an operation such as r, w, acq, rel, fork, join, begin or end, found "
       "'frobnicate'"},
      {"T1|(x)|1\n",
       "line 1: expected an operation such as r, w, acq, rel, fork, join, begin or end, found ''"},
      {"T1| r(x)|1\n", "line 1: expected an operation, found ' r'; did you mean 'r'?"},
      {"T1|r(x)|1\n\nT1|r(x)|1\n", "line 2: expected an event or a comment, found a blank line", 1},
      {"T1|r(x)|1\n# c\n\n\nT1|r(x)|1\n",
       "line 3: expected an event or a comment, found a blank line", 1},
      {"T1|r(a\0b)|1\n"sv,
       "line 1: expected printable text as the name of a variable, found 'a\\x00b'"},
      {"T1|r(a\tb)|1\nT\x1b|r(x)|1\n",
       "line 2: expected printable text as the name of a thread, found 'T\\x1b'", 1},
      {"T1|acq(l)|1\x7f\n",
       "line 1: expected printable text as the name of a location, found '1\\x7f'"},
      {"T1|r(ok)|1\nT1|r(\x01)|1\nT1|w(ok)|1\nbad\n",
       "line 2: expected printable text as the name of a variable, found '\\x01'", 1},
      {"# c\nT1|r(x)|1\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
       "line 3: expected thread|op(target)|location, found "
       "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'",
       1},
  };
  for (const Malformed& one : cases) {
    const Whole whole = read(one.text);
    EXPECT_EQ(whole.error, one.message) << one.text;
    EXPECT_EQ(whole.events.size(), one.events_before) << one.text;
    // Again as a reader of a slow pipe would see it.
    EXPECT_EQ(read(one.text, 1).error, one.message) << one.text;
  }
}

TEST(StdReader, AnErrorStays) {
  const auto source = read_std(bytes_of("T1|r(x)|1\nbad\n"));
  EXPECT_TRUE(source->next().ok());
  EXPECT_FALSE(source->next().ok());
  EXPECT_FALSE(source->next().ok());
}

// A bad name shows when the variable is looked up, some lines later, perhaps in another batch.
TEST(StdReader, BadNameAnywhereEndsTheEventsBeforeIt) {
  for (const int before : {0, 1, 30, 31, 32, 33, 64, 8190, 8191, 8192, 8193, 20000}) {
    std::string text;
    for (int i = 0; i < before; ++i) text += "T1|r(x)|1\n";
    text += "T1|w(\x02)|1\n";
    for (int i = 0; i < 100; ++i) text += "T1|r(x)|1\n";
    const Whole whole = read(text);
    EXPECT_EQ(whole.events.size(), static_cast<std::size_t>(before));
    EXPECT_EQ(whole.error, "line " + std::to_string(before + 1) +
                               ": expected printable text as the name of a variable, found "
                               "'\\x02'");
  }
}

TEST(StdReader, LinesOfAnyLengthUpToTheLimit) {
  // Around the 32 and 64 bytes that the fast path looks at, and around a read.
  for (const std::size_t length : {1U,  8U,  9U,  16U, 17U, 20U, 21U, 22U,  23U,     24U,     50U,
                                   51U, 52U, 53U, 54U, 55U, 56U, 57U, 300U, 262144U, 1000000U}) {
    const std::string text =
        "T1|r(" + std::string(length, 'v') + ")|1\nT1|w(y)|" + std::string(length, '7') + "\n";
    const Whole whole = read(text);
    EXPECT_EQ(whole.error, "");
    EXPECT_TRUE(whole.text == text) << length;
  }
  EXPECT_EQ(read("T1|r(x)|1\nT1|r(" + std::string(3 << 20, 'v') + ")|1\n").error,
            "line 2: expected a line of at most 1048576 bytes, found a longer one");
}

TEST(StdReader, PiecesOfInputMakeNoDifference) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += "T" + std::to_string(i % 7) + "|" + (i % 3 == 0 ? "w" : "r") + "(V" +
            std::to_string(i * i % 997) + ")|worker.cc:" + std::to_string(i % 101) +
            (i % 5 == 0 ? "\r\n" : "\n");
    if (i % 50 == 0) text += "# note\nT1|begin(transfer_" + std::to_string(i) + ")|0\n";
  }
  const Whole whole = read(text);
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.events.size(), 3060U);
  for (const std::size_t piece : {1U, 2U, 7U, 64U, 1000U}) {
    const Whole again = read(text, piece);
    EXPECT_TRUE(again.text == whole.text) << piece;
    EXPECT_TRUE(again.events == whole.events) << piece;
    EXPECT_TRUE(again.numbered) << piece;
  }
}

TEST(StdReader, TellsHowFarItIs) {
  const auto source = read_std(bytes_of("T1|r(x)|1\n"));
  EXPECT_EQ(source->progress().done, 0U);
  EXPECT_TRUE(source->next().ok());
  EXPECT_EQ(source->progress().done, 10U);
  EXPECT_EQ(source->progress().total, 10U);
}

TEST(Shown, EscapesAndCuts) {
  EXPECT_EQ(shown("a\tb\r\n\x7f"), "'a\\tb\\r\\n\\x7f'");
  const std::string umlauts = std::string(59, 'x') + "äöü";
  EXPECT_EQ(shown(umlauts), "'" + std::string(59, 'x') + "…'");
}

TEST(Nearest, FindsSlipsButNotStrangers) {
  EXPECT_EQ(nearest("jion", kEventKindNames), "join");
  EXPECT_EQ(nearest("barrier_arive", kEventKindNames), "barrier_arrive");
  EXPECT_EQ(nearest("zzzzzz", kEventKindNames), "");
  EXPECT_EQ(nearest("", kEventKindNames), "");
}

/// A piece of text again and again, as much as is wanted, without the memory that it would take.
class Endless : public ByteSource {
 public:
  Endless(std::string_view piece, std::uint64_t bytes) : bytes_(bytes) {
    while (block_.size() < (1U << 20U)) block_ += piece;
  }
  Result<std::size_t> read(std::span<char> buffer) override {
    const std::uint64_t at = read_ % block_.size();
    const std::size_t count = std::min({buffer.size(), static_cast<std::size_t>(bytes_ - read_),
                                        static_cast<std::size_t>(block_.size() - at)});
    std::copy_n(block_.data() + at, count, buffer.data());
    read_ += count;
    return count;
  }
  [[nodiscard]] Progress progress() const override { return {read_, bytes_}; }

 private:
  std::string block_;
  std::uint64_t bytes_;
  std::uint64_t read_ = 0;
};

// A megabyte of gzip that holds only newlines was read for a minute.
TEST(StdReader, TextWithoutEventsComesToAnEnd) {
  for (const std::string_view piece : {"\n", "#\n", "# nothing\n"}) {
    const auto source = read_std(std::make_unique<Endless>(piece, std::uint64_t{1} << 34U));
    const Result<Batch> batch = source->next();
    ASSERT_FALSE(batch.ok()) << piece;
    EXPECT_THAT(batch.error().message, ::testing::HasSubstr("256 MiB of lines without"));
    EXPECT_LT(source->progress().done, TextSource::kMostWithoutEvent + (std::uint64_t{4} << 20U));
  }
  // Each event begins anew: as much as is wanted between them, but that.
  const std::string line = "#" + std::string((1U << 20U) - 10, 'x') + "\nT|r(x)|1\n";
  const auto source = read_std(std::make_unique<Endless>(line, std::uint64_t{300} << 20U));
  for (;;) {
    const Result<Batch> batch = source->next();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    if (batch->empty()) break;
  }
}

TEST(StdReader, BlankLinesAtTheEndAreCounted) {
  for (std::size_t lines = 1; lines < 40; ++lines) {
    const std::string blank(lines, '\n');
    EXPECT_EQ(read("T|r(x)|1\n" + blank).error, "") << lines;
    EXPECT_EQ(read("T|r(x)|1\n" + blank + "T|r(x)|1\n").error,
              "line 2: expected an event or a comment, found a blank line")
        << lines;
    EXPECT_THAT(read(blank + "nonsense\n").error, ::testing::HasSubstr("line 1: ")) << lines;
  }
}

}  // namespace
}  // namespace syndrome::trace
