// Writes the AeroDrome paper's Tables 1 and 2 beside our own figures, as Markdown: `make results`.
//
//   bench_results BIN OUT [EVENTS [ROUNDS]]      BIN is the directory of our programs

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measure.h"
#include "paper_rows.h"
#include "runner.h"
#include "sections.h"
#include "text_table.h"

namespace syndrome::bench {
namespace {

constexpr std::array<std::string_view, 3> kEngines = {"velodrome", "aerodrome", "reach"};

struct Times {
  std::map<std::string_view, double> seconds;  // by engine, to the verdict
  double check = 0;                            // a whole run of check --first
  double check_std = 0;
  // Within a round.
  double aerodrome_speed_up = 0;  // over velodrome
  double reach_speed_up = 0;      // over velodrome
  double reach_over_aerodrome = 0;
};

Times measure(const Tools& tools, const TraceFiles& files, std::uint64_t rounds) {
  std::map<std::string_view, std::vector<double>> samples;
  std::vector<double> aerodrome, reach, reach_over_aerodrome;
  Times times;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::string_view engine : kEngines) {
      samples[engine].push_back(tools.decide(engine, files.path("syn")).seconds);
    }
    if (round == 0) {  // once: they are most of the time, and no ratio is made of them
      times.check = tools.check("reach", files.path("syn"), true).seconds;
      times.check_std = tools.check("reach", files.path("std"), true).seconds;
    }
    const auto last = [&](std::string_view engine) { return samples.at(engine).back(); };
    aerodrome.push_back(last("velodrome") / last("aerodrome"));
    reach.push_back(last("velodrome") / last("reach"));
    reach_over_aerodrome.push_back(last("aerodrome") / last("reach"));
  }
  for (const auto& [engine, seconds] : samples) times.seconds[engine] = median(seconds);
  times.aerodrome_speed_up = median(aerodrome);
  times.reach_speed_up = median(reach);
  times.reach_over_aerodrome = median(reach_over_aerodrome);
  return times;
}

std::string paper_seconds(const std::optional<double>& seconds) {
  if (!seconds) return "> 36000";
  return fmt::format("{}", *seconds);
}

std::string seconds_text(double seconds) {
  if (seconds >= kLimitSeconds) return fmt::format("> {}", kLimitSeconds);
  return short_number(seconds);
}

struct Tables {
  TextTable paper{{"program", "events", "threads", "locks", "variables", "transactions", "atomic?",
                   "Velodrome s", "AeroDrome s", "speed-up"},
                  1};
  TextTable ours{{"program", "events", "threads", "locks", "variables", "transactions", "atomic?",
                  "violation at", "Velodrome s", "AeroDrome s", "reach s", "AeroDrome : Velodrome",
                  "reach : Velodrome", "reach : AeroDrome", "reach : paper's AeroDrome",
                  "`check --first` s", "from STD s"},
                 1};
};

void add(Tables& tables, const PaperRow& row, const PaperShape& shape, const TraceFiles& files,
         const Times& times) {
  const auto count = [](std::uint64_t value) { return short_count(static_cast<double>(value)); };
  const std::string atomic = row.atomic ? "yes" : "no";
  tables.paper.add({std::string(row.name), std::string(row.events_text),
                    std::to_string(row.threads), std::to_string(row.locks), count(row.variables),
                    count(row.transactions), atomic, paper_seconds(row.velodrome),
                    paper_seconds(row.aerodrome), std::string(row.speed_up)});
  const auto seconds = [&](std::string_view engine) {
    return seconds_text(times.seconds.at(engine));
  };
  const double compared = row.aerodrome / times.seconds.at("reach");
  // Where the traces differ in length up to the violation, the two times say nothing together.
  const bool same_length = row.events == shape.events ||
                           (shape.violation != 0 &&
                            static_cast<double>(shape.violation) + 1 >= row.aerodrome * kPaperRate);
  tables.ours.add({std::string(row.name), count(files.events), std::to_string(files.threads),
                   std::to_string(files.locks), count(files.variables), count(files.blocks), atomic,
                   shape.violation == 0 ? "-" : count(shape.violation), seconds("velodrome"),
                   seconds("aerodrome"), seconds("reach"), short_number(times.aerodrome_speed_up),
                   short_number(times.reach_speed_up), short_number(times.reach_over_aerodrome),
                   same_length ? short_number(compared) : "-", seconds_text(times.check),
                   seconds_text(times.check_std)});
}

