// Holds `syndrome check --check races` against ThreadSanitizer on the programs of this folder.
//
//   tsan_agreement [--runs N] FILE…
//
// Each program is built by `syndrome cc` or `c++` and run N times (20) recorded, and built by clang
// with -fsanitize=thread and run N times. A race is a pair of places, each the innermost line of
// the program itself. Every pair that ThreadSanitizer reports must be among ours, and there must be
// races just where the program says so (program.h). Prints each disagreement and a table of what
// both found; exit code 1 when there was a disagreement.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "programs/program.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// "racy.c:17", the lesser one first.
using Pair = std::pair<std::string, std::string>;
using Pairs = std::set<Pair>;

Pair pair_of(std::string one, std::string other) {
  if (other < one) std::swap(one, other);
  return {std::move(one), std::move(other)};
}

std::string words_of(const Pairs& pairs) {
  if (pairs.empty()) return "none";
  std::vector<std::string> words;
  for (const auto& [one, other] : pairs) words.push_back(one + " and " + other);
  return fmt::format("{}", fmt::join(words, "; "));
}

class Agreement {
 public:
  explicit Agreement(const Program& program) : program_(program) {}

  /// Whether they agree.
  bool run(int runs) {
    if (!build()) return false;
    for (int i = 0; i < runs && failures_ == 0; ++i) record();
    if (program_.races != !ours_.empty()) {
      fail(fmt::format("we find {}; expected {}", words_of(ours_),
                       program_.races ? "some" : "none"));
    }
    if (program_.tsan == "skip") return report("skipped");
    for (int i = 0; i < runs; ++i) sanitize();
    if (program_.tsan == "races") return report(words_of(theirs_) + " (a false alarm)");
    for (const Pair& pair : theirs_) {
      if (!ours_.contains(pair)) {
        fail(fmt::format("only ThreadSanitizer finds {}", words_of({pair})));
      }
    }
    return report(words_of(theirs_));
  }

 private:
  bool build() {
    const fs::path root = program_.source.parent_path().parent_path();
    const std::string standard = program_.is_c() ? "-std=gnu17" : "-std=c++20";
    const std::string common = fmt::format("{} -g -O1 -pthread -I '{}'", standard, root.string());
    const std::string ours = program_.is_c() ? "syndrome cc" : "syndrome c++";
    const std::string theirs =
        fmt::format("{} -fsanitize=thread -I '{}'", program_.is_c() ? "clang-19" : "clang++-19",
                    (source_directory() / "include").string());
    return build(ours, common, "ours") &&
           (program_.tsan == "skip" || build(theirs, common, "theirs"));
  }

  bool build(const std::string& compiler, const std::string& common, const std::string& folder) {
    std::string script =
        fmt::format("mkdir {} && cd {} && {} {} '{}' {} -o {}", folder, folder, compiler, common,
                    program_.source.string(), program_.flags, program_.name());
    if (!program_.part.empty()) {
      script += fmt::format(" && {} {} -shared -fPIC '{}' -o {}.part.so", compiler, common,
                            program_.part.string(), program_.name());
    }
    const Outcome built = shell_.run(script);
    if (built.code != 0) fail(fmt::format("does not build: {}\n{}", script, built.err));
    return built.code == 0;
  }

  [[nodiscard]] std::string call() const {
    return fmt::format("./{} {}", program_.name(), program_.arguments);
  }

  void record() {
    // Only what is written after the check counts: its exit code is that of the last command.
    const Outcome outcome = shell_.run(fmt::format(
        "cd ours && rm -f run.syn* && ({} syndrome record -o run.syn {} -- {}) >/dev/null "
        "2>&1; for file in run.syn*; do syndrome check --check races --format json $file "
        "|| test $? -eq 1 || exit 2; done",
        program_.environment, program_.record, call()));
    if (outcome.code != 0) return fail("recording or checking failed: " + outcome.err);
    std::istringstream documents(outcome.out);
    while (documents >> std::ws && !documents.eof()) {
      json report;
      documents >> report;
      for (const json& finding : report["checks"][0]["findings"]) {
        const json& sites = finding["sites"];
        if (sites.size() == 2) ours_.insert(pair_of(place_of(sites[0]), place_of(sites[1])));
      }
    }
  }

