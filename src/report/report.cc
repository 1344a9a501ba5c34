#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "report/details.h"
#include "report/failure.h"
#include "report/fingerprint.h"
#include "report/places.h"
#include "report/source_lines.h"
#include "report/words.h"
#include "spec/pattern.h"

namespace syndrome::report {
namespace {

std::string target_of(const Event& event, const Names& names) {
  const std::optional<Space> space = target_space(event.kind);
  return space ? std::string(names.of(*space, event.target)) : std::string();
}

/// Lines around a place that are kept.
constexpr std::uint32_t kLinesBefore = 2;
constexpr std::uint32_t kLinesAfter = 1;

/// Whether two names are of one function, with or without parameters and qualification.
bool same_function(std::string_view a, std::string_view b) {
  return a == b || spec::simple_name(a) == spec::simple_name(b);
}

class Maker {
 public:
  Maker(const std::string& file, const check::PassResult& pass, const AllowedSources& allowed)
      : pass_(pass),
        names_(pass.names),
        places_(pass.names),
        // Only our own recordings are written when the program runs; what was imported or written
        // by hand has no such time.
        lines_({folder_of(file), pass.trace.format == "syn" ? time_of(file) : 0, allowed}) {
    places_.prepare(sites());
  }

  Finding make(const check::Finding& found) {
    Finding finding;
    finding.check = found.check;
    finding.rule = found.rule;
    finding.certainty = found.certainty;
    finding.event = found.event;
    finding.block = found.block;
    finding.cycle = found.cycle;
    finding.events = found.events;
    finding.pattern = found.pattern;
    finding.set = found.set;
    finding.locations = found.locations;
    finding.units = found.units;
    finding.tier = found.tier;
    finding.connection = found.connection;
    finding.read = found.read;
    finding.write = found.write;
    finding.challenger = found.challenger;
    finding.schedule = found.schedule;
    finding.variable = found.variable;
    finding.count = found.count;
    for (const check::Witness& witness : found.witnesses) {
      finding.sites.push_back(make_site(witness));
      add_thread(finding, witness.event.thread);
      if (witness.block == 0 || finding.block_at(witness.block) != nullptr) continue;
      const Block block = make_block(witness);
      finding.blocks.insert(
          std::ranges::upper_bound(finding.blocks, block.begin, {}, &Block::begin), block);
    }
    finding.message = message_of(finding);
    finding.fingerprint = fingerprint_of(finding);
    return finding;
  }

  /// After the last finding.
  std::vector<Source> sources() {
    std::vector<Source> result;
    for (auto& [file, source] : sources_) result.push_back(std::move(source));
    return result;
  }

  /// Which files are not shown, and what to do; empty when all are.
  [[nodiscard]] std::string left_out() const {
    constexpr std::size_t kNamed = 3;
    const std::set<std::string>& files = lines_.left_out();
    if (files.empty()) return {};
    std::string names;
    std::size_t named = 0;
    for (const std::string& file : files) {
      if (named++ == kNamed) break;
      names += (names.empty() ? "" : ", ") + file;
    }
    if (files.size() > kNamed) names += fmt::format(" and {} more", files.size() - kNamed);
    return fmt::format(
        "source lines are left out, because they are neither below the current directory nor known "
        "to be the program's: {}; --source DIR shows what is below DIR",
        names);
  }

  [[nodiscard]] Work work() const { return {lines_.files_read(), places_.symbolizers_run()}; }

 private:
  /// Every site that the report will name.
  [[nodiscard]] std::vector<SiteId> sites() const {
    std::vector<SiteId> result;
    const auto add = [&result](const check::Context& context) {
      for (const check::Call& call : context.stack) result.push_back(call.site);
      for (const check::HeldLock& held : context.held) {
        result.push_back(held.site);
        result.insert(result.end(), held.callers.begin(), held.callers.end());
      }
    };
    for (const check::CheckResult& entry : pass_.results) {
      for (const check::Finding& finding : entry.findings) {
        for (const check::Witness& witness : finding.witnesses) {
          result.push_back(witness.event.site);
          if (witness.block != 0) result.push_back(witness.block_begin.site);
        }
      }
    }
    for (const auto& [event, context] : pass_.contexts.at) add(context);
    for (const auto& [thread, creation] : pass_.contexts.creation) {
      result.push_back(creation.site);
      add(creation.context);
    }
    std::ranges::sort(result);
    const auto rest = std::ranges::unique(result);
    result.erase(rest.begin(), rest.end());
    return result;
  }

  /// The innermost place of the program itself; where there is none, the library's.
  Place taken_at(const check::HeldLock& held) {
    Place own = places_.of(held.site).front();
    if (!of_library(Frame{"", own})) return own;
    for (const SiteId caller : held.callers) {
      Place place = places_.of(caller).front();
      if (place.known() && !of_library(Frame{"", place})) return place;
    }
    return own;
  }

  Site make_site(const check::Witness& witness) {
    Site site;
    site.event = witness.number;
    site.thread = names_.thread(witness.event.thread);
    site.op = witness.event.kind;
    site.target = target_of(witness.event, names_);
    site.place = places_.of(witness.event.site).front();
    site.block = witness.block;
    for (const LockId lock : witness.locks) site.locks.emplace_back(names_.lock(lock));
    const auto context = pass_.contexts.at.find(witness.number);
    if (context != pass_.contexts.at.end()) {
      for (const check::HeldLock& held : context->second.held) {
        site.held.push_back(
            {std::string(names_.lock(held.lock)), held.event, taken_at(held), held.shared});
      }
      site.stack = make_stack(context->second, witness.event.site);
    }
    keep_lines(site.place);
    for (const Frame& frame : site.stack.frames) keep_lines(frame.place);
    return site;
  }

