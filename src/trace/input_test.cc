#include "trace/input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <random>
#include <thread>

#include "trace/csv_reader.h"
#include "trace/roadrunner_reader.h"
#include "trace/std_format.h"
#include "trace/syn_writer.h"
#include "trace/text_testing.h"

namespace syndrome::trace {
namespace {

using testing::Folder;
using testing::read_whole;
using testing::Whole;

constexpr std::string_view kStdText =
    "T1|begin(f)|1\nT1|r(x)|2\nT2|w(x)|3\nT1|w(x)|4\nT1|end(f)|5\n";
constexpr std::string_view kCsvText = "r(x),,\n,w(x),\nstart(T3),,\n,,sync(L)\n";
constexpr std::string_view kRoadRunnerText =
    "hello\n@ Enter(0,a/B.f()V)\n@ Rd(0,@01.x)  k  B.java:1:2\n@ Exit(0,a/B.f()V)\n";

Whole read(Input& input) {
  auto source = input.read();
  EXPECT_TRUE(source.ok());
  if (!source) return {};
  return read_whole(**source);
}

TEST(Input, TellsFormatsByContent) {
  const Folder folder;
  const std::pair<std::string_view, Format> cases[] = {
      {kStdText, Format::kStd},
      {"", Format::kStd},
      {"\n", Format::kStd},
      {"# only a comment", Format::kStd},
      {"# r(x),,\n\nT1|r(x)|1\n", Format::kStd},
      {"T1|nonsense\n", Format::kStd},
      {"\xef\xbb\xbfT1|r(x)|1\n", Format::kStd},
      {"@1|r(x)|1\n", Format::kStd},
      {kCsvText, Format::kCsv},
      {"T1,T2\n,r(x)\n", Format::kCsv},
      {"r(x)\n", Format::kCsv},
      {kRoadRunnerText, Format::kRoadRunner},
      {"a|b\n@ Start(0,1)\n", Format::kRoadRunner},
  };
  for (const auto& [text, format] : cases) {
    const auto input = Input::open(folder.write("t", text));
    ASSERT_TRUE(input.ok()) << text;
    EXPECT_EQ(input->format(), format) << text;
    EXPECT_EQ(input->bytes(), text.size());
    EXPECT_EQ(input->path(), folder.file("t"));
  }
}

TEST(Input, SaysWhatItExpectsOfAFile) {
  const Folder folder;
  const std::string formats =
      "not a trace: expected .syn, STD text (thread|op(target)|location), RoadRunner's log "
      "(@ Op(thread,target)) or CSV (one column for each thread), found ";
  EXPECT_EQ(Input::open(folder.write("t", "hello\nworld\n")).error().message, formats + "'hello'");
  EXPECT_EQ(Input::open(folder.write("t",
                                     "\x7f"
                                     "ELF\x02\x01"))
                .error()
                .message,
            formats + "'\\x7fELF\\x02\\x01'");
  EXPECT_EQ(Input::open(folder.file("none")).error().message,
            "cannot open the file: No such file or directory");
}

TEST(Input, ReadsTheSameTwiceWithAndWithoutAThread) {
  const Folder folder;
  for (const std::string_view text : {kStdText, kCsvText, kRoadRunnerText}) {
    for (const unsigned jobs : {0U, 1U, 2U}) {
      auto input = Input::open(folder.write("t", text), {jobs});
      ASSERT_TRUE(input.ok());
      const Whole first = read(*input);
      const Whole second = read(*input);
      EXPECT_EQ(first.error, "");
      EXPECT_FALSE(first.events.empty());
      EXPECT_EQ(first.text, second.text);
      EXPECT_TRUE(first.events == second.events);
    }
  }
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// Gives `bytes` through a FIFO, leaves the first pass after one batch, and reads it all again.
Whole through_a_pipe(const Folder& folder, const std::string& bytes) {
  const std::string fifo = folder.file("fifo");
  EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(fifo, std::ios::binary) << bytes; });
  auto input = Input::open(fifo);
  EXPECT_TRUE(input.ok());
  Whole whole;
  if (input) {
    {
      auto source = input->read();
      EXPECT_TRUE(source.ok());
      EXPECT_TRUE(source.ok() && (*source)->next().ok());
    }
    whole = read(*input);
  }
  writer.join();
  ::unlink(fifo.c_str());
  return whole;
}

TEST(Input, EveryFormatComesThroughAPipePlainOrCompressed) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "T1|r(V" + std::to_string(i % 999) + ")|12\n";
  auto sink = write_syn(folder.file("t.syn"));
  ASSERT_TRUE(sink.ok());
  const auto source = read_std(testing::bytes_of(text));
  while (true) {
    const auto batch = source->next();
    ASSERT_TRUE(batch.ok());
    if (batch->empty()) break;
    ASSERT_TRUE((*sink)->append(batch->events, source->names()).ok());
  }
  ASSERT_TRUE((*sink)->close().ok());
  const std::string syn = testing::content_of(folder.file("t.syn"));
  for (const std::string& bytes : {text, syn, zstd(text), zstd(syn)}) {
    const Whole whole = through_a_pipe(folder, bytes);
    EXPECT_EQ(whole.error, "");
    EXPECT_TRUE(whole.text == text);
  }
  auto input = Input::open(folder.file("t.syn"));
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->format(), Format::kSyn);
  EXPECT_TRUE(read(*input).text == text);
}

TEST(Input, DamageFarIntoACompressedFileComesAfterTheEventsBeforeIt) {
  const Folder folder;
  std::string text;
  std::mt19937 random(3);
  for (int i = 0; i < 100'000; ++i) text += "T1|r(V" + std::to_string(random()) + ")|12\n";
  const std::string packed = zstd(text);
  auto input = Input::open(folder.write("t.zst", packed.substr(0, packed.size() - 10)));
  ASSERT_TRUE(input.ok());
  const Whole whole = read(*input);
  EXPECT_GT(whole.events.size(), 10'000U);
  EXPECT_EQ(whole.error, "byte " + std::to_string(packed.size() - 10) +
                             ": the file ends in the middle of its zstd data");
}

// Whatever a file holds: an end or an error, never a crash, and the same by another route.
TEST(Input, SurvivesRandomMutations) {
  const Folder folder;
  std::mt19937 random(20260101);
  constexpr std::string_view kTelling = "|(),\n\r@#\"rw\0T10 \t\xff";
  const std::string_view originals[] = {kStdText, kCsvText, kRoadRunnerText};
  for (int round = 0; round < 6000; ++round) {
    std::string text(originals[static_cast<std::size_t>(round) % 3]);
    for (std::uint32_t i = 0, n = 1 + random() % 4; i < n && !text.empty(); ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text[at] = kTelling[random() % kTelling.size()]; break;
        case 2: text.erase(at, 1 + random() % 5); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 9)); break;
      }
    }
    for (auto* reader : {&read_std, &read_csv, &read_roadrunner}) {
      const Whole whole = read_whole(*reader(testing::bytes_of(text)));
      const Whole slowly = read_whole(*reader(testing::bytes_of(text, 3)));
      ASSERT_EQ(whole.text, slowly.text) << text;
      ASSERT_EQ(whole.error, slowly.error) << text;
      ASSERT_TRUE(whole.error.empty() || whole.error.starts_with("line ")) << whole.error;
    }
    if (round % 10 == 0) {
      auto input = Input::open(folder.write("t", text));
      if (input) static_cast<void>(read(*input));
    }
  }
}

}  // namespace
}  // namespace syndrome::trace
