// Sites: where in the source an access or a call stands, and what it is called.

#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

#include <cstdint>
#include <string>

#include "event/unit.h"
#include "instrument/names.h"
#include "instrument/unit_builder.h"

namespace syndrome::instrument {

/// Whether a file belongs to the system, and not to the program.
[[nodiscard]] bool in_system_header(llvm::StringRef path);

/// Of the code as the compiler made it from the source: a profile that was taken with other code
/// does not fit. What differs between optimization levels is left out.
[[nodiscard]] std::uint32_t hash_of(const llvm::Function& function);

/// Where a file is, absolute where debug information knows it.
[[nodiscard]] std::string source_path(const llvm::DIFile* file);

/// The linkage name, if whoever reads the recording can take it apart with the C++ library; the
/// name that it stands for otherwise: clang 19 knows manglings that the library does not.
[[nodiscard]] std::string readable_name(llvm::StringRef linkage_name);

class Sites {
 public:
  /// Puts what is annotated to be in an atomic set into the unit.
  Sites(const llvm::Module& module, UnitBuilder& unit);

  /// Begins a function in the unit.
  std::uint32_t begin(const llvm::Function& function, std::uint32_t flags, llvm::StringRef label);

  /// The number of a new site of the function that was begun last.
  std::uint32_t access(const llvm::Instruction& at, const llvm::Value* pointer, unit::SiteKind kind,
                       std::uint64_t bytes);
  std::uint32_t call(const llvm::CallBase& at, std::uint8_t flags);
  /// Of an object that the function works on.
  std::uint32_t object(const llvm::Function& function, llvm::StringRef type, std::uint64_t bytes);
  /// Of a site in a system header, that of the call in the program that it was inlined at, if there
  /// is one; 0 of 0. As readers find it (trace::CaptureMeta::program_site).
  [[nodiscard]] std::uint32_t program_site(std::uint32_t number);

  [[nodiscard]] Names& names() { return names_; }

 private:
  unit::Site place(const llvm::DILocation* location, const llvm::Function& function);
  void name(unit::Site& site, const VariableName& name);

  UnitBuilder& unit_;
  Names names_;
  llvm::DenseMap<const llvm::DILocation*, std::uint32_t> inlined_;  // sites of inlined calls
  llvm::DenseMap<const llvm::DIFile*, std::string> files_;
  const std::string& path_of(const llvm::DIFile* file);
  llvm::StringRef readable(llvm::StringRef linkage_name);
  llvm::StringMap<std::string> readable_;
};

}  // namespace syndrome::instrument
