#include "cli/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace syndrome::cli {
namespace {

// Deeper than response files are nested by anyone; one that names itself ends here.
constexpr unsigned kMostNesting = 16;

constexpr std::string_view kMode = "--syndrome-mode=";
constexpr std::string_view kEnforce = "--syndrome-enforce=";

/// Options whose value is the next argument, which is then not an input.
constexpr auto kTakesNext = std::to_array<std::string_view>({"-o",
                                                             "-I",
                                                             "-x",
                                                             "-D",
                                                             "-U",
                                                             "-L",
                                                             "-l",
                                                             "-u",
                                                             "-e",
                                                             "-T",
                                                             "-z",
                                                             "-F",
                                                             "-B",
                                                             "-A",
                                                             "-G",
                                                             "-J",
                                                             "-include",
                                                             "-imacros",
                                                             "-isystem",
                                                             "-idirafter",
                                                             "-iquote",
                                                             "-iprefix",
                                                             "-iwithprefix",
                                                             "-iwithprefixbefore",
                                                             "-isysroot",
                                                             "-include-pch",
                                                             "-cxx-isystem",
                                                             "-MF",
                                                             "-MT",
                                                             "-MQ",
                                                             "-MJ",
                                                             "-Xclang",
                                                             "-Xlinker",
                                                             "-Xpreprocessor",
                                                             "-Xassembler",
                                                             "-Xopenmp-target",
                                                             "-mllvm",
                                                             "-mmlir",
                                                             "-target",
                                                             "--target",
                                                             "--param",
                                                             "-arch",
                                                             "-framework",
                                                             "-gcc-toolchain",
                                                             "--sysroot",
                                                             "-aux-info",
                                                             "-dumpbase",
                                                             "-dumpdir",
                                                             "-install_name",
                                                             "-rpath",
                                                             "-soname",
                                                             "-h",
                                                             "--serialize-diagnostics",
                                                             "-serialize-diagnostics",
                                                             "--config",
                                                             "-fplugin-arg",
                                                             "-ivfsoverlay",
                                                             "-working-directory",
                                                             "-Xanalyzer",
                                                             "--output",
                                                             "--include-directory",
                                                             "--language",
                                                             "--define-macro",
                                                             "--undefine-macro",
                                                             "-idirafter",
                                                             "-segprot",
                                                             "-current_version",
                                                             "-compatibility_version",
                                                             "-exported_symbols_list",
                                                             "-iframework",
                                                             "-stdlib++-isystem",
                                                             "-fmodule-file-deps",
                                                             "-Xarch_host",
                                                             "-Xarch_device"});

/// Options after which nothing is linked.
constexpr auto kNoLink = std::to_array<std::string_view>(
    {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--analyze", "-emit-ast", "--precompile",
     "-rewrite-objc", "--compile", "--assemble", "--preprocess", "--syntax-only", "-emit-pch",
     "-extract-api", "-emit-interface-stubs", "-verify-pch"});

/// Of them, those that compile nothing.
constexpr auto kPreprocess = std::to_array<std::string_view>({"-E", "-M", "-MM", "--preprocess"});

/// Sanitizers whose runtime replaces the functions that ours replaces.
constexpr auto kOtherRuntimes = std::to_array<std::string_view>(
    {"thread", "address", "memory", "hwaddress", "leak", "dataflow"});

bool listed(const auto& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

class Reader {
 public:
  explicit Reader(CommandLine& line) : line_(line) {}

  void read(const std::vector<std::string>& arguments, unsigned nesting) {
    for (const std::string& argument : arguments) {
      if (skip_) {
        skip_ = false;
        continue;
      }
      if (argument.size() > 1 && argument[0] == '@' && nesting < kMostNesting) {
        std::ifstream file(argument.substr(1), std::ios::binary);
        if (file) {
          std::ostringstream text;
          text << file.rdbuf();
          read(split_response(text.str()), nesting + 1);
          continue;
        }
      }
      word(argument);
    }
  }

 private:
  void word(std::string_view argument) {
    if (options_over_ || argument.empty() || argument[0] != '-' || argument == "-") {
      line_.inputs = true;
      std::error_code error;
      if (argument == "-" || std::filesystem::exists(argument, error)) line_.present = true;
      return;
    }
    if (argument == "--") {
      options_over_ = true;
    } else if (argument.starts_with(kMode)) {
      line_.mode = argument.substr(kMode.size());
    } else if (argument.starts_with(kEnforce)) {
      line_.plan = argument.substr(kEnforce.size());
    } else if (argument == "--syndrome-steps") {
      line_.steps = true;
    } else if (argument == "--syndrome-probes") {
      line_.probes = true;
    } else if (listed(kNoLink, argument)) {
      line_.links = false;
      if (listed(kPreprocess, argument)) line_.compiles = false;
    } else if (argument == "-shared" || argument == "--shared") {
      line_.shared = true;
    } else if (argument == "-r") {
      line_.relocatable = true;
    } else if (argument == "-static" || argument == "--static" || argument == "-static-pie") {
      line_.is_static = true;
    } else if (argument.starts_with("-fsanitize=")) {
      for (const std::string& name : names(argument)) {
        if (listed(kOtherRuntimes, name)) line_.sanitizer = name;
      }
    } else if (argument.starts_with("-fno-sanitize=")) {
      for (const std::string& name : names(argument)) {
        if (name == line_.sanitizer || name == "all") line_.sanitizer.clear();
      }
    } else {
      skip_ = listed(kTakesNext, argument);
      // Libraries alone are something to link.
      if (argument.starts_with("-l") || argument.starts_with("-Wl,") || argument == "-Xlinker") {
        line_.inputs = true;
        line_.present = true;
      }
    }
  }

  /// What stands behind the =, separated by commas.
  static std::vector<std::string> names(std::string_view argument) {
    std::vector<std::string> found;
    std::string_view rest = argument.substr(argument.find('=') + 1);
    while (true) {
      const std::size_t comma = rest.find(',');
      found.emplace_back(rest.substr(0, comma));
      if (comma == std::string_view::npos) return found;
      rest.remove_prefix(comma + 1);
    }
  }

  CommandLine& line_;
  bool skip_ = false;
  bool options_over_ = false;
};

}  // namespace

CommandLine read_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  Reader(line).read(arguments, 0);
  return line;
}

bool is_ours(std::string_view argument) {
  return argument.starts_with("--syndrome-");
}

std::vector<std::string> split_response(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

}  // namespace syndrome::cli
