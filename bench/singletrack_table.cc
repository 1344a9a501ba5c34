// Writes the SingleTrack paper's Table 1 beside our own figures, as Markdown: `make results`.
//
//   bench_singletrack BIN PROGRAMS OUT [small | medium | full [ROUNDS]]
//
// BIN is the directory of our programs, PROGRAMS that of the paper's, or one of them. A round has
// one run of each kind, in turns; ratios are made within a round, and what is printed is the median
// over rounds.

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "measure.h"
#include "runner.h"
#include "sections.h"
#include "singletrack.h"
#include "text_table.h"

namespace syndrome::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUsage =
    "usage: bench_singletrack BIN PROGRAMS OUT [small | medium | full [ROUNDS]]";
constexpr double kLimit = 600;  // seconds for a run

/// What a program is run as; the keys of the figures.
constexpr std::string_view kPlain = "plain", kTsan = "tsan", kRecord = "record", kRaces = "races",
                           kDeterminism = "determinism", kRacesFast = "races, fast",
                           kDeterminismFast = "determinism, fast";
constexpr std::array<std::string_view, 3> kEngines = {"reach", "aerodrome", "velodrome"};

struct Figures {
  double seconds = 0;                           // plain
  std::map<std::string_view, double> slowdown;  // by kind or engine
  double determinism_to_atomicity = 0;          // to the default engine
  double races_to_tsan = 0;
  // The same in fast mode; atomicity in source mode, the only one that it has.
  double fast_determinism_to_atomicity = 0;
  double fast_races_to_tsan = 0;
  double events = 0;
  double threads = 0;
};

struct Warnings {
  std::size_t atomicity = 0, determinism = 0;
};

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Bench {
 public:
  Bench(const std::string& bin, const fs::path& programs, std::string size)
      : syndrome_(bin + "/syndrome"), size_(std::move(size)) {
    const bool one = fs::is_regular_file(programs);
    programs_ = one ? programs.parent_path() : programs;
    for (const SingleTrackRow& row : singletrack_rows()) {
      if (!one || row.program == programs.stem().string()) rows_.push_back(row);
    }
  }

  [[nodiscard]] const std::vector<SingleTrackRow>& rows() const { return rows_; }

  Figures measure(const SingleTrackRow& row, std::uint64_t rounds) {
    const std::string source = fmt::format("{}/{}.cc", programs_, row.program);
    const std::string include = programs_ + "/../../../include";
    compile_program({"/usr/bin/clang++-19", "-I" + include}, source, path("plain"));
    compile_program({"/usr/bin/clang++-19", "-I" + include, "-fsanitize=thread"}, source,
                    path("tsan"));
    compile_program({syndrome_, "c++"}, source, path("probed"));
    compile_program({syndrome_, "c++", "--syndrome-mode=fast"}, source, path("probed-fast"));
    std::ofstream(path("spec.toml")) << atomic_spec(row, row.not_atomic);

    Figures figures;
    std::map<std::string_view, std::vector<double>> slowdown;
    std::vector<double> plain, determinism_to_atomicity, races_to_tsan;
    std::vector<double> fast_determinism_to_atomicity, fast_races_to_tsan;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::map<std::string_view, double> seconds;
      seconds[kPlain] = timed(with({path("plain")}, "--fixed"));
      seconds[kTsan] = timed(with({path("tsan")}, "--fixed"));
      seconds[kRecord] = timed(with(record(), "--fixed"));
      if (round == 0) count(figures);
      fs::remove(path("run.syn"));
      for (const std::string_view check : {kDeterminism, kRaces}) {
        seconds[check] = timed(with(live(check, {}), "--fixed"));
      }
      seconds[kDeterminismFast] = timed(with(live(kDeterminism, {}, "probed-fast"), "--fixed"));
      seconds[kRacesFast] = timed(with(live(kRaces, {}, "probed-fast"), "--fixed"));
      for (const std::string_view engine : kEngines) {
        seconds[engine] = timed(
            with(live("atomicity", {"--engine", std::string(engine), "--spec", path("spec.toml")}),
                 "--fixed"));
      }
      for (const auto& [kind, value] : seconds) slowdown[kind].push_back(value / seconds[kPlain]);
      plain.push_back(seconds[kPlain]);
      determinism_to_atomicity.push_back(seconds[kDeterminism] / seconds[kEngines[0]]);
      races_to_tsan.push_back(seconds[kRaces] / seconds[kTsan]);
      fast_determinism_to_atomicity.push_back(seconds[kDeterminismFast] / seconds[kEngines[0]]);
      fast_races_to_tsan.push_back(seconds[kRacesFast] / seconds[kTsan]);
    }
    figures.seconds = median(plain);
    for (const auto& [kind, values] : slowdown) figures.slowdown[kind] = median(values);
    figures.determinism_to_atomicity = median(determinism_to_atomicity);
    figures.races_to_tsan = median(races_to_tsan);
    figures.fast_determinism_to_atomicity = median(fast_determinism_to_atomicity);
    figures.fast_races_to_tsan = median(fast_races_to_tsan);
    return figures;
  }

  /// Of a short run of what was measured last.
  Warnings warnings(const SingleTrackRow& row, bool fixed) {
    std::vector<std::string> command = record();
    command.emplace_back("small");
    if (fixed) command.emplace_back("--fixed");
    // raytracer's fault may make its result wrong.
    (void)run_expecting(command, kLimit, fixed ? std::vector{0} : std::vector{0, 1});
    const auto check = [this](std::vector<std::string> options) {
      options.insert(options.begin(), {syndrome_, "check", "--format", "json"});
      options.push_back(path("run.syn"));
      (void)run_expecting(options, kLimit, {0, 1}, path("report.json"));
      return blamed(contents(path("report.json")));
    };
    Warnings warnings;
    warnings.determinism = check({"--check", "determinism"}).size();
    warnings.atomicity = not_atomic(row, [&](const std::string& spec) {
                           std::ofstream(path("spec.toml")) << spec;
                           return check({"--check", "atomicity", "--spec", path("spec.toml")});
                         }).size();
    return warnings;
  }

 private:
  [[nodiscard]] std::string path(std::string_view name) const {
    return fmt::format("{}/{}", directory_.path(), name);
  }

  [[nodiscard]] std::vector<std::string> with(std::vector<std::string> command,
                                              std::string_view option) const {
    command.push_back(size_);
    command.emplace_back(option);
    return command;
  }
  [[nodiscard]] std::vector<std::string> record() const {
    return {syndrome_, "record", "-q", "-o", path("run.syn"), "--", path("probed")};
  }
  [[nodiscard]] std::vector<std::string> live(std::string_view check,
                                              const std::vector<std::string>& options,
                                              std::string_view program = "probed") const {
    std::vector<std::string> command = {syndrome_, "run", "-q", "--check", std::string(check)};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", path(program)});
    return command;
  }
  static double timed(const std::vector<std::string>& command) {
    return run_expecting(command, kLimit, {0}).seconds;
  }

  /// From the recording.
  void count(Figures& figures) const {
    (void)run_expecting(
        {syndrome_, "check", "--check", "count", "--format", "json", path("run.syn")}, kLimit, {0},
        path("report.json"));
    const nlohmann::json trace = nlohmann::json::parse(contents(path("report.json"))).at("trace");
    figures.events = trace.at("events").get<double>();
    figures.threads = trace.at("threads").get<double>();
  }

  std::string syndrome_;
  std::string programs_;
  std::string size_;
  std::vector<SingleTrackRow> rows_;
  TemporaryDirectory directory_;
};

