// syndrome run: runs an instrumented program, checks what it did, and reports on standard error.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/checker.h"
#include "cli/command.h"
#include "cli/eager.h"
#include "cli/interrupt.h"
#include "cli/io.h"
#include "cli/program.h"
#include "live/watch.h"
#include "record/record.h"
#include "record/session.h"

namespace syndrome::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kFindingsInRun = 66;

/// Whoever ends us with a signal may end us for good some seconds later: how long what is left is
/// looked at before what was found is said.
constexpr std::chrono::milliseconds kGrace(1200);

struct RunCall {
  std::shared_ptr<record::Options> record = std::make_shared<record::Options>();
  CheckCall check;
  int error_exit_code = kFindingsInRun;
  bool eager = false;
  bool after = false;
  bool flight = false;
  std::uint64_t runs = 1;
  std::uint64_t most_disk = std::uint64_t{4} << 30;  // for the trace of a process that is not kept
};

/// A folder for a trace that nobody has asked to keep.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] Result<std::string> make() {
    const char* const set = std::getenv("TMPDIR");
    std::string name = set != nullptr && *set != '\0' ? set : "/tmp";
    name += "/syndrome-run-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      return Error{
          fmt::format("cannot make a folder for the trace in {}: {}; give -o FILE, or set "
                      "TMPDIR to a folder with room",
                      fs::path(name).parent_path().string(), record::system_text(errno))};
    }
    folder_ = name;
    return folder_ + "/run.syn";
  }
  [[nodiscard]] bool made() const { return !folder_.empty(); }
  /// What an earlier run has left.
  void clear() const {
    std::error_code ignored;
    if (folder_.empty()) return;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
      fs::remove_all(entry.path(), ignored);
    }
  }

 private:
  std::string folder_;
};

/// FILE, and FILE.PID of the other processes, which were written since `begin`.
std::vector<std::string> traces_of(const std::string& output, const timespec& begin) {
  std::vector<std::string> found;
  const auto is_new = [&begin](const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && status.st_size > 0 &&
           std::pair(status.st_mtim.tv_sec, status.st_mtim.tv_nsec) >=
               std::pair(begin.tv_sec, begin.tv_nsec);
  };
  if (is_new(output)) found.push_back(output);
  const fs::path path(output);
  const std::string prefix = path.filename().string() + ".";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> others;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const bool number = std::ranges::all_of(name.substr(prefix.size()), [](unsigned char c) {
      return std::isdigit(c) != 0 || c == '.';
    });
    const std::string other = path.has_parent_path() ? (path.parent_path() / name).string() : name;
    if (number && is_new(other)) others.push_back(other);
  }
  std::ranges::sort(others);
  found.insert(found.end(), others.begin(), others.end());
  return found;
}

std::string command_line(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Whether what the sieve lets pass is enough: some checks want every access, and so does an order
/// that is that of the values.
bool can_watch(const RunCall& call, const Checker& checker) {
  constexpr std::array<std::string_view, 3> kWatched = {"atomicity", "races", "determinism"};
  return call.record->order == rt::Order::kFeasible && checker.checks_only(kWatched);
}

/// To these, an access that no other thread's conflict with is nothing, and nobody will look at the
/// trace otherwise. (--after has everything, so that the two can be compared.)
constexpr std::array<std::string_view, 4> kVerdicts = {"atomicity", "races", "determinism",
                                                       "atomic-sets"};

/// Whether the end of a run can be checked by itself: nobody has declared what must be followed for
/// all of it. (Annotations are the program's to see: runtime/live.h.)
bool can_fly(const RunCall& call, const Checker& checker) {
  constexpr std::array<std::string_view, 2> kUndeclared = {"races", "atomic-sets"};
  const bool declared = checker.spec() != nullptr || !call.check.atomic_sets.empty();
  return !call.after && !call.eager && !declared && call.record->order == rt::Order::kFeasible &&
         (checker.by_default() || checker.checks_only(kUndeclared));
}

/// What the recorder has called windows of the trace.
std::vector<std::string> windows_of(const std::string& trace) {
  std::vector<std::string> windows;
  for (;;) {
    std::string name = fmt::format("{}.w{}", trace, windows.size() + 1);
    std::error_code unknown;
    if (!fs::exists(name, unknown)) return windows;
    windows.push_back(std::move(name));
  }
}

/// SYNDROME_WINDOW_EVERY, which is for tests.
std::uint32_t window_every() {
  const char* const set = std::getenv("SYNDROME_WINDOW_EVERY");
  return set == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(set, nullptr, 10));
}

