#include "clock/row_pool.h"

#include <algorithm>

namespace syndrome::clock {

RowPool::RowPool() : ticks_(width_, 0) {}

Row RowPool::allocate() {
  ++allocated_;
  if (!free_.empty()) {
    const Row row = free_.back();
    free_.pop_back();
    return row;
  }
  ticks_.resize(ticks_.size() + width_, 0);
  return static_cast<Row>(size_++);
}

bool RowPool::wants_sweep(std::size_t roots) const {
  // A sweep reads every root and writes every row that it frees. It has to wait until four entries
  // were written into rows for each root: then it costs less than they did, and the garbage is at
  // most 16 bytes for each root, or half of the rows.
  constexpr std::size_t kEntriesPerRoot = 4;
  constexpr std::size_t kLeast = 1024;
  return free_.empty() &&
         allocated_ >= std::max({kLeast, size_ / 2, roots * kEntriesPerRoot / width_});
}

void RowPool::sweep(const std::vector<bool>& marked) {
  assert(marked.size() == size_);
  free_.clear();
  allocated_ = 0;
  // From the end, so that the rows at the front are taken first.
  for (std::size_t row = size_; row-- > 1;) {
    if (marked[row]) continue;
    std::fill_n(&ticks_[row * width_], width_, 0);
    free_.push_back(static_cast<Row>(row));
  }
}

void RowPool::widen(std::size_t width) {
  width = (width + kLanes - 1) / kLanes * kLanes;
  if (width <= width_) return;
  std::vector<Tick> wider(size_ * width, 0);
  for (std::size_t row = 0; row < size_; ++row) {
    std::copy_n(&ticks_[row * width_], width_, &wider[row * width]);
  }
  ticks_ = std::move(wider);
  width_ = width;
}

void RowPool::clear_column(std::size_t slot) {
  assert(slot < width_);
  for (std::size_t at = slot; at < ticks_.size(); at += width_) ticks_[at] = 0;
}

bool passes(const Tick* row, const Tick* limits, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    if (row[i] > limits[i]) return true;
  }
  return false;
}

}  // namespace syndrome::clock
