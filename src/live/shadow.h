// Shadow memory: for each granule (8 bytes) of the program's memory, who accessed it last.
//
// A granule has a set of entries, each an access (or several alike) that a later one could conflict
// with. Two fit into the cell; when there are more, `b` leads to a list.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "event/ids.h"

namespace syndrome::live {

/// An access to bytes of one granule, in a word:
///
///   position:38  calm:1  sole:1  plain:1  slot:12  list:1  told:1  write:1  mask:8
///
/// `position` is the number of the last event that its thread had told of then (live/sieve.h); so
/// a comparison of words compares positions first. `calm`: a plain access, and nobody else has
/// written since; `sole`, of a write: nobody else has accessed since. `plain`: not an atomic.
/// `slot` stands for the thread. `told`: it is in the trace already, as an access to the bytes of
/// `mask`. All 0: no entry.
class Entry {
 public:
  /// Of no thread: what has it leads to a list.
  static constexpr std::uint64_t kNoSlot = 0xfff;
  static constexpr unsigned kPositionShift = 26;
  static constexpr unsigned kSlotShift = 11;
  static constexpr std::uint64_t kMaskBits = 0xff;
  static constexpr std::uint64_t kWrite = 1u << 8;
  static constexpr std::uint64_t kTold = 1u << 9;
  static constexpr std::uint64_t kList = 1u << 10;
  static constexpr std::uint64_t kPlain = 1u << 23;
  static constexpr std::uint64_t kSole = 1u << 24;
  static constexpr std::uint64_t kCalm = 1u << 25;
  static constexpr std::uint64_t kSlotBits = kNoSlot << kSlotShift;

  Entry() = default;  // without a value, unless it is Entry()
  constexpr explicit Entry(std::uint64_t bits) : bits_(bits) {}
  constexpr Entry(EventNumber position, std::size_t slot, unsigned mask, bool write)
      : bits_((position << kPositionShift) | kPlain | kCalm | (std::uint64_t{slot} << kSlotShift) |
              mask | (write ? kWrite | kSole : 0)) {}
  /// An atomic, which is told of always.
  [[nodiscard]] static constexpr Entry atomic(EventNumber position, std::size_t slot, unsigned mask,
                                              bool write) {
    Entry entry(position, slot, mask, write);
    entry.bits_ = (entry.bits_ & ~(kPlain | kCalm | kSole)) | kTold;
    return entry;
  }
  [[nodiscard]] static constexpr Entry list(std::size_t index) {
    return Entry((std::uint64_t{index} << kPositionShift) | (kNoSlot << kSlotShift) | kList);
  }

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool empty() const { return (bits_ & (kMaskBits | kList)) == 0; }
  [[nodiscard]] constexpr bool is_list() const { return (bits_ & kList) != 0; }
  [[nodiscard]] constexpr std::size_t index() const { return bits_ >> kPositionShift; }
  [[nodiscard]] constexpr EventNumber position() const { return bits_ >> kPositionShift; }
  [[nodiscard]] constexpr std::size_t slot() const { return (bits_ & kSlotBits) >> kSlotShift; }
  [[nodiscard]] constexpr unsigned mask() const { return bits_ & kMaskBits; }
  [[nodiscard]] constexpr bool write() const { return (bits_ & kWrite) != 0; }
  [[nodiscard]] constexpr bool plain() const { return (bits_ & kPlain) != 0; }
  [[nodiscard]] constexpr bool told() const { return (bits_ & kTold) != 0; }
  constexpr void set_told() { bits_ |= kTold; }
  constexpr void set(std::uint64_t flag, bool on) { bits_ = on ? bits_ | flag : bits_ & ~flag; }
  /// The rest of it was not told of as such.
  constexpr void forget(unsigned mask) {
    if ((bits_ & mask) != 0) bits_ &= ~(std::uint64_t{mask} | kTold);
  }
  constexpr void add(unsigned mask) { bits_ = (bits_ | mask) & ~kTold; }

 private:
  std::uint64_t bits_;
};

/// Where in the source an access is, and which of its thread's it was behind its position.
class Where {
 public:
  Where() = default;
  constexpr Where(std::uint32_t site, std::uint32_t order)
      : bits_(((site <= kMaxSite ? site : 0) << 8) | order) {}

  /// 1 + its index, 0 for unknown.
  [[nodiscard]] constexpr std::uint32_t site() const { return bits_ >> 8; }
  /// From 0; the last value stands for all that come later.
  [[nodiscard]] constexpr std::uint32_t order() const { return bits_ & kMaxOrder; }

  static constexpr std::uint32_t kMaxSite = (1u << 24) - 1;
  static constexpr std::uint32_t kMaxOrder = (1u << 8) - 1;

