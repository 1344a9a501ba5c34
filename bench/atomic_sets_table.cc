// Writes Tables 1 and 2 of the paper on atomic sets beside our own figures, as Markdown:
// `make results`.
//
//   bench_atomic_sets BIN PROGRAMS OUT [small | full [ROUNDS [RUNS]]]
//
// BIN is the directory of our programs, PROGRAMS that of the paper's, or one of them. Times are
// medians of ROUNDS; each bug is looked for RUNS times without and with noise.

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "measure.h"
#include "runner.h"
#include "sections.h"
#include "text_table.h"

namespace syndrome::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUsage =
    "usage: bench_atomic_sets BIN PROGRAMS OUT [small | full [ROUNDS [RUNS]]]";
constexpr double kLimit = 600;  // seconds for a run
constexpr std::size_t kPatterns = 14;
using Patterns = std::array<int, kPatterns>;

/// A row of the paper's tables, and the program that stands for it here.
struct Row {
  std::string_view name;
  int lines;
  Patterns harmful;
  std::string_view found;  // Y, N or -
  double slowdown;
  std::string_view tuples, depth;
  Patterns benign;
  std::string_view program;  // bench/programs/atomic_sets/PROGRAM.cc
  bool collection = false;   // driven by random calls
  std::string_view spec = "";
};

constexpr Patterns kNone = {};

