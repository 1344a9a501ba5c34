// Variables that must agree count as one (section 3 of the paper): a flag and the pointer that it
// speaks of. Which ones: as the user says, as the program's annotations say, or those that
// functions access together in most cases, as in MUVI (Lu et al., SOSP 2007).

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace syndrome::enforce {

using Group = std::vector<std::string>;

/// Groups of variables by name; groups that have a name in common are one.
class VariableGroups {
 public:
  void add(const Group& names);
  /// "a+b" of the group that the variable is in, its names in order; null when it stands alone.
  /// Good until the next add().
  [[nodiscard]] const std::string* name_of(std::string_view variable) const;

 private:
  std::vector<Group> groups_;  // in order, no two overlap
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> of_;
};

/// How often variables are accessed together. A *case* of a variable is a function that accesses
/// it, not by way of others that it calls; the function accesses two of them *together* when one
/// call of it accesses both: two globals, or two fields of one object.
struct Companions {
  std::set<std::string> shared;                        // that two threads have accessed
  std::map<std::string, std::set<std::string>> cases;  // by variable
  std::map<std::pair<std::string, std::string>, std::set<std::string>> together;  // in order
  friend bool operator==(const Companions&, const Companions&) = default;

  /// What both have shown.
  void merge(const Companions& other);

  /// Fewer functions than that are no custom.
  static constexpr std::size_t kLeastTogether = 2;
  /// Whether two shared variables are correlated: at least kLeastTogether functions access both,
  /// and those are `percent` of the cases of either.
  [[nodiscard]] bool correlated(const std::string& a, const std::string& b, unsigned percent) const;
  /// Disjoint groups in which every two variables are correlated, and no two of which could be one:
  /// the strongest correlations first.
  [[nodiscard]] std::vector<Group> groups(unsigned percent) const;
};

}  // namespace syndrome::enforce
