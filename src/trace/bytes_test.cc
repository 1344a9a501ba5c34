#include "trace/bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <chrono>
#include <random>
#include <thread>

#include "trace/text_testing.h"

namespace syndrome::trace {
namespace {

using testing::Folder;

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

/// Text that is larger than every buffer and does not compress to nothing.
std::string long_text() {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 3'000'000) text += "T1|r(V" + std::to_string(random() % 100000) + ")|1\n";
  return text;
}

struct Pass {
  std::string text;
  std::string error;
};

Pass read_pass(const ByteFile& file, std::size_t limit = ~std::size_t{0}) {
  Pass pass;
  auto bytes = file.read();
  if (!bytes) return {"", bytes.error().message};
  std::vector<char> buffer(100'000);
  while (pass.text.size() < limit) {
    const auto count = (*bytes)->read(buffer);
    if (!count) {
      pass.error = count.error().message;
      break;
    }
    if (*count == 0) break;
    pass.text.append(buffer.data(), *count);
  }
  return pass;
}

TEST(Bytes, ReadsPlainAndCompressedFilesAgainAndAgain) {
  const Folder folder;
  const std::string text = long_text();
  const std::string half = text.substr(0, text.size() / 2);
  const std::string rest = text.substr(half.size());
  const std::string_view skippable("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  const std::string files[] = {
      folder.write("plain", text),
      folder.write("gz", gzip(text)),
      folder.write("zst", zstd(text)),
      folder.write("two.gz", gzip(half) + gzip(rest)),
      folder.write("padded.gz", gzip(text) + std::string(1000, '\0')),
      folder.write("two.zst", std::string(skippable) + zstd(half) + zstd("") + zstd(rest)),
  };
  for (const std::string& path : files) {
    auto file = ByteFile::open(path);
    ASSERT_TRUE(file.ok()) << path;
    for (int pass = 0; pass < 2; ++pass) {
      const Pass got = read_pass(*file);
      EXPECT_EQ(got.error, "") << path;
      EXPECT_TRUE(got.text == text) << path;
    }
    EXPECT_EQ(file->size(), std::filesystem::file_size(path));
    auto copy = file->seekable_path();
    ASSERT_TRUE(copy.ok());
    EXPECT_TRUE(testing::content_of(*copy) == text) << path;
  }
}

TEST(Bytes, SmallFilesAreNoSpecialCase) {
  const Folder folder;
  for (const std::string_view text : {"", "a", "\x1f", "ab", "\x28\xb5\x2f"}) {
    auto file = ByteFile::open(folder.write("small", text));
    ASSERT_TRUE(file.ok());
    const Pass pass = read_pass(*file);
    EXPECT_EQ(pass.error, "");
    EXPECT_EQ(pass.text, text);
  }
}

TEST(Bytes, SaysWhyAFileCannotBeOpened) {
  const Folder folder;
  EXPECT_EQ(ByteFile::open(folder.file("none")).error().message,
            "cannot open the file: No such file or directory");
  EXPECT_EQ(ByteFile::open(folder.file("")).error().message,
            "is a folder; expected a trace file, or - for standard input");
  if (::geteuid() != 0) {
    ::chmod(folder.write("secret", "x").c_str(), 0);
    EXPECT_EQ(ByteFile::open(folder.file("secret")).error().message,
              "cannot open the file: Permission denied");
  }
}

TEST(Bytes, ACompressedFileThatIsCutOffIsAnError) {
  const Folder folder;
  const std::string text = "T1|r(x)|1\nT2|w(x)|2\n";
  for (const bool gz : {true, false}) {
    const std::string whole = gz ? gzip(text) : zstd(text);
    for (std::size_t length = 4; length < whole.size(); ++length) {
      auto file = ByteFile::open(folder.write("cut", whole.substr(0, length)));
      ASSERT_TRUE(file.ok());
      const Pass pass = read_pass(*file);
      EXPECT_EQ(pass.error, "byte " + std::to_string(length) +
                                ": the file ends in the middle of its " + (gz ? "gzip" : "zstd") +
                                " data");
      EXPECT_TRUE(text.starts_with(pass.text));
    }
  }
}

TEST(Bytes, DamageIsFoundAndHasAPosition) {
  const Folder folder;
  const std::string text = long_text().substr(0, 800);
  for (const bool gz : {true, false}) {
    const std::string whole = gz ? gzip(text) : zstd(text);
    std::size_t harmless = 0;
    // Behind the headers, of which some bits mean nothing.
    for (std::size_t at = 10; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      auto file = ByteFile::open(folder.write("damaged", damaged));
      ASSERT_TRUE(file.ok());
      const Pass pass = read_pass(*file);
      // A few bits only fill the last byte of a block.
      if (pass.error.empty() && pass.text == text) ++harmless;
      EXPECT_TRUE(pass.error.empty() ? pass.text == text : pass.error.starts_with("byte ")) << at;
    }
    EXPECT_LT(harmless, 8U);
  }
  auto tail = ByteFile::open(folder.write("tail.gz", gzip("x") + "more"));
  ASSERT_TRUE(tail.ok());
  EXPECT_EQ(read_pass(*tail).error, "byte " + std::to_string(gzip("x").size()) +
                                        ": the gzip data is damaged (more bytes follow its end)");
}

TEST(Bytes, APipeCanBeReadAgainAfterAnyPartOfIt) {
  const Folder folder;
  const std::string text = long_text();
  for (const std::size_t limit :
       {std::size_t{0}, std::size_t{1}, std::size_t{1'000'000}, ~std::size_t{0}}) {
    for (const bool compressed : {false, true}) {
      const std::string fifo = folder.file("fifo");
      ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
      std::thread writer(
          [&] { std::ofstream(fifo, std::ios::binary) << (compressed ? zstd(text) : text); });
      auto file = ByteFile::open(fifo);
      ASSERT_TRUE(file.ok());
      EXPECT_EQ(file->size(), 0U);
      EXPECT_EQ(read_pass(*file, limit).error, "");
      EXPECT_TRUE(read_pass(*file).text == text);
      EXPECT_TRUE(read_pass(*file).text == text);
      auto path = file->seekable_path();
      ASSERT_TRUE(path.ok());
      EXPECT_TRUE(testing::content_of(*path) == text);
      writer.join();
      ::unlink(fifo.c_str());
    }
  }
}

/// Makes a descriptor standard input as long as it lives.
class StandardInput {
 public:
  explicit StandardInput(int fd) : saved_(::dup(STDIN_FILENO)) { ::dup2(fd, STDIN_FILENO); }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
};

TEST(Bytes, StandardInputMayBeAPipeAFileOrTheRestOfOne) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "piped text", 10), 10);
  ::close(ends[1]);
  {
    const StandardInput input(ends[0]);
    auto file = ByteFile::open("-");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(read_pass(*file).text, "piped text");
    EXPECT_EQ(read_pass(*file).text, "piped text");
  }
  ::close(ends[0]);

  const Folder folder;
  const int fd = ::open(folder.write("file", "first line\nsecond").c_str(), O_RDONLY);
  for (const off_t offset : {0, 11}) {
    ASSERT_EQ(::lseek(fd, offset, SEEK_SET), offset);
    const StandardInput input(fd);
    auto file = ByteFile::open("-");
    ASSERT_TRUE(file.ok());
    const std::string expected = offset == 0 ? "first line\nsecond" : "second";
    EXPECT_EQ(read_pass(*file).text, expected);
    EXPECT_EQ(read_pass(*file).text, expected);
    auto path = file->seekable_path();
    ASSERT_TRUE(path.ok());
    EXPECT_EQ(testing::content_of(*path), expected);
  }
  ::close(fd);
}

