#include "report/json.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "check/registry.h"
#include "event/clean.h"
#include "report/advice.h"
#include "report/details.h"
#include "report/failure.h"
#include "report/story.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& object, const Place& place) {
  if (!place.known()) return;
  if (place.file.empty()) {
    object["location"] = place.text;
    return;
  }
  object["file"] = place.file;
  object["line"] = place.line;
  if (place.column != 0) object["column"] = place.column;
  if (!place.function.empty()) object["function"] = place.function;
}

Json json_of(const Frame& frame) {
  Json object = Json::object();
  put(object, frame.place);
  object["function"] = frame.function;
  return object;
}

void put(Json& object, const Stack& stack) {
  if (stack.frames.empty()) return;
  Json& frames = object["stack"] = Json::array();
  for (const Frame& frame : stack.frames) frames.push_back(json_of(frame));
  if (stack.deeper != 0) object["deeper"] = stack.deeper;
}

Json json_of(const HeldLock& held) {
  Json object = {{"lock", held.lock}, {"event", held.event}};
  if (held.shared) object["shared"] = true;
  put(object, held.place);
  return object;
}

Json json_of(const Thread& thread) {
  Json object = {{"thread", thread.thread}, {"fork", thread.fork}, {"creator", thread.creator}};
  put(object, thread.place);
  put(object, thread.stack);
  return object;
}

Json json_of(const Source& source) {
  Json object = {{"file", source.file}};
  if (source.changed) object["changed"] = true;
  Json& lines = object["lines"] = Json::array();
  for (const auto& [line, text] : source.lines) lines.push_back({{"line", line}, {"text", text}});
  return object;
}

Json json_of(const Site& site) {
  Json object = {{"event", site.event}, {"thread", site.thread}, {"op", name_of(site.op)}};
  if (!site.target.empty()) object["target"] = site.target;
  put(object, site.place);
  if (site.block != 0) object["block"] = site.block;
  if (!site.locks.empty()) object["locks"] = site.locks;
  if (!site.held.empty()) {
    Json& held = object["held"] = Json::array();
    for (const HeldLock& each : site.held) held.push_back(json_of(each));
  }
  put(object, site.stack);
  return object;
}

Json json_of(const Block& block) {
  Json object = {{"begin", block.begin}};
  if (block.end != 0) object["end"] = block.end;
  object["thread"] = block.thread;
  if (!block.label.empty()) object["label"] = block.label;
  put(object, block.place);
  return object;
}

Json json_of(const Finding& finding) {
  Json object = {{"check", finding.check},
                 {"rule", finding.rule},
                 {"certainty", name_of(finding.certainty)},
                 {"message", finding.message},
                 {"event", finding.event},
                 {"fingerprint", finding.fingerprint},
                 {"count", finding.count}};
  if (finding.run != 0) object["run"] = finding.run;
  if (finding.block != 0) object["block"] = finding.block;
  if (!finding.cycle.empty()) {
    Json& cycle = object["cycle"] = Json::array();
    for (const check::Edge& edge : finding.cycle) {
      cycle.push_back({{"from", edge.from}, {"to", edge.to}});
    }
  }
  if (finding.pattern != 0) object["pattern"] = finding.pattern;
  if (!finding.units.empty()) {
    object["set"] = finding.set;
    object["locations"] = finding.locations;
    object["units"] = finding.units;
    if (!finding.tier.empty()) object["tier"] = finding.tier;
    if (!finding.connection.empty()) object["connection"] = finding.connection;
  }
  if (!finding.schedule.empty()) {
    if (finding.read != 0) object["read"] = finding.read;
    object["write"] = finding.write;
    object["challenger"] = finding.challenger;
    object["variable"] = finding.variable;
    object["schedule"] = finding.schedule;
  }
  if (!finding.events.empty()) object["events"] = finding.events;
  Json& sites = object["sites"] = Json::array();
  for (const Site& site : finding.sites) sites.push_back(json_of(site));
  Json& blocks = object["blocks"] = Json::array();
  for (const Block& block : finding.blocks) blocks.push_back(json_of(block));
  if (!finding.threads.empty()) {
    Json& threads = object["threads"] = Json::array();
    for (const Thread& thread : finding.threads) threads.push_back(json_of(thread));
  }
  return object;
}