sieve::Checked kind_of(const Checker& checker) {
  constexpr std::array<std::string_view, 1> kAtomicity = {"atomicity"};
  constexpr std::array<std::string_view, 2> kRaces = {"atomicity", "races"};
  if (checker.checks_only(kAtomicity)) return sieve::Checked::kAtomicity;
  return checker.checks_only(kRaces) ? sieve::Checked::kRaces : sieve::Checked::kDeterminism;
}

record::MakeTaker watcher(const RunCall& call, const Checker& checker) {
  live::WatchOptions options;
  options.kind = kind_of(checker);
  options.spec = checker.spec();
  if (options.kind == sieve::Checked::kDeterminism) {
    options.other_blocks = checker.declared_deterministic();
  }
  constexpr std::array<std::string_view, 1> kRaces = {"races"};
  options.atomic_blocks = !checker.checks_only(kRaces);
  options.snapshots = call.eager;
  return [options](const std::string& output) { return live::watch(options, output); };
}

/// A run that lasts must not fill the disk with a trace that nobody asked for: it ends at what the
/// call allows, and at half of the room that there is.
void limit_disk(RunCall& call, const std::string& output) {
  std::error_code unknown;
  const fs::space_info space = fs::space(fs::path(output).parent_path(), unknown);
  std::uint64_t most = call.most_disk;
  if (!unknown) most = std::min<std::uint64_t>(most, space.available / 2);
  call.record->most_bytes = std::max<std::uint64_t>(most, std::uint64_t{1} << 20);
}

void warn_of_full(const RunCall& call) {
  // The recorder writes whole chunks, of less than this; it gives up when one does not fit.
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 19;
  const std::uint64_t most = call.record->most_bytes;
  if (most == 0 || call.check.quiet) return;
  for (const std::string& trace : call.check.traces) {
    std::error_code unknown;
    const std::uint64_t size = fs::file_size(trace, unknown);
    if (unknown || size + kChunk < most) continue;
    warn(
        call.check.title(trace),
        fmt::format("its trace has come to {:.1f} GB: what it did after that is not checked. Allow "
                    "more with --disk (and room in TMPDIR), or keep the trace with -o FILE",
                    static_cast<double>(size) / 1e9));
  }
}

/// A recording is gone through once before its first event is looked at. Of one that nobody wants
/// to keep, leaves what can be looked at before somebody ends us for good: some fifteen million
/// events.
void shorten(const std::vector<std::string>& traces) {
  // Less may lack what quiet threads have done: the recorder looks at them ten times a second.
  constexpr std::uintmax_t kMost = std::uintmax_t{6} << 20;
  for (const std::string& trace : traces) {
    std::error_code unknown;
    const std::uintmax_t size = fs::file_size(trace, unknown);
    if (!unknown && size > kMost) fs::resize_file(trace, kMost, unknown);
  }
}

/// Runs the program; the call's traces are what it has left.
record::Ended run_once(RunCall& call) {
  const std::string& output = call.record->output;
  timespec begin{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &begin);
  record::Ended ended;
  {
    std::optional<Eager> eager;
    if (call.eager) eager.emplace(call.check, output);
    ended = record::record(*call.record);
  }
  call.check.traces = traces_of(output, begin);
  if (ended.in_a_hurry) {
    end_soon();
    const bool kept = !call.check.title;
    if (!kept && !call.check.told) shorten(call.check.traces);
  }
  constexpr int kSignalBase = 128;
  const int number = ended.killed ? ended.exit_code - kSignalBase : ended.exit_code;
  call.check.ended = Ended{ended.killed, static_cast<std::uint32_t>(number), std::nullopt};
  warn_of_full(call);
  return ended;
}

int exit_code_of(const RunCall& call, const record::Ended& ended, int verdict) {
  if (ended.killed || verdict == kClean) return ended.exit_code;
  if (verdict == kFindings) return call.error_exit_code;
  return verdict == kUndecided && ended.exit_code != 0 ? ended.exit_code : verdict;
}

/// --runs: the same again and again, and one report. A run that a signal kills is the last one, and
/// so is one after which somebody wants us to end.
int run_series(RunCall& call, Checker& checker, const Scratch& scratch) {
  const std::optional<std::uint64_t> first_seed = call.record->noise;
  record::Ended ended;
  bool any = false;
  for (std::uint64_t i = 0; i < call.runs; ++i) {
    if (first_seed) call.record->noise = *first_seed + i;
    if (!call.check.quiet) {
      const std::string noise =
          first_seed ? fmt::format(", --noise={}", *call.record->noise) : std::string();
      fmt::print(stderr, "syndrome: run {} of {}{}\n", i + 1, call.runs, noise);
      std::fflush(stderr);
    }
    scratch.clear();
    ended = run_once(call);
    any |= !call.check.traces.empty();
    checker.add_run();
    if (ended.killed || ended.asked_to_end || interrupted()) break;
    if (call.check.traces.empty()) break;  // the message is the same each time
  }
  return any ? exit_code_of(call, ended, checker.report_runs()) : ended.exit_code;
}

