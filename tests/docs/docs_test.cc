// A document says only what is true: what it shows as a session is run and compared, and what it
// tells to type exists. See document.h for the conventions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "docs/document.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> documents() {
  std::vector<std::string> found = {"README.md", "CONTRIBUTING.md"};
  for (const fs::directory_entry& entry : fs::directory_iterator(source_directory() / "docs")) {
    if (entry.path().extension() == ".md")
      found.push_back("docs/" + entry.path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

std::set<std::string> make_targets() {
  std::set<std::string> targets;
  for (const std::string& line : lines_of(read_file(source_directory() / "Makefile"))) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) targets.insert(line.substr(0, colon));
  }
  return targets;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Runs the commands in one shell and gives what each of them printed.
std::vector<std::vector<std::string>> run(const Shell& shell, const std::vector<Command>& all) {
  constexpr std::string_view kMark = "@@ end of command @@";
  std::ostringstream script;
  script << "exec 2>&1\nstatus=0\n";
  for (const Command& command : all) {
    // The command sees the exit code of the one before it, as at a prompt.
    script << "(exit $status)\n" << command.text << "\nstatus=$?\necho '" << kMark << "'\n";
  }
  std::vector<std::vector<std::string>> printed(1);
  for (const std::string& line : lines_of(shell.run(script.str()).out)) {
    const std::size_t mark = line.find(kMark);
    if (mark == std::string::npos) {
      printed.back().push_back(line);
      continue;
    }
    // Output without a newline at its end has the mark behind it.
    if (mark != 0) printed.back().push_back(line.substr(0, mark));
    printed.emplace_back();
  }
  printed.resize(all.size());
  return printed;
}

class Document : public testing::TestWithParam<std::string> {
 protected:
  const std::vector<Fence> fences_ = fences(read_file(source_directory() / GetParam()));
};

TEST_P(Document, SessionsPrintWhatItShows) {
  const Shell shell;
  std::vector<Command> all;
  for (const Fence& fence : fences_) {
    const std::size_t file = fence.info.find("file=");
    if (file != std::string::npos) {
      shell.write(fence.info.substr(file + 5), joined(fence.body));
    } else if (fence.info == "console") {
      for (Command& command : commands(fence)) all.push_back(std::move(command));
    }
  }
  const std::vector<std::vector<std::string>> printed = run(shell, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(matches(all[i].expected, printed[i]))
        << GetParam() << ":" << all[i].line << ": `" << all[i].text << "` printed\n"
        << joined(printed[i]) << "and the document shows\n"
        << joined(all[i].expected);
  }
}

TEST_P(Document, CommandsToCopyExist) {
  const Shell shell;
  const std::set<std::string> targets = make_targets();
  for (const Fence& fence : fences_) {
    if (fence.info != "sh") continue;
    for (const std::string& line : fence.body) {
      std::istringstream words(line.starts_with("$ ") ? line.substr(2) : line);
      std::string program;
      std::string word;
      words >> program >> word;
      const std::string where =
          GetParam() + " below line " + std::to_string(fence.line) + ": " + line;
      if (program == "make") {
        EXPECT_TRUE(targets.contains(word)) << where;
      }
      if (program == "syndrome" && !word.starts_with('-')) {
        EXPECT_EQ(shell.run("syndrome " + word + " --help").code, 0) << where;
      }
    }
  }
}

TEST_P(Document, LinksLeadToFiles) {
  const std::string text = read_file(source_directory() / GetParam());
  const fs::path folder = (source_directory() / GetParam()).parent_path();
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2)) {
    std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
    if (target.find("://") != std::string::npos || target.starts_with('#')) continue;
    target = target.substr(0, target.find('#'));
    EXPECT_TRUE(fs::exists(folder / target)) << GetParam() << " links to " << target;
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& document) {
  std::string name = document.param;
  const auto special = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
  std::ranges::replace_if(name, special, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Document, testing::ValuesIn(documents()), test_name);

TEST(DocumentFormat, FencesAndCommandsAreFound) {
  const std::vector<Fence> found =
      fences("a\n```console\n$ one \\\n  two\nout\n$ three\n```\n```sh\nx\n```\n");
  ASSERT_EQ(found.size(), 2U);
  const std::vector<Command> session = commands(found[0]);
  ASSERT_EQ(session.size(), 2U);
  EXPECT_EQ(session[0].text, "one \\\n  two");
  EXPECT_EQ(session[0].line, 3);
  EXPECT_THAT(session[0].expected, testing::ElementsAre("out"));
  EXPECT_EQ(session[1].text, "three");
  EXPECT_TRUE(session[1].expected.empty());
}

TEST(DocumentFormat, OutputMatchesOnlyWhatIsShown) {
  EXPECT_TRUE(matches("took … s", "took 0.3 s"));
  EXPECT_TRUE(matches("…a…b", "xxaxxb"));
  EXPECT_FALSE(matches("took … s", "took 0.3 ms or so"));
  EXPECT_FALSE(matches("a…a", "a"));
  using Lines = std::vector<std::string>;
  EXPECT_TRUE(matches(Lines{"a", "…", "d"}, Lines{"a", "b", "c", "d"}));
  EXPECT_TRUE(matches(Lines{"a", "…", "d"}, Lines{"a", "d"}));
  EXPECT_FALSE(matches(Lines{"a", "d"}, Lines{"a", "b", "d"}));
  EXPECT_FALSE(matches(Lines{"a"}, Lines{}));
  EXPECT_FALSE(matches(Lines{}, Lines{"a"}));
}

TEST(DocumentFormat, ASessionIsOneShell) {
  const Shell shell;
  const std::vector<Command> session =
      commands({.info = "console",
                .line = 1,
                .body = {"$ cd /; x=5", "$ pwd; false", "$ echo $? $x", "$ printf no-newline"}});
  EXPECT_THAT(
      run(shell, session),
      testing::ElementsAre(testing::IsEmpty(), testing::ElementsAre("/"),
                           testing::ElementsAre("1 5"), testing::ElementsAre("no-newline")));
}

}  // namespace
}  // namespace syndrome::test
