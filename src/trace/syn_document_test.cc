// docs/trace-format.md shows a file byte by byte. It must be the file that the writer makes.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "trace/syn_testing.h"

namespace syndrome::trace {
namespace {

using testing::TempFile;
using testing::Trace;

/// The trace of the document's example.
Trace example() {
  Trace trace;
  for (const char* name : {"T1", "T2"}) trace.names.table(Space::kThread).append(name);
  trace.names.table(Space::kVariable).append("x");
  trace.names.table(Space::kLabel).append("add");
  for (const char* name : {"a.c:4", "a.c:5"}) trace.names.table(Space::kSite).append(name);
  const auto add = [&trace](std::uint32_t thread, EventKind kind, std::uint32_t target,
                            std::uint32_t site) {
    Event event;
    event.thread = ThreadId(thread);
    event.kind = kind;
    event.target = target;
    event.site = SiteId(site);
    trace.events.push_back(event);
  };
  add(0, EventKind::kBegin, 1, 0);
  add(0, EventKind::kRead, 0, 1);
  add(1, EventKind::kWrite, 0, 2);
  add(0, EventKind::kWrite, 0, 2);
  add(0, EventKind::kEnd, 1, 0);
  return trace;
}

/// The bytes of the block that begins with ```syn: on each line an offset, bytes, and after a |
/// what they are.
std::vector<std::byte> bytes_in(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::vector<std::byte> bytes;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "```syn") {
      inside = true;
    } else if (inside && line == "```") {
      break;
    } else if (inside) {
      std::istringstream words(line.substr(0, line.find('|')));
      std::string word;
      words >> word;
      EXPECT_EQ(std::stoul(word, nullptr, 16), bytes.size()) << line;
      while (words >> word) bytes.push_back(static_cast<std::byte>(std::stoul(word, nullptr, 16)));
    }
  }
  return bytes;
}

TEST(SynDocument, ShowsTheBytesThatTheWriterMakes) {
  const char* const root = std::getenv("SYNDROME_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "run this through ctest, or set SYNDROME_SOURCE_DIR";
  const TempFile file;
  testing::write(example(), file.path());
  EXPECT_EQ(bytes_in(std::string(root) + "/docs/trace-format.md"), file.bytes());
}

}  // namespace
}  // namespace syndrome::trace