std::string title(int table) {
  return table == 1 ? "Table 1: specifications of DoubleChecker"
                    : "Table 2: every method but `main` and `run` is a block";
}

std::string document(const Tools& tools, std::uint64_t events, std::uint64_t rounds) {
  std::string text = fmt::format(
      "## AeroDrome, Tables 1 and 2\n"
      "\n"
      "Written on {}: {}, with a load of {:.1f} when it\n"
      "began (more than the number of cores means that others disturbed it).\n"
      "\n"
      "The paper: Mathur and Viswanathan, *Atomicity Checking in Linear Time Using Vector "
      "Clocks*,\n"
      "ASPLOS 2020. Its traces of Java programs were not published with it. Ours are generated "
      "with\n"
      "the shape of each row, at most {} events long: threads and locks as in the paper, "
      "variables\n"
      "and transactions scaled with the events. What else had to be chosen is said in\n"
      "`bench/paper_rows.h`; the two choices that matter:\n"
      "\n"
      "- **Where the violation is.** The paper gives no position. Its AeroDrome passes about 0.84\n"
      "  million events a second (its atomic rows), so we put the violation where that many "
      "events\n"
      "  for its time are over, or at 95% of our trace if that is earlier. Then both have checked\n"
      "  equally many events, where the column *reach : paper's AeroDrome* has a figure.\n"
      "- **What Velodrome has to keep.** Where the paper's Velodrome timed out or was many times\n"
      "  slower, which it explains by transactions that accumulate, the first thread of our trace\n"
      "  stays in one block from beginning to end, and all others depend on it: nothing can be\n"
      "  collected.\n"
      "\n"
      "The seconds of the three engines are those of whole processes (`bench/decide.cc`) that "
      "read\n"
      "a `.syn` file up to the first violation and say no more than that there is one: what the\n"
      "paper measures. The last two columns are `syndrome check --first`, which then goes over "
      "that\n"
      "part of the trace twice more, to find a shortest cycle and to verify it; they are measured\n"
      "once. The others are medians of {} rounds; ratios are made within a round, and `X : Y` "
      "says\n"
      "how many times faster X is than Y. The paper's machine, language and traces are others:\n"
      "compare the shape of the columns, not the digits. A time of a few milliseconds is the "
      "start\n"
      "of a process.\n"
      "\n"
      "Two rows of the paper cannot be right as printed: lufact has more transactions (642M) than\n"
      "events (135M), and tomcat repeats the characteristics of sparsematmult. Ours have as many\n"
      "transactions as fit, and tomcat differs from sparsematmult only in where its violation is.\n"
      "In series every second event is a `begin`, so its blocks are empty; ours have one access.\n",
      today(), machine(), load(), short_count(static_cast<double>(events)), rounds);
  for (const int table : {1, 2}) {
    Tables tables;
    for (const PaperRow& row : paper_rows()) {
      if (row.table != table) continue;
      fmt::print(stderr, "results: {}\n", row.name);
      const TraceFiles files = tools.generate(row.name, events, Violations::kAsTheRowSays);
      add(tables, row, scaled(row, events), files, measure(tools, files, rounds));
    }
    text += fmt::format("\n### {}\n\nThe paper:\n\n{}\nOurs:\n\n{}", title(table),
                        tables.paper.text(), tables.ours.text());
  }
  return text;
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  using namespace syndrome::bench;
  constexpr std::string_view kUsage = "usage: bench_results BIN OUT [EVENTS [ROUNDS]]";
  if (argc < 3 || argc > 5) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t events = number_argument(argc, argv, 3, 10'000'000, kUsage);
  const std::uint64_t rounds = number_argument(argc, argv, 4, 3, kUsage);
  const TemporaryDirectory directory;
  const std::string text = document({argv[1], directory.path()}, events, rounds);
  if (!write_section(argv[2], "aerodrome", text)) {  // only now: if interrupted, the old one stays
    fmt::print(stderr, "bench_results: cannot write {}\n", argv[2]);
    return 2;
  }
  return 0;
}
