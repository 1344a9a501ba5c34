// The end-to-end table of `make bench`: whole runs of `syndrome check` beside a bare decoding of
// the same file.
//
//   bench_table BIN [EVENTS [ROUNDS]]      BIN is the directory of our programs
//
// Machines are noisy. So runs take turns: a round has one run of each kind, ratios are made within
// a round, and what is printed is the median over the rounds. That a figure is not reached is said,
// and is no failure.

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
#include "shapes.h"
#include "text_table.h"

namespace syndrome::bench {
namespace {

constexpr std::array<std::string_view, 3> kEngines = {"reach", "aerodrome", "velodrome"};
constexpr std::array<std::string_view, 2> kFormats = {"std", "syn"};

constexpr std::uint64_t kRequiredEvents = 10'000'000;

/// What was measured of one trace in one format.
struct Figures {
  std::map<std::string_view, double> rate;    // by engine or "decode": events a second
  std::map<std::string_view, double> ratio;   // by engine: its time to that of decoding
  std::map<std::string_view, double> growth;  // by engine: its time to that for a tenth
  std::map<std::string_view, double> peak;    // by engine: bytes
  std::map<std::string_view, double> cpu;     // by engine or "decode": seconds an event
  double bytes_per_event = 0;
};

/// By format. `tenth` is a trace of the same shape with a tenth of the events, or nothing when the
/// growth of the cost is not wanted.
std::map<std::string_view, Figures> measure(const Tools& tools, const TraceFiles& files,
                                            const TraceFiles* tenth, std::uint64_t rounds) {
  struct Samples {
    std::map<std::string_view, std::vector<double>> seconds, ratio, growth, peak, cpu;
  };
  std::map<std::string_view, Samples> samples;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::string_view format : kFormats) {
      Samples& of = samples[format];
      const Run decode = tools.decode(files.path(format));
      of.seconds["decode"].push_back(decode.seconds);
      of.cpu["decode"].push_back(decode.cpu_seconds);
      for (const std::string_view engine : kEngines) {
        const Run check = tools.check(engine, files.path(format), false);
        of.seconds[engine].push_back(check.seconds);
        of.ratio[engine].push_back(check.seconds / decode.seconds);
        of.cpu[engine].push_back(check.cpu_seconds);
        of.peak[engine].push_back(static_cast<double>(check.peak_bytes));
        if (tenth == nullptr) continue;
        const Run small = tools.check(engine, tenth->path(format), false);
        of.growth[engine].push_back(check.seconds / small.seconds);
      }
    }
  }
  std::map<std::string_view, Figures> result;
  for (const auto& [format, of] : samples) {
    Figures& figures = result[format];
    for (const auto& [what, seconds] : of.seconds) {
      figures.rate[what] = static_cast<double>(files.events) / median(seconds);
    }
    for (const auto& [what, seconds] : of.cpu) {
      figures.cpu[what] = median(seconds) / static_cast<double>(files.events);
    }
    for (const auto& [engine, values] : of.ratio) figures.ratio[engine] = median(values);
    for (const auto& [engine, values] : of.growth) figures.growth[engine] = median(values);
    for (const auto& [engine, values] : of.peak) figures.peak[engine] = median(values);
    figures.bytes_per_event = files.bytes_per_event(format);
  }
  return result;
}

std::string millions(double value) {
  return short_number(value / 1e6);
}

TextTable new_table() {
  return TextTable(
      {"trace", "from", "events", "threads", "locks", "variables", "blocks", "bytes/event",
       "decode M/s", "reach M/s", "aerodrome M/s", "velodrome M/s", "reach/decode", "decode CPU ns",
       "reach CPU ns", "reach MB", "aerodrome MB", "velodrome MB"},
      2);
}

void add_rows(TextTable& table, std::string_view name, const TraceFiles& files,
              const std::map<std::string_view, Figures>& figures) {
  const double slowest = static_cast<double>(files.events) / kLimitSeconds;
  for (const auto& [format, of] : figures) {
    const auto rate = [&, &measured = of.rate](std::string_view what) {
      return measured.at(what) <= slowest ? "timeout" : millions(measured.at(what));
    };
    table.add({std::string(name), std::string(format),
               short_count(static_cast<double>(files.events)), std::to_string(files.threads),
               std::to_string(files.locks), short_count(static_cast<double>(files.variables)),
               short_count(static_cast<double>(files.blocks)),
               fmt::format("{:.2f}", of.bytes_per_event), rate("decode"), rate("reach"),
               rate("aerodrome"), rate("velodrome"), fmt::format("{:.2f}", of.ratio.at("reach")),
               short_number(of.cpu.at("decode") * 1e9), short_number(of.cpu.at("reach") * 1e9),
               millions(of.peak.at("reach")), millions(of.peak.at("aerodrome")),
               millions(of.peak.at("velodrome"))});
  }
}

using Measured = std::map<std::string_view, std::map<std::string_view, Figures>>;  // shape, format