const std::vector<Row>& all_rows() {
  constexpr std::string_view kSpan = "[atomic-sets.options]\nspan-threads = true\n";
  constexpr std::string_view kBuy = "[units]\nwork = [\"Customer::buy\"]\n";
  static const std::vector<Row> rows = {
      {"account", 155, {1}, "Y", 3.1, "4K", "2.6", kNone, "account"},
      {"airlinesTckts",
       95,
       {1, 2, 0, 2, 0, 0, 1, 0, 0, 1, 0, 1},
       "Y",
       6.2,
       "20K",
       "3.1",
       kNone,
       "airline_tickets"},
      {"AllocationV", 286, kNone, "N", 25, "10K", "2.61", kNone, "allocation_vector"},
      {"bubbleSort",
       362,
       {1, 1, 2, 1, 1, 1, 0, 0, 2, 1, 2, 1, 1, 1},
       "Y",
       2.1,
       "4K",
       "2.8",
       kNone,
       "bubble_sort"},
      {"BubbleSort2",
       130,
       {1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0},
       "Y",
       14,
       "1K",
       "2.5",
       kNone,
       "bubble_sort2"},
      {"BufWriter",
       255,
       {0, 2, 2, 0, 3, 0, 7, 8, 2, 2, 2, 2, 2, 2},
       "Y",
       1.3,
       "357",
       "2.0",
       {7, 7, 7, 7, 7, 4, 4, 4, 2, 2, 2, 2, 2, 2},
       "buffered_writer"},
      {"Critical", 68, {0, 0, 1, 1, 1}, "Y", 1.7, "10", "2.1", kNone, "critical"},
      {"DCL",
       183,
       {0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1},
       "Y",
       26,
       "275",
       "2.2",
       kNone,
       "double_checked_locking"},
      {"FileWriter", 325, kNone, "N", 1.3, "2K", "-", kNone, "file_writer", false, kSpan},
      {"LinkedList", 416, {1}, "Y", 1.6, "32", "3.6", kNone, "linked_list"},
      {"Lottery", 359, {0, 2, 0, 3}, "Y", 6.7, "205K", "2.2", kNone, "lottery"},
      {"Manager",
       188,
       {1, 1, 0, 1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 2},
       "Y",
       1.7,
       "6",
       "2.9",
       {0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0},
       "manager"},
      {"MergeSort", 375, kNone, "N", 4.0, "154", "5.0", kNone, "merge_sort"},
      {"MergeSort2", 257, {1, 1, 0, 1}, "Y", 12, "6K", "4.8", kNone, "merge_sort2"},
      {"PingPong", 272, {2, 1, 1, 0, 1}, "Y", 3.1, "221", "4.0", kNone, "ping_pong"},
      {"Shop", 273, {0, 2}, "N", 7.0, "2K", "3.2", kNone, "shop", false, kBuy},
      {"Sun's Account", 144, {1}, "Y", 4.3, "40K", "3.5", kNone, "suns_account"},
      {"Jigsaw", 142'000, {0, 1}, "-", 7.5, "11K", "15.4", {2, 2}, "web_server"},
      {"Vector",
       2636,
       {0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1},
       "-",
       43,
       "1K",
       "5.0",
       kNone,
       "vector_copy",
       true},
      {"ArrayList (syn)",
       2266,
       {0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 3, 1, 3, 2},
       "-",
       40,
       "365",
       "5.2",
       kNone,
       "synchronized_list",
       true},
      {"ArrayBlockingQueue",
       1576,
       {0, 1, 8, 0, 2, 1, 2, 0, 1, 5, 6, 9, 1, 0},
       "-",
       39,
       "406",
       "5.6",
       kNone,
       "array_queue",
       true},
      {"LinkedBlockingQueue",
       1620,
       {4, 4, 8, 4, 6, 3, 1, 0, 4, 2, 0, 0, 0, 0},
       "-",
       45,
       "274",
       "5.7",
       kNone,
       "linked_queue",
       true},
      {"DelayQueue",
       1961,
       {3, 5, 9, 4, 3, 9, 8, 6, 2, 1, 1, 1, 6, 6},
       "-",
       33,
       "728",
       "6.8",
       kNone,
       "delay_queue",
       true},
  };
  return rows;
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Checked {
  Patterns patterns{};
  double held = 0;   // most units together
  double depth = 0;  // mean
};

struct Times {
  double plain = 0;
  double slowdown = 0;
  double tsan = 0;     // its slowdown
  double to_tsan = 0;  // ours to its
};

struct Chances {
  std::uint64_t plain = 0;
  std::uint64_t noise = 0;
};

class Bench {
 public:
  Bench(const std::string& bin, const fs::path& programs, std::string size)
      : syndrome_(bin + "/syndrome"), size_(std::move(size)) {
    const bool one = fs::is_regular_file(programs);
    programs_ = one ? programs.parent_path() : programs;
    for (const Row& row : all_rows()) {
      if (!one || row.program == programs.stem().string()) rows_.push_back(row);
    }
  }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

  void build(const Row& row) {
    const std::string source = fmt::format("{}/{}.cc", programs_, row.program);
    const std::string include = "-I" + programs_ + "/../../../include";
    compile_program({"/usr/bin/clang++-19", include}, source, path("plain"));
    compile_program({"/usr/bin/clang++-19", include, "-fsanitize=thread"}, source, path("tsan"));
    compile_program({syndrome_, "c++"}, source, path("probed"));
    std::ofstream(path("spec.toml")) << row.spec;
  }

  /// What a recording of the program with its bug, or of its fixed twin, shows.
  Checked check(const Row& row, bool fixed) {
    std::vector<std::string> command = {syndrome_,       "record", "-q",          "-o",
                                        path("run.syn"), "--",     path("probed")};
    if (row.collection) command.push_back(size_);
    if (fixed) command.emplace_back("fixed");
    (void)run_expecting(command, kLimit, {0});
    (void)run_expecting(
        {syndrome_, "check", "--check", "atomic-sets", "--atomic-sets", "class", "--spec",
         path("spec.toml"), "--by-site", "--format", "json", "--stats", path("run.syn")},
        kLimit, {0, 1}, path("report.json"));
    const nlohmann::json report = nlohmann::json::parse(contents(path("report.json")));
    const nlohmann::json& entry = report.at("checks").at(0);
    Checked checked;
    for (const nlohmann::json& finding : entry.at("findings")) {
      if (!finding.contains("pattern")) continue;  // a cycle that is none of them
      ++checked.patterns.at(finding.at("pattern").get<std::size_t>() - 1);
    }
    const nlohmann::json& stats = entry.at("stats");
    checked.held = stats.at("most units held together").get<double>();
    const double accesses = stats.at("accesses to sets").get<double>();
    const double depth = stats.at("functions and blocks around them, added up").get<double>();
    checked.depth = accesses == 0 ? 0 : depth / accesses;
    return checked;
  }

  Times time(const Row& row, std::uint64_t rounds) {
    std::vector<std::string> arguments = {"fixed"};
    if (row.collection) arguments.insert(arguments.begin(), size_);
    const auto timed = [&](std::vector<std::string> command) {
      command.insert(command.end(), arguments.begin(), arguments.end());
      return run_expecting(command, kLimit, {0}).seconds;
    };
    std::vector<double> plain, slowdown, tsan, to_tsan;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      plain.push_back(timed({path("plain")}));
      const double ours = timed({syndrome_, "run", "-q", "--check", "atomic-sets", "--atomic-sets",
                                 "class", "--spec", path("spec.toml"), "--", path("probed")});
      const double theirs = timed({path("tsan")});
      slowdown.push_back(ours / plain.back());
      tsan.push_back(theirs / plain.back());
      to_tsan.push_back(ours / theirs);
    }
    return {median(plain), median(slowdown), median(tsan), median(to_tsan)};
  }

  /// In how many of so many runs whose schedule nobody forces the bug is found.
  Chances chances(std::uint64_t runs) {
    Chances chances;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      chances.plain += finds({}) ? 1 : 0;
      chances.noise += finds({fmt::format("--noise={}", seed)}) ? 1 : 0;
    }
    return chances;
  }

 private:
  [[nodiscard]] std::string path(std::string_view name) const {
    return fmt::format("{}/{}", directory_.path(), name);
  }

  bool finds(const std::vector<std::string>& options) {
    constexpr int kFound = 66;
    std::vector<std::string> command = {syndrome_, "run",         "-q",
                                        "--check", "atomic-sets", "--atomic-sets",
                                        "class",   "--spec",      path("spec.toml")};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", path("probed"), "free"});
    return run_expecting(command, kLimit, {0, kFound}).code == kFound;
  }

  std::string syndrome_;
  std::string programs_;
  std::string size_;
  std::vector<Row> rows_;
  TemporaryDirectory directory_;
};

