// What recording costs (`make bench-capture`): each program of bench/programs plain, under
// ThreadSanitizer of clang and of g++, and under `syndrome record` in source and in fast mode.
// With --live, what checking costs while the program runs (`make bench-live`): the same, under
// `syndrome run --check atomicity`, with the program's `// blocks:` as spec, and without any.
//
//   bench_capture [--live] BIN PROGRAMS [ROUNDS [SIZE]]
//
// BIN is the directory of our programs, PROGRAMS that of the sources, or one of them. With SIZE
// "small", each runs with the arguments that its tests use: the figures mean nothing then. A round
// has one run of each kind, in turns; ratios are made within a round, and what is printed is the
// median over rounds. The time of a recording is that of the whole command, until the trace is
// complete; memory is that of the program alone. Traces are removed as soon as they have been
// looked at.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "measure.h"
#include "runner.h"
#include "text_table.h"

namespace syndrome::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUsage = "bench_capture [--live] BIN PROGRAMS [ROUNDS [small]]";
constexpr double kLimit = 300;  // seconds for a run
constexpr double kThreads = 5;  // that each program has, with its first one
constexpr double kMegabyte = 1 << 20;

// The last two are those that are compared; of --live: with blocks, and without.
enum Kind : std::size_t { kPlain, kPlainGcc, kTsan, kTsanGcc, kSource, kFast };

struct Variant {
  std::string_view name;
  std::string compiler;
  std::vector<std::string> flags;
  bool record = false;
};

struct Figures {
  std::string program;
  std::map<std::size_t, double> slowdown;  // by Kind
  double plain_seconds = 0, source_to_tsan = 0, fast_to_tsan = 0;
  double plain_peak = 0, source_peak = 0, tsan_peak = 0;
  double trace_bytes = 0;
};

std::vector<Variant> variants(const std::string& bin, bool live) {
  const std::vector<std::string> fast = {"--syndrome-mode=fast"};
  return {{"plain", "/usr/bin/clang++-19", {}, false},
          {"plain g++", "/usr/bin/g++", {}, false},
          {"clang TSan", "/usr/bin/clang++-19", {"-fsanitize=thread"}, false},
          {"g++ TSan", "/usr/bin/g++", {"-fsanitize=thread"}, false},
          {"record", bin + "/syndrome", {}, true},
          {"record, fast", bin + "/syndrome", live ? std::vector<std::string>() : fast, true}};
}

std::string binary_of(const std::string& directory, const std::string& program, std::size_t kind) {
  return fmt::format("{}/{}-{}", directory, program, kind);
}

void build(const Variant& variant, const fs::path& source, const std::string& output) {
  std::vector<std::string> command = {variant.compiler};
  if (variant.record) command.emplace_back("c++");
  for (const char* flag : {"-std=c++20", "-O2", "-g", "-pthread"}) command.emplace_back(flag);
  command.insert(command.end(), variant.flags.begin(), variant.flags.end());
  for (const std::string& word : {source.string(), std::string("-o"), output}) {
    command.push_back(word);
  }
  (void)run_expecting(command, kLimit, {0});
}

