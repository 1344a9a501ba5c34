#include "trace/csv_reader.h"

#include <gtest/gtest.h>

#include "trace/text_testing.h"

namespace syndrome::trace {
namespace {

using testing::bytes_of;
using testing::read_whole;
using testing::Whole;

Whole read(std::string_view text) {
  return read_whole(*read_csv(bytes_of(text)));
}

TEST(CsvReader, WithoutAHeaderThreadsAreNumberedByColumn) {
  const Whole whole = read("r(x),,\n,w(x),\nstart(T2),,\n,,acq(L)\n,,rel(L)\njoin(T2),,\n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text,
            "T1|r(x)|row 1\nT2|w(x)|row 2\nT1|fork(T2)|row 3\nT3|acq(L)|row 4\n"
            "T3|rel(L)|row 5\nT1|join(T2)|row 6\n");
}

TEST(CsvReader, AHeaderNamesThreads) {
  const Whole whole = read("main, worker\r\nfork(worker),\r\n,r(x)\r\njoin(worker)\r\n\r\n,,\r\n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text, "main|fork(worker)|row 2\nworker|r(x)|row 3\nmain|join(worker)|row 4\n");
  EXPECT_EQ(whole.events[0].target, whole.events[1].thread.value);
}

TEST(CsvReader, SyncIsFourEventsOfOneRow) {
  const Whole whole = read(",sync(x)\n");
  EXPECT_EQ(whole.text, "T2|acq(x)|row 1\nT2|r(x)|row 1\nT2|w(x)|row 1\nT2|rel(x)|row 1\n");
}

TEST(CsvReader, SyncAcrossBatchesIsWhole) {
  std::string text = "r(x)\n";
  for (int i = 0; i < 10000; ++i) text += "sync(x)\n";
  const Whole whole = read(text);
  EXPECT_EQ(whole.events.size(), 40001U);
  EXPECT_TRUE(whole.numbered);
}

TEST(CsvReader, CellsMayBeQuotedAndPadded) {
  const Whole whole = read("\"r(a[1,2])\",\n , \"w(say \"\"hi\"\")\" \n");
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(whole.text, "T1|r(a[1,2])|row 1\nT2|w(say \"hi\")|row 2\n");
}

TEST(CsvReader, SaysWhatIsWrongWithARow) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"r(x),w(x)\n", "line 1: expected one event in a row, found 'r(x)' and 'w(x)'"},
      {"r(x),\n,,w(x)\n", "line 2: expected at most 2 columns as in the first row, found 3"},
      {"r(x),\n,\n,w(x)\n", "line 2: expected an event, found a row without one"},
      {"T1,T2\nr(x),,\n", "line 2: expected at most 2 columns as in the first row, found 3"},
      {"T1,,T2\nr(x),,\n",
       "line 1: expected the name of a thread in column 2 of the header, found nothing"},
      {"T1,T1\nr(x),\n", "line 1: expected a thread for each column, found 'T1' twice"},
      {"begin(f),\n",
       "line 1: expected one of r, w, acq, rel, start, join and sync, found "
       "'begin'"},
      {"r(x),\nsycn(x),\n",
       "line 2: expected one of r, w, acq, rel, start, join and sync, found "
       "'sycn'; did you mean 'sync'?"},
      {"r(x),\nr,\n", "line 2: expected r(target), found 'r'; a cell with commas needs quotes"},
      {"r(),\n", "line 1: expected r(target), found 'r()'"},
      {"r(x,\n", "line 1: expected r(target), found 'r(x'; a cell with commas needs quotes"},
      {"r(a,b)\n", "line 1: expected one event in a row, found 'r(a' and 'b)'"},
      {"\"r(x),\n", "line 1: expected '\"' at the end of a quoted cell, found '\"r(x),'"},
      {"r(\x01),\n", "line 1: expected printable text as the name of a variable, found '\\x01'"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(read(text).error, message) << text;
}

TEST(CsvReader, KnowsItsOwn) {
  EXPECT_TRUE(looks_like_csv("r(x)\n"));
  EXPECT_TRUE(looks_like_csv(",,acq(L)\n"));
  EXPECT_TRUE(looks_like_csv("main,worker\n,r(x)\n"));
  EXPECT_TRUE(looks_like_csv("raed(x),,\n"));
  EXPECT_FALSE(looks_like_csv("Hello (world), how are you\n"));
  EXPECT_FALSE(looks_like_csv("a,b,c\nd,e,f\ng,r(x),\n"));
  EXPECT_FALSE(looks_like_csv(""));
}

}  // namespace
}  // namespace syndrome::trace
