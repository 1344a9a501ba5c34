#include <gtest/gtest.h>
#include <sys/stat.h>

#include "trace/std_format.h"
#include "trace/text_testing.h"

namespace syndrome::trace {
namespace {

using testing::bytes_of;
using testing::content_of;
using testing::Folder;

/// Reads STD text, writes what was read to a file, and returns its content.
std::string through_a_file(const Folder& folder, std::string_view text) {
  const std::string path = folder.file("out.std");
  auto sink = write_std(path);
  EXPECT_TRUE(sink.ok());
  const auto source = read_std(bytes_of(text));
  while (true) {
    const auto batch = source->next();
    EXPECT_TRUE(batch.ok());
    if (!batch || batch->empty()) break;
    EXPECT_TRUE((*sink)->append(batch->events, source->names()).ok());
  }
  EXPECT_TRUE((*sink)->close().ok());
  return content_of(path);
}

TEST(StdWriter, WritesWhatWasRead) {
  std::string text;
  for (int i = 0; i < 40000; ++i) {
    const auto kind = static_cast<EventKind>(static_cast<std::size_t>(i) % kEventKindCount);
    const auto order =
        static_cast<MemoryOrder>(static_cast<std::size_t>(i / 7) % kMemoryOrderCount);
    const std::string_view word = word_of(kind, order);
    text +=
        "T" + std::to_string(i % 9) + "|" + std::string(word.empty() ? name_of(kind) : word) + "(";
    if (target_space(kind)) text += "name" + std::to_string(i * i % 10007);
    text += ")|" + std::to_string(i % 11) + "\n";
  }
  const Folder folder;
  EXPECT_TRUE(through_a_file(folder, text) == text);
}

TEST(StdWriter, CommentsAndEmptyLocationsAreNormalized) {
  const Folder folder;
  EXPECT_EQ(through_a_file(folder, "# c\nT|begin|\r\nT|r(%7C)|a|b\n"),
            "T|begin()|0\nT|r(%7C)|a|b\n");
}

Names names_with(std::string_view thread, const std::vector<std::string_view>& variables) {
  Names names;
  names.table(Space::kThread).append(thread);
  for (const std::string_view name : variables) names.table(Space::kVariable).append(name);
  return names;
}

TEST(StdWriter, EscapesWhatTheFormatHasNoRoomFor) {
  const Folder folder;
  const Names names = names_with("#1", {"operator|", "a\nb", "", "100%"});
  std::vector<Event> events(4);
  for (std::uint32_t i = 0; i < 4; ++i) events[i].target = i;
  auto sink = write_std(folder.file("t.std"));
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->append(events, names).ok());
  ASSERT_TRUE((*sink)->close().ok());
  EXPECT_EQ(content_of(folder.file("t.std")),
            "%231|r(operator%7C)|0\n%231|r(a%0Ab)|0\n%231|r(%)|0\n%231|r(100%)|0\n");
}

TEST(StdWriter, RefusesToMakeTwoNamesOne) {
  const Folder folder;
  auto sink = write_std(folder.file("t.std"));
  ASSERT_TRUE(sink.ok());
  const Status status = (*sink)->append(std::vector<Event>(1), names_with("T", {"a|", "a%7C"}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "cannot write this trace as STD: two names become 'a%7C'; write it as .syn");
}

TEST(StdWriter, AFileAppearsWholeOrNotAtAll) {
  const Folder folder;
  const std::string path = folder.write("t.std", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  {
    auto sink = write_std(path);
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->append(std::vector<Event>(1), names_with("T", {"x"})).ok());
    EXPECT_EQ(content_of(path), "old");
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(folder.count(), 1U);
  {
    auto sink = write_std(path);
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->append(std::vector<Event>(1), names_with("T", {"x"})).ok());
    ASSERT_TRUE((*sink)->close().ok());
  }
  EXPECT_EQ(content_of(path), "T|r(x)|0\n");
  EXPECT_EQ(folder.count(), 1U);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST(StdWriter, SaysWhyItCannotWrite) {
  const Folder folder;
  EXPECT_EQ(write_std(folder.file("no/such/t.std")).error().message,
            "cannot open the file for writing: No such file or directory");
  EXPECT_EQ(write_std(folder.file("")).error().message,
            "is a folder; expected a file to write to, or - for standard output");
  auto full = write_std("/dev/full");
  ASSERT_TRUE(full.ok());
  ASSERT_TRUE((*full)->append(std::vector<Event>(1), names_with("T", {"x"})).ok());
  EXPECT_EQ((*full)->close().error().message, "cannot write: No space left on device");
}

// U+202E turns the rest of a line on a terminal; an 8-bit CSI colours it.
TEST(StdWriter, EscapesWhatActsOnTheDisplay) {
  const Folder folder;
  EXPECT_EQ(through_a_file(folder, "T\xE2\x80\xAE|r(a\xE2\x81\xA6z)|f\xC2\x9B.c\n"),
            "T%E2%80%AE|r(a%E2%81%A6z)|f%C2%9B.c\n");
  EXPECT_EQ(through_a_file(folder, "T|r(\x9B)|a\tb\n"), "T|r(%9B)|a\tb\n");
  const std::string fine =
      "Gr\xC3\xB6\xC3\x9F"
      "e|r(\xE5\x8F\xA3)|1\n";
  EXPECT_EQ(through_a_file(folder, fine), fine);
}

}  // namespace
}  // namespace syndrome::trace
