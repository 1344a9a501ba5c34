// web server, after Jigsaw: `finishing` is set under the lock by shutdown(), and read without it by
// the loop that serves. The fixed one reads it under the lock, once for each request. In both,
// take() waits for a request inside of its lock: what it sees before the wait is not what it sees
// after it, and that is as it should be.

#include <condition_variable>
#include <mutex>

#include "twins.h"

class Server {
 public:
  void shutdown() {
    const std::lock_guard guard(mutex_);
    finishing_ = true;
  }
  int serve() {
    int requests = 0;
    while (!finishing_) {
      ++requests;
      twins::interrupted();
    }
    return requests;
  }
  bool finishing() {
    const std::lock_guard guard(mutex_);
    return finishing_;
  }

  void give() {
    const std::lock_guard guard(mutex_);
    ++waiting_;
    given_.notify_one();
  }
  void take() {
    std::unique_lock lock(mutex_);
    while (waiting_ == 0) given_.wait(lock);
    --waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  int waiting_ = 0;
  bool finishing_ = false;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Server server;
  std::thread worker([&] {
    server.take();
    if (!fixed) {
      (void)server.serve();
    } else {
      while (!server.finishing()) std::this_thread::yield();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that it waits
  server.give();
  twins::wait_for_turn();
  server.shutdown();
  twins::turn_over();
  worker.join();
}