std::string paper_table(const Bench& bench) {
  TextTable table({"program", "lines", "threads", "plain s", "empty tool", "SingleTrack",
                   "Velodrome", "not atomic", "not deterministic"},
                  1);
  for (const SingleTrackRow& row : bench.rows()) {
    const SingleTrackFigures& paper = row.paper;
    table.add({std::string(row.name), std::to_string(paper.lines), std::to_string(paper.threads),
               fmt::format("{}", paper.seconds), fmt::format("{:.1f}", paper.empty_tool),
               fmt::format("{:.1f}", paper.singletrack), fmt::format("{:.1f}", paper.velodrome),
               std::to_string(paper.atomicity_warnings),
               std::to_string(paper.determinism_warnings)});
  }
  return table.text();
}

std::string our_table(Bench& bench, std::uint64_t rounds) {
  TextTable table(
      {"program", "events", "threads", "plain s", "record", "determinism", "fast", "reach",
       "AeroDrome", "Velodrome", "races", "fast", "clang TSan", "not atomic", "not deterministic"},
      1);
  std::map<std::string_view, std::vector<double>> slowdowns;
  std::vector<double> determinism_to_atomicity, races_to_tsan;
  std::vector<double> fast_determinism_to_atomicity, fast_races_to_tsan;
  for (const SingleTrackRow& row : bench.rows()) {
    fmt::print(stderr, "results: {}\n", row.name);
    const Figures figures = bench.measure(row, rounds);
    const Warnings fixed = bench.warnings(row, true);
    const auto slowdown = [&](std::string_view kind) {
      slowdowns[kind].push_back(figures.slowdown.at(kind));
      return short_number(figures.slowdown.at(kind));
    };
    determinism_to_atomicity.push_back(figures.determinism_to_atomicity);
    races_to_tsan.push_back(figures.races_to_tsan);
    fast_determinism_to_atomicity.push_back(figures.fast_determinism_to_atomicity);
    fast_races_to_tsan.push_back(figures.fast_races_to_tsan);
    if (row.kind == ProgramKind::kFaulty) {
      const Warnings faulty = bench.warnings(row, false);
      table.add({std::string(row.name), "", "", "", "", "", "", "", "", "", "", "", "",
                 std::to_string(faulty.atomicity), std::to_string(faulty.determinism)});
    }
    table.add({fmt::format("{}{}", row.name, row.kind == ProgramKind::kFaulty ? ", fixed" : ""),
               short_count(figures.events), fmt::format("{}", figures.threads),
               short_number(figures.seconds), slowdown(kRecord), slowdown(kDeterminism),
               slowdown(kDeterminismFast), slowdown(kEngines[0]), slowdown(kEngines[1]),
               slowdown(kEngines[2]), slowdown(kRaces), slowdown(kRacesFast), slowdown(kTsan),
               std::to_string(fixed.atomicity), std::to_string(fixed.determinism)});
  }
  const auto mean = [&](std::string_view kind) {
    return short_number(geometric_mean(slowdowns[kind]));
  };
  table.add({"geometric mean", "", "", "", mean(kRecord), mean(kDeterminism),
             mean(kDeterminismFast), mean(kEngines[0]), mean(kEngines[1]), mean(kEngines[2]),
             mean(kRaces), mean(kRacesFast), mean(kTsan), "", ""});
  const auto line = [](std::string_view what, const std::vector<double>& ratios) {
    constexpr double kMost = 1.2;
    const double ratio = geometric_mean(ratios);
    return fmt::format("- {}, geometric mean: {:.2f}, must be at most {}: {}\n", what, ratio, kMost,
                       ratio <= kMost ? "reached" : "not reached");
  };
  return table.text() + "\n" +
         line("determinism to atomicity, both in source mode", determinism_to_atomicity) +
         line("determinism in fast mode to atomicity", fast_determinism_to_atomicity) +
         line("races to clang TSan, source mode", races_to_tsan) +
         line("races to clang TSan, fast mode", fast_races_to_tsan);
}

