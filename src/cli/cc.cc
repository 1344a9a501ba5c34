// The drivers pass every argument on as it is and only add their own: to compile, the plugin; to
// link, the runtime. What is asked of the compiler decides what is added, so that a probe of a
// build system sees clang.

#include "cli/cc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/io.h"

namespace syndrome::cli {
namespace {

namespace fs = std::filesystem;

// What clang gives for a wrong call, and build systems expect.
constexpr int kCompilerWrong = 1;

constexpr std::string_view kHelp =
    R"(clang 19 with Syndrome's probes: a drop-in C or C++ compiler and linker.
Usage: syndrome cc [OPTIONS] FILE…      (as one word: syndrome-cc)
       syndrome c++ [OPTIONS] FILE…     (as one word: syndrome-c++)

Takes every option that clang takes, and:
  --syndrome-mode=MODE    source: probes before any optimization, every access
                          of the source is recorded (default); fast: probes
                          after inlining and simplification
  --syndrome-enforce=PLAN no probes: put in the locks of the plan that 'syndrome
                          plan' made. The program runs by itself
  --syndrome-steps        with a plan, to try the hardened program out: with noise,
                          or under every schedule (docs/enforce.md)
  --syndrome-probes       with a plan: probes as well, to record and check the
                          hardened program
  --syndrome-help         this help (clang's own: syndrome cc -help)

Environment:
  SYNDROME_CLANG          the clang 19 to call; without it clang-19 or
                          clang++-19 from PATH, or /usr/lib/llvm-19/bin/clang

Example:
  CC="syndrome cc" CXX="syndrome c++" cmake -B b && cmake --build b
  syndrome record -o run.syn -- b/my_program
  CXX="syndrome c++ --syndrome-enforce=/path/my.plan" cmake -B hardened
)";

std::string find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    std::error_code error;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate, error)) {
      return candidate;
    }
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

/// The compiler, and what makes it one for C++ when its name does not.
std::vector<std::string> find_clang(bool cxx) {
  if (const char* given = std::getenv("SYNDROME_CLANG"); given != nullptr && *given != '\0') {
    std::vector<std::string> call = {given};
    if (cxx) call.emplace_back("--driver-mode=g++");
    return call;
  }
  if (std::string found = find_in_path(cxx ? "clang++-19" : "clang-19"); !found.empty()) {
    return {found};
  }
  const std::string fallback = cxx ? "/usr/lib/llvm-19/bin/clang++" : "/usr/lib/llvm-19/bin/clang";
  if (access(fallback.c_str(), X_OK) == 0) return {fallback};
  return {};
}

}  // namespace

fs::path library_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return (self.parent_path().parent_path() / "lib" / "syndrome").lexically_normal();
}

