// verdict: clean
// blocks: Log::append, Log::size
// output: 1200
// A std::string grows under a lock; its memory moves from heap to heap while others read its size.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

class Log {
 public:
  void append(const std::string& text) {
    const std::lock_guard guard(mutex_);
    text_ += text;
    if (text_.size() > 4000) text_.erase(0, text_.size() / 2);
    total_ += text.size();
  }
  std::size_t size() {
    const std::lock_guard guard(mutex_);
    return text_.empty() ? 0 : total_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
  std::size_t total_ = 0;
};

int main() {
  Log log;
  const auto write = [&log](const char* word) {
    for (int i = 0; i < 200; ++i) {
      log.append(word);
      if (log.size() == 0) std::abort();
    }
  };
  std::thread one(write, "one"), two(write, "two");
  one.join();
  two.join();
  std::printf("%zu\n", log.size());
}
