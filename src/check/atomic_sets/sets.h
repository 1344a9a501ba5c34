// Which atomic sets a variable belongs to, by its name.
//
// A set that the spec names has the variables that its entries match. When all its entries name
// fields of one class, there is one such set for each object of the class. All else falls into the
// sets that the default says: one for each location, one for all of them, or, by `class`,
//
//   Account::balance@5581c0   with the other fields of that object, also of its base classes
//   Account::log_._M_finish+8@5581c0   a container of the library is one location, with the fields
//   of the
//                             object that it is a field of
//   std::vector…@5581c0       and in a set of its own, if it is none
//   table+24, table[]:table+24   the elements of a global array are locations of one set
//   Account::count            static members of a class, once an object of it has been seen, are
//   one all other names           a set by itself
//
// An object whose memory is used again is another one, with sets of its own: it is when a field
// comes a second time (as another variable, "Account::balance@5581c0~2"), or such a one of a class
// that the object did not have.
//
// Recordings give such names (trace/capture_names.h); in other traces most are "all other names".
// By `class`, atomic accesses do not count: a field that is atomic keeps itself consistent.

#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/atomic_sets/matcher.h"
#include "event/names.h"
#include "spec/spec.h"

namespace syndrome::check::atomic_sets {

/// A variable's name taken apart. The parts point into it.
struct VariableName {
  explicit VariableName(std::string_view text);

  std::string_view name;    // "bank::Account::balance", "table[]"
  std::string_view object;  // "5581c0" or "accounts+16" of what is behind an @; else empty
  std::string_view place;   // "table+24" of what is behind a colon; else empty
  std::string_view inside;  // "._M_finish+8" of what is inside of a container that is a field

  [[nodiscard]] bool is_element() const { return name.ends_with("[]"); }
};

/// What stands before the last part of a qualified name, "bank::Account"; empty when nothing does.
[[nodiscard]] std::string_view class_of(std::string_view name);

/// Words to numbers, the same for functions and for sets.
class Words {
 public:
  [[nodiscard]] std::uint32_t of(std::string_view word);

 private:
  tsl::robin_map<std::string, std::uint32_t> numbers_;
};

struct SetRuleOptions {
  const spec::Spec* spec = nullptr;  // outlives the rule; null: none
  spec::DefaultSets otherwise = spec::DefaultSets::kClass;
};

class SetRule {
 public:
  /// `words` outlives it.
  SetRule(const SetRuleOptions& options, Words& words);

  struct Sets {
    std::span<const Membership> in;
    bool counts_atomics = true;
  };
  /// What it says of a variable, it says again: of a variable that it has seen, `names` may be any.
  [[nodiscard]] Sets of(std::uint32_t variable, const Names& names) {
    if (variable >= places_.size() || !places_[variable].known) [[unlikely]]
      decide(variable, names);
    const Place& place = places_[variable];
    if (place.count > 1) [[unlikely]]
      return {std::span(&memberships_[place.one.location], place.count), place.counts_atomics};
    return {std::span(&place.one, place.count), place.counts_atomics};
  }
  /// A hint that of() will be asked for this variable soon.
  void soon(std::uint32_t variable) const {
    if (variable < places_.size()) __builtin_prefetch(&places_[variable]);
  }
  /// The set of a variable that is in one, as far as is known; 0 otherwise. A guess, for
  /// prefetching.
  [[nodiscard]] std::uint32_t likely_set(std::uint32_t variable) const {
    return variable < places_.size() && places_[variable].count == 1 ? places_[variable].one.set
                                                                     : 0;
  }

  /// As reports call it: "S1", "S1 of 5581c0", "x"; "Account at 5581c0" by the class that has this
  /// location of it.
  [[nodiscard]] std::string name_of_set(Membership where, const Names& names) const;
  [[nodiscard]] std::string name_of_location(std::uint32_t location, const Names& names) const;

  /// Whether an object of the set is of this class, as far as is known; a word.
  [[nodiscard]] bool has_class(std::uint32_t set, std::uint32_t word) const {
    return contains(details_[sets_[set].details].classes, word);
  }
  /// Whether this word, in a unit's declaration, means the set: its name in the spec, or its class
  /// with or without namespace.
  [[nodiscard]] bool is_called(std::uint32_t set, std::uint32_t word) const {
    return contains(details_[sets_[set].details].titles, word);
  }

