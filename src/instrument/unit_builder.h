// Builds the unit of a module (event/unit.h) while its functions get their probes.

#pragma once

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "event/unit.h"

namespace syndrome::instrument {

/// Functions are built one after another: begin_function(), its sites, then the next.
class UnitBuilder {
 public:
  explicit UnitBuilder(llvm::Module& module);

  /// A handle for the string, the same for the same text; 0 for "". Goes into every field of unit::
  /// that is a string; finish() turns handles into offsets.
  [[nodiscard]] std::uint32_t string(llvm::StringRef text);

  /// Returns the function's index.
  std::uint32_t begin_function(const unit::Function& function);
  /// Returns the number of the site in the function that was begun last, from 1.
  std::uint32_t add_site(const unit::Site& site);
  /// What unit::Site::inlined needs to refer to a site of the function that was begun last.
  [[nodiscard]] std::uint32_t reference(std::uint32_t number) const;
  /// An earlier site of the function that was begun last.
  [[nodiscard]] unit::Site& site(std::uint32_t number);

  /// Two sites of the function that was begun last, by their numbers, are connected. What is said
  /// of one pair is joined.
  void add_flow(std::uint32_t from, std::uint32_t to, std::uint32_t how);

  /// The address of a function in the unit, valid before the unit is complete.
  [[nodiscard]] llvm::Constant* address_of(std::uint32_t function) const;

  [[nodiscard]] bool empty() const { return functions_.empty(); }

  /// The offset in the unit of a string's handle. After the last begin_function and add_site.
  /// And after the last add_flow.
  [[nodiscard]] std::uint32_t offset_of(std::uint32_t handle) const;

  /// Puts the unit into the module; every address_of() refers to it now.
  llvm::GlobalVariable* finish(std::uint32_t name, std::uint32_t directory, std::uint32_t flags);

 private:
  llvm::Module& module_;
  llvm::GlobalVariable* placeholder_;
  std::vector<unit::Function> functions_;
  std::vector<unit::Site> sites_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> flows_;  // FlowHow
  std::string strings_;
  llvm::StringMap<std::uint32_t> handles_;
};

}  // namespace syndrome::instrument
