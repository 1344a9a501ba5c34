#include "report/merge.h"

#include <algorithm>
#include <string>
#include <utility>

namespace syndrome::report {
namespace {

void add_new(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& each : more) {
    if (std::ranges::find(all, each) == all.end()) all.push_back(each);
  }
}

int badness(check::Verdict verdict) {
  switch (verdict) {
    case check::Verdict::kClean: return 0;
    case check::Verdict::kUndecided: return 1;
    case check::Verdict::kViolated: return 2;
  }
  return 0;
}

void add_check(CheckReport& all, CheckReport&& more) {
  if (badness(more.verdict) > badness(all.verdict)) all.verdict = more.verdict;
  all.seconds += more.seconds;
  all.complete &= more.complete;
  add_new(all.notes, more.notes);
  for (Finding& finding : more.findings) {
    const auto known = std::ranges::find(all.findings, finding.fingerprint, &Finding::fingerprint);
    if (known == all.findings.end()) {
      all.findings.push_back(std::move(finding));
    } else {
      known->count += finding.count;
    }
  }
  for (const check::Stat& stat : more.stats) {
    const auto known = std::ranges::find(all.stats, stat.name, &check::Stat::name);
    if (known == all.stats.end()) {
      all.stats.push_back(stat);
    } else {
      known->value += stat.value;
    }
  }
}

void add_trace(Trace& all, const Trace& more) {
  all.events += more.events;
  all.blocks += more.blocks;
  all.threads = std::max(all.threads, more.threads);
  all.variables = std::max(all.variables, more.variables);
  all.locks = std::max(all.locks, more.locks);
  all.passed_over += more.passed_over;
  all.whole &= more.whole;
  all.interrupted |= more.interrupted;
  add_new(all.warnings, more.warnings);
  if (all.candidates.empty()) all.candidates = more.candidates;
}

void add_sources(std::vector<Source>& all, std::vector<Source>&& more) {
  for (Source& source : more) {
    const auto at = std::ranges::lower_bound(all, source.file, {}, &Source::file);
    if (at == all.end() || at->file != source.file) {
      all.insert(at, std::move(source));
    } else {
      at->lines.merge(source.lines);
      at->changed |= source.changed;
    }
  }
}

void add_program(Report& all, Report& more) {
  if (!more.program || (all.program && all.program->failed())) return;
  all.program = more.program;
  all.causes = std::move(more.causes);
}

void add_report(Report& all, Report&& more) {
  add_trace(all.trace, more.trace);
  add_program(all, more);
  add_sources(all.sources, std::move(more.sources));
  all.seconds += more.seconds;
  all.peak_memory = std::max(all.peak_memory, more.peak_memory);
  for (CheckReport& entry : more.checks) {
    const auto known = std::ranges::find(all.checks, entry.check, &CheckReport::check);
    if (known == all.checks.end()) {
      all.checks.push_back(std::move(entry));
    } else {
      add_check(*known, std::move(entry));
    }
  }
}

}  // namespace

void add_window(Report& report, Report&& window) {
  window.program.reset();
  add_report(report, std::move(window));
}

std::optional<Report> merge_runs(std::vector<std::vector<Report>> runs) {
  std::optional<Report> all;
  std::vector<std::uint64_t> seeds;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].empty() && runs[i].front().trace.noise) {
      seeds.push_back(*runs[i].front().trace.noise);
    }
    for (Report& report : runs[i]) {
      if (report.program) report.program->run = i + 1;
      for (CheckReport& entry : report.checks) {
        for (Finding& finding : entry.findings) finding.run = i + 1;
      }
      if (!all) {
        all = std::move(report);
        // It is told of all runs together.
        all->trace.noise.reset();
        continue;
      }
      add_report(*all, std::move(report));
    }
  }
  if (!all) return all;
  all->runs = runs.size();
  all->seeds = std::move(seeds);
  return all;
}

}  // namespace syndrome::report
