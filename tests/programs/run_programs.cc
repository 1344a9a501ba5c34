// Builds programs with `syndrome cc` or `c++`, runs them alone, recorded, and checked while they
// run; checks the recordings, and compares with what each program says of itself (program.h).
//
//   run_programs [--runs N] [-O0 | -O2] [--clean] FILE…
//
// N recordings of each (1); --clean leaves the violated ones out. Prints each disagreement; exit
// code 1 when there was one.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "check/atomic_sets_role.h"
#include "check/pass.h"
#include "check/registry.h"
#include "cli/json_schema.h"
#include "live/replay.h"
#include "live/told_trace.h"
#include "programs/program.h"
#include "spec/spec.h"
#include "support/shell.h"
#include "trace/capture_reader.h"

namespace syndrome::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Seen {
  std::size_t traces = 0, blocks = 0, violated = 0, races = 0;
  std::set<std::size_t> lines;       // of the program, in findings
  std::set<std::size_t> race_lines;  // in races, without the calls that led there
  std::string report;
};

class Run {
 public:
  Run(const Program& program, std::string optimize)
      : program_(program), optimize_(std::move(optimize)) {}

  /// How many disagreements there were.
  int all(int runs) {
    if (!build()) return failures_;
    agree("alone", shell_.run(fmt::format("{} ./{} {}", program_.environment, program_.name(),
                                          program_.arguments)));
    for (int run = 0; run < runs && failures_ == 0; ++run) {
      record_and_check();
      check_live();
      check_sets();
    }
    return failures_;
  }

 private:
  bool build() {
    const fs::path root = program_.source.parent_path().parent_path();
    const std::string driver =
        program_.is_c() ? "syndrome cc -std=gnu17" : "syndrome c++ -std=c++20";
    const std::string common =
        fmt::format("{} -g {} -pthread -I '{}'", driver, optimize_, root.string());
    std::string script = fmt::format("{} '{}' {} -o {}", common, program_.source.string(),
                                     program_.flags, program_.name());
    if (!program_.part.empty()) {
      script += fmt::format(" && {} -shared -fPIC '{}' -o {}.part.so", common,
                            program_.part.string(), program_.name());
    }
    const Outcome built = shell_.run(script);
    if (built.code != 0)
      fail(fmt::format("does not build: {}\n{}{}", script, built.out, built.err));
    std::string spec = "[blocks]\natomic = [";
    for (const std::string& entry : program_.blocks) spec += '"' + entry + "\", ";
    if (!program_.blocks.empty()) shell_.write("spec.toml", spec + "]\n");
    return built.code == 0;
  }

  void record_and_check() {
    agree("recorded",
          shell_.run(fmt::format("rm -f run.syn*; {} syndrome record -o run.syn {} -- ./{} {}",
                                 program_.environment, program_.record, program_.name(),
                                 program_.arguments)));
    Seen seen;
    for (const fs::directory_entry& entry : fs::directory_iterator(shell_.directory())) {
      const std::string file = entry.path().filename();
      if (file.starts_with("run.syn")) check(file, seen);
    }
    if (seen.traces == 0) return fail("`syndrome record` left no run.syn");
    if (seen.blocks == 0) return fail("no block in the trace: is the name in `blocks` right?");
    if (program_.violated != (seen.violated != 0)) {
      return fail(fmt::format("is {}, and the verdict must be {}\n{}",
                              seen.violated != 0 ? "violated" : "clean",
                              program_.violated ? "violated" : "clean", seen.report));
    }
    if (program_.races != (seen.races != 0)) {
      return fail(fmt::format("{} races, and there must be {}\n{}", seen.races,
                              program_.races ? "some" : "none", seen.report));
    }
    agree_on_races("recorded", seen);
    for (const std::size_t line : program_.here) {
      if (!seen.lines.contains(line)) {
        fail(fmt::format("no finding names line {}\n{}", line, seen.report));
      }
    }
  }

