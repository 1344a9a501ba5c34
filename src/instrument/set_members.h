// What SYNDROME_ATOMIC_SET marks: clang keeps a note of each variable, and one at each place where
// a field is accessed.

#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "instrument/names.h"

namespace syndrome::instrument {

struct SetMember {
  std::string name;  // "counter", "Account::balance"
  std::string set;
  friend auto operator<=>(const SetMember&, const SetMember&) = default;
};

/// Each once. Fields that the module does not access are not among them: another one has them.
[[nodiscard]] std::vector<SetMember> set_members(const llvm::Module& module, Names& names);

/// The text of an annotation, from the constant that holds it; empty when it is none.
[[nodiscard]] llvm::StringRef annotation_text(const llvm::Value* constant);

}  // namespace syndrome::instrument
