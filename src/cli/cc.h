// syndrome cc and syndrome c++: clang with the plugin and the runtime.

#pragma once

#include <filesystem>
#include <optional>

namespace syndrome::cli {

/// The exit code when the call is one of a compiler driver: as `syndrome cc …`, or under the name
/// syndrome-cc or syndrome-c++. Does not return when it could start the compiler.
[[nodiscard]] std::optional<int> run_compiler(int argc, char** argv);

/// Where the plugin, the runtime and other modules are: beside this program, in the build tree as
/// after installation.
[[nodiscard]] std::filesystem::path library_folder();

}  // namespace syndrome::cli
