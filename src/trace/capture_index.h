// Where in the file of a recording each thread's words are. One pass over the headers; after that,
// any chunk can be read by itself, so nothing needs to be kept because of the order of the file.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "event/result.h"
#include "trace/syn_chunks.h"
#include "trace/syn_format.h"
#include "trace/syn_sections.h"
#include "trace/word_codec.h"

namespace syndrome::trace {

/// A chunk of words.
struct WordsAt {
  std::uint64_t offset = 0;  // of the payload in the file
  std::uint64_t checksum = 0;
  std::uint64_t first = 0;
  std::uint32_t stored = 0;
  std::uint32_t raw = 0;
  std::uint32_t count = 0;
  std::uint32_t chunk = 0;  // its number in the file, from 1
};

struct CaptureIndex {
  struct Thread {
    std::uint32_t number = 0;
    std::vector<WordsAt> chunks;  // in the order of their words
  };
  std::vector<Thread> threads;  // by number, ascending
  std::vector<std::byte> meta;
  std::uint64_t words = 0;
  std::uint64_t bytes = 0;   // of the file
  std::uint64_t chunks = 0;  // whole ones
  bool complete = false;     // the file has its end
  std::vector<std::string> warnings;
};

/// Reads all headers, and the metadata. A file that was cut off gives a warning.
[[nodiscard]] Result<CaptureIndex> read_capture_index(const std::string& path);

/// Reads and unpacks chunks of words. Each user has one of its own.
class WordLoader {
 public:
  [[nodiscard]] static Result<WordLoader> open(const std::string& path);
  WordLoader(WordLoader&& other) noexcept;
  WordLoader& operator=(WordLoader&&) = delete;
  ~WordLoader();

  /// Appends the chunk's words to `words`. The error tells the byte where it is damaged.
  [[nodiscard]] Status load(const WordsAt& at, std::vector<std::uint64_t>& words);

 private:
  explicit WordLoader(int fd) : fd_(fd), decoder_(std::make_unique<WordDecoder>()) {}

  int fd_;
  std::unique_ptr<WordDecoder> decoder_;
  SectionReader sections_;
  std::vector<std::byte> payload_;
  std::vector<std::byte> room_;
};

}  // namespace syndrome::trace