/// The words behind `// key: ` at the top of a program.
std::vector<std::string> words_of(const fs::path& source, const std::string& key) {
  const std::string start = "// " + key + ": ";
  std::ifstream file(source);
  for (std::string line; std::getline(file, line) && line.starts_with("//");) {
    if (!line.starts_with(start)) continue;
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line.substr(start.size()));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

/// As `run`, for a program that `syndrome record` starts: this program stands between the two, as
/// launcher, and leaves what it measured in a file.
int launch(int argc, char** argv) {
  const Run result = run({argv + 3, argv + argc}, kLimit);
  std::ofstream(argv[2]) << result.peak_bytes << '\n';
  return result.code;
}

/// The most memory that the process which checks had, while this exists. The kernel's count for a
/// whole command is that of its largest process, which may be the program.
class Checker {
 public:
  Checker() {
    sampler_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        sample();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  [[nodiscard]] double stop() {
    sampler_.request_stop();
    sampler_.join();
    return peak_;
  }

 private:
  void sample() {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc", gone)) {
      std::string name;
      std::ifstream(entry.path() / "comm") >> name;
      if (name != "syndrome-record") continue;
      std::ifstream status(entry.path() / "status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) peak_ = std::max(peak_, 1024 * std::stod(line.substr(6)));
      }
    }
  }

  double peak_ = 0;
  std::jthread sampler_;
};

struct Recorded {
  Run whole;
  double peak = 0;  // of the program
  double bytes = 0;
};

class Bench {
 public:
  Bench(std::string self, const std::string& bin, bool live, bool small)
      : self_(std::move(self)),
        bin_(bin),
        variants_(variants(bin, live)),
        live_(live),
        small_(small) {}

  Figures measure(const fs::path& source, std::uint64_t rounds) {
    const std::string program = source.stem();
    for (std::size_t kind = 0; kind < variants_.size(); ++kind) {
      build(variants_[kind], source, binary_of(directory_.path(), program, kind));
    }
    std::map<std::size_t, std::vector<double>> slowdown, peak;
    std::vector<double> plain_seconds, source_to_tsan, fast_to_tsan, bytes;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::map<std::size_t, double> seconds;
      for (std::size_t kind = 0; kind < variants_.size(); ++kind) {
        const Recorded one = run_one(source, kind);
        seconds[kind] = one.whole.seconds;
        peak[kind].push_back(one.peak);
        if (kind == kSource) bytes.push_back(one.bytes);
      }
      for (const auto& [kind, value] : seconds) {
        const bool gcc = kind == kPlainGcc || kind == kTsanGcc;
        slowdown[kind].push_back(value / seconds[gcc ? kPlainGcc : kPlain]);
      }
      plain_seconds.push_back(seconds[kPlain]);
      source_to_tsan.push_back(seconds[kSource] / seconds[kTsan]);
      fast_to_tsan.push_back(seconds[kFast] / seconds[kTsan]);
    }
    Figures figures;
    figures.program = program;
    for (const auto& [kind, values] : slowdown) figures.slowdown[kind] = median(values);
    figures.plain_seconds = median(plain_seconds);
    figures.source_to_tsan = median(source_to_tsan);
    figures.fast_to_tsan = median(fast_to_tsan);
    figures.plain_peak = median(peak[kPlain]);
    figures.source_peak = median(peak[kSource]);
    figures.tsan_peak = median(peak[kTsan]);
    figures.trace_bytes = median(bytes);
    return figures;
  }

 private:
  Recorded run_one(const fs::path& source, std::size_t kind) {
    std::vector<std::string> command = {binary_of(directory_.path(), source.stem().string(), kind)};
    if (small_) {
      for (std::string& word : words_of(source, "args")) command.push_back(std::move(word));
    }
    Recorded result;
    if (!variants_[kind].record) {
      result.whole = run_expecting(command, kLimit, {0});
      result.peak = static_cast<double>(result.whole.peak_bytes);
      return result;
    }
    const std::string note = directory_.path() + "/peak";
    if (live_) return run_live(source, kind == kSource, note, command);
    const std::string trace = directory_.path() + "/run.syn";
    std::vector<std::string> record = {bin_ + "/syndrome", "record", "-q", "-o", trace, "--", self_,
                                       "--launch",         note};
    record.insert(record.end(), command.begin(), command.end());
    result.whole = run_expecting(record, kLimit, {0});
    std::ifstream(note) >> result.peak;
    result.bytes = static_cast<double>(fs::file_size(trace));
    fs::remove(trace);
    return result;
  }

  /// Memory is that of the program and of what checks it, together.
  Recorded run_live(const fs::path& source, bool blocks, const std::string& note,
                    const std::vector<std::string>& command) {
    std::vector<std::string> run = {bin_ + "/syndrome", "run", "-q", "--check", "atomicity"};
    if (blocks) {
      const std::string spec = directory_.path() + "/spec.toml";
      std::string entries;
      for (const std::string& name : words_of(source, "blocks")) entries += '"' + name + "\", ";
      std::ofstream(spec) << "[blocks]\natomic = [" << entries << "]\n";
      run.insert(run.end(), {"--spec", spec});
    }
    run.insert(run.end(), {"--", self_, "--launch", note});
    run.insert(run.end(), command.begin(), command.end());
    Recorded result;
    Checker checker;
    result.whole = run_expecting(run, kLimit, {0});
    std::ifstream(note) >> result.peak;
    result.peak += checker.stop();
    return result;
  }

  std::string self_;
  std::string bin_;
  std::vector<Variant> variants_;
  bool live_;
  bool small_;
  TemporaryDirectory directory_;
};

