// Turns names into dense ids: the same name always into the same id, in the order of first
// appearance. The busiest data structure of the text readers: two or three look-ups an event.
//
// Invariants
//   1. A slot is empty (id_plus_one == 0) or stands for exactly one string of the table.
//   2. The word of a string of at most 8 bytes is the string itself, padded with zeros; with the
//      length it decides equality. From 9 to 16 bytes the word is made of the first 8 and the last
//      8 such that it and the last 8, which are in tails_, give back the first 8: again no look at
//      the table. The word of a longer string is a hash; the table's bytes decide.
//   3. At most 5 of 8 slots are in use, so linear probing ends.
//
// The seed is random, so that nobody can write a trace whose names all meet in one slot; ids do not
// depend on it.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "event/names.h"

namespace syndrome::trace {

class Interner {
 public:
  static constexpr std::uint32_t kAbsent = 0xffffffff;
  static constexpr std::size_t kInlineLength = 8;

  /// A string, ready to be looked up. Lives as long as the string's bytes.
  struct Key {
    const char* text = nullptr;
    std::uint32_t length = 0;
    std::uint64_t word = 0;
    std::uint64_t hash = 0;

    [[nodiscard]] std::string_view view() const { return {text, length}; }
  };

  /// `table` outlives the interner and is changed by nobody else. Strings in it are known.
  explicit Interner(StringTable& table, std::uint64_t seed = random_seed());

  [[nodiscard]] static std::uint64_t random_seed();

  /// Any string of less than 4 GiB.
  [[nodiscard]] Key key(std::string_view text) const {
    if (text.size() > kInlineLength) return long_key(text);
    std::uint64_t word = 0;
    if (!text.empty()) std::memcpy(&word, text.data(), text.size());
    return make(text, word);
  }

  /// The same, faster. At least 8 bytes from text.data() on can be read, whatever its size.
  [[nodiscard]] Key padded_key(std::string_view text) const {
    if (text.size() > kInlineLength) return long_key(text);
    return make(text, first_word(text) & kKeep[text.size()]);
  }

  void prefetch(const Key& key) const { __builtin_prefetch(&slots_[key.hash & mask_]); }

  /// The id, or kAbsent.
  [[nodiscard]] std::uint32_t find(const Key& key) const {
    for (std::size_t at = key.hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.word == key.word && slot.length == key.length && slot.id_plus_one != 0) [[likely]] {
        const std::uint32_t id = slot.id_plus_one - 1;
        if (key.length <= kInlineLength || same(id, key.view())) [[likely]]
          return id;
      }
      if (slot.id_plus_one == 0) return kAbsent;
    }
  }

  /// Gives the next id to a string that find() did not find. kAbsent when ids have run out.
  [[nodiscard]] std::uint32_t add(const Key& key);

  [[nodiscard]] std::uint32_t intern(std::string_view text) {
    const Key wanted = key(text);
    const std::uint32_t id = find(wanted);
    return id != kAbsent ? id : add(wanted);
  }

 private:
  struct Slot {
    std::uint64_t word = 0;
    std::uint32_t length = 0;
    std::uint32_t id_plus_one = 0;
  };
  // Four slots a cache line.
  static_assert(sizeof(Slot) == 16);
  // The first n bytes in memory are the low ones of the word.
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::uint64_t kKeep[kInlineLength + 1] = {0,
                                                             0xff,
                                                             0xffff,
                                                             0xffffff,
                                                             0xffffffff,
                                                             0xffffffffff,
                                                             0xffffffffffff,
                                                             0xffffffffffffff,
                                                             0xffffffffffffffff};

  // Any odd constant with about as many ones as zeros will do; the seed is what nobody can guess.
  static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;

  [[nodiscard]] static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  [[nodiscard]] std::uint64_t hash(std::uint64_t word, std::size_t length) const {
    return mixed(word ^ seed_, kSpread + 2 * length);
  }
  [[nodiscard]] static std::uint64_t first_word(std::string_view text) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    return word;
  }
  [[nodiscard]] static std::uint64_t last_word(std::string_view text) {
    return first_word(text.substr(text.size() - sizeof(std::uint64_t)));
  }
  /// Whether `text`, longer than 8 bytes, is the string `id` of the same length and word.
  [[nodiscard]] bool same(std::uint32_t id, std::string_view text) const {
    if (text.size() > 2 * kInlineLength) return table_[id] == text;
    return tails_[id] == last_word(text);
  }
  [[nodiscard]] Key make(std::string_view text, std::uint64_t word) const {
    return {text.data(), static_cast<std::uint32_t>(text.size()), word, hash(word, text.size())};
  }
  [[nodiscard]] Key long_key(std::string_view text) const {
    if (text.size() > 2 * kInlineLength) return make(text, far_hash(text));
    // A product with an odd number can be undone, so word and last word give the first word.
    return make(text, first_word(text) * (seed_ | 1) + last_word(text));
  }
  [[nodiscard]] std::uint64_t far_hash(std::string_view text) const;
  void insert(std::uint64_t word, std::uint32_t length, std::uint32_t id);
  void keep_tail(std::string_view text, std::uint32_t id);
  void grow();

  StringTable& table_;
  std::uint64_t seed_;
  std::size_t used_ = 0;
  std::size_t mask_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> tails_;  // by id, as far as the last string of 9 to 16 bytes
};

}  // namespace syndrome::trace
