// Writes Tables I and A1 of the predictive nondeterminism paper beside our own figures, as
// Markdown: `make results`.
//
//   bench_predictive BIN PROGRAMS OUT [EVENTS [ROUNDS]]
//
// BIN is the directory of our programs, PROGRAMS that of the paper's, or one of them; EVENTS is the
// length of the generated trace that shows how far the check goes. What is printed is the median
// over rounds.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "measure.h"
#include "runner.h"
#include "sections.h"
#include "text_table.h"

namespace syndrome::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUsage = "usage: bench_predictive BIN PROGRAMS OUT [EVENTS [ROUNDS]]";
constexpr double kLimit = 1800;  // seconds for a run

/// A row of Table A1.
struct PaperFigures {
  int threads, events, locks, accesses, variables, witnesses, refuted, with_choices;
  double graphs, seconds;  // for each witness, over all
  double feasible;         // percent
};
struct Row {
  std::string_view name;
  std::string_view program;
  std::vector<std::string> arguments;
  PaperFigures paper;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"conpool", "conpool", {}, {4, 97, 1, 53, 5, 252, 221, 0, 1, 0.007, 12.3}},
      {"liveness", "liveness", {}, {7, 283, 9, 163, 12, 855, 709, 0, 1, 0.064, 17}},
      {"SynchBench", "synch_bench", {}, {16, 1510, 2, 533, 15, 47526, 39474, 0, 1, 8.85, 17}},
      {"Barrier", "barrier", {}, {10, 653, 2, 262, 12, 3975, 3231, 0, 1, 0.62, 18.7}},
      {"account", "account", {}, {11, 902, 21, 430, 42, 1416, 1042, 48, 1.06, 1.352, 26.1}},
      {"DaisyTest", "daisy", {}, {3, 2998, 10, 2003, 45, 383007, 305635, 15520, 1.005, 244, 20.2}},
      {"Elevator", "elevator", {}, {4, 3004, 11, 1795, 70, 3249, 2671, 0, 1, 0.8, 17.8}},
      {"philo", "philo", {}, {6, 1141, 6, 857, 23, 4893, 4118, 0, 1, 0.65, 15.8}},
      {"ThriftTrace1",
       "thrift",
       {"1", "2", "10", "8"},
       {4, 2406, 12, 869, 62, 618, 361, 161, 1, 1.6, 41.6}},
      {"ThriftTrace2",
       "thrift",
       {"1", "2", "55", "44"},
       {4, 11357, 48, 3184, 171, 35610, 29441, 365, 1, 28, 17.3}},
      {"ThriftTrace3",
       "thrift",
       {"2", "3", "65", "153"},
       {6, 20640, 158, 8818, 519, 479142, 399814, 2, 1, 243, 16.6}},
  };
  return all;
}

