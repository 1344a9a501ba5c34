// What all formats are made from: the outcome of checking one trace, in words instead of ids.
// It can be written as JSON and read back without loss, so that saved findings render the same.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/finding.h"
#include "check/pass.h"
#include "event/ids.h"
#include "event/names.h"
#include "report/place.h"
#include "report/source_lines.h"

namespace syndrome::report {

/// A function that is open, and the place in it that is being executed: of the innermost one the
/// event's, of the others a call.
struct Frame {
  std::string function;  // demangled
  Place place;           // may be unknown
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct Stack {
  std::vector<Frame> frames;  // innermost first
  std::uint64_t deeper = 0;   // more of them, outermost, that are left out
  friend bool operator==(const Stack&, const Stack&) = default;
};

struct HeldLock {
  std::string lock;
  EventNumber event = 0;  // where it was taken
  Place place;
  bool shared = false;
  friend bool operator==(const HeldLock&, const HeldLock&) = default;
};

/// How a thread of a finding came to be.
struct Thread {
  std::string thread;
  EventNumber fork = 0;  // 0: the trace does not say; the first thread of a program has none
  std::string creator;
  Place place;
  Stack stack;
};

/// Lines of a source file that findings speak of, as they were when the report was made.
struct Source {
  std::string file;      // as sites name it
  bool changed = false;  // the file is newer than the recording: lines may have moved
  std::map<std::uint32_t, std::string> lines;
};

/// An event that a finding speaks of.
struct Site {
  EventNumber event = 0;
  std::string thread;
  EventKind op = EventKind::kRead;
  std::string target;
  Place place;
  EventNumber block = 0;           // begin of the outermost block around it; 0: none
  std::vector<std::string> locks;  // held at the event, oldest first
  std::vector<HeldLock> held;      // the same with where they were taken, if the trace was asked
  Stack stack;                     // empty when the trace has no functions
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
  std::vector<EventNumber> events;  // race, conflict-in-block: the two; pattern: all
  std::uint8_t pattern = 0;         // pattern: which one, and what it is about (check/finding.h)
  std::string set;
  std::vector<std::string> locations;
  std::vector<EventNumber> units;
  std::string tier;        // certain, likely, possible; empty where sets and units were declared
  std::string connection;  // what connects the steps; a sentence without its full stop
  // nondeterministic-read, unsettled-final-value (check/finding.h).
  EventNumber read = 0;
  EventNumber write = 0;
  EventNumber challenger = 0;
  std::vector<EventNumber> schedule;
  std::string variable;
  std::vector<Site> sites;      // ascending by event, each once
  std::vector<Block> blocks;    // ascending by begin, each once
  std::vector<Thread> threads;  // of the sites, in the order of their first site; may lack some
  std::uint64_t count = 1;      // findings at the same sites, this one included
  std::uint64_t run = 0;        // the first run that had it; 0: there was one

  [[nodiscard]] const Site* site_at(EventNumber event_number) const;
  [[nodiscard]] const Block* block_at(EventNumber begin) const;
};

/// A line of a suppression file, and how many findings it has kept out of a report.
struct Suppressed {
  std::uint32_t line = 0;
  std::string text;
  std::uint64_t findings = 0;
  friend bool operator==(const Suppressed&, const Suppressed&) = default;
};

/// A finding that is kept out of a report.
struct LeftOut {
  Finding finding;
  std::uint32_t line = 0;  // of the suppression; 0: the baseline has it
};

struct CheckReport {
  std::string check;
  std::string engine;
  check::Verdict verdict = check::Verdict::kClean;
  double seconds = 0;
  std::vector<Finding> findings;
  bool complete = true;  // false: there may be more than `findings`, as `notes` says
  // What report/filter.h has taken out of `findings`.
  std::vector<LeftOut> left_out;
  std::vector<Suppressed> suppressed;  // ascending by line
  std::uint64_t known = 0;             // findings that the baseline has, too
  std::optional<std::uint64_t> gone;   // findings of the baseline that are not there any more
  std::vector<std::string> notes;
  std::vector<check::Stat> stats;
};

struct Trace {
  std::string file;
  bool kept = true;  // false: the trace is gone, and `file` is the program that ran
  std::string format;
  std::uint64_t events = 0;
  std::uint64_t threads = 0;
  std::uint64_t variables = 0;
  std::uint64_t locks = 0;
  std::uint64_t blocks = 0;
  std::uint64_t passed_over = 0;  // ill-formed events, with --lenient
  bool whole = true;              // false: reading stopped early; --first or an interruption
  bool interrupted = false;
  std::optional<std::uint64_t> noise;  // the seed, when the program ran with --noise
  std::vector<std::string> warnings;
  std::vector<std::string> candidates;  // without any block: functions that a spec could name
};

/// How the program ended.
struct Program {
  bool signal = false;       // false: by exit
  std::uint32_t number = 0;  // of the signal, or the exit code
  std::string thread;        // that ended it; empty: not known
  std::string function;      // the innermost function that it was in; may be empty
  Place place;               // of the last thing that it did
  std::uint64_t run = 0;     // in which run; 0: there was one

  [[nodiscard]] bool failed() const { return signal || number != 0; }
};

/// A value that the failed thread had read, and that could explain the failure
/// (check/failure/failure.h).
struct Cause {
  check::ExplanationKind kind = check::ExplanationKind::kDirtyRead;
  std::string variable;
  EventNumber read = 0;
  EventNumber write = 0;
  std::string thread;       // that read it
  std::string writer;       // the other one
  std::string function;     // of the writer; may be empty
  bool unfinished = true;   // that function was not finished at the end
  std::vector<Site> sites;  // the two, ascending by event
  [[nodiscard]] const Site* site_at(EventNumber event) const;
};

struct Report {
  std::string tool_version;
  Trace trace;
  std::optional<Program> program;  // none: the trace does not say
  std::vector<Cause> causes;       // what could explain that it failed, best first
  /// Of several runs that are one report (report/merge.h): how many, and the seeds of those with
  /// noise. 0: one run.
  std::uint64_t runs = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<CheckReport> checks;
  std::vector<Source> sources;  // ascending by file, each once
  // For --stats; 0 when not measured.
  double seconds = 0;
  std::uint64_t peak_memory = 0;  // bytes
};

/// What make_report() did, for tests: its cost must follow the places, not the findings.
struct Work {
  std::size_t files_read = 0;
  std::size_t symbolizers_run = 0;
};

/// The report of a pass over the trace in `file`. Reads the source files that the findings name,
/// each once, if they are allowed, and asks a symbolizer for places that are addresses
/// (report/places.h), once for all.
[[nodiscard]] Report make_report(const std::string& file, const check::PassResult& pass,
                                 const AllowedSources& allowed = {}, Work* work = nullptr);

}  // namespace syndrome::report
