#include "report/json.h"

#include <nlohmann/json.hpp>

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

Json json_of(const Site& site) {
  Json object = {{"event", site.event}, {"thread", site.thread}, {"op", name_of(site.op)}};
  if (!site.target.empty()) object["target"] = site.target;
  put(object, site.place);
  if (site.block != 0) object["block"] = site.block;
  if (!site.locks.empty()) object["locks"] = site.locks;
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
  if (finding.block != 0) object["block"] = finding.block;
  if (!finding.cycle.empty()) {
    Json& cycle = object["cycle"] = Json::array();
    for (const check::Edge& edge : finding.cycle) {
      cycle.push_back({{"from", edge.from}, {"to", edge.to}});
    }
  }
  Json& sites = object["sites"] = Json::array();
  for (const Site& site : finding.sites) sites.push_back(json_of(site));
  Json& blocks = object["blocks"] = Json::array();
  for (const Block& block : finding.blocks) blocks.push_back(json_of(block));
  return object;
}

Json json_of(const CheckReport& entry, const JsonOptions& options) {
  Json object = {{"check", entry.check}};
  if (!entry.engine.empty()) object["engine"] = entry.engine;
  object["verdict"] = name_of(entry.verdict);
  object["seconds"] = entry.seconds;
  Json& findings = object["findings"] = Json::array();
  for (const Finding& finding : entry.findings) findings.push_back(json_of(finding));
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
  if (!trace.warnings.empty()) object["warnings"] = trace.warnings;
  return object;
}

Json json_of(const Report& report, const JsonOptions& options) {
  Json object = {{"version", 1},
                 {"tool", {{"name", "syndrome"}, {"version", report.tool_version}}},
                 {"trace", json_of(report.trace)}};
  Json& checks = object["checks"] = Json::array();
  for (const CheckReport& entry : report.checks) checks.push_back(json_of(entry, options));
  if (options.stats) {
    object["stats"] = {{"seconds", report.seconds}, {"peak_memory", report.peak_memory}};
  }
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
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace syndrome::report
