#include "check/atomic_sets_role.h"

#include <string>

#include "check/atomic_sets/sets.h"
#include "event/labels.h"
#include "spec/pattern.h"

namespace syndrome::check::atomic_sets {

trace::UnitRole role_of(std::string_view name) {
  using trace::FunctionRole;
  // Also a function that is called as annotations are.
  if (name.empty() || name == "unit" || name.starts_with("unit ") ||
      name.starts_with("deterministic ") || name.starts_with(kSetMemberLabel)) {
    return {FunctionRole::kDeclared, {}};
  }
  if (spec::of_library(name)) return {FunctionRole::kLibrary, {}};
  const std::string bare = spec::without_templates(name);
  if (bare == "main") return {FunctionRole::kNever, {}};
  const std::string_view type = class_of(bare);
  if (type.empty()) return {FunctionRole::kAccessor, {}};
  return {FunctionRole::kMember, std::string(type)};
}

}  // namespace syndrome::check::atomic_sets
