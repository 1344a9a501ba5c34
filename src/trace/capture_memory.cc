#include "trace/capture_memory.h"

#include <algorithm>

namespace syndrome::trace {

CaptureMemory::CaptureMemory() = default;

CaptureMemory::Page& CaptureMemory::make(std::uint64_t number) {
  if (Page* page = find(number)) return *page;
  if (pages_.size() == kMaxPages) {
    full_ = true;
    return pages_.back();
  }
  by_number_[number] = static_cast<std::uint32_t>(pages_.size());
  pages_.emplace_back().number = number;
  return pages_.back();
}

void CaptureMemory::cut_at(std::uint64_t address) {
  std::uint8_t& cuts = make(address >> kPageBits).cuts[(address >> 3) & (kGranules - 1)];
  cuts = static_cast<std::uint8_t>(cuts | (1u << (address & 7)));
}

void CaptureMemory::cut(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  const unsigned at = address & 7;
  if ((address >> kPageBits) == (end >> kPageBits)) {
    Page& page = make(address >> kPageBits);
    std::uint8_t& first = page.cuts[(address >> 3) & (kGranules - 1)];
    first = static_cast<std::uint8_t>(first | (1u << at));
    std::uint8_t& last = page.cuts[(end >> 3) & (kGranules - 1)];
    last = static_cast<std::uint8_t>(last | (1u << (end & 7)));
    return;
  }
  cut_at(address);
  cut_at(end);
}

void CaptureMemory::cut_if_used(std::uint64_t address, std::uint64_t bytes) {
  for (const std::uint64_t at : {address, address + bytes}) {
    if (find(at >> kPageBits) != nullptr) {
      cut_at(at);
    } else {
      later_.push_back(at);
    }
  }
  // Allocators give the same addresses again and again.
  if (later_.size() < later_limit_) return;
  std::sort(later_.begin(), later_.end());
  later_.erase(std::unique(later_.begin(), later_.end()), later_.end());
  later_limit_ = std::max(later_limit_, 2 * later_.size());
}

bool CaptureMemory::seal() {
  for (const std::uint64_t at : later_) {
    if (find(at >> kPageBits) != nullptr) cut_at(at);
  }
  later_ = {};
  std::sort(pages_.begin(), pages_.end(),
            [](const Page& a, const Page& b) { return a.number < b.number; });
  cache_.fill(Cached{});
  std::uint64_t slots = 0;
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    Page& page = pages_[i];
    by_number_[page.number] = static_cast<std::uint32_t>(i);
    page.first = slots;
    unsigned rank = 0;
    for (unsigned g = 0; g < kGranules; ++g) {
      page.rank[g] = static_cast<std::uint16_t>(rank);
      rank += static_cast<unsigned>(std::popcount(page.cuts[g]));
    }
    slots += rank;
  }
  slots_.assign(slots, Slot{});
  return !full_;
}

std::size_t CaptureMemory::page_from(std::uint64_t number) const {
  const auto exact = by_number_.find(number);
  if (exact != by_number_.end()) return exact->second;
  const auto at =
      std::lower_bound(pages_.begin(), pages_.end(), number,
                       [](const Page& page, std::uint64_t n) { return page.number < n; });
  return static_cast<std::size_t>(at - pages_.begin());
}

void CaptureMemory::renew(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return;
  each_slow(address, bytes, [](Slot& slot, std::uint64_t) { slot.id = kNew; });
}

}  // namespace syndrome::trace
