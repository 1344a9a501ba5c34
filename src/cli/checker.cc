#include "cli/checker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/io.h"
#include "cli/progress.h"
#include "live/told_trace.h"
#include "report/json.h"
#include "report/merge.h"
#include "report/program_sources.h"
#include "spec/pattern.h"
#include "trace/capture_reader.h"
#include "trace/input.h"

namespace syndrome::cli {
namespace {

std::string checks_help() {
  std::string help = "What to check, comma-separated: ";
  for (const check::Registration& entry : check::registry()) {
    if (!entry.asked_for_by_name_only) help += fmt::format("{} ({}), ", entry.name, entry.summary);
  }
  return help +
         "or all. Without it, a program that was recorded or runs is checked for races and "
         "atomic-sets, and for atomicity and determinism where its annotations or the spec give it "
         "such blocks; an imported trace for atomicity";
}

/// Worth another look at every event, for the place where a program failed: that takes a second or
/// two then.
bool is_small(const std::string& file) {
  constexpr std::uintmax_t kSmall = std::uintmax_t{32} << 20;
  std::error_code unknown;
  return std::filesystem::file_size(file, unknown) <= kSmall && !unknown;
}

Status read_atomic_sets(const std::string& word, std::optional<spec::DefaultSets>& sets) {
  if (word.empty()) return {};
  if (word == "class") {
    sets = spec::DefaultSets::kClass;
  } else if (word == "each") {
    sets = spec::DefaultSets::kEach;
  } else if (word == "all") {
    sets = spec::DefaultSets::kAll;
  } else {
    return Error{fmt::format("--atomic-sets: expected class, each or all, found '{}'", word)};
  }
  return {};
}

}  // namespace

void add_what_to_check(CLI::App& command, CheckCall& call) {
  command.add_option("--check", call.checks, checks_help())->type_name("LIST");
  command
      .add_option("--engine", call.options.engine,
                  "The algorithm for atomicity: reach (default), aerodrome or velodrome")
      ->type_name("ENGINE");
  command.add_option("--spec", call.spec, "Which functions are blocks (TOML)")->type_name("FILE");
  command
      .add_option("--atomic-sets", call.atomic_sets,
                  "For atomic-sets: how locations that the spec's sets do not name are put into "
                  "sets: class (the fields of an object, the default), each (by itself) or all")
      ->type_name("HOW");
  command.add_flag("--lenient", call.lenient,
                   "Pass over ill-formed events, and say which, instead of refusing the trace");
  command
      .add_option("--source", call.source_folders,
                  "Also show source lines of files below this folder, and look for them there. "
                  "Without it, a trace can only show files below the current directory and those "
                  "of its own program, if that is here and yours")
      ->type_name("DIR")
      ->expected(1)
      ->check(CLI::ExistingDirectory.description(""));
  add_filter_options(command, call.filter);
  command
      .add_option("--effort", call.options.witness_effort,
                  "For nondeterminism: events that the search for one schedule may look at before "
                  "it gives up")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""))
      ->capture_default_str();
  command
      .add_option("--jobs", call.jobs,
                  "Threads for reading, and for nondeterminism (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
}

void add_check_options(CLI::App& command, CheckCall& call, const std::string& report_names) {
  add_what_to_check(command, call);
  CLI::Option* first = command.add_flag("--first", call.options.first, "Stop at the first finding");
  command
      .add_flag("--all", call.options.all,
                "Every finding, not one for each combination of places in the source")
      ->excludes(first);
  command.add_flag("--by-site", call.by_site,
                   "For atomic-sets in a program: one finding for each combination of places, not "
                   "one for each function and set");
  command.add_flag("--possible", call.options.possible,
                   "For atomic-sets in a program: also what was interrupted although nothing "
                   "connects its steps");
  add_render_options(command, call.render, report_names);
  command.add_flag("-q,--quiet", call.quiet,
                   "The exit code alone: no report on standard output, no warnings, no progress");
}