  /// The frames of an event at `at`. Inlined functions, which were never entered, are frames too.
  Stack make_stack(const check::Context& context, SiteId at) {
    Stack stack;
    stack.deeper = context.deeper;
    for (const check::Call& call : context.stack) {
      if (is_mark(names_.label(call.function))) continue;  // the function that it is on comes next
      add_frames(stack, names_.label(call.function), places_.of(at));
      at = call.site;
    }
    // What called the outermost function is known when the trace has a place for it: code that
    // enters no functions of its own.
    const std::vector<Place>& outer = places_.of(at);
    if (!context.stack.empty() && context.deeper == 0 && !outer.back().function.empty()) {
      add_frames(stack, outer.back().function, outer);
    }
    return stack;
  }

  static void add_frames(Stack& stack, std::string_view function,
                         const std::vector<Place>& places) {
    for (std::size_t i = 0; i + 1 < places.size(); ++i) {
      stack.frames.push_back({places[i].function, places[i]});
    }
    const Place& last = places.back();
    if (last.function.empty() || same_function(last.function, function)) {
      stack.frames.push_back({std::string(function), last});
      return;
    }
    stack.frames.push_back({last.function, last});
    stack.frames.push_back({std::string(function), {}});
  }

  Block make_block(const check::Witness& witness) {
    Block block;
    block.begin = witness.block;
    block.end = witness.block_end;
    block.thread = names_.thread(witness.block_begin.thread);
    // How a recording tells an annotated function from the function itself.
    constexpr std::string_view kAnnotation = "deterministic ";
    std::string_view label = names_.label(witness.block_begin.label());
    if (label.starts_with(kAnnotation)) label.remove_prefix(kAnnotation.size());
    block.label = label;
    block.place = places_.of(witness.block_begin.site).front();
    return block;
  }

  void add_thread(Finding& finding, ThreadId id) {
    const std::string name(names_.thread(id));
    if (std::ranges::find(finding.threads, name, &Thread::thread) != finding.threads.end()) return;
    const auto found = pass_.contexts.creation.find(id.value);
    if (found == pass_.contexts.creation.end()) return;
    const check::Creation& creation = found->second;
    Thread thread;
    thread.thread = name;
    thread.fork = creation.fork;
    thread.creator = names_.thread(creation.creator);
    thread.place = places_.of(creation.site).front();
    thread.stack = make_stack(creation.context, creation.site);
    finding.threads.push_back(std::move(thread));
  }

  void keep_lines(const Place& place) {
    if (place.file.empty()) return;
    const SourceLines::File* file = lines_.find(place.file);
    if (file == nullptr || place.line > file->lines.size()) return;
    Source& source = sources_[place.file];
    source.file = place.file;
    source.changed = file->changed;
    const std::uint32_t first = place.line > kLinesBefore ? place.line - kLinesBefore : 1;
    const auto last = static_cast<std::uint32_t>(
        std::min<std::size_t>(std::size_t{place.line} + kLinesAfter, file->lines.size()));
    for (std::uint32_t line = first; line <= last; ++line) {
      source.lines.try_emplace(line, file->lines[line - 1]);
    }
  }

  const check::PassResult& pass_;
  const Names& names_;
  Places places_;
  SourceLines lines_;
  std::map<std::string, Source> sources_;
};

}  // namespace

const Site* Finding::site_at(EventNumber event_number) const {
  const auto it = std::ranges::lower_bound(sites, event_number, {}, &Site::event);
  return it != sites.end() && it->event == event_number ? &*it : nullptr;
}

const Block* Finding::block_at(EventNumber begin) const {
  const auto it = std::ranges::lower_bound(blocks, begin, {}, &Block::begin);
  return it != blocks.end() && it->begin == begin ? &*it : nullptr;
}

Report make_report(const std::string& file, const check::PassResult& pass,
                   const AllowedSources& allowed, Work* work) {
  Report report;
  report.tool_version = SYNDROME_VERSION;
  report.trace.file = file;
  report.trace.format = pass.trace.format;
  report.trace.events = pass.trace.counts.events();
  report.trace.threads = pass.trace.threads;
  report.trace.variables = pass.trace.variables;
  report.trace.locks = pass.trace.locks;
  report.trace.blocks = pass.trace.counts.blocks;
  report.trace.passed_over = pass.trace.counts.dropped;
  report.trace.whole = pass.trace.whole;
  report.trace.interrupted = pass.interrupted;
  report.trace.noise = pass.trace.noise;
  report.trace.warnings = pass.warnings;
  report.trace.candidates = pass.candidates;
  report.seconds = pass.seconds;
  Maker maker(file, pass, allowed);
  for (const check::CheckResult& result : pass.results) {
    CheckReport& entry = report.checks.emplace_back();
    entry.check = result.check;
    entry.engine = result.engine;
    entry.verdict = result.verdict;
    entry.seconds = result.seconds;
    entry.complete = result.complete;
    entry.notes = result.notes;
    entry.stats = result.stats;
    entry.findings.reserve(result.findings.size());
    for (const check::Finding& finding : result.findings) {
      entry.findings.push_back(maker.make(finding));
    }
  }
  if (pass.trace.ended) report.program = program_of(*pass.trace.ended, pass.failure);
  if (pass.failure) report.causes = causes_of(*pass.failure);
  report.sources = maker.sources();
  if (std::string left_out = maker.left_out(); !left_out.empty()) {
    report.trace.warnings.push_back(std::move(left_out));
  }
  if (work != nullptr) *work = maker.work();
  return report;
}

}  // namespace syndrome::report
