#include "programs/program.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "support/shell.h"

namespace syndrome::test {
namespace {

[[noreturn]] void reject(const std::filesystem::path& source, const std::string& line,
                         std::string_view what) {
  std::fprintf(stderr, "%s: `%s`: %.*s\n", source.c_str(), line.c_str(),
               static_cast<int>(what.size()), what.data());
  std::exit(2);
}

std::vector<std::string> entries(const std::string& list) {
  std::vector<std::string> found;
  std::istringstream text(list);
  for (std::string entry; std::getline(text >> std::ws, entry, ',');) found.push_back(entry);
  return found;
}

// "key: value" of a comment, or an empty key: a key is one small word.
std::pair<std::string, std::string> key_of(const std::string& line) {
  const std::size_t colon = line.find(": ");
  if (!line.starts_with("// ") || colon == std::string::npos) return {};
  const std::string key = line.substr(3, colon - 3);
  if (key.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos) return {};
  return {key, line.substr(colon + 2)};
}

}  // namespace

Program read_program(const std::filesystem::path& source) {
  Program program;
  program.source = source;
  const std::filesystem::path root = source.parent_path().parent_path();
  std::istringstream text(read_file(source));
  std::size_t number = 0;
  bool top = true;
  std::string verdict;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.ends_with("// <- here")) program.here.insert(number);
    if (line.ends_with("// <- race")) program.race.insert(number);
    const auto [key, value] = key_of(line);
    // The first line of prose ends the keys.
    top = top && !key.empty();
    if (!top) continue;
    if (key == "verdict") {
      verdict = value;
    } else if (key == "blocks") {
      for (std::string& entry : entries(value)) program.blocks.push_back(std::move(entry));
    } else if (key == "output") {
      program.output += value + "\n";
    } else if (key == "exit") {
      program.exit_code = std::stoi(value);
    } else if (key == "flags") {
      program.flags = value;
    } else if (key == "args") {
      program.arguments = value;
    } else if (key == "env") {
      program.environment = value;
    } else if (key == "record") {
      program.record = value;
    } else if (key == "parts") {
      program.part = root / value;
    } else if (key == "tsan") {
      program.tsan = value.substr(0, value.find(':'));
    } else if (key == "races") {
      if (value != "found" && !value.starts_with("found: ")) {
        reject(source, line, "expected found");
      }
      program.races = true;
    } else {
      reject(source, line, "no such key; tests/programs/program.h lists them");
    }
  }
  if (verdict != "clean" && verdict != "violated") {
    reject(source, "// verdict: " + verdict, "expected clean or violated");
  }
  program.violated = verdict == "violated";
  if (!program.violated && !program.here.empty()) {
    reject(source, "// <- here", "only in a violated program");
  }
  if (!program.races && !program.race.empty()) {
    reject(source, "// <- race", "only in a program with races");
  }
  return program;
}

}  // namespace syndrome::test