namespace {

/// Arguments that the compiler may use or not, without a warning.
void append_quietly(std::vector<std::string>& call, std::vector<std::string> arguments) {
  call.emplace_back("--start-no-unused-arguments");
  for (std::string& argument : arguments) call.push_back(std::move(argument));
  call.emplace_back("--end-no-unused-arguments");
}

int refuse(std::string_view why) {
  complain(why);
  return kCompilerWrong;
}

int compile(bool cxx, const std::vector<std::string>& arguments) {
  std::vector<std::string> call = find_clang(cxx);
  if (call.empty()) {
    return refuse(
        "there is no clang-19 on the PATH and no /usr/lib/llvm-19/bin/clang. Install the Debian "
        "package clang-19, or name a clang 19 with SYNDROME_CLANG.");
  }
  const CommandLine line = read_command_line(arguments);
  if (line.mode != "source" && line.mode != "fast") {
    return refuse(fmt::format("--syndrome-mode is source or fast, not '{}'. Try '--syndrome-help'.",
                              line.mode));
  }
  std::error_code missing;
  const bool enforces = !line.plan.empty();
  if (enforces && !fs::exists(line.plan, missing)) {
    return refuse(fmt::format(
        "--syndrome-enforce={}: there is no such file. 'syndrome plan -o FILE' makes one; give an "
        "absolute path where a build changes folders.",
        line.plan));
  }
  if (enforces && line.mode != "source") {
    return refuse("--syndrome-enforce works in source mode only; leave --syndrome-mode out.");
  }
  if (!enforces && (line.steps || line.probes)) {
    return refuse("--syndrome-steps and --syndrome-probes are for --syndrome-enforce=PLAN.");
  }
  if (line.steps && line.probes) {
    return refuse("--syndrome-steps and --syndrome-probes are for two builds: leave one out.");
  }
  if (!line.sanitizer.empty() && line.inputs) {
    return refuse(fmt::format(
        "-fsanitize={} and Syndrome's probes cannot be in one program: both replace the "
        "same functions. Use clang-19 for the sanitizer's build.",
        line.sanitizer));
  }
  const bool links = line.links && line.present;
  if (links && line.is_static) {
    return refuse(
        "a fully static program (-static, -static-pie) cannot be recorded or hardened: the runtime "
        "stands between the program and the C library, which is a shared one. Link without it; "
        "-static-libstdc++ and -static-libgcc are fine.");
  }

  const fs::path folder = library_folder();
  const std::string plugin = (folder / "syndrome_pass.so").string();
  const std::string locks = (folder / "libsyndrome_locks.a").string();
  const std::string shared =
      (folder / (line.steps ? "libsyndrome_steps.so" : "libsyndrome_rt.so")).string();
  const bool has_shared = !enforces || line.steps || line.probes;
  std::error_code error;
  if (line.inputs) {
    if (!fs::exists(plugin, error)) {
      return refuse(
          fmt::format("{} is missing: this installation of Syndrome is incomplete", plugin));
    }
    // With debug information, that of every class: a class whose virtual functions are defined in
    // another file would have no fields here, and they no names. Before what the user says.
    // Without it, at least the lines: steps are known by where they are.
    std::vector<std::string> flags = {"-gline-tables-only", "-fstandalone-debug",
                                      "-fpass-plugin=" + plugin, "-idirafter",
                                      (folder / "include").string()};
    // libstdc++ has a faster way to drop the last owner of a shared_ptr, which it hides from race
    // detectors, because they see plain writes to a count that others have updated. Whoever asks
    // for the macros of the compiler is told clang's.
    if (line.compiles) flags.emplace_back("-D_GLIBCXX_TSAN=1");
    // Without -load, clang would not know the plugin's options.
    if (line.mode != "source" || enforces) {
      flags.insert(flags.end(),
                   {"-Xclang", "-load", "-Xclang", plugin, "-mllvm",
                    enforces ? "-syndrome-enforce=" + line.plan : "-syndrome-mode=" + line.mode});
      if (line.steps) flags.insert(flags.end(), {"-mllvm", "-syndrome-steps"});
      if (line.probes) flags.insert(flags.end(), {"-mllvm", "-syndrome-probes"});
    }
    append_quietly(call, std::move(flags));
  }
  if (links && !line.relocatable) {
    for (const auto& [file, needed] : {std::pair(locks, enforces), std::pair(shared, has_shared)}) {
      if (needed && !fs::exists(file, error)) {
        return refuse(
            fmt::format("{} is missing: this installation of Syndrome is incomplete", file));
      }
    }
    std::vector<std::string> flags;
    // A shared library uses the locks of the program that loads it.
    if (enforces && !line.shared) {
      flags = {"-Wl,--push-state,--whole-archive", "-Wl," + locks, "-Wl,--pop-state",
               "-Wl,--export-dynamic-symbol=__syndrome_lock_*"};
    }
    // First of all libraries: of two definitions of pthread_mutex_lock the first one wins.
    if (has_shared) {
      flags.insert(flags.end(), {"-Wl,--push-state,--no-as-needed", "-Wl," + shared,
                                 "-Wl,--pop-state", "-Wl,-rpath," + folder.string()});
    }
    append_quietly(call, std::move(flags));
  }
  for (const std::string& argument : arguments) {
    if (!is_ours(argument)) call.push_back(argument);
  }

  std::vector<char*> raw;
  raw.reserve(call.size() + 1);
  for (std::string& argument : call) raw.push_back(argument.data());
  raw.push_back(nullptr);
  execv(raw[0], raw.data());
  return refuse(fmt::format("{} could not be started: {}", call[0], std::strerror(errno)));
}

}  // namespace

std::optional<int> run_compiler(int argc, char** argv) {
  const std::string_view self = argc > 0 ? argv[0] : "";
  const std::string_view name = self.substr(self.rfind('/') + 1);
  std::string_view tool;
  int first = 1;
  if (name == "syndrome-cc" || name == "syndrome-c++") {
    tool = name.substr(std::strlen("syndrome-"));
  } else if (argc > 1 && (std::strcmp(argv[1], "cc") == 0 || std::strcmp(argv[1], "c++") == 0)) {
    tool = argv[1];
    first = 2;
    // As with every command of ours; syndrome-cc --help is clang's.
    if (argc == 3 && std::strcmp(argv[2], "--help") == 0) {
      const Status status = write_stdout(std::string(kHelp));
      return status ? 0 : kCompilerWrong;
    }
  } else {
    return std::nullopt;
  }
  const std::vector<std::string> arguments(argv + first, argv + argc);
  for (const std::string& argument : arguments) {
    if (argument == "--syndrome-help") {
      const Status status = write_stdout(std::string(kHelp));
      return status ? 0 : kCompilerWrong;
    }
  }
  return compile(tool == "c++", arguments);
}

}  // namespace syndrome::cli
