// Checks traces and reports on them: what `check` and `run` share.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/pass.h"
#include "check/registry.h"
#include "cli/filter.h"
#include "cli/ranks.h"
#include "cli/render.h"
#include "event/result.h"
#include "report/filter.h"
#include "report/report.h"
#include "spec/spec.h"
#include "trace/capture_reader.h"

namespace syndrome::cli {

struct CheckCall {
  std::vector<std::string> traces;
  std::optional<std::string> checks;  // names; none: what fits the trace (check::default_checks)
  std::string spec;
  std::string atomic_sets;  // class, each or all; empty: as the spec says
  check::Options options;
  unsigned jobs = 0;
  bool lenient = false;
  bool by_site = false;  // of atomic-sets in a recording: not check::Options::by_unit
  bool quiet = false;
  bool told = false;  // the traces are what was told of a run while it ran (live/told_trace.h)
  bool only_shared = false;  // they are recordings, of which only verdicts matter
  /// The program of the traces has just run here: they may name any source file.
  bool own_program = false;
  std::vector<std::string> source_folders;  // whose files traces may name, too
  FilterOptions filter;
  RenderOptions render;
  std::optional<Ended>
      ended;  // how the program of the first trace ended, if the trace does not say
  /// Called while a trace is looked at, about ten times a second.
  std::function<void(const check::Tick&)> on_progress;
  /// More recordings of what the trace is of, whose findings belong into the same report; null: none.
  std::function<std::vector<std::string>(const std::string& file)> windows;
  /// What reports call a trace that is not kept; null: it is, and they call it by its file's name.
  std::function<std::string(const std::string& file)> title;
};

/// --check, --spec and what else says what to look for.
void add_what_to_check(CLI::App& command, CheckCall& call);

/// The same with --format, --color, and `report_names` for where the report goes.
void add_check_options(CLI::App& command, CheckCall& call, const std::string& report_names);

class Checker {
 public:
  explicit Checker(const CheckCall& call) : call_(call) {}

  /// What can be wrong with the call, before any trace is opened; reads spec, suppressions,
  /// baseline.
  [[nodiscard]] std::optional<Error> prepare();

  /// Checks the call's traces and reports, after prepare(). kClean, kFindings and so on. With
  /// `ranks`, together with other processes: rank 0 reports, for the others it is kClean.
  [[nodiscard]] int run(Ranks* ranks = nullptr);

  // After prepare(): what to look for.
  [[nodiscard]] bool checks_only(std::span<const std::string_view> names) const;
  /// Whether nobody has said what.
  [[nodiscard]] bool by_default() const { return !call_.checks; }
  [[nodiscard]] const spec::Spec* spec() const { return spec_ ? &*spec_ : nullptr; }
  /// Whether a function or block is declared deterministic in the spec; empty when none is.
  [[nodiscard]] std::function<bool(std::string_view)> declared_deterministic() const;

  /// After prepare(), for a series of runs: checks the call's traces as another run of it and keeps
  /// what comes of it.
  void add_run();
  /// Reports on all runs together, as run() does on one.
  [[nodiscard]] int report_runs();

  /// Checks one trace and reports nothing; an error when it cannot be read.
  [[nodiscard]] Result<report::Report> look_at(const std::string& file);

 private:
  Result<check::PassResult> pass_over(const std::string& file, bool shows_progress);
  /// Of the trace and its windows.
  [[nodiscard]] Result<report::Report> report_of(const std::string& file);
  bool check_one(const std::string& file);
  bool check_all();
  [[nodiscard]] unsigned jobs() const;
  bool check_among_ranks();
  void help_with(const std::string& file);
  [[nodiscard]] trace::CaptureSelection what_matters() const;
  void say_what_is_deterministic(bool recorded, check::Options& options) const;
  [[nodiscard]] report::AllowedSources allowed_sources(const std::string& file) const;
  report::Report report_on(const std::string& file, const check::PassResult& result);
  void filter(report::Report& report);
  void show(report::Report report);
  Status finish();
  [[nodiscard]] bool prints_text() const;

  const CheckCall& call_;
  Ranks* ranks_ = nullptr;
  bool has_ranks_ = false;
  std::vector<const check::Registration*> checks_;  // by default, those of a recording
  std::optional<spec::Spec> spec_;
  std::optional<spec::DefaultSets> default_sets_;
  std::optional<report::Filter> filter_;
  bool failed_ = false;  // of a series: a trace could not be read or checked
  std::vector<std::vector<report::Report>> runs_;
  bool last_ = false;  // the trace in hand is the last one
  std::vector<report::Report> reports_;
  Status output_;
  bool printed_ = false;
  int verdict_ = 0;
};

}  // namespace syndrome::cli
