// syndrome refine: from runs that passed, which functions are atomic.

#include "check/refine.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/io.h"
#include "cli/progress.h"
#include "record/record.h"
#include "report/refined.h"
#include "report/words.h"
#include "trace/input.h"

namespace syndrome::cli {
namespace {

namespace fs = std::filesystem;

// As shells have it.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

struct RefineCall {
  std::vector<std::string> traces;
  std::vector<std::string> command;  // instead of traces
  std::string output;
  std::string format = "toml";
  unsigned runs = 5;   // in a row that must drop nothing
  unsigned most = 50;  // runs altogether
  unsigned jobs = 0;
  bool lenient = false;
  bool quiet = false;
  bool ignore_pipe = false;
};

/// A folder for the traces of runs, gone in the end.
class Folder {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Folder>> make() {
    std::error_code ignored;
    std::string name = (fs::temp_directory_path(ignored) / "syndrome-refine-XXXXXX").string();
    if (ignored || ::mkdtemp(name.data()) == nullptr) {
      return Error{
          fmt::format("cannot make a folder for recordings ({}): {}; TMPDIR names another "
                      "place",
                      name, std::strerror(errno))};
    }
    return std::make_unique<Folder>(name);
  }
  explicit Folder(fs::path path) : path_(std::move(path)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string trace() const { return (path_ / "run.syn").string(); }

  /// The traces of the processes of one run, the first one's first.
  [[nodiscard]] std::vector<std::string> traces() const {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, ignored)) {
      found.push_back(entry.path().string());
    }
    std::ranges::sort(found);
    return found;
  }

  void empty() const {
    std::error_code ignored;
    for (const std::string& trace : traces()) fs::remove(trace, ignored);
  }

 private:
  fs::path path_;
};

class Refiner {
 public:
  explicit Refiner(const RefineCall& call) : call_(call) {}

  int run() {
    if (const std::optional<Error> wrong = prepare()) {
      complain(wrong->message);
      return kWrong;
    }
    catch_interrupt();
    const bool learned = call_.command.empty() ? from_traces() : from_command();
    if (interrupted()) return kInterrupted;
    if (!learned) return kWrong;
    const std::string text = call_.format == "json" ? report::to_refined_json(refinement_, from_)
                                                    : report::to_spec(refinement_, from_);
    if (const Status status = write_file(call_.output, text); !status) {
      complain(status.error().message);
      return kWrong;
    }
    if (from_.stable) return kClean;
    complain(
        fmt::format("not stable: after {} runs, the last {} of them dropped nothing; {} were "
                    "asked for. --most allows more runs",
                    total_, from_.quiet, call_.runs));
    return kUndecided;
  }

 private:
  [[nodiscard]] std::optional<Error> prepare() const {
    if (call_.format != "toml" && call_.format != "json") {
      return Error{fmt::format("--format: there is no '{}'; there are: toml, json", call_.format)};
    }
    if (call_.traces.empty() == call_.command.empty()) {
      return Error{
          "expected recordings of passing runs (syndrome refine r1.syn r2.syn), or a program after "
          "-- that is run several times (syndrome refine -o prog.toml -- ./prog), and not both"};
    }
    if (!call_.command.empty() && (call_.output.empty() || call_.output == "-")) {
      return Error{"-o: expected a file, because standard output is the program's"};
    }
    if (call_.most < call_.runs) {
      return Error{fmt::format("--most {} is less than --runs {}", call_.most, call_.runs)};
    }
    for (const std::string& trace : call_.traces) {
      if (trace == "-") return Error{"expected files: a trace is read several times"};
      if (!call_.output.empty() && same_file(trace, call_.output)) {
        return Error{fmt::format("-o {}: is a trace; give the spec another name", trace)};
      }
    }
    return std::nullopt;
  }

  bool from_traces() {
    from_.what = fmt::format("recordings ({}{})", call_.traces.front(),
                             call_.traces.size() == 1 ? "" : " and others");
    for (const std::string& trace : call_.traces) {
      refinement_.begin_run();
      dropped_.clear();
      if (!add(trace, trace)) return false;
      tell();
    }
    return true;
  }

  bool from_command() {
    const Result<std::unique_ptr<Folder>> folder = Folder::make();
    if (!folder) {
      complain(folder.error().message);
      return false;
    }
    for (const std::string& word : call_.command)
      from_.what += (from_.what.empty() ? "" : " ") + word;
    while (from_.quiet < call_.runs && total_ < call_.most && !interrupted()) {
      ++total_;
      (*folder)->empty();
      const int code = record_run((*folder)->trace());
      if (interrupted()) return false;
      const std::vector<std::string> traces = (*folder)->traces();
      if (traces.empty()) {
        if (code != kNotFound && code != kNotExecutable) {
          complain("without a recording there is nothing to learn from");
        }
        return false;
      }
      if (code != 0) {
        ++from_.left_out;
        note(fmt::format("run {} ended with exit code {}: it is left out, because it did not pass",
                         total_, code));
        continue;
      }
      refinement_.begin_run();
      dropped_.clear();
      for (const std::string& trace : traces) {
        if (!add(trace, fmt::format("run {}", total_))) return false;
      }
      from_.quiet = dropped_.empty() ? from_.quiet + 1 : 0;
      tell();
    }
    from_.stable = from_.quiet >= call_.runs;
    if (refinement_.runs() != 0) return !interrupted();
    complain(fmt::format("none of {} passed: nothing was learned, and {} was not written",
                         report::many(total_, "run"), call_.output));
    return false;
  }

