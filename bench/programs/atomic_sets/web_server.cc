// web server, after Jigsaw: `finishing` is set under the lock by shutdown(), and read without it by
// the loop that serves. The fixed one reads it under the lock, once for each request.

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

 private:
  std::mutex mutex_;
  bool finishing_ = false;
};

int main(int argc, char** argv) {
  const bool fixed = twins::start(argc, argv);
  Server server;
  std::thread worker([&] {
    if (!fixed) {
      (void)server.serve();
    } else {
      while (!server.finishing()) std::this_thread::yield();
    }
  });
  twins::wait_for_turn();
  server.shutdown();
  twins::turn_over();
  worker.join();
}