  /// Whether it is of the spec, or of SYNDROME_ATOMIC_SET.
  [[nodiscard]] bool is_declared(std::uint32_t set) const {
    return details_[sets_[set].details].declared;
  }

  [[nodiscard]] std::size_t sets() const { return sets_.size(); }

  /// Entries of the spec's sets and exclusions that no variable has matched.
  struct Unmatched {
    std::string list;
    const spec::Entry* entry = nullptr;
  };
  [[nodiscard]] std::vector<Unmatched> unmatched() const;

 private:
  struct Place {
    Membership one;  // when the count is 1; when it is more, location is the first in memberships_
    std::uint16_t count = 0;
    bool known = false;
    bool counts_atomics = true;
  };
  /// There may be as many as variables, and most have nothing to tell.
  struct Set {
    std::uint32_t details = 0;  // 0: none
  };
  struct Details {
    std::string name;                    // empty: that of its locations
    bool declared = false;
    std::vector<std::uint32_t> classes;  // words
    std::vector<std::uint32_t> titles;   // words
  };
  static constexpr std::uint32_t kExcluded = 0;  // instead of a set of the spec
  struct Tracked {
    const spec::Entry* entry = nullptr;
    std::uint32_t of = kExcluded;  // in declared_
    bool matched = false;          // or need not be
  };
  /// A set of the spec, or of SYNDROME_ATOMIC_SET.
  struct Declared {
    std::string name;
    bool of_objects = false;  // one for each object
    std::string type;         // the class of all its entries, when that is so
  };

  static bool contains(const std::vector<std::uint32_t>& words, std::uint32_t word) {
    for (const std::uint32_t each : words) {
      if (each == word) return true;
    }
    return false;
  }
  static void add(std::vector<std::uint32_t>& words, std::uint32_t word) {
    if (!contains(words, word)) words.push_back(word);
  }
  void track(const spec::Entry& entry, std::uint32_t of);
  void declare(std::string_view set, const spec::Entry& entry);
  /// What the program says by labels that have come since the last time.
  void take_labels(const Names& names);
  [[nodiscard]] std::vector<std::uint32_t> declared_for(std::string_view text,
                                                        const VariableName& parts);
  void decide(std::uint32_t variable, const Names& names);
  [[nodiscard]] Membership by_default(std::uint32_t variable, std::string_view text,
                                      const VariableName& parts, std::uint32_t life);
  [[nodiscard]] Membership alone(std::uint32_t variable);
  [[nodiscard]] std::uint32_t container(std::uint32_t set, std::uint32_t variable,
                                        std::string_view name);
  /// How many objects there were before at the object's place.
  [[nodiscard]] std::uint32_t life_of(std::string_view text, const VariableName& parts);
  [[nodiscard]] std::uint32_t set_of(std::string_view kind, std::string_view key,
                                     std::uint32_t life = 0);
  [[nodiscard]] Details& details_of(std::uint32_t set);
  void add_class(std::uint32_t set, std::string_view qualified);

  SetRuleOptions options_;
  Words* words_;
  std::vector<Declared> declared_;  // the first is kExcluded
  tsl::robin_map<std::string, std::uint32_t> declared_by_name_;
  std::deque<spec::Entry> said_by_program_;
  std::size_t labels_taken_ = 0;
  std::vector<Tracked> entries_;
  /// There may be as many entries as variables: those that end in a plain word, by that word.
  tsl::robin_map<std::string, std::vector<std::uint32_t>> by_word_;
  std::vector<std::uint32_t> others_;    // the other entries
  std::vector<Place> places_;            // by variable
  std::vector<Membership> memberships_;  // of variables in several sets
  std::vector<Set> sets_;
  std::vector<Details> details_;
  tsl::robin_map<std::uint64_t, std::uint32_t> by_key_;  // hash of what identifies a set
  struct Life {
    std::uint32_t number = 0;
    std::vector<std::uint32_t> fields;          // hashes of the names of those that have come
    std::vector<std::uint32_t> classes;         // and of their classes
    std::vector<std::uint32_t> classes_before;  // of the life before
  };
  tsl::robin_map<std::uint64_t, Life> lives_;                  // by hash of the object
  tsl::robin_map<std::uint64_t, std::uint32_t> containers_;    // hash of set and name -> location
  tsl::robin_map<std::uint32_t, bool, MixHash> is_container_;  // locations
  tsl::robin_map<std::string, bool> classes_;                  // of objects that were seen
};

}  // namespace syndrome::check::atomic_sets