  /// `syndrome run`: the same verdicts, whatever the exit code of the program is. When nothing but
  /// atomicity is checked, much less is followed.
  void check_live() {
    const json both = run_live("atomicity,races");
    std::size_t violated = 0, races = 0;
    Seen seen;
    for (const json& report : both) {
      violated += report["checks"][0]["verdict"] == "violated" ? 1 : 0;
      races += report["checks"][1]["findings"].size();
      add_races(report["checks"][1]["findings"], seen);
    }
    agree_on_races("under `syndrome run`", seen);
    if (program_.violated != (violated != 0) || program_.races != (races != 0)) {
      fail(fmt::format("is {} under `syndrome run`, with {} races",
                       violated != 0 ? "violated" : "clean", races));
    }
    violated = 0;
    for (const json& report : run_live("atomicity")) {
      violated += report["checks"][0]["verdict"] == "violated" ? 1 : 0;
    }
    if (program_.violated != (violated != 0)) {
      fail(fmt::format("is {} under `syndrome run --check atomicity`",
                       violated != 0 ? "violated" : "clean"));
    }
  }
  /// For atomic sets alone: the same verdict, and findings for the same sets, as with --after.
  /// Another run may have another order where accesses race: what differs is tried again.
  void check_sets() {
    constexpr int kTries = 3;
    std::string after, now;
    for (int i = 0; i < kTries; ++i) {
      after = sets_in(run_live("atomic-sets", "--after "));
      now = sets_in(run_live("atomic-sets", ""));
      if (after == now) return;
    }
    fail(fmt::format("has {}with --after, but {}without", after, now));
  }
  static std::string sets_in(const json& reports) {
    static const std::regex address("[0-9a-f]{6,}");
    std::set<std::string> sets;
    std::string text;
    for (const json& report : reports) {
      const json& check = report["checks"][0];
      sets.insert(check["verdict"].get<std::string>());
      for (const json& finding : check["findings"]) {
        sets.insert(std::regex_replace(finding["set"].get<std::string>(), address, "…"));
      }
    }
    for (const std::string& set : sets) text += set + ", ";
    return text;
  }
  json run_live(const std::string& checks) {
    return run_live(checks, program_.blocks.empty() ? "" : "--spec spec.toml ");
  }
  /// The reports of its processes.
  json run_live(const std::string& checks, const std::string& options) {
    agree(
        "under `syndrome run`",
        shell_.run(fmt::format("rm -f live.json; {} syndrome run -q --check {} {}{} --format json "
                               "--report live.json --error-exitcode={} -- ./{} {}",
                               program_.environment, checks, options, program_.record,
                               program_.exit_code, program_.name(), program_.arguments)));
    const std::string text = shell_.read("live.json");
    if (text.empty()) {
      fail("`syndrome run` left no report");
      return json::array();
    }
    json parsed = json::parse(text, nullptr, false);
    if (!parsed.is_array()) parsed = json::array({parsed});
    const auto is_report = [](const json& report) {
      return report.is_object() && report.contains("checks") && !report["checks"].empty();
    };
    if (!std::ranges::all_of(parsed, is_report)) {
      fail(fmt::format("`syndrome run --check {}` left a report that is none: {}", checks, text));
      return json::array();
    }
    return parsed;
  }

  void check(const std::string& file, Seen& seen) {
    const std::string spec = program_.blocks.empty() ? "" : "--spec spec.toml ";
    const Outcome outcome = shell_.run(
        fmt::format("syndrome check --check atomicity,races {}--format json {}", spec, file));
    if (outcome.code != 0 && outcome.code != 1) {
      return fail(fmt::format("`syndrome check` exits with {}: {}", outcome.code, outcome.err));
    }
    // Words that nothing explains: the runtime has lost or mixed up some. A forked child returns
    // from functions that its parent has entered.
    if (file == "run.syn" && outcome.err.find("records speak of") != std::string::npos) {
      fail(outcome.err);
    }
    const json report = json::parse(outcome.out);
    ++seen.traces;
    check_sarif(outcome.out);
    compare_replay(file, report);
    seen.blocks += report["trace"]["blocks"].get<std::size_t>();
    const json& races = report["checks"][1]["findings"];
    seen.races += races.size();
    add_races(races, seen);
    if (!races.empty() && !program_.races) {
      seen.report += shell_.run(fmt::format("syndrome check --check races {}", file)).out;
    }
    const json& verdict = report["checks"][0];
    if (verdict["verdict"] != "violated") return;
    ++seen.violated;
    for (const json& finding : verdict["findings"]) {
      for (const json& site : finding["sites"]) {
        add_line(site, seen);
        if (!site.contains("stack")) continue;
        for (const json& frame : site["stack"]) add_line(frame, seen);
      }
    }
    seen.report += shell_.run(fmt::format("syndrome check --check atomicity {}{}", spec, file)).out;
  }

