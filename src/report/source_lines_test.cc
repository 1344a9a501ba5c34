// Guards against: a file that is read again for every finding, a name from a trace that makes us
// wait or fail, lines of another file.

#include "report/source_lines.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

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

  fs::path path_;
};
using SourceLinesTest = Folder;

TEST_F(SourceLinesTest, a_file_is_read_once) {
  SourceLines lines({path_.string(), 0});
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
  SourceLines lines({path_.string(), 0});
  EXPECT_EQ(lines.find("pipe.cc"), nullptr);
  EXPECT_EQ(lines.find("src"), nullptr);
  EXPECT_EQ(lines.find("/dev/zero"), nullptr);
  EXPECT_EQ(lines.find(std::string("a\0b", 3)), nullptr);
  EXPECT_EQ(lines.find(""), nullptr);
  fs::resize_file(path_ / "src/bank.cc", SourceLines::kMostBytes + 1);
  EXPECT_EQ(lines.find("src/bank.cc"), nullptr);
}

TEST_F(SourceLinesTest, a_file_that_is_newer_than_the_recording_has_changed) {
  const std::time_t now = time_of((path_ / "src/bank.cc").string());
  ASSERT_NE(now, 0);
  EXPECT_TRUE(SourceLines({path_.string(), now - 60}).find("src/bank.cc")->changed);
  EXPECT_FALSE(SourceLines({path_.string(), now + 60}).find("src/bank.cc")->changed);
  EXPECT_FALSE(SourceLines({path_.string(), 0}).find("src/bank.cc")->changed);
}

}  // namespace
}  // namespace syndrome::report
