// Writes Tables 1, 3 and 4 of the paper on atomicity inference and enforcement beside our own
// figures, as Markdown: `make results`.
//
//   bench_enforce BIN PROGRAMS OUT [RUNS [ROUNDS]]
//
// BIN is the directory of our programs, PROGRAMS that of the kernels, or one of them. Each is built
// with probes, recorded while it passes, planned for and hardened; plain and hardened then run
// alternately: RUNS times each with noise and in the schedule of the bug, ROUNDS times to measure.

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "runner.h"
#include "sections.h"
#include "text_table.h"

namespace syndrome::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUsage = "usage: bench_enforce BIN PROGRAMS OUT [RUNS [ROUNDS]]";
constexpr double kLimit = 120;  // seconds for a run

struct Row {
  std::string_view program;  // with its suffix
  std::string_view bug;
  std::string_view variable;
  std::vector<std::string> infer;
  std::string_view paper_locks;     // Table 3: inserted locks, R acq, X acq, degrade, rel
  std::string_view paper_overhead;  // Table 4
};

const std::vector<Row>& rows() {
  constexpr std::string_view kApache = "13: 6/13, 17/20, 1/1, 52/65";
  constexpr std::string_view kMysql = "15: 71/39, 99/431, 7/5, 249/959";
  static const std::vector<Row> all = {
      {"aget.c", "aget 0.4", "bwritten", {}, "3: 0/9, 4/4, 0/0, 4/12", "0%"},
      {"pbzip2.c", "pbzip2 2.094", "queue::mut", {}, "15: 28/35, 13/28, 2/0, 76/104", "1.4%"},
      {"nszip.c", "Mozilla 342577", "nsZipItem::flags", {}, "2: 0/0, 4/3, 0/0, 9/8", "0.0%"},
      {"apache_fdqueue.c", "Apache 44402", "recycled_pool::next", {}, kApache, "13.3%"},
      {"apache_log.c", "Apache 25520", "buffered_log::outcnt", {}, kApache, "13.3%"},
      {"spidermonkey.c",
       "Mozilla 133773",
       "JSRuntime::state",
       {},
       "8: 10/7, 18/39, 5/2, 36/108",
       "2.1%, 17.3%"},
      {"mysql_binlog.cc", "MySQL 791", "MYSQL_LOG::log_type", {}, kMysql, "13.9%, 2.0%"},
      {"mysql_query_cache.cc", "MySQL 12848", "Query_cache::bins", {}, kMysql, "13.9%, 2.0%"},
      {"mysql_hash_index.c", "MySQL 14747", "buf_block_struct::index", {}, kMysql, "13.9%, 2.0%"},
      {"mysql_awake.cc", "MySQL 35714", "THD::mysys_var", {}, kMysql, "13.9%, 2.0%"},
      {"mysql_safe_mutex.c",
       "MySQL 16333",
       "safe_mutex_t::count, thread",
       {"--together", "safe_mutex_t::count,safe_mutex_t::thread"},
       kMysql,
       "13.9%, 2.0%"},
      {"mysql_end_slave.cc", "MySQL 20850", "Master_info::run_lock", {}, kMysql, "13.9%, 2.0%"},
  };
  return all;
}

struct Figures {
  std::uint64_t runs = 0;
  std::uint64_t plain_failed = 0;
  std::uint64_t hardened_failed = 0;
  unsigned variables = 0, exclusive = 0, read = 0;
  unsigned locks = 0;
  std::array<unsigned, 4> before{};  // read, exclusive, degrade, release
  std::array<unsigned, 4> after{};
  double overhead = 0;
};

std::string last_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::string last;
  while (std::getline(in, line)) last = line;
  return last;
}

class Bench {
 public:
  Bench(const std::string& bin, const fs::path& programs) : syndrome_(bin + "/syndrome") {
    const bool one = fs::is_regular_file(programs);
    programs_ = one ? programs.parent_path() : programs;
    for (const Row& row : rows()) {
      if (!one || row.program == programs.filename().string()) rows_.push_back(row);
    }
  }

  [[nodiscard]] const std::vector<Row>& measured() const { return rows_; }

