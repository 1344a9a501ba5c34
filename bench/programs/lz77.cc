// verdict: clean
// blocks: compress_block, Writer::append
// args: 60000
// output: 60000 bytes came back
// A compressor as a pipeline: a reader cuts the input into blocks, two workers compress them (LZ77
// with a hash chain), a writer puts them into order. Bounded queues connect the stages.
//
//   lz77 [BYTES]
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

using Bytes = std::vector<std::uint8_t>;

template <typename T>
class Queue {
 public:
  void put(T item) {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [this] { return items_.size() < kCapacity; });
    items_.push_back(std::move(item));
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::optional<T> get() {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

 private:
  static constexpr std::size_t kCapacity = 8;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

struct Block {
  std::size_t number = 0;
  Bytes data;
};

static constexpr std::size_t kBlock = 64 * 1024;
static constexpr std::size_t kMinMatch = 4;
static constexpr std::size_t kMaxMatch = 255;
static constexpr std::uint16_t kNone = 0xffff;

static std::size_t hash_at(const Bytes& data, std::size_t at) {
  const std::uint32_t word = static_cast<std::uint32_t>(data[at]) |
                             static_cast<std::uint32_t>(data[at + 1]) << 8U |
                             static_cast<std::uint32_t>(data[at + 2]) << 16U |
                             static_cast<std::uint32_t>(data[at + 3]) << 24U;
  return word * 2654435761U >> 20U;
}

static std::size_t match_length(const Bytes& data, std::size_t old, std::size_t at) {
  const std::size_t limit = std::min(kMaxMatch, data.size() - at);
  std::size_t length = 0;
  while (length < limit && data[old + length] == data[at + length]) ++length;
  return length;
}

// A token is 0 and a literal, or a length and a distance of two bytes.
static Bytes compress_block(const Bytes& data) {
  constexpr int kTries = 8;
  std::array<std::uint16_t, 4096> head;
  head.fill(kNone);
  std::vector<std::uint16_t> previous(data.size(), kNone);
  Bytes out;
  out.reserve(data.size() / 2);
  const auto remember = [&](std::size_t at) {
    if (at + kMinMatch > data.size() || at >= kNone) return;
    std::uint16_t& first = head[hash_at(data, at)];
    previous[at] = first;
    first = static_cast<std::uint16_t>(at);
  };
  for (std::size_t at = 0; at < data.size();) {
    std::size_t best = 0, from = 0;
    if (at + kMinMatch <= data.size()) {
      std::uint16_t candidate = head[hash_at(data, at)];
      for (int i = 0; i < kTries && candidate != kNone; ++i, candidate = previous[candidate]) {
        const std::size_t length = match_length(data, candidate, at);
        if (length > best) {
          best = length;
          from = candidate;
        }
      }
    }
    if (best < kMinMatch) {
      out.push_back(0);
      out.push_back(data[at]);
      remember(at++);
      continue;
    }
    const std::size_t distance = at - from;
    out.push_back(static_cast<std::uint8_t>(best));
    out.push_back(static_cast<std::uint8_t>(distance));
    out.push_back(static_cast<std::uint8_t>(distance >> 8U));
    for (const std::size_t end = at + best; at < end; ++at) remember(at);
  }
  return out;
}

static Bytes expand_block(const Bytes& data) {
  Bytes out;
  for (std::size_t at = 0; at < data.size();) {
    const std::size_t length = data[at];
    if (length == 0) {
      out.push_back(data[at + 1]);
      at += 2;
      continue;
    }
    const std::size_t distance = data[at + 1] | static_cast<std::size_t>(data[at + 2]) << 8U;
    for (std::size_t i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
    at += 3;
  }
  return out;
}

// Blocks come in any order and leave in that of their numbers.
class Writer {
 public:
  void append(Block block) {
    waiting_.emplace(block.number, std::move(block.data));
    for (auto next = waiting_.begin(); next != waiting_.end() && next->first == written_.size();
         next = waiting_.erase(next)) {
      written_.push_back(std::move(next->second));
    }
  }
  [[nodiscard]] const std::vector<Bytes>& written() const { return written_; }

 private:
  std::map<std::size_t, Bytes> waiting_;
  std::vector<Bytes> written_;
};

static Bytes make_text(std::size_t size) {
  static constexpr std::array<const char*, 8> kWords = {"lock ",  "thread ", "atomic ", "the ",
                                                        "block ", "order ",  "of ",     "trace "};
  Bytes text;
  text.reserve(size + 8);
  for (std::uint64_t state = 1; text.size() < size;) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    for (const char* letter = kWords[state >> 61U]; *letter != 0; ++letter) {
      text.push_back(static_cast<std::uint8_t>(*letter));
    }
    if ((state >> 40U) % 4 == 0) text.push_back(static_cast<std::uint8_t>(state >> 48U));
  }
  text.resize(size);
  return text;
}

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 16'000'000;
  const Bytes text = make_text(size);
  Queue<Block> to_compress, to_write;
  Writer writer;

  std::thread reader([&] {
    for (std::size_t at = 0, number = 0; at < size; at += kBlock, ++number) {
      const auto from = text.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t length = std::min(kBlock, size - at);
      to_compress.put({number, Bytes(from, from + static_cast<std::ptrdiff_t>(length))});
    }
    to_compress.close();
  });
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      while (std::optional<Block> block = to_compress.get()) {
        to_write.put({block->number, compress_block(block->data)});
      }
    });
  }
  std::thread collector([&] {
    while (std::optional<Block> block = to_write.get()) writer.append(std::move(*block));
  });
  reader.join();
  for (auto& worker : workers) worker.join();
  to_write.close();
  collector.join();

  Bytes back;
  back.reserve(size);
  for (const Bytes& block : writer.written()) {
    const Bytes part = expand_block(block);
    back.insert(back.end(), part.begin(), part.end());
  }
  std::printf(back == text ? "%zu bytes came back\n" : "%zu bytes did not come back\n", size);
  return back == text ? 0 : 1;
}
