// For tests of the text readers: bytes from a string, a whole source as values, files of a test.

#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/source.h"

namespace syndrome::trace::testing {

/// Gives a string, `piece` bytes at a time.
class StringBytes : public ByteSource {
 public:
  explicit StringBytes(std::string text, std::size_t piece = 1 << 20)
      : text_(std::move(text)), piece_(piece) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = std::min({buffer.size(), text_.size() - at_, piece_});
    std::copy_n(text_.data() + at_, count, buffer.data());
    at_ += count;
    return count;
  }
  Progress progress() const override { return {at_, text_.size()}; }

 private:
  std::string text_;
  std::size_t piece_;
  std::size_t at_ = 0;
};

inline std::unique_ptr<ByteSource> bytes_of(std::string_view text, std::size_t piece = 1 << 20) {
  return std::make_unique<StringBytes>(std::string(text), piece);
}

/// Everything that a source gives.
struct Whole {
  std::vector<Event> events;
  std::string text;   // the events as STD would write them, one a line
  std::string error;  // empty when it came to its end
  std::vector<std::string> warnings;
  bool numbered = true;  // whether the batches are numbered from 1 without a gap
};

inline Whole read_whole(Source& source) {
  Whole whole;
  while (true) {
    const Result<Batch> batch = source.next();
    if (!batch) {
      whole.error = batch.error().message;
      break;
    }
    if (batch->empty()) break;
    whole.numbered = whole.numbered && batch->first == whole.events.size() + 1;
    const Names& names = source.names();
    for (const Event& event : batch->events) {
      whole.events.push_back(event);
      const auto space = target_space(event.kind);
      whole.text += std::string(names.thread(event.thread)) + "|" +
                    std::string(word_of(event.kind, event.order)) + "(" +
                    std::string(space ? names.of(*space, event.target) : "") + ")|" +
                    (event.site.value == 0 ? "0" : std::string(names.site(event.site))) + "\n";
    }
  }
  whole.warnings = source.warnings();
  return whole;
}

/// A folder for one test, removed with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "syndrome-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(std::string_view name) const { return path_ / name; }
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace syndrome::trace::testing