  /// As SARIF, the findings are valid by its schema, whatever the program is.
  void check_sarif(const std::string& report) {
    static const JsonSchema schema(
        json::parse(read_file(source_directory() / "tests/cli/testdata/sarif-schema-2.1.0.json")));
    shell_.write("found.json", report);
    const Outcome sarif = shell_.run("syndrome report --format sarif found.json");
    if (sarif.code != 0) return fail(fmt::format("`syndrome report` says {}", sarif.err));
    for (const std::string& error : schema.errors(json::parse(sarif.out))) {
      fail(fmt::format("its SARIF is not valid: {}", error));
    }
  }

  /// The very same run, played to what checks programs while they run: the same verdicts.
  void compare_replay(const std::string& file, const json& report) {
    const std::string path = shell_.directory() / file;
    const std::string told = path + ".told";
    live::WatchOptions options;
    Result<spec::Spec> spec = spec::Spec();
    if (!program_.blocks.empty()) spec = spec::read_spec(shell_.directory() / "spec.toml");
    if (!spec) return fail(spec.error().message);
    options.spec = &*spec;
    // All words at once: then accesses that race are in the order in which `check` has them.
    const Status played =
        live::replay(path, options, told, std::numeric_limits<std::size_t>::max());
    if (!played) return fail(fmt::format("replaying {}: {}", file, played.error().message));
    std::vector<std::unique_ptr<check::Check>> checks;
    const auto wanted = check::parse_checks("atomicity,races");
    for (const check::Registration* entry : *wanted) checks.push_back(entry->make({}));
    check::PassOptions pass;
    pass.spec = &*spec;
    const Result<check::PassResult> result = check::run_pass(
        [&told] { return live::read_told_trace(told, {}); }, trace::Format::kSyn, checks, pass);
    if (!result) return fail(fmt::format("what was told of {}: {}", file, result.error().message));
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const std::string verdict = report["checks"][i]["verdict"];
      if (verdict != check::name_of(result->results[i].verdict)) {
        fail(fmt::format("{} of {} is {}, but {} when it is followed while it runs",
                         report["checks"][i]["check"].get<std::string>(), file, verdict,
                         check::name_of(result->results[i].verdict)));
      }
    }
    fs::remove(told);
    fs::remove(told + ".late");
    compare_shared(path, *spec);
  }

  /// The same recording, with and without what has no conflicts (trace/capture_shared.h), left out
  /// event by event and before it is read; and for atomic sets alone, what is in nobody's way. Not
  /// of the few that are large: looking for atomic sets in them would take half of all these tests.
  void compare_shared(const std::string& path, const spec::Spec& spec) {
    constexpr std::uintmax_t kLarge = std::uintmax_t{1} << 19;
    if (fs::file_size(path) > kLarge) return;
    trace::CaptureSelection selection;
    selection.every_function = spec.blocks.atomic || !spec.blocks.deterministic.empty();
    const std::string all = verdicts_of(path, "atomicity,races,atomic-sets", &spec, selection);
    selection.only_shared = true;
    for (const bool reduce : {false, true}) {
      selection.reduce = reduce;
      const std::string some = verdicts_of(path, "atomicity,races,atomic-sets", &spec, selection);
      if (all != some) fail(fmt::format("is {}but {}without what has no conflicts", all, some));
    }
    const std::string sets = verdicts_of(path, "atomic-sets", nullptr, selection, true);
    selection.role = check::atomic_sets::role_of;
    selection.atomics = false;
    const std::string left = verdicts_of(path, "atomic-sets", nullptr, selection, true);
    if (sets != left) {
      fail(fmt::format("has {}but {}without calls in nobody's way", sets, left));
    }
  }
  /// With what is found where, if it is wanted.
  std::string verdicts_of(const std::string& path, const std::string& names, const spec::Spec* spec,
                          const trace::CaptureSelection& selection, bool with_places = false) {
    std::vector<std::unique_ptr<check::Check>> checks;
    const auto wanted = check::parse_checks(names);
    for (const check::Registration* entry : *wanted) checks.push_back(entry->make({}));
    check::PassOptions pass;
    pass.spec = spec;
    std::shared_ptr<const trace::CaptureReduced> reduced;
    const Result<check::PassResult> result =
        check::run_pass([&] { return trace::read_capture(path, {1}, selection, reduced); },
                        trace::Format::kSyn, checks, pass);
    if (!result) {
      fail(result.error().message);
      return {};
    }
    std::string all;
    std::set<std::string> places;
    for (const check::CheckResult& each : result->results) {
      all += fmt::format("{} {}, ", each.check, check::name_of(each.verdict));
      for (const check::Finding& finding : each.findings) places.insert(finding.set);
    }
    if (!with_places) return all;
    for (const std::string& place : places) all += place + ", ";
    return all;
  }

  // The place of an event, or of a call that led to it: an access may be in a library's header.
  void add_line(const json& place, Seen& seen) const { add_line(place, seen.lines); }
  void add_line(const json& place, std::set<std::size_t>& lines) const {
    if (!place.contains("line") || !place.contains("file")) return;
    const fs::path file = place["file"].get<std::string>();
    if (file.filename() != program_.source.filename()) return;
    lines.insert(place["line"].get<std::size_t>());
  }
  void add_races(const json& findings, Seen& seen) const {
    for (const json& finding : findings) {
      for (const json& site : finding["sites"]) add_line(site, seen.race_lines);
    }
  }
  void agree_on_races(std::string_view how, const Seen& seen) {
    if (program_.race.empty() || seen.race_lines == program_.race) return;
    fail(fmt::format("{}, the races are in lines {}, and must be in {}", how,
                     fmt::join(seen.race_lines, " "), fmt::join(program_.race, " ")));
  }

  void agree(std::string_view how, const Outcome& outcome) {
    if (outcome.code != program_.exit_code) {
      fail(fmt::format("{}, it exits with {}, not {}\n{}", how, outcome.code, program_.exit_code,
                       outcome.err));
    }
    if (outcome.out != program_.output) {
      fail(fmt::format("{}, it prints\n{}and not\n{}{}", how, outcome.out, program_.output,
                       outcome.err));
    }
    if (outcome.err.find("syndrome:") != std::string::npos) {
      fail(fmt::format("{}, Syndrome complains: {}", how, outcome.err));
    }
  }

  void fail(const std::string& what) {
    ++failures_;
    fmt::print("{} {}: {}\n", program_.source.string(), optimize_, what);
    std::fflush(stdout);
  }

  const Program& program_;
  const std::string optimize_;
  const Shell shell_;
  int failures_ = 0;
};

int run_all(const std::vector<std::string>& arguments) {
  std::vector<std::string> levels = {"-O0", "-O2"};
  std::vector<std::string> files;
  int runs = 1;
  bool clean_only = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--runs" && i + 1 < arguments.size()) {
      runs = std::atoi(arguments[++i].c_str());
    } else if (argument == "--clean") {
      clean_only = true;
    } else if (argument.starts_with("-O")) {
      levels = {argument};
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty() || runs < 1) {
    fmt::print(stderr, "run_programs [--runs N] [-O0 | -O2] [--clean] FILE…\n");
    return 2;
  }
  int failed = 0, programs = 0;
  for (const std::string& file : files) {
    const Program program = read_program(fs::absolute(file));
    if (clean_only && program.violated) continue;
    for (const std::string& level : levels) {
      ++programs;
      failed += Run(program, level).all(runs) == 0 ? 0 : 1;
    }
  }
  fmt::print("{} of {} builds failed, {} recordings of each\n", failed, programs, runs);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace syndrome::test

int main(int argc, char** argv) {
  return syndrome::test::run_all({argv + 1, argv + argc});
}
