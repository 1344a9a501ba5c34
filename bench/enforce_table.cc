// Writes Tables 1 to 4 of the paper on atomicity inference and enforcement beside our own figures,
// as Markdown: `make results`.
//
//   bench_enforce BIN PROGRAMS OUT [RUNS [ROUNDS]]
//
// BIN is the directory of our programs, PROGRAMS that of the kernels, or one of them. Each is built
// with probes, recorded while it passes, planned for and hardened. Plain and hardened then run
// alternately, RUNS times each with noise and ROUNDS times to measure; under every schedule with at
// most one preemption; and under the check for atomicity in the schedule of the bug. Exit code 1
// when a hardened program fails in any of them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
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
  std::string_view function;  // that must be atomic
  std::vector<std::string> infer;
  std::string_view paper_size;     // Table 2: LOC, functions, profile input
  std::string_view paper_locks;    // Table 3: inserted locks, R acq, X acq, degrade, rel
  std::string_view paper_runtime;  // Table 4: speedup, P acq, R/P, X/P, overhead
};

const std::vector<Row>& rows() {
  constexpr std::string_view kApache = "13: 6/13, 17/20, 1/1, 52/65";
  constexpr std::string_view kMysql = "15: 71/39, 99/431, 7/5, 249/959";
  constexpr std::string_view kApacheSize = "42k, 1.7k, 10k random requests";
  constexpr std::string_view kMysqlSize = "122k, 5.7k, its test suite and sysbench-oltp";
  constexpr std::string_view kMysqlTime = "4.34, 7.76m, 1.29, 0.57, 13.9%";
  constexpr std::string_view kApacheTime = "4.2, 14.2m, 1.48, 2.04, 13.3%";
  static const std::vector<Row> all = {
      {"aget.c",
       "aget 0.4",
       "bwritten",
       "save_log",
       {},
       "960, 20, get a 100k file",
       "3: 0/9, 4/4, 0/0, 4/12",
       "2.58, 147.4k, 0, 1.0, 0%"},
      {"pbzip2.c",
       "pbzip2 2.094",
       "queue::mut",
       "consume",
       {},
       "2041, 121, compress a 100k file",
       "15: 28/35, 13/28, 2/0, 76/104",
       "5.33, 14.9k, 2.0, 1.28, 1.4%"},
      {"nszip.c",
       "Mozilla 342577",
       "nsZipItem::flags",
       "SeekToItem",
       {},
       "2935, 45, extract 100 files",
       "2: 0/0, 4/3, 0/0, 9/8",
       "3.76, 399k, 0, 2, 0.0%"},
      {"apache_fdqueue.c",
       "Apache 44402",
       "recycled_pool::next",
       "ap_queue_info_set_idle",
       {},
       kApacheSize,
       kApache,
       kApacheTime},
      {"apache_log.c",
       "Apache 25520",
       "buffered_log::outcnt",
       "ap_buffered_log_writer",
       {},
       kApacheSize,
       kApache,
       kApacheTime},
      {"spidermonkey.c",
       "Mozilla 133773",
       "JSRuntime::state",
       "run_script",
       {},
       "51k, 1098, compute an MD5 hash",
       "8: 10/7, 18/39, 5/2, 36/108",
       "4.6, 18m, 0.11, 0.44, 17.3%"},
      {"mysql_binlog.cc",
       "MySQL 791",
       "MYSQL_LOG::log_type",
       "MYSQL_LOG::new_file",
       {},
       kMysqlSize,
       kMysql,
       kMysqlTime},
      {"mysql_query_cache.cc",
       "MySQL 12848",
       "Query_cache::bins",
       "Query_cache::resize",
       {},
       kMysqlSize,
       kMysql,
       kMysqlTime},
      {"mysql_hash_index.c",
       "MySQL 14747",
       "buf_block_struct::index",
       "btr_search_drop_page_hash_index",
       {},
       kMysqlSize,
       kMysql,
       kMysqlTime},
      {"mysql_awake.cc",
       "MySQL 35714",
       "THD::mysys_var",
       "THD::awake",
       {},
       kMysqlSize,
       kMysql,
       kMysqlTime},
      {"mysql_safe_mutex.c",
       "MySQL 16333",
       "safe_mutex_t::count, thread",
       "safe_mutex_lock",
       {"--correlate"},
       kMysqlSize,
       kMysql,
       kMysqlTime},
      {"mysql_end_slave.cc",
       "MySQL 20850",
       "Master_info::run_lock",
       "handle_slave_io",
       {},
       kMysqlSize,
       kMysql,
       kMysqlTime},
  };
  return all;
}

