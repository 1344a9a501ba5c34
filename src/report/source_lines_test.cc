// Guards against: a file that is read again for every finding, a name from a trace that makes us
// wait or fail, lines of another file.

#include "report/source_lines.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace syndrome::report {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(testing::TempDir()) / (std::string("syndrome-source-") + test->name());
    fs::remove_all(path_);
    fs::create_directories(path_ / "src");
    std::ofstream(path_ / "src/bank.cc") << "one\r\ntwo\n\nfour";
  }
  void TearDown() override { fs::remove_all(path_); }

  [[nodiscard]] AllowedSources here() const { return {.folders = {path_.string()}}; }

  fs::path path_;
};
using SourceLinesTest = Folder;

TEST_F(SourceLinesTest, a_file_is_read_once) {
  SourceLines lines({path_.string(), 0, here()});
  for (int i = 0; i < 1000; ++i) {
    const SourceLines::File* file = lines.find("src/bank.cc");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->lines, (std::vector<std::string>{"one", "two", "", "four"}));
    EXPECT_EQ(lines.find("src/missing.cc"), nullptr);
  }
  EXPECT_EQ(lines.files_read(), 1U);
}

TEST_F(SourceLinesTest, another_checkout_will_do) {
  const fs::path before = fs::current_path();
  fs::current_path(path_);
  SourceLines lines({"", 0});
  EXPECT_NE(lines.find("/no/such/home/bank/src/bank.cc"), nullptr);
  EXPECT_EQ(lines.find("/no/such/home/bank/lib/bank.cc"), nullptr);
  fs::current_path(before);
}

TEST_F(SourceLinesTest, what_is_no_regular_file_is_not_read) {
  ASSERT_EQ(::mkfifo((path_ / "pipe.cc").c_str(), 0600), 0);
  SourceLines lines({path_.string(), 0, here()});
  EXPECT_EQ(lines.find("pipe.cc"), nullptr);
  EXPECT_EQ(lines.find("src"), nullptr);
  EXPECT_EQ(lines.find("/dev/zero"), nullptr);
  EXPECT_EQ(lines.find(std::string("a\0b", 3)), nullptr);
  EXPECT_EQ(lines.find(""), nullptr);
  fs::resize_file(path_ / "src/bank.cc", SourceLines::kMostBytes + 1);
  EXPECT_EQ(lines.find("src/bank.cc"), nullptr);
}

TEST_F(SourceLinesTest, a_trace_does_not_choose_which_files_are_shown) {
  const fs::path before = fs::current_path();
  const fs::path mine = path_ / "mine";
  fs::create_directories(mine / "src");
  std::ofstream(mine / "src/main.cc") << "int main";
  std::ofstream(path_ / "src/secret") << "secret";
  fs::create_symlink("../src/secret", mine / "link.cc");
  fs::create_directory_symlink("../src", mine / "sources");
  fs::current_path(mine);
  const std::string secret = (path_ / "src/secret").string();
  // The trace lies beside the file that it wants to see.
  SourceLines lines({(path_ / "src").string(), 0});
  EXPECT_NE(lines.find("src/main.cc"), nullptr);
  EXPECT_NE(lines.find((mine / "src/main.cc").string()), nullptr);
  EXPECT_NE(lines.find("../mine/src/main.cc"), nullptr);
  const std::set<std::string> refused = {secret,    "../src/secret",  "secret",
                                         "link.cc", "sources/secret", "src/../../src/secret"};
  for (const std::string& name : refused) EXPECT_EQ(lines.find(name), nullptr) << name;
  EXPECT_EQ(lines.find((path_ / "missing").string()), nullptr);
  EXPECT_EQ(lines.find(path_.string()), nullptr);
  EXPECT_EQ(lines.left_out(), refused);
  // A folder whose name only begins like an allowed one.
  fs::create_directories(path_ / "mine2");
  std::ofstream(path_ / "mine2/x.cc") << "x";
  EXPECT_EQ(lines.find((path_ / "mine2/x.cc").string()), nullptr);

  SourceLines with_folder({"", 0, {.folders = {(path_ / "src").string()}}});
  EXPECT_NE(with_folder.find(secret), nullptr);
  EXPECT_NE(with_folder.find("link.cc"), nullptr);
  EXPECT_NE(with_folder.find("/home/ann/checkout/src/bank.cc"), nullptr);
  SourceLines any({"", 0, {.any = true}});
  EXPECT_NE(any.find(secret), nullptr);
  // The root of all files is where a container begins, and no choice.
  fs::current_path("/");
  EXPECT_EQ(SourceLines({"", 0}).find(secret), nullptr);
  fs::current_path(before);
}

TEST_F(SourceLinesTest, the_files_of_the_program_are_shown) {
  const std::string bank = (path_ / "src/bank.cc").string();
  std::ofstream(path_ / "src/other.cc") << "other";
  int asked = 0;
  AllowedSources allowed;
  allowed.program = [&]() -> std::map<std::string, std::string> {
    ++asked;
    return {{bank, bank}, {"bank.cc", bank}};
  };
  SourceLines lines({"", 0, allowed});
  EXPECT_NE(lines.find(bank), nullptr);
  EXPECT_NE(lines.find("bank.cc"), nullptr);
  EXPECT_EQ(lines.find((path_ / "src/other.cc").string()), nullptr);
  EXPECT_EQ(asked, 1);
}

TEST_F(SourceLinesTest, a_file_that_is_newer_than_the_recording_has_changed) {
  const std::time_t now = time_of((path_ / "src/bank.cc").string());
  ASSERT_NE(now, 0);
  EXPECT_TRUE(SourceLines({path_.string(), now - 60, here()}).find("src/bank.cc")->changed);
  EXPECT_FALSE(SourceLines({path_.string(), now + 60, here()}).find("src/bank.cc")->changed);
  EXPECT_FALSE(SourceLines({path_.string(), 0, here()}).find("src/bank.cc")->changed);
}

}  // namespace
}  // namespace syndrome::report
