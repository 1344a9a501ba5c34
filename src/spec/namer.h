// Entries of a spec for functions that a program, not a person, has chosen: as short as people
// write them, and never matching a function that was not meant.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace syndrome::spec {

class Namer {
 public:
  /// `labels`: every function that the entries will meet.
  explicit Namer(const std::vector<std::string>& labels);

  /// The first of these that matches `label` and only labels that are `meant`: the name without
  /// parameters, the same with `::` in front, the whole name, the same with `::`, a regular
  /// expression for this name alone. None when the name cannot be written into a spec.
  [[nodiscard]] std::optional<std::string> entry_for(
      std::string_view label, const std::function<bool(std::string_view)>& meant) const;

 private:
  [[nodiscard]] bool good(const std::string& entry, std::string_view label,
                          const std::function<bool(std::string_view)>& meant) const;

  // By the name alone, without class, parameters and template arguments: an entry that is a name
  // matches only labels that share it.
  std::unordered_map<std::string, std::vector<std::string>> by_name_;
};

/// The name of the function alone, without template arguments.
[[nodiscard]] std::string bare_name(std::string_view label);

}  // namespace syndrome::spec