std::vector<std::string> head_of(std::vector<std::string> first,
                                 const std::vector<std::string>& last) {
  for (std::size_t i = 1; i <= kPatterns; ++i) first.push_back(std::to_string(i));
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

void append(std::vector<std::string>& row, const Patterns& patterns) {
  for (const int count : patterns) row.push_back(std::to_string(count));
}

struct Tables {
  TextTable paper{head_of({"program", "lines"}, {"bug found", "slowdown", "most tuples", "depth"}),
                  1};
  TextTable ours{head_of({"program"}, {"bug found", "slowdown", "most units", "depth"}), 1};
  TextTable paper_benign{head_of({"program"}, {}), 1};
  TextTable ours_benign{head_of({"program"}, {}), 1};
  TextTable times{{"program", "plain s", "run --check atomic-sets", "clang TSan", "to clang TSan"},
                  1};
  TextTable chances{{"program", "as it comes", "with noise"}, 1};
};

std::string section(Bench& bench, const std::string& size, std::uint64_t rounds,
                    std::uint64_t runs) {
  const double load_before = load();
  Tables tables;
  int found = 0;
  int benign = 0;
  std::vector<double> to_tsan;
  Chances all;
  for (const Row& row : bench.rows()) {
    fmt::print(stderr, "results: {}\n", row.name);
    const std::string name(row.name);
    bench.build(row);
    std::vector<std::string> paper = {name, std::to_string(row.lines)};
    append(paper, row.harmful);
    paper.insert(paper.end(), {std::string(row.found), fmt::format("{}", row.slowdown),
                               std::string(row.tuples), std::string(row.depth)});
    tables.paper.add(paper);
    if (row.benign != kNone) {
      std::vector<std::string> cells = {name};
      append(cells, row.benign);
      tables.paper_benign.add(cells);
    }
    const Checked faulty = bench.check(row, false);
    const Checked fixed = bench.check(row, true);
    const Times times = bench.time(row, rounds);
    const bool is_found = faulty.patterns != kNone;
    found += is_found ? 1 : 0;
    std::vector<std::string> ours = {name};
    append(ours, faulty.patterns);
    ours.insert(ours.end(), {is_found ? "Y" : "N", short_number(times.slowdown),
                             short_count(faulty.held), fmt::format("{:.1f}", faulty.depth)});
    tables.ours.add(ours);
    if (fixed.patterns != kNone) {
      ++benign;
      std::vector<std::string> cells = {name};
      append(cells, fixed.patterns);
      tables.ours_benign.add(cells);
    }
    if (row.collection) {
      to_tsan.push_back(times.to_tsan);
      tables.times.add({name, short_number(times.plain), short_number(times.slowdown),
                        short_number(times.tsan), short_number(times.to_tsan)});
    }
    const Chances chances = bench.chances(runs);
    all.plain += chances.plain;
    all.noise += chances.noise;
    tables.chances.add({name, std::to_string(chances.plain), std::to_string(chances.noise)});
  }
  constexpr double kMost = 1.5;
  const double mean = to_tsan.empty() ? 0 : geometric_mean(to_tsan);
  const double each = static_cast<double>(bench.rows().size());
  tables.chances.add({"mean", short_number(static_cast<double>(all.plain) / each),
                      short_number(static_cast<double>(all.noise) / each)});
  return fmt::format(
      "## Atomic sets, Tables 1 and 2\n"
      "\n"
      "Written on {}: {}, with a load of {:.1f} when it began (more than the\n"
      "number of cores means that others disturbed it), {} of each kind.\n"
      "\n"
      "The paper: Hammer, Dolby, Vaziri and Tip, *Dynamic Detection of Atomic-Set-Serializability\n"
      "Violations*, ICSE 2008. Its programs are in Java; ours (`bench/programs/atomic_sets`) are "
      "much\n"
      "shorter ones in C++ with the same bugs, each with a twin that does not have it. The five\n"
      "collections are driven by random calls, at their size `{}` (`full`: 10 threads of 10,000 "
      "calls,\n"
      "as in the paper); the others run the schedule that has the bug once.\n"
      "\n"
      "A number under a pattern counts findings, one for each combination of places in the "
      "source.\n"
      "*Slowdown* is wall time of the twin, under `syndrome run --check atomic-sets --atomic-sets "
      "class`, to the "
      "program\n"
      "without probes (clang 19, -O2); but for the collections, a program lasts a millisecond, and "
      "what\n"
      "is seen is the start of another process. *Most units* is the most that were kept at a time, "
      "of\n"
      "live units and of those that overlap with one, where the paper has tuples of two units and "
      "two\n"
      "locations; *depth* the mean number of functions around an access.\n"
      "\n"
      "### Table 1: harmful findings\n"
      "\n"
      "The paper:\n\n{}\nOurs:\n\n{}\n"
      "- bugs found: {} of {}\n"
      "\n"
      "### Table 2: benign findings\n"
      "\n"
      "The paper:\n\n{}\nOurs, what is found in a fixed twin: {}\n{}"
      "\n"
      "### Slowdown of the collections\n"
      "\n"
      "{}\n"
      "- to clang TSan, geometric mean: {:.2f}, must be at most {}: {}\n"
      "\n"
      "### Noise\n"
      "\n"
      "In how many of {} runs the bug is found, when nobody forces the schedule (the collections "
      "make\n"
      "the two or three calls of their bug, once): as the program runs by itself, and with "
      "`--noise` of\n"
      "the seeds 1 to {}.\n"
      "\n"
      "{}",
      today(), machine(), load_before, rounds == 1 ? "one run" : fmt::format("{} runs", rounds),
      size, tables.paper.text(), tables.ours.text(), found, bench.rows().size(),
      tables.paper_benign.text(), benign == 0 ? "nothing." : "",
      benign == 0 ? "" : "\n" + tables.ours_benign.text(), tables.times.text(), mean, kMost,
      mean <= kMost ? "reached" : "not reached", runs, runs, tables.chances.text());
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  using namespace syndrome::bench;
  const std::string size = argc > 4 ? argv[4] : "full";
  if (argc < 4 || argc > 7 || (size != "small" && size != "full")) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t rounds = number_argument(argc, argv, 5, 3, kUsage);
  const std::uint64_t runs = number_argument(argc, argv, 6, 100, kUsage);
  Bench bench(argv[1], argv[2], size);
  if (bench.rows().empty()) {
    fmt::print(stderr, "bench_atomic_sets: {} is none of the paper's programs\n", argv[2]);
    return 2;
  }
  if (!write_section(argv[3], "atomic-sets", section(bench, size, rounds, runs))) {
    fmt::print(stderr, "bench_atomic_sets: cannot write {}\n", argv[3]);
    return 2;
  }
  return 0;
}
