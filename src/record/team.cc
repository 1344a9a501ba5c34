#include "record/team.h"

namespace syndrome::record {

Team::Team(unsigned members) {
  for (unsigned member = 1; member < members; ++member) {
    threads_.emplace_back([this, member] { work(member); });
  }
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(std::size_t count, const Job& job) {
  if (count <= 1 || threads_.empty()) {
    for (std::size_t item = 0; item < count; ++item) job(item, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<unsigned>(threads_.size());
    ++round_;
  }
  begun_.notify_all();
  take_items(job, count, 0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void Team::take_items(const Job& job, std::size_t count, unsigned member) {
  for (;;) {
    const std::size_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= count) return;
    job(item, member);
  }
}

void Team::work(unsigned member) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const Job& job = *job_;
    const std::size_t count = count_;
    lock.unlock();
    take_items(job, count, member);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace syndrome::record