std::optional<Error> Checker::prepare() {
  if (const Status status = check_format(call_.render); !status) return status.error();
  checks_ = check::default_checks(true);
  if (!by_default()) {
    Result<std::vector<const check::Registration*>> checks = check::parse_checks(*call_.checks);
    if (!checks) return checks.error();
    checks_ = *checks;
  }
  if (const Status status = check::has_engine(checks_, call_.options.engine); !status) {
    return status.error();
  }
  if (const Status status = read_atomic_sets(call_.atomic_sets, default_sets_); !status) {
    return status.error();
  }
  if (std::ranges::count(call_.traces, "-") > 1) {
    return Error{"standard input (-) can be checked only once"};
  }
  for (const std::string& file : call_.traces) {
    if (!call_.render.output.empty() && same_file(file, call_.render.output)) {
      return Error{fmt::format("-o {}: is the trace itself; give the report another name", file)};
    }
  }
  if (!call_.spec.empty()) {
    Result<spec::Spec> spec = spec::read_spec(call_.spec);
    if (!spec) return Error{fmt::format("{}: {}", call_.spec, spec.error().message)};
    spec_ = std::move(*spec);
  }
  if (call_.filter.given()) {
    Result<report::Filter> filter = load_filter(call_.filter, call_.options.first);
    if (!filter) return filter.error();
    filter_ = std::move(*filter);
  }
  return std::nullopt;
}

int Checker::run(Ranks* ranks) {
  ranks_ = ranks;
  has_ranks_ = ranks != nullptr;
  catch_interrupt();
  if (ranks_ != nullptr && ranks_->rank() != 0 && call_.traces.size() == 1) {
    help_with(call_.traces.front());
    return kClean;
  }
  const bool failed =
      ranks_ != nullptr && call_.traces.size() > 1 ? check_among_ranks() : check_all();
  if (ranks_ != nullptr && ranks_->rank() != 0) return kClean;
  // What was not looked at to the end could not match.
  if (filter_ && !failed && !interrupted() && !call_.quiet) {
    warn_of_unmatched(call_.filter, *filter_);
  }
  if (const Status status = finish(); !status) {
    complain(status.error().message);
    return kWrong;
  }
  if (interrupted()) return kInterrupted;
  return failed ? kWrong : verdict_;
}

/// Ranks are as many as there are cores, or more, already.
unsigned Checker::jobs() const {
  if (call_.jobs != 0) return call_.jobs;
  return has_ranks_ ? 1 : std::max(1U, std::thread::hardware_concurrency());
}

/// Whether one of the traces could not be read or checked.
bool Checker::check_all() {
  bool failed = false;
  for (const std::string& file : call_.traces) {
    if (interrupted()) break;
    last_ = &file == &call_.traces.back();
    failed |= !check_one(file);
  }
  return failed;
}

/// Of a single trace, the part that another rank has in it.
void Checker::help_with(const std::string& file) {
  std::erase_if(checks_,
                [](const check::Registration* entry) { return entry->name != "nondeterminism"; });
  if (checks_.empty()) return;
  const Result<check::PassResult> result = pass_over(file, false);
  if (!result) ranks_->give_up(fmt::format("{}: {}", file, result.error().message));
}

/// Every trace is checked by whichever rank is free, and reported by rank 0 in the order of the
/// call. Whether one of them could not be read or checked.
bool Checker::check_among_ranks() {
  // What a rank says of a trace: a report as JSON, or this and why it cannot be read.
  constexpr char kFailed = '!';
  constexpr char kEnd = '\0';
  report::JsonOptions json;
  json.stats = true;
  std::vector<std::string> said(call_.traces.size());
  const auto work = [&](std::size_t from, std::size_t to) {
    std::string all;
    for (std::size_t i = from; i < to; ++i) {
      const Result<check::PassResult> result = pass_over(call_.traces[i], false);
      if (result) {
        const report::Report made = report_on(call_.traces[i], *result);
        all += report::to_json({&made, 1}, false, json);
      } else {
        all += kFailed + result.error().message;
      }
      all += kEnd;
    }
    return all;
  };
  Ranks* const together = std::exchange(ranks_, nullptr);  // a trace is not shared
  together->run(said.size(), 1, work, [&](std::size_t from, std::size_t to, std::string_view all) {
    for (std::size_t i = from; i < to; ++i) {
      const std::size_t end = all.find(kEnd);
      said[i] = all.substr(0, end);
      all.remove_prefix(end == std::string_view::npos ? all.size() : end + 1);
    }
  });
  ranks_ = together;
  bool failed = false;
  for (std::size_t i = 0; i < said.size() && ranks_->rank() == 0; ++i) {
    last_ = i + 1 == said.size();
    if (said[i].starts_with(kFailed)) {
      complain(call_.traces[i], Error{said[i].substr(1)});
      failed = true;
      continue;
    }
    Result<report::SavedReports> saved = report::from_json(said[i]);
    if (!saved || saved->reports.size() != 1) {
      ranks_->give_up(
          fmt::format("{}: what a rank said of it cannot be understood", call_.traces[i]));
    }
    show(std::move(saved->reports.front()));
  }
  return failed;
}