struct Figures {
  double threads = 0, events = 0, locks = 0, accesses = 0, variables = 0;
  double reads = 0, witnesses = 0, refuted = 0, feasible = 0, with_choices = 0, graphs = 0;
  double seconds = 0;
  std::uint64_t peak_bytes = 0;
};

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Bench {
 public:
  Bench(const std::string& bin, const fs::path& programs) : syndrome_(bin + "/syndrome") {
    const bool one = fs::is_regular_file(programs);
    programs_ = one ? programs.parent_path() : programs;
    for (const Row& row : rows()) {
      if (!one || row.program == programs.stem().string()) rows_.push_back(row);
    }
  }

  [[nodiscard]] const std::vector<Row>& measured() const { return rows_; }

  Figures measure(const Row& row, std::uint64_t rounds) {
    compile_program({syndrome_, "c++"}, fmt::format("{}/{}.cc", programs_, row.program),
                    path("probed"));
    std::vector<std::string> record = {syndrome_,       "record", "-q",          "-o",
                                       path("run.syn"), "--",     path("probed")};
    record.insert(record.end(), row.arguments.begin(), row.arguments.end());
    (void)run_expecting(record, kLimit, {0});
    return check("run.syn", rounds);
  }

  void generate(std::uint64_t events) {
    (void)run_expecting({syndrome_, "trace", "generate", "--events", std::to_string(events), "-o",
                         path("generated.syn")},
                        kLimit, {0});
  }

  Figures check(std::string_view trace, std::uint64_t rounds) {
    Figures figures;
    std::vector<double> seconds;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const Run run = run_expecting(command(trace, 1), kLimit, {0, 1}, path("report.json"));
      figures.peak_bytes = run.peak_bytes;
      seconds.push_back(read(figures, path("report.json")));
    }
    figures.seconds = median(seconds);
    return figures;
  }

  /// Throughput of one process with two threads, to that of two processes with one each.
  double efficiency(std::string_view trace, std::uint64_t rounds) {
    std::vector<double> ratios;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      Figures ignored;
      (void)run_expecting(command(trace, 2), kLimit, {0, 1}, path("report.json"));
      const double together = read(ignored, path("report.json"));
      std::array<double, 2> apart{};
      std::array<std::thread, 2> threads;
      for (std::size_t i = 0; i < threads.size(); ++i) {
        threads[i] = std::thread([&, i] {
          const std::string out = path(fmt::format("apart{}.json", i));
          (void)run_expecting(command(trace, 1), kLimit, {0, 1}, out);
          Figures unused;
          apart[i] = read(unused, out);
        });
      }
      for (std::thread& thread : threads) thread.join();
      ratios.push_back((apart[0] + apart[1]) / 2 / 2 / together);
    }
    return median(ratios);
  }

 private:
  [[nodiscard]] std::string path(std::string_view name) const {
    return fmt::format("{}/{}", directory_.path(), name);
  }

  [[nodiscard]] std::vector<std::string> command(std::string_view trace, int jobs) const {
    return {syndrome_,  "check", "--check", "count,nondeterminism", "--stats",
            "--format", "json",  "--jobs",  std::to_string(jobs),   path(trace)};
  }

  /// The seconds of the check.
  static double read(Figures& figures, const std::string& file) {
    // Without the findings, whose schedules are most of the file.
    using Event = nlohmann::json::parse_event_t;
    const auto wanted = [](int, Event event, const nlohmann::json& parsed) {
      return event != Event::key || parsed != "findings";
    };
    const nlohmann::json report = nlohmann::json::parse(contents(file), wanted);
    const nlohmann::json& trace = report.at("trace");
    figures.threads = trace.at("threads").get<double>();
    figures.events = trace.at("events").get<double>();
    figures.locks = trace.at("locks").get<double>();
    figures.variables = trace.at("variables").get<double>();
    const nlohmann::json& kinds = report.at("checks").at(0).at("stats");
    figures.accesses = 0;
    for (const char* kind : {"r", "w", "rmw"}) {
      if (kinds.contains(kind)) figures.accesses += kinds.at(kind).get<double>();
    }
    const nlohmann::json& check = report.at("checks").at(1);
    const auto stat = [&check](const char* name) {
      return check.at("stats").at(name).get<double>();
    };
    figures.reads = stat("reads");
    figures.witnesses = stat("witnesses");
    figures.refuted = 3 * stat("triples refuted by order alone");
    figures.feasible = 3 * stat("triples that are feasible");
    figures.with_choices = 3 * stat("triples with choices");
    figures.graphs = stat("graphs explored");
    return check.at("seconds").get<double>();
  }

  std::string syndrome_;
  std::string programs_;
  std::vector<Row> rows_;
  TemporaryDirectory directory_;
};

std::string percent(double part, double all) {
  return all == 0 ? "-" : fmt::format("{:.1f}%", 100 * part / all);
}

std::string paper_table(const Bench& bench) {
  TextTable table({"program", "threads", "events", "locks", "accesses", "variables", "witnesses",
                   "refuted in phase one", "with choices", "graphs a witness", "feasible",
                   "seconds", "witnesses a second"},
                  1);
  for (const Row& row : bench.measured()) {
    const PaperFigures& paper = row.paper;
    table.add({std::string(row.name), std::to_string(paper.threads), std::to_string(paper.events),
               std::to_string(paper.locks), std::to_string(paper.accesses),
               std::to_string(paper.variables), std::to_string(paper.witnesses),
               percent(paper.refuted, paper.witnesses),
               percent(paper.with_choices, paper.witnesses), fmt::format("{}", paper.graphs),
               fmt::format("{}%", paper.feasible), fmt::format("{}", paper.seconds),
               short_count(paper.witnesses / paper.seconds)});
  }
  return table.text();
}

/// Programs with and without choices, as in Table I.
struct Category {
  int programs = 0;
  Figures sum;

  void add(const Figures& figures) {
    ++programs;
    sum.witnesses += figures.witnesses;
    sum.refuted += figures.refuted;
    sum.with_choices += figures.with_choices;
    sum.feasible += figures.feasible;
    sum.graphs += figures.graphs;
    sum.seconds += figures.seconds;
  }
};

