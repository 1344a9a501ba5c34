// A small program with the verdict that it must get, as the comments at its top say:
//
//   // verdict: clean | violated
//   // blocks: transfer, Account::*     entries for [blocks] atomic of its spec; none: annotations
//   // output: text                     what it prints, a line each, with and without recording
//   // exit: 7                          its exit code when not 0; 128 + signal
//   // flags: -fopenmp                  for compiler and linker
//   // args: 3 4
//   // env: NAME=VALUE …
//   // record: --order exact            for `syndrome record`
//   // parts: library/plugin_part.c     built as a shared library beside it, NAME.part.so
//   // races: found                     its recordings have data races; none unless said
//   // tsan: skip | races               not silent under ThreadSanitizer, and why
//
// then one sentence on what it guards against. In a violated program the lines that end in
// `// <- here` are those that the findings must name; in one with races, `// <- race` ends those
// that the races must name, and no others then.

#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace syndrome::test {

struct Program {
  std::filesystem::path source;
  bool violated = false;
  bool races = false;
  std::string tsan;  // empty: as `races`
  std::vector<std::string> blocks;
  std::string output;
  int exit_code = 0;
  std::string flags;
  std::string arguments;
  std::string environment;
  std::string record;
  std::filesystem::path part;  // empty: none
  std::set<std::size_t> here;  // lines
  std::set<std::size_t> race;  // likewise

  [[nodiscard]] std::string name() const { return source.stem().string(); }
  [[nodiscard]] bool is_c() const { return source.extension() == ".c"; }
};

/// Aborts with a message when the comments are not as above: a misspelt key would turn a check off.
[[nodiscard]] Program read_program(const std::filesystem::path& source);

}  // namespace syndrome::test