TEST(Bytes, AReadThatWaitsForAPipeCanBeStopped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "text", 4), 4);
  const StandardInput input(ends[0]);
  auto file = ByteFile::open("-");
  ASSERT_TRUE(file.ok());
  std::stop_source stop;
  auto bytes = file->read(stop.get_token());
  ASSERT_TRUE(bytes.ok());
  std::vector<char> buffer(100);
  ASSERT_EQ((*bytes)->read(buffer).value(), 4U);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop.request_stop();
  });
  EXPECT_FALSE((*bytes)->read(buffer).ok());
  stopper.join();
  // The next pass has everything.
  ASSERT_EQ(::write(ends[1], "more", 4), 4);
  ::close(ends[1]);
  EXPECT_EQ(read_pass(*file).text, "textmore");
  ::close(ends[0]);
}

TEST(Bytes, SaysWhenThereIsNoRoomForTheCopyOfAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "text", 4), 4);
  ::close(ends[1]);
  const StandardInput input(ends[0]);
  const char* old = std::getenv("TMPDIR");
  const std::string saved = old != nullptr ? old : "";
  ::setenv("TMPDIR", "/no/such/folder", 1);
  const auto file = ByteFile::open("-");
  saved.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", saved.c_str(), 1);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(
      file.error().message,
      "cannot make a temporary file in /no/such/folder: No such file or directory; set TMPDIR "
      "to a folder that can be written");
  ::close(ends[0]);
}

}  // namespace
}  // namespace syndrome::trace
