// The parts of a Markdown document that a test can hold it to. By the word after the fence:
//
//   ```console          a session: each line "$ command" is run, what stands below it up to the
//                       next one is what it prints (both streams); "\" at its end continues it
//   ```text file=NAME   a file that the sessions after it use
//   ```sh               commands to copy; not run, but what they call must exist
//
// All sessions of a document are one shell in one directory, so `$ echo $?` shows an exit code. In
// expected output, "…" stands for any part of a line, and alone on a line for any lines.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syndrome::test {

struct Fence {
  std::string info;  // what follows the opening fence: "console", "text file=a.std"
  int line = 0;      // of the opening fence
  std::vector<std::string> body;
};

/// The fenced blocks of a document, in order.
[[nodiscard]] std::vector<Fence> fences(std::string_view markdown);

struct Command {
  std::string text;
  int line = 0;
  std::vector<std::string> expected;
};

/// The commands of a console block.
[[nodiscard]] std::vector<Command> commands(const Fence& console);

/// Whether a line or some lines are as the document says, "…" standing for anything.
[[nodiscard]] bool matches(std::string_view expected, std::string_view actual);
[[nodiscard]] bool matches(const std::vector<std::string>& expected,
                           const std::vector<std::string>& actual);

[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace syndrome::test
