// Names of C++ functions as people write them.

#pragma once

#include <string>
#include <string_view>

namespace syndrome::trace {

/// "_ZN7Account8transferEi" -> "Account::transfer(int)"; what is not mangled stays as it is.
[[nodiscard]] std::string demangle(std::string_view linkage_name);

/// Without parameters, what follows them, and the return type that templates have:
/// "bool store::put<int>(int) const" -> "store::put<int>". Stays as it is when in doubt.
[[nodiscard]] std::string_view without_parameters(std::string_view name);

}  // namespace syndrome::trace
