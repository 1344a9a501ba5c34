// verdict: violated
// blocks: Session::log_in
// output: user 2 has the rights of user 1
// The rights are set for whoever is logged in; the two settings are each under the lock.
#include <cstdio>
#include <future>
#include <mutex>

#include "turns.h"

static Turn half = turn_make(), done = turn_make();

class Session {
 public:
  void log_in(int user, bool slow) {
    {
      const std::lock_guard guard(mutex_);
      user_ = user;  // <- here
    }
    if (slow) {
      turn_give(&half);
      turn_take(&done);
    }
    const std::lock_guard guard(mutex_);
    rights_ = user;  // <- here
  }
  int user() const { return user_; }
  int rights() const { return rights_; }

 private:
  std::mutex mutex_;
  int user_ = 0, rights_ = 0;
};

int main() {
  Session session;
  auto other = std::async(std::launch::async, [&session] {
    turn_take(&half);
    session.log_in(2, false);
    turn_give(&done);
  });
  session.log_in(1, true);
  other.get();
  std::printf("user %d has the rights of user %d\n", session.user(), session.rights());
}