struct Explored {
  unsigned schedules = 0, failed = 0, deadlocked = 0, stuck = 0, unfinished = 0;
  [[nodiscard]] unsigned bad() const { return failed + deadlocked + stuck + unfinished; }
};

struct Figures {
  std::uint64_t runs = 0;
  Explored plain_explored;
  Explored hardened_explored;
  bool plain_atomic = false;  // as the check says, in the schedule of the bug
  bool hardened_atomic = false;
  unsigned lines = 0;
  std::uint64_t plain_failed = 0;
  std::uint64_t hardened_failed = 0;
  unsigned variables = 0, exclusive = 0, read = 0;
  unsigned locks = 0;
  std::array<unsigned, 4> before{};  // read, exclusive, degrade, release
  std::array<unsigned, 4> after{};
  double overhead = 0;
  double speedup = 0;  // of the plain program on all cores over one
  // Locks that the hardened program takes while it is measured: its own, and those of the plan.
  unsigned long program_taken = 0, read_taken = 0, exclusive_taken = 0;
};

unsigned lines_of(const std::string& path) {
  std::ifstream in(path);
  return static_cast<unsigned>(
      std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n'));
}

std::string last_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::string last;
  while (std::getline(in, line)) last = line;
  return last;
}

/// "… 12 read-atomic …": 12.
unsigned number_before(const std::string& text, std::string_view word) {
  const std::size_t end = text.find(word);
  std::size_t begin = end == std::string::npos ? 0 : end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
  if (end == std::string::npos || begin == end) {
    fmt::print(stderr, "bench_enforce: no number before '{}' in '{}'\n", word, text);
    std::exit(1);
  }
  return static_cast<unsigned>(std::stoul(text.substr(begin, end - begin)));
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

  /// Builds all that is run later.
  void prepare(const Row& row, Figures& figures) {
    enter(row);
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
    // The plain program is the same code without a single lock.
    std::ofstream(path("nothing")) << "{\"version\": 1, \"kind\": \"syndrome-plan\", "
                                      "\"locks\": [], \"functions\": []}\n";
    for (const std::string name : {"plain", "hardened"}) {
      const std::string plan = path(name == "plain" ? "nothing" : "plan");
      compile(row, {"--syndrome-enforce=" + plan}, name);
      compile(row, {"--syndrome-enforce=" + plan, "--syndrome-steps"}, name + "-steps");
      compile(row, {"--syndrome-enforce=" + plan, "--syndrome-probes"}, name + "-probes");
    }
    read_figures(figures);
    figures.lines = lines_of((programs_ / row.program).string());
  }

  void try_out(const Row& row, Figures& figures, std::uint64_t runs) {
    enter(row);
    for (std::uint64_t i = 1; i <= runs; ++i) {
      ++figures.runs;
      const std::string noise = "noise:" + std::to_string(i);
      figures.plain_failed += fails("plain-steps", noise) ? 1U : 0U;
      figures.hardened_failed += fails("hardened-steps", noise) ? 1U : 0U;
    }
    figures.plain_explored = explore("plain-steps");
    figures.hardened_explored = explore("hardened-steps");
    figures.plain_atomic = is_atomic(row, "plain-probes");
    figures.hardened_atomic = is_atomic(row, "hardened-probes");
  }

  void time(const Row& row, Figures& figures, std::uint64_t rounds) {
    enter(row);
    std::vector<double> ratios;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const double plain = seconds("plain");
      ratios.push_back(seconds("hardened") / plain);
    }
    if (ratios.empty()) return;
    figures.overhead = median(ratios) - 1;
    std::vector<double> speedups;
    for (std::uint64_t round = 0; round < std::min<std::uint64_t>(rounds, 3); ++round) {
      const double one =
          run_expecting({"/usr/bin/taskset", "-c", "0", path("plain"), "work", "6000"}, kLimit, {0})
              .seconds;
      speedups.push_back(one / seconds("plain"));
    }
    figures.speedup = median(speedups);
    (void)run_expecting({"/bin/sh", "-c", "SYNDROME_ENFORCE_WATCHDOG=1 exec \"$0\" work 6000 2>&1",
                         path("hardened")},
                        kLimit, {0}, path("taken.txt"));
    const std::string told = last_line(path("taken.txt"));
    if (std::sscanf(told.c_str(),
                    "syndrome: taken: %lu locks of the program; of the plan %lu for reading, %lu",
                    &figures.program_taken, &figures.read_taken, &figures.exclusive_taken) != 3) {
      fmt::print(stderr, "bench_enforce: cannot read the figures of '{}'\n", told);
      std::exit(1);
    }
  }

 private:
  void enter(const Row& row) {
    own_ = folder_.path() + "/" + std::string(row.program);
    fs::create_directories(own_);
  }
  [[nodiscard]] std::string path(std::string_view name) const {
    return own_ + "/" + std::string(name);
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
  /// Runs it on 20 objects, one after another.
  [[nodiscard]] bool fails(std::string_view program, const std::string& steps) const {
    return run({"/bin/sh", "-c", "SYNDROME_STEPS=$1 exec \"$0\" together 20 2>/dev/null",
                path(program), steps},
               kLimit)
               .code != 0;
  }
  [[nodiscard]] Explored explore(std::string_view program) const {
    (void)run_expecting(
        {"/bin/sh", "-c", "SYNDROME_STEPS=explore:1 exec \"$0\" together 1 2>&1", path(program)},
        kLimit, {0, 1}, path("explored.txt"));
    const std::string told = last_line(path("explored.txt"));
    Explored explored;
    if (std::sscanf(told.c_str(),
                    "syndrome: %u schedules with at most 1 preemption: %u failed, %u deadlocked, "
                    "%u waited in vain, %u unfinished",
                    &explored.schedules, &explored.failed, &explored.deadlocked, &explored.stuck,
                    &explored.unfinished) != 5) {
      fmt::print(stderr, "bench_enforce: cannot read the figures of '{}'\n", told);
      std::exit(1);
    }
    return explored;
  }
  [[nodiscard]] bool is_atomic(const Row& row, std::string_view program) const {
    std::ofstream(path("spec.toml")) << fmt::format("[blocks]\natomic = [\"{}\"]\n", row.function);
    return run_expecting({syndrome_, "run", "-q", "--order", "exact", "--check", "atomicity",
                          "--spec", path("spec.toml"), "--report", path("report.txt"), "--",
                          "/bin/sh", "-c", "exec \"$0\" fail 2>/dev/null", path(program)},
                         kLimit, {0, 1, 66, 139})
               .code == 0;
  }
  [[nodiscard]] double seconds(std::string_view program) const {
    return run_expecting({path(program), "work", "6000"}, kLimit, {0}).seconds;
  }
  void read_figures(Figures& figures) const {
    const std::string learned = last_line(path("infer.txt"));
    figures.variables = number_before(learned, " variable");
    figures.exclusive = number_before(learned, " exclusive-atomic");
    figures.read = number_before(learned, " read-atomic");
    unsigned a = 0;
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
  std::string own_;  // of the row in it
};

std::string both(const Figures& figures, std::size_t which) {
  return fmt::format("{}/{}", figures.before[which], figures.after[which]);
}

int main_of(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t runs = argc > 4 ? std::stoull(argv[4]) : 1000;
  const std::uint64_t rounds = argc > 5 ? std::stoull(argv[5]) : 5;
  Bench bench(argv[1], argv[2]);
  TextTable bugs({"kernel", "bug", "variable with a lock", "noisy runs", "plain fails",
                  "hardened fails", "schedules, plain", "fail", "schedules, hardened",
                  "fail or wait", "check, plain", "check, hardened"},
                 3);
  TextTable sizes({"kernel", "lines", "the paper's program (lines, functions, profile input)"}, 1);
  TextTable locks({"kernel", "pairs R", "pairs X", "locks", "R acq b/a", "X acq b/a", "degrade b/a",
                   "rel b/a", "the paper's program (locks: R, X, degrade, rel)"},
                  1);
  TextTable times({"kernel", "speedup", "P acq", "R acq", "X acq", "R/P", "X/P", "overhead",
                   "the paper's program (speedup, P acq, R/P, X/P, overhead)"},
                  1);
  std::vector<double> overheads;
  bool kept = true;
  const auto tell = [](const char* what) {
    fmt::print("{}\n", what);
    std::fflush(stdout);
  };
  std::vector<Figures> all(bench.measured().size());
  tell("building");
  for (std::size_t i = 0; i < all.size(); ++i) bench.prepare(bench.measured()[i], all[i]);
  // In one go: short enough to keep a machine quiet for it.
  tell("measuring");
  for (std::size_t i = 0; i < all.size(); ++i) bench.time(bench.measured()[i], all[i], rounds);
  const double busy = load();
  tell("trying out");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Row& row = bench.measured()[i];
    Figures& figures = all[i];
    const std::string name(row.program.substr(0, row.program.find('.')));
    bench.try_out(row, figures, runs);
    const Explored& after = figures.hardened_explored;
    bugs.add({name, std::string(row.bug), std::string(row.variable), std::to_string(figures.runs),
              std::to_string(figures.plain_failed), std::to_string(figures.hardened_failed),
              std::to_string(figures.plain_explored.schedules),
              std::to_string(figures.plain_explored.bad()), std::to_string(after.schedules),
              std::to_string(after.bad()), figures.plain_atomic ? "clean" : "violated",
              figures.hardened_atomic ? "clean" : "violated"});
    sizes.add({name, std::to_string(figures.lines), std::string(row.paper_size)});
    locks.add({name, std::to_string(figures.read), std::to_string(figures.exclusive),
               std::to_string(figures.locks), both(figures, 0), both(figures, 1), both(figures, 2),
               both(figures, 3), std::string(row.paper_locks)});
    const auto ratio = [&figures](unsigned long taken) {
      if (figures.program_taken == 0) return std::string("-");
      return fmt::format("{:.2f}",
                         static_cast<double>(taken) / static_cast<double>(figures.program_taken));
    };
    times.add({name, fmt::format("{:.2f}", figures.speedup), std::to_string(figures.program_taken),
               std::to_string(figures.read_taken), std::to_string(figures.exclusive_taken),
               ratio(figures.read_taken), ratio(figures.exclusive_taken),
               fmt::format("{:.1f}%", figures.overhead * 100), std::string(row.paper_runtime)});
    overheads.push_back(figures.overhead);
    kept = kept && figures.hardened_failed == 0 && after.bad() == 0 && figures.hardened_atomic;
    fmt::print(
        "{}: plain fails {} of {}, hardened {}; of {} schedules {}, of {} {}; check {}, {}; "
        "overhead {:.1f}%\n",
        name, figures.plain_failed, figures.runs, figures.hardened_failed,
        figures.plain_explored.schedules, figures.plain_explored.bad(), after.schedules,
        after.bad(), figures.plain_atomic ? "clean" : "violated",
        figures.hardened_atomic ? "clean" : "violated", figures.overhead * 100);
    std::fflush(stdout);
  }
  const std::string text = fmt::format(
      "## Atomicity inference and enforcement (Weeratunge, Zhang, Jagannathan, OOPSLA 2011)\n\n"
      "Measured on {}, {}, load {:.1f}. The programs are kernels of the paper's bugs, re-created "
      "from its descriptions (`bench/programs/enforce`), not the programs themselves: how many "
      "locks those need is not comparable line by line. A kernel is profiled in two runs that "
      "pass.\n\n"
      "### Table 1: the bugs\n\nA noisy run does what the bug is about 20 times, each time on new "
      "objects. Schedules: all with at most one preemption, as the paper explored them with CHESS; "
      "those that failed, came to a deadlock, or waited in vain for a lock of ours. Check: of the "
      "bug's function as an atomic block, in the schedule of the bug report.\n\n{}\n"
      "### Table 2: programs and profile inputs\n\nOurs: what the bug is about, twice, one thread "
      "after the other.\n\n{}\n"
      "### Table 3: pairs and locks\n\nBefore and after deadlock resolution. The paper's figures "
      "are those of the whole program.\n\n{}\n"
      "### Table 4: overhead\n\nOf the hardened over the plain program, alternately in one run, "
      "medians of {}; each operation comes with about 20 microseconds of other work. Median "
      "{:.1f}%, most {:.1f}%. Speedup: of the plain program on all cores over one. P acq: how "
      "often "
      "the hardened program takes locks of its own in 6,000 operations of each side; R acq and X "
      "acq: "
      "those of the plan. Many of the kernels have no lock of their own: that is their bug. "
      "Instructions are not counted: the machine has no counter for them.\n\n{}",
      machine(), today(), busy, bugs.text(), sizes.text(), locks.text(), rounds,
      median(overheads) * 100, *std::ranges::max_element(overheads) * 100, times.text());
  if (!write_section(argv[3], "enforce", text)) {
    fmt::print(stderr, "bench_enforce: {} cannot be written\n", argv[3]);
    return 1;
  }
  if (!kept) fmt::print(stderr, "bench_enforce: a hardened program has failed\n");
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  return syndrome::bench::main_of(argc, argv);
}