 private:
  std::uint32_t bits_;
};

struct SitedEntry {
  Entry entry;
  Where where;
};

struct Cell {
  Entry a;
  Entry b;
  Where where_a;
  Where where_b;
};
static_assert(sizeof(Cell) == 24);

/// What of a granule's entries does not fit into its cell: in one line of the cache, as long as
/// there are few.
class alignas(64) EntryList {
 public:
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] SitedEntry* begin() { return far_ == nullptr ? near_.data() : far_->data(); }
  [[nodiscard]] SitedEntry* end() { return begin() + count_; }
  [[nodiscard]] const SitedEntry* begin() const {
    return far_ == nullptr ? near_.data() : far_->data();
  }
  [[nodiscard]] const SitedEntry* end() const { return begin() + count_; }
  void assign(std::span<const SitedEntry> entries) {
    if (entries.size() > near_.size()) {
      if (far_ == nullptr) far_ = std::make_unique<std::vector<SitedEntry>>();
      far_->assign(entries.begin(), entries.end());
    } else {
      far_.reset();
      std::copy(entries.begin(), entries.end(), near_.begin());
    }
    count_ = entries.size();
  }

 private:
  std::size_t count_ = 0;
  std::array<SitedEntry, 3> near_;
  std::unique_ptr<std::vector<SitedEntry>> far_;  // all of them, when they are more
};
static_assert(sizeof(EntryList) == 64);

class Shadow {
 public:
  Shadow();
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  /// False: there is no room for the table of it, or there was none for some of the memory.
  [[nodiscard]] bool good() const { return good_; }

  [[nodiscard]] Cell& at(std::uint64_t address) {
    return chunk_at(address).cells[(address >> 3) % kChunkCells];
  }

  /// The entries of a cell, in any order, into `entries`.
  void read(const Cell& cell, std::vector<SitedEntry>& entries) const;
  /// And back. `address` is in the cell's granule.
  void write(std::uint64_t address, Cell& cell, std::span<const SitedEntry> entries);
  /// The entries behind `b`, to be changed in place.
  [[nodiscard]] EntryList& list(Entry b) {
    return lists_[b.index() / kListsTogether][b.index() % kListsTogether];
  }
  [[nodiscard]] const EntryList& list(Entry b) const {
    return lists_[b.index() / kListsTogether][b.index() % kListsTogether];
  }

  /// The cell of this address changes: clear() will find it, and version() differs.
  void touch(std::uint64_t address) {
    Chunk& chunk = *table_[address >> kChunkBits];
    chunk.dirty[(address >> kPageBits) % kChunkPages] = 1;
    ++chunk.versions[(address >> kRegionBits) % kChunkRegions];
  }
  /// What was accessed in [address, address + bytes) is forgotten.
  void clear(std::uint64_t address, std::uint64_t bytes);

  /// As long as it stays the same, nothing in the regions around [first, last] has changed.
  [[nodiscard]] std::uint64_t version(std::uint64_t first, std::uint64_t last) const;
  static constexpr unsigned kRegionBits = 16;

 private:
  static constexpr unsigned kChunkBits = 22;
  static constexpr std::size_t kChunkCells = std::size_t{1} << (kChunkBits - 3);
  static constexpr unsigned kPageBits = 12;
  static constexpr std::size_t kChunkPages = std::size_t{1} << (kChunkBits - kPageBits);
  static constexpr std::size_t kChunkRegions = std::size_t{1} << (kChunkBits - kRegionBits);
  static constexpr std::size_t kChunks = std::size_t{1} << (47 - kChunkBits);

  struct Chunk {
    std::array<std::uint64_t, kChunkRegions> versions;
    std::array<std::uint8_t, kChunkPages> dirty;
    std::array<Cell, kChunkCells> cells;
  };

  [[nodiscard]] Chunk& chunk_at(std::uint64_t address) {
    Chunk* const chunk = table_[address >> kChunkBits];
    return chunk != nullptr ? *chunk : make(address >> kChunkBits);
  }
  Chunk& make(std::size_t index);
  void clear_page(Chunk& chunk, std::uint64_t from, std::uint64_t to);
  void forget(std::uint64_t address, unsigned mask);
  void free_list(Entry b);

  Chunk** table_;  // kChunks of them, most never touched
  bool good_ = true;
  std::vector<Chunk*> chunks_;
  Chunk* spare_ = nullptr;  // takes what there is no room for
  static constexpr std::size_t kListsTogether = 4096;
  std::vector<std::unique_ptr<EntryList[]>> lists_;
  std::vector<std::size_t> free_;
  std::vector<SitedEntry> scratch_;
};

}  // namespace syndrome::live
