// What all formats are made from: the outcome of checking one trace, in words instead of ids.
// It can be written as JSON and read back without loss, so that saved findings render the same.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check/finding.h"
#include "check/pass.h"
#include "event/ids.h"
#include "event/names.h"
#include "report/place.h"

namespace syndrome::report {

/// An event that a finding speaks of.
struct Site {
  EventNumber event = 0;
  std::string thread;
  EventKind op = EventKind::kRead;
  std::string target;
  Place place;
  EventNumber block = 0;           // begin of the outermost block around it; 0: none
  std::vector<std::string> locks;  // held at the event, oldest first
};

/// An outermost block that has a site of the finding in it.
struct Block {
  EventNumber begin = 0;
  EventNumber end = 0;  // 0: not known
  std::string thread;
  std::string label;  // may be empty
  Place place;        // of its begin
};

struct Finding {
  std::string check;
  std::string rule;
  check::Certainty certainty = check::Certainty::kObserved;
  std::string message;  // one line
  EventNumber event = 0;
  std::string fingerprint;
  EventNumber block = 0;
  std::vector<check::Edge> cycle;
  std::vector<Site> sites;    // ascending by event, each once
  std::vector<Block> blocks;  // ascending by begin, each once
  std::uint64_t count = 1;    // findings at the same sites, this one included

  [[nodiscard]] const Site* site_at(EventNumber event_number) const;
  [[nodiscard]] const Block* block_at(EventNumber begin) const;
};

struct CheckReport {
  std::string check;
  std::string engine;
  check::Verdict verdict = check::Verdict::kClean;
  double seconds = 0;
  std::vector<Finding> findings;
  std::vector<std::string> notes;
  std::vector<check::Stat> stats;
};

struct Trace {
  std::string file;
  std::string format;
  std::uint64_t events = 0;
  std::uint64_t threads = 0;
  std::uint64_t variables = 0;
  std::uint64_t locks = 0;
  std::uint64_t blocks = 0;
  std::uint64_t passed_over = 0;  // ill-formed events, with --lenient
  bool whole = true;              // false: reading stopped early; --first or an interruption
  bool interrupted = false;
  std::vector<std::string> warnings;
};

struct Report {
  std::string tool_version;
  Trace trace;
  std::vector<CheckReport> checks;
  // For --stats; 0 when not measured.
  double seconds = 0;
  std::uint64_t peak_memory = 0;  // bytes
};

/// The report of a pass over the trace in `file`.
[[nodiscard]] Report make_report(const std::string& file, const check::PassResult& pass);

}  // namespace syndrome::report