void print(const std::vector<Figures>& all, bool live) {
  const std::string one_way = live ? "run" : "record";
  const std::string other_way = live ? "no blocks" : "fast";
  TextTable table({"program", "plain s", "clang TSan", "g++ TSan", one_way,
                   one_way + ", " + other_way, one_way + " / TSan", other_way + " / TSan",
                   "plain MB", one_way + " MB", "limit MB", "TSan MB", "trace MB"},
                  1);
  std::map<std::string_view, std::vector<double>> means;
  bool memory_kept = true;
  for (const Figures& one : all) {
    const double limit = live ? 4 * one.plain_peak + 64 * kMegabyte
                              : 3 * one.plain_peak + (64 + kThreads) * kMegabyte;
    memory_kept = memory_kept && one.source_peak <= limit;
    means["tsan"].push_back(one.slowdown.at(kTsan));
    means["gcc"].push_back(one.slowdown.at(kTsanGcc));
    means["source"].push_back(one.slowdown.at(kSource));
    means["fast"].push_back(one.slowdown.at(kFast));
    means["source/tsan"].push_back(one.source_to_tsan);
    means["fast/tsan"].push_back(one.fast_to_tsan);
    table.add({one.program, short_number(one.plain_seconds), short_number(one.slowdown.at(kTsan)),
               short_number(one.slowdown.at(kTsanGcc)), short_number(one.slowdown.at(kSource)),
               short_number(one.slowdown.at(kFast)), fmt::format("{:.2f}", one.source_to_tsan),
               fmt::format("{:.2f}", one.fast_to_tsan), short_number(one.plain_peak / kMegabyte),
               short_number(one.source_peak / kMegabyte), short_number(limit / kMegabyte),
               short_number(one.tsan_peak / kMegabyte), short_number(one.trace_bytes / kMegabyte)});
  }
  const auto mean = [&](std::string_view what) {
    return short_number(geometric_mean(means[what]));
  };
  table.add({"geometric mean", "", mean("tsan"), mean("gcc"), mean("source"), mean("fast"),
             fmt::format("{:.2f}", geometric_mean(means["source/tsan"])),
             fmt::format("{:.2f}", geometric_mean(means["fast/tsan"])), "", "", "", "", ""});
  fmt::print("{}\n", table.text());
  const double ratio = geometric_mean(means["source/tsan"]);
  fmt::print("{} to clang TSan: {:.2f}, must be at most 1.0: {}\n", one_way, ratio,
             ratio <= 1.0 ? "reached" : "not reached");
  fmt::print(
      "memory of the program at most {}: {}\n",
      live ? "4 times plain + 64 MB, with what checks it" : "3 times plain + 64 MB + 1 MB a thread",
      memory_kept ? "reached" : "not reached");
}

int run_all(int argc, char** argv) {
  const bool live = argc > 1 && std::string_view(argv[1]) == "--live";
  if (live) {
    --argc;
    ++argv;
  }
  if (argc < 3) {
    fmt::print(stderr, "{}\n", kUsage);
    return 2;
  }
  const std::uint64_t rounds = number_argument(argc, argv, 3, 5, kUsage);
  const bool small = argc > 4 && std::string_view(argv[4]) == "small";
  std::vector<fs::path> sources;
  if (fs::is_regular_file(argv[2])) {
    sources.emplace_back(argv[2]);
  } else {
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[2])) {
      if (entry.path().extension() == ".cc") sources.push_back(entry.path());
    }
  }
  std::ranges::sort(sources);
  fmt::print("{}, {}, median of {} rounds, load {:.1f}\n\n", machine(), today(), rounds, load());
  Bench bench(fs::read_symlink("/proc/self/exe"), argv[1], live, small);
  std::vector<Figures> all;
  for (const fs::path& source : sources) {
    all.push_back(bench.measure(source, rounds));
    fmt::print(stderr, "{}: {:.2f} of TSan\n", all.back().program, all.back().source_to_tsan);
  }
  print(all, live);
  return 0;
}

}  // namespace
}  // namespace syndrome::bench

int main(int argc, char** argv) {
  if (argc > 3 && std::string_view(argv[1]) == "--launch") {
    return syndrome::bench::launch(argc, argv);
  }
  return syndrome::bench::run_all(argc, argv);
}
