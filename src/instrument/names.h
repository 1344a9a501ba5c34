// What an access in the source is called: "counter", "bank::Account::balance".
//
// The pointer of an access is followed back to a variable whose debug type is known, through local
// pointer variables, fields and the results of functions; the type and the constant offset give the
// field. Without debug information, what is left are the names of globals and of LLVM's struct
// types.

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Value.h>

#include <cstdint>
#include <optional>
#include <string>

namespace syndrome::instrument {

struct VariableName {
  std::string text;                    // empty: not known
  std::optional<std::int64_t> offset;  // of the access in the instance of the type in `text`
  bool ambiguous = false;              // a union or bit-field: one name of several
};

/// Of a scope's members: "ns::Type". Anonymous ones have a name in parentheses.
[[nodiscard]] std::string qualified_name(const llvm::DIScope* scope, llvm::StringRef name);

class Names {
 public:
  explicit Names(const llvm::Module& module);

  /// The memory that `pointer` points to, of which `bytes` are accessed.
  [[nodiscard]] VariableName of(const llvm::Value* pointer, std::uint64_t bytes);
  /// The object that `pointer` points to as a whole, as an argument of a call does: a variable or a
  /// field; nothing when only its type is known, and nothing for std::lock_guard and its like.
  /// `innermost`: the callee takes something small, a lock, which may be an object's first field.
  [[nodiscard]] VariableName of_object(const llvm::Value* pointer, bool innermost);
  /// A global variable, qualified.
  [[nodiscard]] std::string of_global(const llvm::GlobalVariable& global);

 private:
  /// An object of a type, and where in it a pointer points.
  struct Place {
    const llvm::DIType* type = nullptr;  // null: not known
    std::int64_t offset = 0;
    std::string variable;  // the variable that the object is, when it is one
  };

  Place place_of(const llvm::Value* pointer, unsigned depth);
  Place owner_of(const llvm::Value* pointer);
  [[nodiscard]] VariableName directly_of(const llvm::Value* pointer, std::uint64_t bytes);
  VariableName of_type(const llvm::Value* pointer);
  const llvm::DIType* pointee_of(const llvm::Value* loaded, unsigned depth);
  Place variable_of(const llvm::Value* storage);

  const llvm::DataLayout& layout_;
  // Variables by their memory, and by a value that they have.
  llvm::DenseMap<const llvm::Value*, const llvm::DIVariable*> storage_;
  llvm::DenseMap<const llvm::Value*, const llvm::DIVariable*> values_;
};

}  // namespace syndrome::instrument
