// Guards against: an output that goes where somebody else wants it, half an output, an output that
// more people can read than the one that it replaces.

#include "trace/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace syndrome::trace {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string name = (fs::temp_directory_path() / "syndrome-output-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    std::ofstream(path_ / "victim") << "precious";
  }
  ~OutputFileTest() override { fs::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream in(path_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> result;
    for (const auto& entry : fs::directory_iterator(path_)) result.insert(entry.path().filename());
    return result;
  }
  /// Whether that could be done, "new" being the content.
  [[nodiscard]] static Status write_new(const std::string& path, Links links = Links::kFollow,
                                        mode_t mode = 0666) {
    Result<std::unique_ptr<OutputFile>> out = OutputFile::create(path, links, mode);
    if (!out) return out.error();
    if (Status written = (*out)->write(std::string_view("new")); !written) return written;
    return (*out)->commit();
  }
  /// /tmp: all can write to it, and delete only their own.
  void make_shared() const { ASSERT_EQ(::chmod(path_.c_str(), 01777), 0); }

  fs::path path_;
};

TEST_F(OutputFileTest, nobody_can_guess_the_name_of_an_unfinished_file) {
  // What was the name once.
  fs::create_symlink("victim", path_ / ("out." + std::to_string(::getpid()) + ".part"));
  std::set<std::string> parts;
  for (int i = 0; i < 100; ++i) {
    const Result<PartFile> part = make_part(file("out"));
    ASSERT_TRUE(part.ok());
    EXPECT_TRUE(parts.insert(part->name).second);
    EXPECT_THAT(part->name, testing::EndsWith(".part"));
  }
  EXPECT_TRUE(write_new(file("out")));
  EXPECT_EQ(content("victim"), "precious");
  EXPECT_EQ(content("out"), "new");
}

TEST_F(OutputFileTest, an_unfinished_file_leaves_nothing) {
  std::ofstream(path_ / "out") << "old";
  {
    Result<std::unique_ptr<OutputFile>> out = OutputFile::create(file("out"));
    ASSERT_TRUE(out.ok());
    EXPECT_TRUE((*out)->write(std::string_view("half")));
    EXPECT_EQ(names().size(), 3U);
  }
  EXPECT_EQ(names(), (std::set<std::string>{"out", "victim"}));
  EXPECT_EQ(content("out"), "old");
}

TEST_F(OutputFileTest, a_link_is_followed_only_where_the_user_gave_the_name) {
  fs::create_symlink("victim", path_ / "link");
  EXPECT_TRUE(write_new(file("link")));
  EXPECT_TRUE(fs::is_symlink(path_ / "link"));
  EXPECT_EQ(content("victim"), "new");

  std::ofstream(path_ / "victim") << "precious";
  EXPECT_TRUE(write_new(file("link"), Links::kReplace));
  EXPECT_FALSE(fs::is_symlink(path_ / "link"));
  EXPECT_EQ(content("victim"), "precious");
  EXPECT_EQ(content("link"), "new");
}

TEST_F(OutputFileTest, what_one_put_into_a_shared_folder_oneself_is_written_to) {
  make_shared();
  fs::create_symlink("victim", path_ / "link");
  EXPECT_TRUE(write_new(file("link")));
  EXPECT_TRUE(write_new(file("out")));
  EXPECT_TRUE(write_new(file("out")));
  EXPECT_EQ(content("victim"), "new");
}

TEST_F(OutputFileTest, what_another_user_put_into_a_shared_folder_is_not) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of two users";
  constexpr uid_t kOther = 65534;
  fs::create_symlink("victim", path_ / "link");
  ASSERT_EQ(::lchown(file("link").c_str(), kOther, kOther), 0);
  std::ofstream(path_ / "out") << "theirs";
  ASSERT_EQ(::chown(file("out").c_str(), kOther, kOther), 0);
  // Where only the owner of the folder can put files, they were meant.
  EXPECT_TRUE(refuse_planted(file("link")));
  EXPECT_TRUE(refuse_planted(file("out")));
  make_shared();
  for (const char* name : {"link", "out"}) {
    const Status status = write_new(file(name));
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message, testing::HasSubstr("of user 65534"));
  }
  EXPECT_EQ(content("victim"), "precious");
  EXPECT_EQ(content("out"), "theirs");
}

TEST_F(OutputFileTest, the_mode_stays_or_is_what_was_asked_for) {
  const auto mode = [this](const std::string& name) {
    struct stat state{};
    EXPECT_EQ(::stat(file(name).c_str(), &state), 0);
    return state.st_mode & 07777U;
  };
  std::ofstream(path_ / "secret") << "old";
  ASSERT_EQ(::chmod(file("secret").c_str(), 04600), 0);
  EXPECT_TRUE(write_new(file("secret")));
  EXPECT_EQ(mode("secret"), 0600U);
  EXPECT_TRUE(write_new(file("index"), Links::kReplace, 0600));
  EXPECT_EQ(mode("index"), 0600U);
}

TEST_F(OutputFileTest, a_folder_is_no_file) {
  const Status status = write_new(path_.string());
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr("is a folder"));
  EXPECT_FALSE(write_new(file("missing/out")));
}

}  // namespace
}  // namespace syndrome::trace
