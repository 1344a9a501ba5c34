#include "live/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace syndrome::live {
namespace {

/// Zeroes that cost nothing until they are written to; null when there is no room.
void* map(std::size_t bytes) {
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

Shadow::Shadow() : table_(static_cast<Chunk**>(map(kChunks * sizeof(Chunk*)))) {
  good_ = table_ != nullptr;
  spare_ = static_cast<Chunk*>(map(sizeof(Chunk)));
  if (spare_ == nullptr) throw std::bad_alloc();
}

Shadow::~Shadow() {
  for (Chunk* const chunk : chunks_) ::munmap(chunk, sizeof(Chunk));
  ::munmap(spare_, sizeof(Chunk));
  if (table_ != nullptr) ::munmap(static_cast<void*>(table_), kChunks * sizeof(Chunk*));
}

Shadow::Chunk& Shadow::make(std::size_t index) {
  void* const mapped = map(sizeof(Chunk));
  if (mapped == nullptr) {
    good_ = false;
    table_[index] = spare_;
    return *spare_;
  }
  auto* const chunk = static_cast<Chunk*>(mapped);
  chunks_.push_back(chunk);
  table_[index] = chunk;
  return *chunk;
}

void Shadow::free_list(Entry b) {
  list(b).assign({});
  free_.push_back(b.index());
}

void Shadow::read(const Cell& cell, std::vector<SitedEntry>& entries) const {
  entries.clear();
  if (!cell.a.empty()) entries.push_back({cell.a, cell.where_a});
  if (cell.b.is_list()) {
    const EntryList& more = list(cell.b);
    entries.insert(entries.end(), more.begin(), more.end());
  } else if (!cell.b.empty()) {
    entries.push_back({cell.b, cell.where_b});
  }
}

void Shadow::write(std::uint64_t address, Cell& cell, std::span<const SitedEntry> entries) {
  touch(address);
  cell.a = entries.empty() ? Entry() : entries[0].entry;
  cell.where_a = entries.empty() ? Where() : entries[0].where;
  if (entries.size() <= 2) {
    if (cell.b.is_list()) free_list(cell.b);
    cell.b = entries.size() < 2 ? Entry() : entries[1].entry;
    cell.where_b = entries.size() < 2 ? Where() : entries[1].where;
    return;
  }
  if (!cell.b.is_list()) {
    if (free_.empty()) {
      // The lowest last: what is used together then lies together.
      const std::size_t first = lists_.size() * kListsTogether;
      lists_.push_back(std::make_unique<EntryList[]>(kListsTogether));
      for (std::size_t i = kListsTogether; i-- > 0;) free_.push_back(first + i);
    }
    cell.b = Entry::list(free_.back());
    free_.pop_back();
  }
  list(cell.b).assign(entries.subspan(1));
}

void Shadow::forget(std::uint64_t address, unsigned mask) {
  Cell& cell = at(address);
  if (cell.a.empty() && cell.b.empty()) return;
  read(cell, scratch_);
  for (SitedEntry& each : scratch_) each.entry.forget(mask);
  std::erase_if(scratch_, [](const SitedEntry& each) { return each.entry.empty(); });
  write(address, cell, scratch_);
}

void Shadow::clear(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    Chunk* const chunk = table_[address >> kChunkBits];
    if (chunk == nullptr) {
      address = ((address >> kChunkBits) + 1) << kChunkBits;
      continue;
    }
    const std::uint64_t page_end = std::min(end, ((address >> kPageBits) + 1) << kPageBits);
    std::uint8_t& dirty = chunk->dirty[(address >> kPageBits) % kChunkPages];
    if (dirty != 0) {
      if (page_end - address == std::uint64_t{1} << kPageBits) dirty = 0;
      clear_page(*chunk, address, page_end);
    }
    address = page_end;
  }
}

/// Within one page.
void Shadow::clear_page(Chunk& chunk, std::uint64_t from, std::uint64_t to) {
  ++chunk.versions[(from >> kRegionBits) % kChunkRegions];
  const std::uint64_t first = (from + 7) & ~std::uint64_t{7};
  const std::uint64_t last = to & ~std::uint64_t{7};
  const auto bits = [](std::uint64_t low, std::uint64_t high) {
    return ((1u << (high - low)) - 1u) << (low & 7);
  };
  if (first > last) return forget(from, bits(from, to));  // all in one granule
  if (from < first) forget(from, bits(from, first));
  if (last < to) forget(last, bits(last, to));
  const auto begin = chunk.cells.begin() + static_cast<std::ptrdiff_t>((first >> 3) % kChunkCells);
  const auto end = begin + static_cast<std::ptrdiff_t>((last - first) >> 3);
  for (auto cell = begin; cell != end; ++cell) {
    if (cell->b.is_list()) free_list(cell->b);
    *cell = {};
  }
}

std::uint64_t Shadow::version(std::uint64_t first, std::uint64_t last) const {
  std::uint64_t sum = 0;
  for (std::uint64_t region = first >> kRegionBits; region <= last >> kRegionBits; ++region) {
    const Chunk* const chunk = table_[region >> (kChunkBits - kRegionBits)];
    if (chunk != nullptr) sum += chunk->versions[region % kChunkRegions];
  }
  return sum;
}

}  // namespace syndrome::live