/// Each stack once.
class Stacks {
 public:
  /// Puts an index in the place of the object's stack.
  void take(Json& object) {
    const auto stack = object.find("stack");
    if (stack == object.end()) return;
    const auto [known, is_new] =
        index_.try_emplace(stack->dump(-1, ' ', false, Json::error_handler_t::replace), size());
    if (is_new) table_.push_back(std::move(*stack));
    *stack = known->second;
  }
  [[nodiscard]] std::size_t size() const { return index_.size(); }
  [[nodiscard]] Json table() { return std::move(table_); }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  Json table_ = Json::array();
};

void mark_library(Json& object, const Stack& stack) {
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    if (of_library(stack.frames[i])) object["stack"][i]["library"] = true;
  }
}

/// What the page says of a finding.
void adorn(Json& object, const Finding& finding, const Trace& trace, Stacks& stacks) {
  object["headline"] = headline_of(finding);
  const Explanation explanation = explain(finding);
  object["edges"] = explanation.edges;
  object["conclusion"] = explanation.empty() ? finding.message : explanation.conclusion;
  object["fix"] = usual_fix(finding);
  object["command"] = closer_command(trace, finding);
  for (std::size_t i = 0; i < finding.sites.size(); ++i) {
    const Site& site = finding.sites[i];
    Json& shown = object["sites"][i];
    shown["says"] = says(site.op, site.target);
    if (const Place& own = own_place(site); own != site.place) put(shown["own"], own);
    mark_library(shown, site.stack);
    stacks.take(shown);
  }
  for (std::size_t i = 0; i < finding.blocks.size(); ++i) {
    object["blocks"][i]["name"] = block_words(finding, finding.blocks[i]);
  }
  for (std::size_t i = 0; i < finding.threads.size(); ++i) {
    mark_library(object["threads"][i], finding.threads[i].stack);
    stacks.take(object["threads"][i]);
  }
}

Json rules() {
  Json object = Json::object();
  for (const check::Registration& check : check::registry()) {
    for (const check::Rule& rule : check.rules) {
      object[std::string(rule.name)] = {{"summary", rule.summary}, {"help", rule.help}};
    }
  }
  return object;
}

Json json_of(const CheckReport& entry, const JsonOptions& options) {
  Json object = {{"check", entry.check}};
  if (!entry.engine.empty()) object["engine"] = entry.engine;
  object["verdict"] = name_of(entry.verdict);
  object["seconds"] = entry.seconds;
  Json& findings = object["findings"] = Json::array();
  for (const Finding& finding : entry.findings) findings.push_back(json_of(finding));
  if (!entry.complete) object["complete"] = false;
  if (!entry.suppressed.empty()) {
    Json& suppressed = object["suppressed"] = Json::array();
    for (const Suppressed& one : entry.suppressed) {
      suppressed.push_back(
          {{"line", one.line}, {"suppression", one.text}, {"findings", one.findings}});
    }
  }
  if (!entry.left_out.empty()) {
    Json& left_out = object["left_out"] = Json::array();
    for (const LeftOut& one : entry.left_out) {
      Json& finding = left_out.emplace_back(json_of(one.finding));
      if (one.line != 0) finding["suppressed_by"] = one.line;
    }
  }
  if (entry.gone || entry.known != 0) {
    Json& baseline = object["baseline"] = {{"known", entry.known}};
    if (entry.gone) baseline["gone"] = *entry.gone;
  }
  if (!entry.notes.empty()) object["notes"] = entry.notes;
  if (options.stats) {
    Json& stats = object["stats"] = Json::object();
    for (const check::Stat& stat : entry.stats) stats[stat.name] = stat.value;
  }
  return object;
}

