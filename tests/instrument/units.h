// Takes apart the units (event/unit.h) that the compiler left in an object file or program.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syndrome::test {

struct UnitFunction {
  std::string name;
  std::string file;
  unsigned flags = 0;
  std::string label;
  /// "write 12:3 Account::balance+40 (8)": kind, line and column, name with its offset where it has
  /// one ("?" when ambiguous), bytes. Calls first show as "call 12:3 name".
  std::vector<std::string> sites;
  /// Of the calls, those that nothing comes behind: "12 callee"; "callee" where it lets go of a
  /// lock.
  std::vector<std::string> last;
  /// "Account 56": what it works on, no part of `sites`.
  std::vector<std::string> objects;
  /// "3->4 data control": lines of steps that are connected, and how (unit::FlowHow).
  std::vector<std::string> flows;
  /// Lines of sites whose values reach the function's result.
  std::vector<unsigned> results;

  /// Without the calls.
  [[nodiscard]] std::vector<std::string> accesses() const;
  [[nodiscard]] std::vector<std::string> calls() const;
};

/// The functions of all units in `bytes`, in order.
[[nodiscard]] std::vector<UnitFunction> unit_functions(std::string_view bytes);

/// The one whose mangled name is `name`; one without sites and with flags ~0 when there is none.
[[nodiscard]] UnitFunction unit_function(std::string_view bytes, std::string_view name);

}  // namespace syndrome::test
