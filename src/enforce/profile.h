// What correct runs have shown of a program's atomicity: for each variable the pairs of accesses
// that one thread makes one after another, and what other threads have done in between.
//
// The words are those of Weeratunge, Zhang and Jagannathan (OOPSLA 2011): a *label* is a place in a
// function, an access or the call that leads to one; a *pair* is two labels of one function.

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "event/result.h"

namespace syndrome::enforce {

/// The lattice of the paper: NONE < READ < EXCLUSIVE < TOP. What was seen less strictly counts.
enum class AtomicType : std::uint8_t { kNone, kRead, kExclusive, kTop };

[[nodiscard]] constexpr std::string_view name_of(AtomicType type) {
  switch (type) {
    case AtomicType::kNone: return "none";
    case AtomicType::kRead: return "read";
    case AtomicType::kExclusive: return "exclusive";
    case AtomicType::kTop: return "top";
  }
  return "";
}

enum class SpotKind : std::uint8_t { kRead, kWrite, kCall };

[[nodiscard]] constexpr std::string_view name_of(SpotKind kind) {
  switch (kind) {
    case SpotKind::kRead: return "read";
    case SpotKind::kWrite: return "write";
    case SpotKind::kCall: return "call";
  }
  return "";
}

/// A place in a function, as traces name it: "/src/log.cc:867:3 MYSQL_LOG::new_file".
struct Spot {
  std::string place;
  SpotKind kind = SpotKind::kRead;
  friend auto operator<=>(const Spot&, const Spot&) = default;
};

struct Access {
  std::string function;  // with its parameters
  Spot spot;
  friend auto operator<=>(const Access&, const Access&) = default;
};

struct PairKey {
  std::string function;
  Spot first;
  Spot second;
  friend auto operator<=>(const PairKey&, const PairKey&) = default;
};

struct Pair {
  AtomicType type = AtomicType::kTop;
  std::uint64_t seen = 0;
  /// Locks of the program, one acquisition of which was held over the pair each time, and that
  /// guarded every access of the variable there.
  std::set<std::string> guards;
  friend bool operator==(const Pair&, const Pair&) = default;
};

/// How strong a lock the pair needs. Of two reads a read between them takes nothing: whoever reads
/// could as well have come before or after. So two reads need a read lock, whatever was seen.
[[nodiscard]] AtomicType needed_for(const PairKey& key, const Pair& pair);

struct Variable {
  /// Locks that guarded every access of every instance.
  std::set<std::string> guards;
  std::uint64_t instances = 0;  // that two threads or more have accessed
  std::set<Access> accesses;    // where it is accessed, also by one thread only
  std::map<PairKey, Pair> pairs;
  friend bool operator==(const Variable&, const Variable&) = default;
};

/// Whether the program's own locks give the pair already what it has.
[[nodiscard]] bool is_guarded(const Variable& variable, const Pair& pair);

struct Profile {
  std::uint64_t runs = 0;
  /// By name: "counter", "Account::balance"; "a+b" for variables that count as one.
  std::map<std::string, Variable> variables;
  friend bool operator==(const Profile&, const Profile&) = default;

  /// What both have shown.
  void merge(const Profile& other);
};

/// "a+b" of variables that count as one: "a" and "b".
[[nodiscard]] std::vector<std::string> parts_of(std::string_view name);

/// As JSON, in an order that depends on the content alone, one pair on a line.
[[nodiscard]] std::string to_json(const Profile& profile);
/// How such a text begins.
inline constexpr std::string_view kProfileBegins = R"({"version": 1, "kind": "syndrome-profile")";
/// The opposite. An error says what was expected where.
[[nodiscard]] Result<Profile> read_profile(std::string_view text);
/// What was learned, for people: by variable and function.
[[nodiscard]] std::string to_text(const Profile& profile);

/// "text" with the quotes and backslashes that JSON wants.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace syndrome::enforce
