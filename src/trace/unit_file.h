// The units (event/unit.h) that the compiler pass has left in an object file, a program or a
// library. The file is untrusted: what does not fit together is passed over.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "event/result.h"
#include "event/unit.h"

namespace syndrome::trace {

/// A unit in the bytes of a file; valid as long as those are.
class UnitInFile {
 public:
  /// `bytes` begin with a header whose tables fit (find_units).
  explicit UnitInFile(std::string_view bytes);

  [[nodiscard]] const std::vector<unit::Function>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<unit::Site>& sites() const { return sites_; }
  [[nodiscard]] const std::vector<unit::Flow>& flows() const { return flows_; }
  /// Where the compiler was called.
  [[nodiscard]] std::string_view directory() const { return text(directory_); }
  /// Empty when there is none.
  [[nodiscard]] std::string_view text(std::uint32_t offset) const;

 private:
  std::string_view bytes_;
  std::uint32_t directory_ = 0;
  std::vector<unit::Function> functions_;  // those whose sites exist
  std::vector<unit::Site> sites_;
  std::vector<unit::Flow> flows_;  // those whose sites exist
};

/// All units of an ELF file. An error when it is no ELF file of this kind of machine, is cut off,
/// or has none.
[[nodiscard]] Result<std::vector<UnitInFile>> find_units(std::string_view elf);

}  // namespace syndrome::trace
