#include "clock/row_pool.h"

#include <algorithm>

namespace syndrome::clock {

RowPool::RowPool() : ticks_(width_, 0), references_(1, 0) {}

Row RowPool::allocate() {
  if (!free_.empty()) {
    const Row row = free_.back();
    free_.pop_back();
    references_[row] = 1;
    std::fill_n((*this)[row], width_, 0);
    return row;
  }
  ticks_.resize(ticks_.size() + width_, 0);
  references_.push_back(1);
  return static_cast<Row>(references_.size() - 1);
}

void RowPool::widen(std::size_t width) {
  width = (width + kLanes - 1) / kLanes * kLanes;
  if (width <= width_) return;
  std::vector<Tick> wider(references_.size() * width, 0);
  for (std::size_t row = 0; row < references_.size(); ++row) {
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
