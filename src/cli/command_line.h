// What a compiler's command line asks for, as far as the drivers (cli/cc.h) need to know.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syndrome::cli {

struct CommandLine {
  bool inputs = false;          // there is something to compile or link
  bool present = false;         // and it exists, so that clang will start the linker
  bool links = true;            // the last step is the linker's (no -c, -E, …)
  bool compiles = true;         // more than the preprocessor runs
  bool shared = false;          // -shared
  bool relocatable = false;     // -r
  bool is_static = false;       // -static, -static-pie
  std::string sanitizer;        // one that cannot be in a program with probes, or empty
  std::string mode = "source";  // --syndrome-mode
  std::string plan;             // --syndrome-enforce; empty: a build with probes
  bool steps = false;           // --syndrome-steps
  bool probes = false;          // --syndrome-probes: in a hardened build as well
};

/// Looks into response files (@file) too; one that cannot be read is clang's to complain about.
[[nodiscard]] CommandLine read_command_line(const std::vector<std::string>& arguments);

/// Whether the argument is for the driver and not for clang.
[[nodiscard]] bool is_ours(std::string_view argument);

/// The arguments in a response file's text, by the rules of GCC and clang: separated by white
/// space, with quotes and backslashes as in a shell.
[[nodiscard]] std::vector<std::string> split_response(std::string_view text);

}  // namespace syndrome::cli
