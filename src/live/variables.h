// The names of the variables that were told of: bytes of memory, until they are used anew.

#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "event/ids.h"
#include "event/mix_hash.h"

namespace syndrome::live {

class Variables {
 public:
  /// The variable of these bytes; make(generation) makes it when it is new, where `generation`
  /// counts from 1.
  template <class Make>
  [[nodiscard]] VarId at(std::uint64_t address, unsigned bytes, const Make& make) {
    const std::uint64_t key = (address << kBytesBits) | bytes;
    auto [known, is_new] = ids_.try_emplace(key);
    if (!is_new && known->second.id != kGone) return VarId(known->second.id);
    Known& variable = known.value();
    pages_[address >> kPageBits].push_back(key);
    variable.id = make(++variable.generation).value;
    return VarId(variable.id);
  }

  /// Variables in these bytes are over.
  void renew(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t end = address + bytes;
    const std::uint64_t last = (end - 1) >> kPageBits;
    if (bytes == 0 || pages_.empty()) return;
    if (last - (address >> kPageBits) < pages_.size()) {
      for (std::uint64_t page = address >> kPageBits; page <= last; ++page) {
        const auto at = pages_.find(page);
        if (at != pages_.end() && renew(at.value(), address, end)) pages_.erase(at);
      }
      return;
    }
    for (auto at = pages_.begin(); at != pages_.end();) {
      const bool inside = at->first >= address >> kPageBits && at->first <= last;
      at = inside && renew(at.value(), address, end) ? pages_.erase(at) : std::next(at);
    }
  }

 private:
  static constexpr unsigned kBytesBits = 5;  // an atomic has up to 16
  static constexpr unsigned kPageBits = 12;
  static constexpr std::uint32_t kGone = UINT32_MAX;
  struct Known {
    std::uint32_t id = kGone;
    std::uint32_t generation = 0;
  };

  /// Whether none is left.
  bool renew(std::vector<std::uint64_t>& keys, std::uint64_t from, std::uint64_t to) {
    std::erase_if(keys, [&](std::uint64_t key) {
      const std::uint64_t address = key >> kBytesBits;
      if (address < from || address >= to) return false;
      ids_[key].id = kGone;
      return true;
    });
    return keys.empty();
  }

  tsl::robin_map<std::uint64_t, Known, MixHash> ids_;
  tsl::robin_map<std::uint64_t, std::vector<std::uint64_t>, MixHash> pages_;
};

}  // namespace syndrome::live