Result<check::PassResult> Checker::pass_over(const std::string& file, bool shows_progress) {
  std::optional<trace::Input> input;
  if (!call_.told) {
    Result<trace::Input> opened = trace::Input::open(file, {call_.jobs});
    if (!opened) return opened.error();
    input.emplace(std::move(*opened));
  }
  std::vector<std::unique_ptr<check::Check>> checks;
  check::Options check_options = call_.options;
  // The first finding of all may be one that is left out.
  if (filter_) check_options.first = false;
  if (prints_text() && !call_.quiet) {
    check_options.out = [this](std::string_view text) {
      if (output_) output_ = write_to(call_.render.stream, text);
    };
  }
  const Result<bool> is_recorded = input ? input->is_recorded() : Result<bool>(true);
  if (!is_recorded) return is_recorded.error();
  const bool recorded = *is_recorded;
  say_what_is_deterministic(recorded, check_options);
  check_options.spec = spec_ ? &*spec_ : nullptr;
  check_options.default_sets = default_sets_;
  check_options.by_unit = recorded && !call_.by_site;
  check_options.recorded = recorded;
  check_options.jobs = jobs();
  check_options.spread = ranks_;
  ProgressBar bar(shows_progress);
  const auto show = [this, &bar](const check::Tick& tick) {
    bar.update(tick.events, tick.bytes, tick.pass);
    if (call_.on_progress) call_.on_progress(tick);
  };
  check_options.interrupted = interrupted;
  check_options.on_search = [&show](std::uint64_t done, std::uint64_t total) {
    show({.pass = 2, .events = done, .bytes = {done, total}});
  };
  for (const check::Registration* entry :
       by_default() ? check::default_checks(recorded) : checks_) {
    checks.push_back(entry->make(check_options));
  }
  check::PassOptions options;
  options.spec = spec_ ? &*spec_ : nullptr;
  options.lenient = call_.lenient;
  options.drop_idle = by_default() && recorded;
  options.interrupted = interrupted;
  options.on_progress = show;
  if (!call_.traces.empty() && file == call_.traces.front()) options.ended = call_.ended;
  if (call_.only_shared && is_small(file)) {
    options.open_whole = [&] { return trace::read_capture(file, {call_.jobs}); };
  }
  const trace::CaptureSelection selection = what_matters();
  std::shared_ptr<const trace::CaptureReduced> reduced;
  const auto read = [&] {
    return call_.told ? live::read_told_trace(file, {call_.jobs})
                      : trace::read_capture(file, {call_.jobs}, selection, reduced);
  };
  Result<check::PassResult> result =
      input && !call_.only_shared ? check::run_pass(*input, checks, options)
                                  : check::run_pass(read, trace::Format::kSyn, checks, options);
  bar.erase();
  return result;
}

/// Of a recording of which only verdicts matter.
trace::CaptureSelection Checker::what_matters() const {
  trace::CaptureSelection selection;
  selection.only_shared = true;
  const spec::Spec none;
  const spec::Spec& spec = spec_ ? *spec_ : none;
  selection.every_function = spec.blocks.atomic || !spec.blocks.deterministic.empty();
  return selection;
}

Result<report::Report> Checker::report_of(const std::string& file) {
  const Result<check::PassResult> result = pass_over(file, !call_.quiet);
  if (!result) return result.error();
  report::Report report = report_on(file, *result);
  if (!call_.windows) return report;
  const std::vector<std::string> windows = call_.windows(file);
  if (!windows.empty()) {
    report.trace.warnings.push_back(fmt::format("{} window{} of what was before {} checked as well",
                                                windows.size(), windows.size() == 1 ? "" : "s",
                                                windows.size() == 1 ? "was" : "were"));
  }
  for (const std::string& window : windows) {
    if (interrupted()) break;
    const Result<check::PassResult> more = pass_over(window, !call_.quiet);
    if (!more) return more.error();
    report::add_window(report, report_on(window, *more));
  }
  return report;
}

/// Whether the trace could be read and checked.
bool Checker::check_one(const std::string& file) {
  Result<report::Report> report = report_of(file);
  if (!report) {
    complain(call_.title ? call_.title(file) : file, report.error());
    if (ranks_ != nullptr) ranks_->give_up("without the trace there is nothing to share");
    return false;
  }
  show(std::move(*report));
  return true;
}

void Checker::add_run() {
  catch_interrupt();
  std::vector<report::Report>& reports = runs_.emplace_back();
  for (const std::string& file : call_.traces) {
    if (interrupted()) break;
    Result<report::Report> report = report_of(file);
    if (!report) {
      complain(call_.title ? call_.title(file) : file, report.error());
      failed_ = true;
      continue;
    }
    reports.push_back(std::move(*report));
  }
}

