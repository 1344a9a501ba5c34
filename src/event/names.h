// The names that a trace gives to its ids.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event/ids.h"
#include "event/layout.h"

namespace syndrome {

/// Strings numbered from 0, stored end to end. Appending may move them: a string_view from here
/// lives until the next append.
class StringTable {
 public:
  std::uint32_t append(std::string_view text);
  [[nodiscard]] std::string_view operator[](std::size_t id) const;
  [[nodiscard]] std::size_t size() const { return ends_.size(); }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> ends_;
};

/// Whether a function of this name is a mark that the runtime records as if it was one: a block of
/// another kind than atomic (docs/capture.md).
[[nodiscard]] inline bool is_mark(std::string_view function) {
  return function.starts_with("deterministic ") || function.starts_with("unit ");
}

/// All names of one trace, a table for each space. Labels and sites begin with the empty string:
/// id 0 is "none" there.
class Names {
 public:
  Names();

  [[nodiscard]] StringTable& table(Space space) { return tables_[static_cast<std::size_t>(space)]; }
  [[nodiscard]] const StringTable& table(Space space) const {
    return tables_[static_cast<std::size_t>(space)];
  }

  [[nodiscard]] std::string_view thread(ThreadId id) const { return of(Space::kThread, id.value); }
  [[nodiscard]] std::string_view variable(VarId id) const { return of(Space::kVariable, id.value); }
  [[nodiscard]] std::string_view lock(LockId id) const { return of(Space::kLock, id.value); }
  [[nodiscard]] std::string_view label(LabelId id) const { return of(Space::kLabel, id.value); }
  [[nodiscard]] std::string_view site(SiteId id) const { return of(Space::kSite, id.value); }
  [[nodiscard]] std::string_view of(Space space, std::uint32_t id) const {
    return table(space)[id];
  }

  [[nodiscard]] Layout& layout() { return layout_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  std::array<StringTable, kSpaceCount> tables_;
  Layout layout_;
};

}  // namespace syndrome
