// Where the variables of a random trace lie, and what a program that follows its own accesses
// (live/following.h) leaves out of them.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "event/event.h"
#include "event/filter.h"
#include "live/differential.h"

namespace syndrome::live {

inline constexpr std::uint64_t kBase = 0x10000;

struct Place {
  std::uint64_t address;
  unsigned bytes;
};

inline Place place_of(std::uint32_t variable, Layout layout) {
  switch (layout) {
    case Layout::kGranules: return {kBase + 8ull * variable, 8};
    case Layout::kBytes: return {kBase + variable, 1};
    case Layout::kMixed: break;
  }
  constexpr std::array<Place, 8> kPlaces = {
      {{0, 8}, {4, 4}, {0, 2}, {6, 1}, {4, 2}, {3, 4}, {2, 2}, {7, 1}}};
  const Place place = kPlaces[variable % kPlaces.size()];
  return {kBase + 8ull * (variable / kPlaces.size()) + place.address, place.bytes};
}

inline bool is_access(const Event& event) {
  return event.flags == 0 && event.kind <= EventKind::kRmw;
}

/// What the program leaves out itself (event/filter.h), as runtime/filter.h does it.
class Filter {
 public:
  void new_segment(ThreadId thread) {
    if (!keeping_.contains(thread)) intrude(thread);
  }
  /// Another thread came to where this one has been.
  void intrude(ThreadId thread) { keys_[thread] = filter::key_of(++last_key_); }
  void intrude_all() {
    for (auto& [thread, key] : keys_) key = filter::key_of(++last_key_);
  }
  /// In a block all of whose accesses count as one.
  void keep_key(ThreadId thread, bool keep) {
    keeping_.erase(thread);
    new_segment(thread);
    if (keep) keeping_.insert(thread);
  }
  /// Whether the access is not worth a word.
  bool knows(ThreadId thread, const Place& place, bool write) {
    Word& entry = entry_of(thread, place.address);
    const Word needs = filter::needs(((Word{1} << place.bytes) - 1) << (place.address & 7), write);
    if (filter::knows(entry, place.address, keys_[thread], needs)) return true;
    entry = filter::after(entry, place.address, keys_[thread], needs);
    return false;
  }
  void forget(ThreadId thread, std::uint64_t granule) { entry_of(thread, granule) = 0; }

 private:
  using Word = filter::Word;
  Word& entry_of(ThreadId thread, std::uint64_t address) {
    return entries_[{thread, filter::offset_of(address)}];
  }
  std::map<std::pair<ThreadId, Word>, Word> entries_;
  std::map<ThreadId, Word> keys_;
  Word last_key_ = 0;
  std::set<ThreadId> keeping_;
};

}  // namespace syndrome::live