  /// The innermost line of the program itself.
  [[nodiscard]] std::string place_of(const json& site) const {
    std::vector<json> frames = {site};
    if (site.contains("stack"))
      frames.insert(frames.end(), site["stack"].begin(), site["stack"].end());
    for (const json& frame : frames) {
      if (!frame.contains("file")) continue;
      const fs::path file = frame["file"].get<std::string>();
      if (own(file)) return fmt::format("{}:{}", file.filename().string(), frame["line"].dump());
    }
    return "elsewhere";
  }

  [[nodiscard]] bool own(const fs::path& file) const {
    return file.parent_path().filename() == program_.source.parent_path().filename();
  }

  void sanitize() {
    const Outcome outcome = shell_.run(fmt::format(
        "cd theirs && TSAN_OPTIONS='exitcode=0 history_size=7 report_thread_leaks=0' {} {}",
        program_.environment, call()));
    // A report has a paragraph for each access, whose first line ends in "by thread T1:" or "by
    // main thread:", and then frames: "    #0 function file.c:17:13 (module+0x…)".
    std::istringstream text(outcome.err);
    bool racing = false;
    bool access = false;
    std::vector<std::string> places;
    for (std::string line; std::getline(text, line);) {
      if (line.find("WARNING: ThreadSanitizer: data race") != std::string::npos) {
        racing = true;
        places.clear();
        continue;
      }
      if (!racing) continue;
      if (line.find(" of size ") != std::string::npos && line.ends_with(':')) {
        access = true;
        places.emplace_back("elsewhere");
        continue;
      }
      if (line.empty()) access = false;
      if (line.starts_with("SUMMARY:")) {
        racing = false;
        if (places.size() == 2) theirs_.insert(pair_of(places[0], places[1]));
      }
      if (!access || places.back() != "elsewhere") continue;
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        const std::size_t colon = word.find(':');
        if (colon == std::string::npos || !word.starts_with('/')) continue;
        const fs::path file = word.substr(0, colon);
        if (!own(file)) continue;
        const std::string rest = word.substr(colon + 1);
        places.back() =
            fmt::format("{}:{}", file.filename().string(), rest.substr(0, rest.find(':')));
        break;
      }
    }
  }

  bool report(const std::string& theirs) {
    fmt::print("{:<24} ours: {}\n{:<24} ThreadSanitizer: {}\n", program_.name(), words_of(ours_),
               "", theirs);
    std::fflush(stdout);
    return failures_ == 0;
  }

  void fail(const std::string& what) {
    ++failures_;
    fmt::print("{}: {}\n", program_.source.string(), what);
    std::fflush(stdout);
  }

  const Program& program_;
  const Shell shell_;
  Pairs ours_;
  Pairs theirs_;
  int failures_ = 0;
};

int run_all(const std::vector<std::string>& arguments) {
  int runs = 20;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--runs" && i + 1 < arguments.size()) {
      runs = std::atoi(arguments[++i].c_str());
    } else {
      files.push_back(arguments[i]);
    }
  }
  if (files.empty() || runs < 1) {
    fmt::print(stderr, "tsan_agreement [--runs N] FILE…\n");
    return 2;
  }
  int failed = 0;
  for (const std::string& file : files) {
    const Program program = read_program(fs::absolute(file));
    if (!Agreement(program).run(runs)) ++failed;
  }
  fmt::print("{} of {} programs disagree, {} runs of each\n", failed, files.size(), runs);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace syndrome::test

int main(int argc, char** argv) {
  return syndrome::test::run_all({argv + 1, argv + argc});
}