std::string section(Bench& bench, const std::string& size, std::uint64_t rounds) {
  const double load_before = load();
  const std::string ours = our_table(bench, rounds);
  return fmt::format(
      "## SingleTrack, Table 1\n"
      "\n"
      "Written on {}: {}, with a load of {:.1f} when it began (more than the\n"
      "number of cores means that others disturbed it), {} of each kind.\n"
      "\n"
      "The paper: Sadowski, Freund and Flanagan, *SingleTrack: A Dynamic Determinism Checker for\n"
      "Multithreaded Programs*, ESOP 2009. Its programs are in Java; ours\n"
      "(`bench/programs/singletrack`) are written anew in C++ from their descriptions, and "
      "measured\n"
      "at their size `{}`. Slowdowns are wall time, to the program without probes (clang 19, "
      "-O2),\n"
      "of whole commands: `syndrome record` (the empty tool), and `syndrome run --check` with\n"
      "determinism, atomicity by each engine, and races; *fast* is the column before it with\n"
      "probes behind the inliner (`--syndrome-mode=fast`), which races and determinism can do\n"
      "with. For all of them, `sor` and `raytracer` run\n"
      "without their faults, and only functions that are atomic are held to be, so that nothing "
      "is\n"
      "found and no time goes into explaining it.\n"
      "\n"
      "The last two columns count functions, in short runs. *Not atomic*: of those that the paper\n"
      "checked (all, in the first ten programs; tasks, in the last three), how many are not, when\n"
      "all are held to be. *Not deterministic*: how many of those marked `SYNDROME_DETERMINISTIC`\n"
      "are not. Those are all but the ones that wait in the middle for a thread that they did not\n"
      "fork: workers that meet at a barrier. Such a function alone is not deterministic in our\n"
      "sense, because others interfere with it there; the paper marks them, and its tool is "
      "silent.\n"
      "\n"
      "The paper:\n"
      "\n"
      "{}\n"
      "Ours:\n"
      "\n"
      "{}",
      today(), machine(), load_before, rounds == 1 ? "one run" : fmt::format("{} runs", rounds),
      size, paper_table(bench), ours);
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  using namespace syndrome::bench;
  const std::string size = argc > 4 ? argv[4] : "medium";
  if (argc < 4 || argc > 6 || (size != "small" && size != "medium" && size != "full")) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t rounds = number_argument(argc, argv, 5, 3, kUsage);
  // It does not know what orders the accesses of sor's fixed barrier; writing that is not measured.
  ::setenv("TSAN_OPTIONS", "report_bugs=0", 1);
  Bench bench(argv[1], argv[2], size);
  if (bench.rows().empty()) {
    fmt::print(stderr, "bench_singletrack: {} is none of the paper's programs\n", argv[2]);
    return 2;
  }
  if (!write_section(argv[3], "singletrack", section(bench, size, rounds))) {
    fmt::print(stderr, "bench_singletrack: cannot write {}\n", argv[3]);
    return 2;
  }
  return 0;
}