  /// The exit code of the program. In a process of its own: a recording takes signals over.
  [[nodiscard]] int record_run(const std::string& trace) const {
    record::Options options;
    options.output = trace;
    options.command = call_.command;
    options.quiet = true;
    options.ignore_pipe = call_.ignore_pipe;
    const pid_t pid = ::fork();
    if (pid < 0) {
      complain(fmt::format("cannot start a recording: {}", std::strerror(errno)));
      return kNotExecutable;
    }
    if (pid == 0) ::_exit(record::record(options).exit_code);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  /// Whether the trace could be read.
  bool add(const std::string& trace, const std::string& name) {
    Result<trace::Input> input = trace::Input::open(trace, {call_.jobs});
    if (!input) {
      complain(name, input.error());
      return false;
    }
    ProgressBar bar(!call_.quiet);
    check::Refinement::Options options;
    options.lenient = call_.lenient;
    options.interrupted = interrupted;
    options.on_progress = [&bar](const check::Tick& tick) {
      bar.update(tick.events, tick.bytes, tick.pass);
    };
    options.explain = [&trace](const check::PassResult& pass) {
      return report::reasons_of(trace, pass);
    };
    const Result<check::Refinement::Outcome> outcome = refinement_.add(*input, options);
    bar.erase();
    if (!outcome) {
      complain(name, outcome.error());
      return false;
    }
    if (!call_.quiet) {
      for (const std::string& warning : outcome->warnings) warn(name, warning);
    }
    dropped_.insert(dropped_.end(), outcome->dropped.begin(), outcome->dropped.end());
    return !outcome->interrupted;
  }

  void note(std::string_view message) const {
    if (!call_.quiet) complain(message);
  }

  /// What the run that was just added has changed.
  void tell() const {
    if (dropped_.empty()) return;
    constexpr std::size_t kNamed = 3;
    std::string names;
    for (std::size_t i = 0; i < std::min(dropped_.size(), kNamed); ++i) {
      names += (i == 0 ? "" : ", ") + report::function_words(dropped_[i]);
    }
    if (dropped_.size() > kNamed) names += fmt::format(" and {} more", dropped_.size() - kNamed);
    note(fmt::format("run {}: not atomic: {}", refinement_.runs() + from_.left_out, names));
  }

  const RefineCall& call_;
  check::Refinement refinement_;
  report::RefinedFrom from_;
  std::vector<std::string> dropped_;  // by the run in hand
  unsigned total_ = 0;                // runs that were started
};

}  // namespace

void add_refine(CLI::App& app, int& exit_code, bool pipe_ignored, std::span<char*>& arguments) {
  auto call = std::make_shared<RefineCall>();
  call->ignore_pipe = pipe_ignored;
  CLI::App* command = app.add_subcommand(
      "refine", "Learn from passing runs which functions are atomic, and write the spec");
  command
      ->add_option(
          "TRACE", call->traces,
          "Recordings of runs that passed; or, after --, a program with its arguments that "
          "is recorded run after run. A run that fails is left out")
      ->type_name("");
  command->add_option("-o,--output", call->output, "The spec (default: standard output)")
      ->type_name("FILE");
  command->add_option("--format", call->format, "toml (a spec) or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  command
      ->add_option("--runs", call->runs,
                   "With a program: until so many passing runs in a row have dropped nothing")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000U).description(""))
      ->capture_default_str();
  command->add_option("--most", call->most, "With a program: runs altogether")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000U).description(""))
      ->capture_default_str();
  command->add_flag("--lenient", call->lenient, "Pass over ill-formed events of a trace");
  command->add_flag("-q,--quiet", call->quiet, "No notes, no warnings, no progress");
  command->add_option("--jobs", call->jobs, "Threads for reading (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
  command->footer(
      "Exit code: 0 the spec is written, 2 the input or the call is wrong or no run\n"
      "passed, 3 written, but not stable after --most runs.\n\n"
      "Example:\n"
      "  syndrome refine -o prog.toml --runs 5 -- ./prog --threads 4\n"
      "  syndrome record -o new.syn -- ./prog --threads 16\n"
      "  syndrome check --check atomicity --spec prog.toml new.syn   what is violated is news");
  // What follows -- is not for CLI11, which takes "[a,b]" apart.
  std::span<char*> rest;
  if (arguments.size() > 1 && std::string_view(arguments[1]) == "refine") {
    const auto mark = std::ranges::find(arguments, std::string_view("--"),
                                        [](const char* word) { return std::string_view(word); });
    if (mark != arguments.end()) {
      const auto at = static_cast<std::size_t>(mark - arguments.begin());
      rest = arguments.subspan(at + 1);
      arguments = arguments.first(at);
    }
  }
  command->callback([call, rest, &exit_code] {
    call->command.assign(rest.begin(), rest.end());
    exit_code = Refiner(*call).run();
  });
}

}  // namespace syndrome::cli
