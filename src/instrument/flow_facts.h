// What a function does with its parameters, found in its body when it is asked for; of those
// without one, by attributes and names.

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/InstrTypes.h>

#include <cstdint>
#include <utility>

#include "instrument/flow_body.h"

namespace syndrome::instrument {

class FlowFacts {
 public:
  explicit FlowFacts(FlowBodies& bodies) : bodies_(bodies) {}

  /// Whether a call may write what its argument points to.
  bool writes(const llvm::CallBase& call, unsigned argument);
  /// Whether what a call returns may depend on its argument.
  bool returns(const llvm::CallBase& call, unsigned argument);
  /// How many bytes of what its parameter points to the function and those that it calls are seen
  /// to take as one struct; 0: not known. Adds the name of the type.
  std::uint64_t struct_bytes(const llvm::Function& function, unsigned parameter,
                             const llvm::StructType*& type);

 private:
  using Key = std::pair<const llvm::Function*, unsigned>;
  struct Known {
    bool writes = false;
    bool returns = false;
  };
  /// Calls that lead further down than this count as unknown.
  static constexpr unsigned kMostDepth = 12;

  Known of(const llvm::Function& function, unsigned parameter);
  Known find(const llvm::Function& body, unsigned parameter);

  FlowBodies& bodies_;
  llvm::DenseMap<Key, Known> known_;
  llvm::DenseMap<Key, std::pair<std::uint64_t, const llvm::StructType*>> structs_;
  unsigned depth_ = 0;
};

/// Whether memory that a call returns is new.
[[nodiscard]] bool allocates(const llvm::CallBase& call);
/// Whether the call is a compare-and-swap by its name; its second argument is compared with.
[[nodiscard]] bool compares_and_swaps(const llvm::CallBase& call);
/// Whether the body of a function with this definition is the one that runs.
[[nodiscard]] bool has_known_body(const llvm::Function& function);

}  // namespace syndrome::instrument