/// The figures that issue 2 asks for, with what was measured.
void print_required(const Measured& measured) {
  TextTable table({"figure", "required", "measured", ""}, 4);
  const auto add = [&](const std::string& what, const std::string& required,
                       const std::string& value, bool reached) {
    table.add({what, required, value, reached ? "reached" : "NOT reached"});
  };
  const auto rate = [&](std::string_view shape, std::string_view format, std::string_view engine,
                        double least) {
    const double value = measured.at(shape).at(format).rate.at(engine);
    add(fmt::format("({}) from {}, {}", shape, format, engine),
        fmt::format(">= {:.0f} M events/s", least), fmt::format("{} M events/s", millions(value)),
        value >= least * 1e6);
  };
  rate("a", "std", "reach", 10);
  rate("a", "syn", "reach", 50);
  const double ratio = measured.at("a").at("syn").ratio.at("reach");
  add("(a) from syn, reach, time to that of decoding", "<= 4", short_number(ratio), ratio <= 4);
  rate("b", "std", "reach", 5);
  rate("b", "syn", "reach", 20);
  rate("c", "syn", "reach", 25);
  for (const std::string_view format : kFormats) {
    const double peak = measured.at("b").at(format).peak.at("reach");
    add(fmt::format("(b) from {}, reach, peak memory", format), "<= 400 MB",
        fmt::format("{} MB", millions(peak)), peak <= 400e6);
  }
  rate("a", "syn", "aerodrome", 10);
  rate("a", "syn", "velodrome", 3);
  const double bytes = measured.at("a").at("syn").bytes_per_event;
  add("(a) as syn, bytes an event", "<= 3", short_number(bytes), bytes <= 3);
  for (const std::string_view shape : {"a", "b", "c", "d"}) {
    for (const std::string_view engine : kEngines) {
      const double growth = measured.at(shape).at("syn").growth.at(engine);
      add(fmt::format("({}) from syn, {}, cost of 10 times the events", shape, engine),
          "<= 11 times", fmt::format("{} times", short_number(growth)), growth <= 11);
    }
  }
  fmt::print("{}\n", table.text());
}

void run_all(const Tools& tools, std::uint64_t events, std::uint64_t rounds) {
  fmt::print(
      "End to end: {} events, median of {} rounds, ratios within a round; M/s are million events "
      "a\n"
      "second by the clock, CPU ns the time of all threads for one event, MB the peak memory.\n"
      "{}, {}, load {:.1f}\n\n",
      short_count(static_cast<double>(events)), rounds, machine(), today(), load());
  Measured measured;
  TextTable shapes = new_table();
  for (const Shape& shape : kShapes) {
    std::fflush(stdout);
    fmt::print(stderr, "bench: shape ({})\n", shape.name);
    const TraceFiles files = tools.generate(shape.name, events, Violations::kClean);
    const TraceFiles tenth = tools.generate(shape.name, events / 10, Violations::kClean);
    measured[shape.name] = measure(tools, files, &tenth, rounds);
    add_rows(shapes, shape.name, files, measured[shape.name]);
  }
  fmt::print("{}\n", shapes.text());
  if (events != kRequiredEvents) {
    fmt::print("The figures below are required of {} events, and these are {}:\n\n",
               short_count(static_cast<double>(kRequiredEvents)),
               short_count(static_cast<double>(events)));
  }
  print_required(measured);

  // Shorter ones would measure the start of a process.
  constexpr std::uint64_t kShortest = 1'000'000;
  fmt::print(
      "(e) The shapes of the AeroDrome paper's Table 1 (bench/paper_rows.h), without their\n"
      "violations, so that every event is checked; one round\n\n");
  TextTable rows = new_table();
  for (const PaperRow& row : paper_rows()) {
    if (row.table != 1 || row.events < kShortest) continue;
    std::fflush(stdout);
    fmt::print(stderr, "bench: {}\n", row.name);
    const TraceFiles files = tools.generate(row.name, events, Violations::kClean);
    add_rows(rows, row.name, files, measure(tools, files, nullptr, 1));
  }
  fmt::print("{}\nLoad {:.1f} at the end\n", rows.text(), load());
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  using namespace syndrome::bench;
  constexpr std::string_view kUsage = "usage: bench_table BIN [EVENTS [ROUNDS]]";
  if (argc < 2 || argc > 4) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t events = number_argument(argc, argv, 2, kRequiredEvents, kUsage);
  const std::uint64_t rounds = number_argument(argc, argv, 3, 3, kUsage);
  constexpr std::uint64_t kFewest = 100'000;  // a tenth of it must have room for 1,000 threads
  if (events < kFewest) {
    fmt::print(stderr, "bench_table: expected at least {} events, found {}\n", kFewest, events);
    return 2;
  }
  const TemporaryDirectory directory;
  run_all({argv[1], directory.path()}, events, rounds);
  return 0;
}