int Checker::report_runs() {
  last_ = true;
  std::optional<report::Report> all = report::merge_runs(std::exchange(runs_, {}));
  if (all) show(std::move(*all));
  if (filter_ && !failed_ && !interrupted() && !call_.quiet) {
    warn_of_unmatched(call_.filter, *filter_);
  }
  if (const Status status = finish(); !status) {
    complain(status.error().message);
    return kWrong;
  }
  return failed_ ? kWrong : verdict_;
}

Result<report::Report> Checker::look_at(const std::string& file) {
  const Result<check::PassResult> result = pass_over(file, false);
  if (!result) return result.error();
  report::Report report = report_on(file, *result);
  filter(report);
  return report;
}

/// What the spec declares. Where nobody declares anything, the begin … end of an imported trace
/// are meant; a recorded program has its annotations, and its begin … end are atomic blocks.
void Checker::say_what_is_deterministic(bool recorded, check::Options& options) const {
  options.deterministic = declared_deterministic();
  options.every_begin_is_deterministic = !options.deterministic && !recorded;
}

std::function<bool(std::string_view)> Checker::declared_deterministic() const {
  if (!spec_ || spec_->blocks.deterministic.empty()) return {};
  return [this](std::string_view name) {
    const std::vector<std::string_view> forms = spec::forms_of(name);
    const auto matches = [&forms](const spec::Entry& entry) {
      return entry.pattern.matches(forms);
    };
    return std::ranges::any_of(spec_->blocks.deterministic, matches) &&
           std::ranges::none_of(spec_->blocks.exclude, matches);
  };
}

bool Checker::checks_only(std::span<const std::string_view> names) const {
  return std::ranges::all_of(checks_, [&names](const check::Registration* entry) {
    return std::ranges::find(names, entry->name) != names.end();
  });
}

report::AllowedSources Checker::allowed_sources(const std::string& file) const {
  report::AllowedSources allowed;
  allowed.any = call_.own_program;
  allowed.folders = call_.source_folders;
  allowed.program = [file]() -> std::map<std::string, std::string> {
    const Result<bool> recorded = trace::is_capture(file);
    if (!recorded || !*recorded) return {};
    const Result<trace::CaptureSummary> summary = trace::read_capture_summary(file);
    return summary ? report::sources_of(summary->instrumented)
                   : std::map<std::string, std::string>();
  };
  return allowed;
}

report::Report Checker::report_on(const std::string& file, const check::PassResult& result) {
  report::Report report = report::make_report(file, result, allowed_sources(file));
  report.peak_memory = peak_memory();
  if (call_.title) {
    report.trace.file = call_.title(file);
    report.trace.kept = false;
  }
  return report;
}

void Checker::filter(report::Report& report) {
  if (filter_) filter_->apply(report, last_);
}

void Checker::show(report::Report report) {
  filter(report);
  const std::string& name = report.trace.file;
  // On a terminal the text report has the warnings already.
  const bool seen = prints_text() && ::isatty(call_.render.stream) == 1;
  if (!call_.quiet && !seen) {
    for (const std::string& warning : report.trace.warnings) warn(name, warning);
    if (report.trace.interrupted) {
      warn(name, fmt::format("interrupted after {} events", report.trace.events));
    }
  }
  for (const report::CheckReport& entry : report.checks) {
    if (entry.verdict == check::Verdict::kViolated) verdict_ = kFindings;
    if (entry.verdict == check::Verdict::kUndecided && verdict_ == kClean) verdict_ = kUndecided;
  }
  if (prints_text()) {
    if (call_.quiet) return;
    const std::string text = render({&report, 1}, false, call_.render);
    const bool separate = printed_ && !text.empty();
    printed_ |= !text.empty();
    if (output_) output_ = write_to(call_.render.stream, (separate ? "\n" : "") + text);
    return;
  }
  reports_.push_back(std::move(report));
}

/// Text is printed as each trace is done; all else when the last is.
Status Checker::finish() {
  if (prints_text()) return output_;
  const bool array = call_.traces.size() > 1 && !(reports_.size() == 1 && reports_[0].runs != 0);
  if (reports_.empty() && !array) return {};
  const std::string text = render(reports_, array, call_.render);
  if (call_.render.output.empty()) return write_to(call_.render.stream, text);
  return write_file(call_.render.output, text);
}

bool Checker::prints_text() const {
  return call_.render.format == "text" && call_.render.output.empty();
}

}  // namespace syndrome::cli