  Figures measure(const Row& row, std::uint64_t runs, std::uint64_t rounds) {
    Figures figures;
    compile(row, {}, "probes");
    std::vector<std::string> infer = {syndrome_, "infer"};
    infer.insert(infer.end(), row.infer.begin(), row.infer.end());
    infer.insert(infer.end(), {"-o", path("profile")});
    for (const char* trace : {"1.syn", "2.syn"}) {
      must({syndrome_, "record", "-q", "-o", path(trace), "--", path("probes")});
      infer.push_back(path(trace));
    }
    must(infer, path("infer.txt"));
    must({syndrome_, "plan", "-o", path("plan"), path("profile"), path("probes")},
         path("plan.txt"));
    compile(row, {"--syndrome-enforce=" + path("plan")}, "hardened");
    // The plain program is the same code without a single lock.
    std::ofstream(path("nothing")) << "{\"version\": 1, \"kind\": \"syndrome-plan\", "
                                      "\"locks\": [], \"functions\": []}\n";
    compile(row, {"--syndrome-enforce=" + path("nothing")}, "plain");
    read_figures(figures);
    for (std::uint64_t i = 0; i < runs; ++i) {
      for (const std::vector<std::string>& how :
           {std::vector<std::string>{"fail"}, {"noise", std::to_string(i)}}) {
        ++figures.runs;
        figures.plain_failed += fails("plain", how) ? 1U : 0U;
        figures.hardened_failed += fails("hardened", how) ? 1U : 0U;
      }
    }
    std::vector<double> ratios;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const double plain = seconds("plain");
      ratios.push_back(seconds("hardened") / plain);
    }
    if (!ratios.empty()) figures.overhead = median(ratios) - 1;
    return figures;
  }

 private:
  [[nodiscard]] std::string path(std::string_view name) const {
    return folder_.path() + "/" + std::string(name);
  }
  static void must(const std::vector<std::string>& command, const std::string& out = "/dev/null") {
    (void)run_expecting(command, kLimit, {0}, out);
  }
  void compile(const Row& row, const std::vector<std::string>& more, std::string_view name) const {
    const bool cxx = row.program.ends_with(".cc");
    std::vector<std::string> command = {syndrome_, cxx ? "c++" : "cc"};
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(),
                   {"-g", "-O2", "-pthread", (programs_ / row.program).string(), "-o", path(name)});
    must(command);
  }
  [[nodiscard]] bool fails(std::string_view program, const std::vector<std::string>& how) const {
    std::vector<std::string> command = {"/bin/sh", "-c", "\"$0\" \"$@\" 2>/dev/null",
                                        path(program)};
    command.insert(command.end(), how.begin(), how.end());
    return run(command, kLimit).code != 0;
  }
  [[nodiscard]] double seconds(std::string_view program) const {
    return run_expecting({path(program), "work", "20000"}, kLimit, {0}).seconds;
  }
  void read_figures(Figures& figures) const {
    unsigned runs = 0;
    unsigned a = 0;
    const std::string learned = last_line(path("infer.txt"));
    (void)std::sscanf(learned.c_str(),
                      "%u variable%*[s] of %u run%*[s]: %u exclusive-atomic and %u",
                      &figures.variables, &runs, &figures.exclusive, &figures.read);
    const std::string planned = last_line(path("plan.txt"));
    const std::size_t comma = planned.find(';');
    (void)std::sscanf(planned.c_str(), "%u", &figures.locks);
    if (comma != std::string::npos) {
      a = static_cast<unsigned>(std::sscanf(
          planned.c_str() + comma,
          "; acquire read %u, exclusive %u, degrade %u, release %u (before deadlock resolution %u, "
          "%u, %u, %u)",
          &figures.after[0], &figures.after[1], &figures.after[2], &figures.after[3],
          &figures.before[0], &figures.before[1], &figures.before[2], &figures.before[3]));
    }
    if (a != 8) {
      fmt::print(stderr, "bench_enforce: cannot read the figures of '{}'\n", planned);
      std::exit(1);
    }
  }

  std::string syndrome_;
  fs::path programs_;
  std::vector<Row> rows_;
  TemporaryDirectory folder_;
};

std::string both(const Figures& figures, std::size_t which) {
  return fmt::format("{}/{}", figures.before[which], figures.after[which]);
}

int main_of(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t runs = argc > 4 ? std::stoull(argv[4]) : 100;
  const std::uint64_t rounds = argc > 5 ? std::stoull(argv[5]) : 5;
  Bench bench(argv[1], argv[2]);
  TextTable bugs({"kernel", "bug", "variable with a lock", "runs", "plain fails", "hardened fails"},
                 3);
  TextTable locks({"kernel", "pairs R", "pairs X", "locks", "R acq b/a", "X acq b/a", "degrade b/a",
                   "rel b/a", "the paper's program (locks: R, X, degrade, rel)"},
                  1);
  TextTable times({"kernel", "overhead", "the paper's program"}, 1);
  std::vector<double> overheads;
  for (const Row& row : bench.measured()) {
    const std::string name(row.program.substr(0, row.program.find('.')));
    const Figures figures = bench.measure(row, runs, rounds);
    bugs.add({name, std::string(row.bug), std::string(row.variable), std::to_string(figures.runs),
              std::to_string(figures.plain_failed), std::to_string(figures.hardened_failed)});
    locks.add({name, std::to_string(figures.read), std::to_string(figures.exclusive),
               std::to_string(figures.locks), both(figures, 0), both(figures, 1), both(figures, 2),
               both(figures, 3), std::string(row.paper_locks)});
    times.add(
        {name, fmt::format("{:.1f}%", figures.overhead * 100), std::string(row.paper_overhead)});
    overheads.push_back(figures.overhead);
    fmt::print("{}: plain fails {} of {}, hardened {}; overhead {:.1f}%\n", name,
               figures.plain_failed, figures.runs, figures.hardened_failed, figures.overhead * 100);
    std::fflush(stdout);
  }
  const std::string text = fmt::format(
      "## Atomicity inference and enforcement (Weeratunge, Zhang, Jagannathan, OOPSLA 2011)\n\n"
      "Measured on {}, {}, load {:.1f}. The programs are kernels of the paper's bugs, re-created "
      "from its descriptions (`bench/programs/enforce`), not the programs themselves: how many "
      "locks those need is not comparable line by line. A kernel is profiled in two runs that "
      "pass.\n\n"
      "### Table 1: the bugs\n\nHalf of the runs are in the schedule of the bug report, half with "
      "random rests.\n\n{}\n"
      "### Table 3: pairs and locks\n\nBefore and after deadlock resolution. The paper's figures "
      "are those of the whole program.\n\n{}\n"
      "### Table 4: overhead\n\nOf the hardened over the plain program, alternately in one run, "
      "medians of {}; each operation comes with about 20 microseconds of other work. Median "
      "{:.1f}%.\n\n{}",
      machine(), today(), load(), bugs.text(), locks.text(), rounds, median(overheads) * 100,
      times.text());
  if (!write_section(argv[3], "enforce", text)) {
    fmt::print(stderr, "bench_enforce: {} cannot be written\n", argv[3]);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  return syndrome::bench::main_of(argc, argv);
}