/// The exit code. A trace that is not kept is called by its program's name.
int run(RunCall& call) {
  Scratch scratch;
  std::string& output = call.record->output;
  if (output.empty()) {
    const Result<std::string> made = scratch.make();
    if (!made) {
      complain(made.error().message);
      return kWrong;
    }
    output = *made;
    call.check.title = [&call, &output](const std::string& file) {
      const std::string other =
          file == output ? "" : " (process " + file.substr(output.size() + 1) + ")";
      return command_line(call.record->command) + other;
    };
  }
  Checker checker(call.check);
  if (const std::optional<Error> wrong = checker.prepare()) {
    complain(wrong->message);
    return kWrong;
  }
  if (call.flight && !can_fly(call, checker)) {
    complain(
        "--flight is for the checks races and atomic-sets, without --spec, --atomic-sets, --eager, "
        "--after and --order exact, which need the whole run");
    return kWrong;
  }
  call.check.told =
      scratch.made() && !call.after && !call.flight && can_watch(call, checker);
  if (call.check.told) {
    call.record->make_taker = watcher(call, checker);
    call.record->checked = kind_of(checker);
  }
  if (scratch.made() && !call.check.told) {
    limit_disk(call, output);
    call.check.only_shared = checker.checks_only(kVerdicts) && !call.after;
  }
  if (call.flight) {
    call.record->flight = true;
    call.record->window_every = window_every();
    call.check.windows = windows_of;
  }
  call.record->quiet = true;
  call.record->set_handlers = [] { catch_ending(kGrace); };
  call.check.render.suggest_runs = call.runs == 1 && !call.record->noise;
  if (call.runs > 1) return run_series(call, checker, scratch);
  const record::Ended ended = run_once(call);
  if (call.check.traces.empty()) return ended.exit_code;
  // A second trace of a call is a report of its own; JSON of several is a list.
  return exit_code_of(call, ended, checker.run());
}

}  // namespace

void add_run(CLI::App& app, int& exit_code, bool pipe_ignored, std::span<char*>& arguments) {
  auto call = std::make_shared<RunCall>();
  call->record->ignore_pipe = pipe_ignored;
  call->check.own_program = true;
  call->check.render.stream = STDERR_FILENO;
  CLI::App* command = app.add_subcommand(
      "run", "Run a program that was built with `syndrome c++` and check what it did");
  command
      ->add_option("-o,--output", call->record->output,
                   "Keep the trace; other processes get FILE.PID")
      ->type_name("FILE");
  add_check_options(*command, call->check, "--report");
  command->add_flag("--eager", call->eager, "Also print each new finding while the program runs");
  command->add_flag(
      "--after", call->after,
      "Record everything and check it when the program has ended: slower, and the same "
      "verdicts");
  command
      ->add_flag("--flight", call->flight,
                 "Keep what each thread did last, in memory, and check that: nothing on disk, "
                 "however long the run, and what came before is not checked")
      ->excludes(command->get_option("--output"));
  command
      ->add_option(
          "--disk", call->most_disk,
          "Where everything is recorded (--after, programs with annotations) and not "
          "kept: the most that a process's trace takes in TMPDIR, and at most half of the "
          "room there. What comes behind that is not checked, with a warning")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1} << 20, std::uint64_t{1} << 50).description(""))
      ->default_str("4G");
  command
      ->add_option("--error-exitcode", call->error_exit_code,
                   "The exit code when there are findings")
      ->type_name("N")
      ->check(CLI::Range(0, 255).description(""))
      ->capture_default_str();
  command
      ->add_option("--runs", call->runs,
                   "Run the program so many times, with --noise with one seed after the other, and "
                   "report once on all of them")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}).description(""))
      ->capture_default_str()
      ->excludes(command->get_option("--output"));
  add_program(*command, call->record, arguments);
  command->footer(
      "Exit code: the program's own when it is clean (128 + signal when one killed it), 66 with\n"
      "findings, 2 when the call is wrong. The report goes to standard error.\n\n"
      "Example:\n"
      "  syndrome run --spec my.toml -- ./server --port 8080\n"
      "  syndrome run --noise --runs 20 -- ./server --port 8080\n"
      "  SYNDROME_OPTIONS=\"--report found.txt\" make check");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
