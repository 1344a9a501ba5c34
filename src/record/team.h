// A few threads that do the items of a job together, the caller among them.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace syndrome::record {

class Team {
 public:
  /// With `members` threads in all; 1: the caller alone.
  explicit Team(unsigned members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] unsigned members() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls `job` once for each item below `count`, and returns when all are done. `member` tells
  /// which thread it is; no two items of one member run at the same time.
  using Job = std::function<void(std::size_t item, unsigned member)>;
  void run(std::size_t count, const Job& job);

 private:
  void work(unsigned member);
  void take_items(const Job& job, std::size_t count, unsigned member);

  std::mutex mutex_;  // guards what follows, but for next_
  std::condition_variable begun_;
  std::condition_variable done_;
  const Job* job_ = nullptr;
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  unsigned busy_ = 0;  // members that have not finished this round
  bool stop_ = false;
  std::atomic<std::size_t> next_{0};
  std::vector<std::thread> threads_;
};

}  // namespace syndrome::record
