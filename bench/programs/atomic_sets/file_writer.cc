// file writer: saving a document is one, and its second half is done by a thread that save()
// starts; somebody else changes the document in between. A unit of work that spans threads.

#include <mutex>

#include "twins.h"

class Document {
 public:
  void edit(int text) {
    const std::lock_guard guard(mutex_);
    text_ = text;
    length_ = text / 10;
  }
  void save(bool fixed) {
    std::unique_lock guard(mutex_);
    saved_text_ = text_;
    if (!fixed) {
      guard.unlock();
      twins::interrupted();
    }
    std::thread helper([&] { finish(fixed); });
    helper.join();
  }

 private:
  void finish(bool fixed) {
    std::unique_lock guard(mutex_, std::defer_lock);
    if (!fixed) guard.lock();
    saved_length_ = length_;
  }
  std::mutex mutex_;
  int text_ = 10;
  int length_ = 1;
  int saved_text_ = 0;
  int saved_length_ = 0;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Document document;
  std::thread saver([&] { document.save(fixed); });
  twins::wait_for_turn();
  document.edit(200);
  twins::turn_over();
  saver.join();
}
