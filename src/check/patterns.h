// The 14 problematic data access patterns (Hammer, Dolby, Vaziri, Tip: "Dynamic detection of
// atomic-set-serializability violations", ICSE 2008, Figure 2).
//
// An execution has an atomic-set-serializability violation when two units of work u and u' of
// different threads, and one or two locations of one atomic set that both are declared on, have
// events in the order of one of these patterns; other events may come in between.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "event/event.h"

namespace syndrome::check::atomic_sets {

/// The rule of a cycle that is none of the patterns.
inline constexpr std::string_view kCycleRule = "set-cycle";

/// One event of a pattern.
struct Step {
  bool other = false;   // of u', not of u
  bool write = false;   // a write, not a read
  bool second = false;  // of l2, not of l1
  friend constexpr bool operator==(const Step&, const Step&) = default;
};

struct Pattern {
  std::uint8_t number = 0;  // 1 … 14
  std::uint8_t length = 0;  // 3 or 4
  std::array<Step, 4> steps{};
  std::string_view title;    // a few words for it
  std::string_view meaning;  // what went wrong, as a clause

  [[nodiscard]] constexpr std::span<const Step> events() const {
    return std::span(steps).first(length);
  }
  [[nodiscard]] constexpr bool two_locations() const { return length == 4; }
};

namespace internal {
// As the paper writes them: Ru is a read by u, Wv a write by u'; 1 and 2 are the locations.
inline constexpr Step kRu1{false, false, false}, kWu1{false, true, false};
inline constexpr Step kRu2{false, false, true}, kWu2{false, true, true};
inline constexpr Step kRv1{true, false, false}, kWv1{true, true, false};
inline constexpr Step kRv2{true, false, true}, kWv2{true, true, true};

inline constexpr std::string_view kLeft = "the two are left in an inconsistent state";
inline constexpr std::string_view kSeen = "an inconsistent state of the two is observed";
}  // namespace internal

/// A set by what it has in common with those of other objects and other runs: "Account" of
/// "Account at 5581c0", "money" of "money of 5581c0"; nothing of an address.
[[nodiscard]] constexpr std::string_view set_without_object(std::string_view set) {
  for (const std::string_view mark : {"@", " at ", " of "}) set = set.substr(0, set.find(mark));
  const std::string_view number = set.substr(0, set.find_first_of("~+"));
  const bool address =
      number.size() >= 6 && number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return address ? std::string_view() : set;
}

inline constexpr std::size_t kPatternCount = 14;

inline constexpr std::array<Pattern, kPatternCount> kPatterns = [] {
  using namespace internal;
  return std::array<Pattern, kPatternCount>{{
      {1,
       3,
       {kRu1, kWv1, kWu1},
       "stale value",
       "the value that was read is stale by the time of the update"},
      {2,
       3,
       {kRu1, kWv1, kRu1},
       "unrepeatable read",
       "two reads in one unit of work yield different values"},
      {3, 3, {kWu1, kRv1, kWu1}, "intermediate value", "an intermediate state is observed"},
      {4,
       3,
       {kWu1, kWv1, kRu1},
       "overwritten value",
       "the value that is read is not the one that was written last"},
      {5, 3, {kWu1, kWv1, kWu1}, "lost write", "the value that the other unit wrote is lost"},
      {6, 4, {kWu1, kWv1, kWv2, kWu2}, "inconsistent writes", kLeft},
      {7, 4, {kWu1, kWv2, kWv1, kWu2}, "inconsistent writes", kLeft},
      {8, 4, {kWu1, kWv2, kWu2, kWv1}, "inconsistent writes", kLeft},
      {9, 4, {kWu1, kRv1, kRv2, kWu2}, "inconsistent read", kSeen},
      {10, 4, {kWu1, kRv2, kRv1, kWu2}, "inconsistent read", kSeen},
      {11, 4, {kRu1, kWv1, kWv2, kRu2}, "inconsistent read", kSeen},
      {12, 4, {kRu1, kWv2, kWv1, kRu2}, "inconsistent read", kSeen},
      {13, 4, {kRu1, kWv2, kRu2, kWv1}, "inconsistent read", kSeen},
      {14, 4, {kWu1, kRv2, kWu2, kRv1}, "inconsistent read", kSeen},
  }};
}();

/// `number`: 1 … 14.
[[nodiscard]] constexpr const Pattern& pattern(std::size_t number) {
  return kPatterns[number - 1];
}

/// Whether an access of this kind is one that the step asks for. An rmw is a read and a write.
[[nodiscard]] constexpr bool matches(const Step& step, EventKind kind) {
  return kind == EventKind::kRmw || (kind == EventKind::kWrite) == step.write;
}

}  // namespace syndrome::check::atomic_sets