std::string our_tables(Bench& bench, std::uint64_t rounds) {
  TextTable table({"program", "threads", "events", "locks", "accesses", "variables", "reads",
                   "witnesses", "refuted in phase one", "with choices", "graphs a witness",
                   "feasible", "seconds", "witnesses a second"},
                  1);
  std::array<Category, 2> categories;
  for (const Row& row : bench.measured()) {
    fmt::print(stderr, "results: {}\n", row.name);
    const Figures figures = bench.measure(row, rounds);
    categories[figures.with_choices == 0 ? 0 : 1].add(figures);
    table.add({std::string(row.name), fmt::format("{}", figures.threads),
               fmt::format("{}", figures.events), fmt::format("{}", figures.locks),
               fmt::format("{}", figures.accesses), fmt::format("{}", figures.variables),
               fmt::format("{}", figures.reads), fmt::format("{}", figures.witnesses),
               percent(figures.refuted, figures.witnesses),
               percent(figures.with_choices, figures.witnesses),
               short_number(figures.graphs / std::max(1.0, figures.witnesses)),
               percent(figures.feasible, figures.witnesses), short_number(figures.seconds),
               short_count(figures.witnesses / figures.seconds)});
  }
  TextTable summary({"category", "programs", "witnesses", "refuted in phase one", "with choices",
                     "graphs a witness", "feasible", "seconds"},
                    1);
  summary.add({"paper, phase one is enough", "9", "104178", "82.4%", "0.0%", "1", "17.7%", "44.3"});
  summary.add({"paper, both phases", "16", "5604552", "79.9%", "3.3%", "1.001", "20.1%", "8597"});
  constexpr std::array<std::string_view, 2> kNames = {"ours, phase one is enough",
                                                      "ours, both phases"};
  for (std::size_t i = 0; i < categories.size(); ++i) {
    const Figures& sum = categories[i].sum;
    summary.add({std::string(kNames[i]), std::to_string(categories[i].programs),
                 fmt::format("{}", sum.witnesses), percent(sum.refuted, sum.witnesses),
                 percent(sum.with_choices, sum.witnesses),
                 short_number(sum.graphs / std::max(1.0, sum.witnesses)),
                 percent(sum.feasible, sum.witnesses), short_number(sum.seconds)});
  }
  return fmt::format("{}\n### Table I\n\n{}", table.text(), summary.text());
}

std::string large(Bench& bench, std::uint64_t events, std::uint64_t rounds) {
  fmt::print(stderr, "results: generated trace\n");
  bench.generate(events);
  const Figures figures = bench.check("generated.syn", 1);
  const double efficiency = bench.efficiency("generated.syn", rounds);
  return fmt::format(
      "\n### A long trace\n\n"
      "`syndrome trace generate --events {}`: {} threads, {} variables, each with its lock.\n\n"
      "- {} reads, {} witnesses, decided in {} s on one core, with {} MB of memory; must be "
      "minutes\n"
      "  and 4 GB for 1 million events.\n"
      "- Two threads have {:.2f} of the throughput of two processes with one thread each, side by\n"
      "  side; must be at least 0.9.\n",
      events, figures.threads, figures.variables, short_count(figures.reads),
      short_count(figures.witnesses), short_number(figures.seconds), figures.peak_bytes >> 20U,
      efficiency);
}

std::string document(Bench& bench, std::uint64_t events, std::uint64_t rounds) {
  return fmt::format(
      "## Predictive nondeterminism, Tables I and A1\n"
      "\n"
      "Written on {}: {}, with a load of {:.1f} when it\n"
      "began (more than the number of cores means that others disturbed it).\n"
      "\n"
      "The paper: Sinha, Malik and Gupta, *Efficient Predictive Analysis for Detecting\n"
      "Nondeterminism in Multi-Threaded Programs*, FMCAD 2012. Its traces are of Java and C++\n"
      "programs; ours are recorded from programs re-created from their descriptions\n"
      "(`bench/programs/predictive`), so the counts differ: compare the shape of the columns.\n"
      "Our events include functions, memory and thread starts.\n"
      "\n"
      "A triple of read, write and challenger has three witnesses, as the paper counts: c r w,\n"
      "w c r, and c r without w; by our definition the first and the last have one answer. "
      "*Refuted\n"
      "in phase one* is by clocks alone, before any graph. We decide families of witnesses with "
      "one\n"
      "graph, so *graphs a witness* is far below 1. Seconds are those of the check, on one core, "
      "all\n"
      "schedules found and verified; medians of {} rounds.\n"
      "\n"
      "### Table A1\n\nThe paper:\n\n{}\nOurs:\n\n{}{}",
      today(), machine(), load(), rounds, paper_table(bench), our_tables(bench, rounds),
      large(bench, events, rounds));
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  using namespace syndrome::bench;
  if (argc < 4 || argc > 6) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t events = number_argument(argc, argv, 4, 1'000'000, kUsage);
  const std::uint64_t rounds = number_argument(argc, argv, 5, 3, kUsage);
  Bench bench(argv[1], argv[2]);
  if (bench.measured().empty()) {
    fmt::print(stderr, "bench_predictive: {}: no such program\n", argv[2]);
    return 2;
  }
  const std::string text = document(bench, events, rounds);
  if (!write_section(argv[3], "predictive", text)) {
    fmt::print(stderr, "bench_predictive: cannot write {}\n", argv[3]);
    return 2;
  }
  return 0;
}
