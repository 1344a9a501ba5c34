#include "trace/interner.h"

#include <xxhash.h>

#include <random>
#include <utility>

namespace syndrome::trace {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

std::uint64_t Interner::random_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

Interner::Interner(StringTable& table, std::uint64_t seed)
    : table_(table), seed_(seed), mask_(kFirstSlots - 1), slots_(kFirstSlots) {
  for (std::size_t id = 0; id < table_.size(); ++id) {
    const Key known = key(table_[id]);
    insert(known.word, known.length, static_cast<std::uint32_t>(id));
    keep_tail(table_[id], static_cast<std::uint32_t>(id));
  }
}

std::uint64_t Interner::far_hash(std::string_view text) const {
  return ::XXH3_64bits_withSeed(text.data(), text.size(), seed_);
}

std::uint32_t Interner::add(const Key& key) {
  if (table_.size() >= kAbsent - 1) return kAbsent;
  const std::uint32_t id = table_.append(key.view());
  insert(key.word, key.length, id);
  keep_tail(key.view(), id);
  return id;
}

void Interner::keep_tail(std::string_view text, std::uint32_t id) {
  if (text.size() <= kInlineLength || text.size() > 2 * kInlineLength) return;
  tails_.resize(id + std::size_t{1});
  tails_[id] = last_word(text);
}

void Interner::insert(std::uint64_t word, std::uint32_t length, std::uint32_t id) {
  if ((used_ + 1) * 8 > slots_.size() * 5) grow();
  std::size_t at = hash(word, length) & mask_;
  while (slots_[at].id_plus_one != 0) at = (at + 1) & mask_;
  slots_[at] = {word, length, id + 1};
  ++used_;
}

void Interner::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  mask_ = slots_.size() - 1;
  used_ = 0;
  for (const Slot& slot : old) {
    if (slot.id_plus_one != 0) insert(slot.word, slot.length, slot.id_plus_one - 1);
  }
}

}  // namespace syndrome::trace