Json json_of(const Trace& trace) {
  Json object = {{"file", trace.file},       {"events", trace.events},
                 {"threads", trace.threads}, {"variables", trace.variables},
                 {"locks", trace.locks},     {"blocks", trace.blocks}};
  if (!trace.format.empty()) object["format"] = trace.format;
  if (trace.passed_over != 0) object["passed_over"] = trace.passed_over;
  if (!trace.whole) object["whole"] = false;
  if (trace.interrupted) object["interrupted"] = true;
  if (trace.noise) object["noise"] = *trace.noise;
  if (!trace.warnings.empty()) object["warnings"] = trace.warnings;
  if (!trace.candidates.empty()) object["candidates"] = trace.candidates;
  return object;
}

Json json_of(const Program& program) {
  Json object = Json::object();
  if (program.signal) {
    object["signal"] = signal_name(program.number);
  } else {
    object["exit"] = program.number;
  }
  if (program.run != 0) object["run"] = program.run;
  if (!program.thread.empty()) object["thread"] = program.thread;
  if (!program.function.empty()) object["function"] = program.function;
  if (program.place.known()) put(object["site"], program.place);
  return object;
}

Json json_of(const Cause& cause) {
  Json object = {{"kind", name_of(cause.kind)}, {"variable", cause.variable},
                 {"read", cause.read},          {"write", cause.write},
                 {"thread", cause.thread},      {"writer", cause.writer}};
  if (!cause.function.empty()) object["function"] = cause.function;
  object["unfinished"] = cause.unfinished;
  Json& sites = object["sites"] = Json::array();
  for (const Site& site : cause.sites) sites.push_back(json_of(site));
  return object;
}

Json json_of(const Report& report, const JsonOptions& options) {
  Json object = {{"version", 1},
                 {"tool", {{"name", "syndrome"}, {"version", report.tool_version}}},
                 {"trace", json_of(report.trace)}};
  if (report.runs != 0) object["runs"] = report.runs;
  if (!report.seeds.empty()) object["seeds"] = report.seeds;
  if (report.program) object["program"] = json_of(*report.program);
  Json& checks = object["checks"] = Json::array();
  for (const CheckReport& entry : report.checks) checks.push_back(json_of(entry, options));
  if (report.program && report.program->failed()) {
    Json& explanations = object["explanations"] = Json::array();
    for (const Cause& cause : report.causes) explanations.push_back(json_of(cause));
  }
  if (!report.sources.empty()) {
    Json& sources = object["sources"] = Json::array();
    for (const Source& source : report.sources) sources.push_back(json_of(source));
  }
  if (options.stats) {
    object["stats"] = {{"seconds", report.seconds}, {"peak_memory", report.peak_memory}};
  }
  if (!options.page) return object;
  Stacks stacks;
  for (std::size_t i = 0; i < report.checks.size(); ++i) {
    const CheckReport& entry = report.checks[i];
    Json& shown = object["checks"][i];
    for (std::size_t k = 0; k < entry.findings.size(); ++k) {
      adorn(shown["findings"][k], entry.findings[k], report.trace, stacks);
    }
    for (std::size_t k = 0; k < entry.left_out.size(); ++k) {
      adorn(shown["left_out"][k], entry.left_out[k].finding, report.trace, stacks);
    }
  }
  object["stacks"] = stacks.table();
  object["rules"] = rules();
  return object;
}

}  // namespace

std::string to_json(std::span<const Report> reports, bool array, const JsonOptions& options) {
  Json document;
  if (array) {
    document = Json::array();
    for (const Report& report : reports) document.push_back(json_of(report, options));
  } else {
    assert(reports.size() == 1);
    document = json_of(reports.front(), options);
  }
  const int indent = options.page ? -1 : 2;
  const std::string text = document.dump(indent, ' ', false, Json::error_handler_t::replace);
  // The page shows what it is given.
  return (options.page ? clean_lines(text) : clean_json(text)) + "\n";
}

}  // namespace syndrome::report
