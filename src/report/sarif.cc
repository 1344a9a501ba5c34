#include "report/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "check/registry.h"
#include "event/clean.h"
#include "report/advice.h"
#include "report/details.h"
#include "report/story.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBase = "SRCROOT";

/// Where a check is explained: our page, and the paper that defines what it looks for.
struct Help {
  std::string_view check;
  std::string_view page;
  std::string_view paper;
};
constexpr std::array<Help, 5> kHelp = {{
    {"atomicity", "atomicity.md", "https://doi.org/10.1145/3373376.3378475"},
    {"races", "races.md", "https://doi.org/10.1145/1542476.1542490"},
    {"determinism", "determinism.md", "https://doi.org/10.1007/978-3-642-00590-9_28"},
    {"atomic-sets", "atomic-sets.md", "https://doi.org/10.1145/1368088.1368120"},
    {"nondeterminism", "nondeterminism.md",
     "https://dblp.org/search?q=Efficient%20Predictive%20Analysis%20for%20Detecting%20"
     "Nondeterminism%20in%20Multi-Threaded%20Programs"},
}};

Json text(std::string_view words) {
  return {{"text", words}};
}

/// A path as the path of a URI.
std::string escaped(std::string_view path) {
  std::string result;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte < 0x80 && std::isalnum(byte) != 0) ||
                       std::string_view("/-._~!$&'()*+,;=@").find(c) != std::string_view::npos;
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return result;
}

class Writer {
 public:
  explicit Writer(const SarifOptions& options) : root_(options.root) {
    if (!root_.empty() && root_.back() != '/') root_ += '/';
  }

  Json write(std::span<const Report> reports) {
    Json run = {{"tool", tool(reports)}};
    Json notifications = Json::array();
    Json& results = results_;
    for (const Report& report : reports) {
      report_ = &report;
      for (const std::string& warning : report.trace.warnings) {
        notifications.push_back(notification("warning", warning));
      }
      for (const CheckReport& entry : report.checks) add(entry, notifications);
    }
    Json invocation = {{"executionSuccessful", true}};
    if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
    run["invocations"] = Json::array({std::move(invocation)});
    if (!root_.empty()) {
      run["originalUriBaseIds"] = {{kBase, {{"uri", "file://" + escaped(root_)}}}};
    }
    run["columnKind"] = "unicodeCodePoints";
    run["results"] = std::move(results);
    return {{"$schema",
             "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
             "sarif-schema-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({std::move(run)})}};
  }

 private:
  Json tool(std::span<const Report> reports) {
    Json rules = Json::array();
    for (const check::Registration& check : check::registry()) {
      for (const check::Rule& rule : check.rules) {
        rule_names_.push_back(rule.name);
        rules.push_back(rule_of(check, rule));
      }
    }
    Json driver = {{"name", "syndrome"}};
    const std::string version = reports.empty() ? SYNDROME_VERSION : reports.front().tool_version;
    if (!version.empty()) driver["version"] = version;
    if (constexpr std::string_view kHome = SYNDROME_HOMEPAGE; !kHome.empty()) {
      driver["informationUri"] = kHome;
    }
    driver["rules"] = std::move(rules);
    return {{"driver", std::move(driver)}};
  }

  static Json rule_of(const check::Registration& check, const check::Rule& rule) {
    Json object = {{"id", rule.name},
                   {"shortDescription", text(rule.summary)},
                   {"fullDescription", text(rule.help)}};
    std::string plain(rule.help);
    std::string markdown(rule.help);
    const auto* const help = std::ranges::find(kHelp, check.name, &Help::check);
    if (help != kHelp.end()) {
      object["helpUri"] = help->paper;
      plain += fmt::format(" More: docs/{} of Syndrome, and {}", help->page, help->paper);
      markdown +=
          fmt::format("\n\nMore: `docs/{}` of Syndrome, and [the paper that defines it]({}).",
                      help->page, help->paper);
    }
    object["help"] = {{"text", plain}, {"markdown", markdown}};
    object["defaultConfiguration"] = {{"level", "error"}};
    object["properties"] = {{"tags", {"concurrency", check.name}},
                            {"precision", "very-high"},
                            {"problem.severity", "error"}};
    return object;
  }

  Json notification(std::string_view level, std::string_view words) const {
    return {{"level", level}, {"message", text(report_->trace.file + ": " + std::string(words))}};
  }

  void add(const CheckReport& entry, Json& notifications) {
    for (const std::string& note : entry.notes) {
      notifications.push_back(notification("note", entry.check + ": " + note));
    }
    if (entry.verdict == check::Verdict::kUndecided) {
      notifications.push_back(notification("warning", entry.check + ": undecided"));
    }
    const bool compared = entry.gone || entry.known != 0;
    for (const Finding& finding : entry.findings) {
      Json result = result_of(finding);
      if (compared) result["baselineState"] = "new";
      results_.push_back(std::move(result));
    }
    for (const LeftOut& one : entry.left_out) {
      Json result = result_of(one.finding);
      if (compared) result["baselineState"] = one.line == 0 ? "unchanged" : "new";
      if (one.line != 0) {
        const auto by = std::ranges::find(entry.suppressed, one.line, &Suppressed::line);
        Json suppression = {{"kind", "external"}, {"status", "accepted"}};
        suppression["justification"] =
            fmt::format("suppressed by line {}{}", one.line,
                        by == entry.suppressed.end() ? "" : ", " + by->text);
        result["suppressions"] = Json::array({std::move(suppression)});
      }
      results_.push_back(std::move(result));
    }
  }

  Json result_of(const Finding& finding) const {
    Json result = {{"ruleId", finding.rule}};
    const auto rule = std::ranges::find(rule_names_, finding.rule);
    if (rule != rule_names_.end()) result["ruleIndex"] = rule - rule_names_.begin();
    result["level"] = finding.certainty == check::Certainty::kPredicted ? "warning" : "error";
    const std::string fix = usual_fix(finding);
    result["message"] = text(finding.message + (fix.empty() ? "" : ". Usual fix: " + fix));
    const Site* const main = main_site(finding);
    result["locations"] = Json::array({main == nullptr ? nowhere() : location_of(*main)});
    Json related = Json::array();
    for (const Site& site : finding.sites) {
      if (&site == main) continue;
      Json location = location_of(site);
      location["id"] = related.size() + 1;
      related.push_back(std::move(location));
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    result["partialFingerprints"] = {{"syndrome/v1", finding.fingerprint}};
    result["occurrenceCount"] = finding.count;
    if (!finding.sites.empty()) result["codeFlows"] = flows_of(finding);
    result["properties"] = {{"check", finding.check},
                            {"certainty", name_of(finding.certainty)},
                            {"trace", report_->trace.file},
                            {"event", finding.event}};
    return result;
  }

  /// Where an editor jumps to: the event where the block is left by the cycle, the first of two, or
  /// the one where the finding was noticed.
  static const Site* main_site(const Finding& finding) {
    EventNumber event = finding.event;
    if (!finding.cycle.empty()) event = finding.cycle.front().from;
    if (!finding.events.empty()) event = finding.events.front();
    if (const Site* site = finding.site_at(event)) return site;
    return finding.sites.empty() ? nullptr : finding.sites.data();
  }

  /// The order that was observed and, where the finding has one, the predicted one.
  Json flows_of(const Finding& finding) const {
    const Explanation explanation = explain(finding);
    std::string words;
    for (const std::string& edge : explanation.edges) words += edge + " ";
    words += explanation.empty() ? finding.message : explanation.conclusion;
    std::vector<Step> steps = steps_of(finding);
    Json flows = Json::array({flow_of(finding, steps, words)});
    if (finding.schedule.empty()) return flows;
    const auto position = [&finding](const Step& step) {
      return std::ranges::find(finding.schedule, step.event) - finding.schedule.begin();
    };
    std::erase_if(steps, [&](const Step& step) {
      return std::ranges::find(finding.schedule, step.event) == finding.schedule.end();
    });
    std::ranges::sort(steps, {}, position);
    if (!steps.empty()) flows.push_back(flow_of(finding, steps, "Another order: " + words));
    return flows;
  }

  /// The interleaving: what each thread did, numbered as it happened.
  Json flow_of(const Finding& finding, const std::vector<Step>& steps,
               const std::string& words) const {
    struct Lane {
      std::string thread;
      Json locations;
    };
    std::vector<Lane> lanes;
    std::size_t order = 0;
    for (const Step& step : steps) {
      auto lane = std::ranges::find(lanes, step.thread(), &Lane::thread);
      if (lane == lanes.end()) lane = lanes.insert(lane, {step.thread(), Json::array()});
      lane->locations.push_back(flow_location(finding, step, ++order));
    }
    Json flows = Json::array();
    for (Lane& lane : lanes) {
      flows.push_back({{"id", lane.thread},
                       {"message", text(thread_words(lane.thread))},
                       {"locations", std::move(lane.locations)}});
    }
    return {{"message", text(words)}, {"threadFlows", std::move(flows)}};
  }

  Json flow_location(const Finding& finding, const Step& step, std::size_t order) const {
    Json location =
        place_of(step.place(), step.site == nullptr ? step.block->label : function_of(*step.site));
    location["message"] = text(fmt::format("{} {} (event {})", thread_words(step.thread()),
                                           says(step.op(), step.target()), step.event));
    Json object = {{"location", std::move(location)},
                   {"executionOrder", order},
                   {"nestingLevel", step.site != nullptr && step.within != 0 ? 1 : 0},
                   {"importance", is_essential(finding, step.event) ? "essential" : "important"}};
    switch (step.op()) {
      case EventKind::kAcquire:
      case EventKind::kAcquireShared: object["kinds"] = {"acquire", "lock"}; break;
      case EventKind::kRelease:
      case EventKind::kReleaseShared: object["kinds"] = {"release", "lock"}; break;
      case EventKind::kBegin: object["kinds"] = {"enter", "block"}; break;
      case EventKind::kEnd: object["kinds"] = {"exit", "block"}; break;
      default: break;
    }
    if (step.site != nullptr && !step.site->locks.empty()) {
      std::string locks;
      for (const std::string& lock : step.site->locks) locks += (locks.empty() ? "" : ", ") + lock;
      object["state"] = {{"locks held", text(locks)}};
    }
    return object;
  }

  static bool is_essential(const Finding& finding, EventNumber event) {
    return event == finding.read || event == finding.write || event == finding.challenger ||
           std::ranges::find(finding.events, event) != finding.events.end() ||
           std::ranges::any_of(finding.cycle, [event](const check::Edge& edge) {
             return edge.from == event || edge.to == event;
           });
  }

  static std::string function_of(const Site& site) {
    const Place& place = own_place(site);
    if (!place.function.empty()) return place.function;
    return site.stack.frames.empty() ? "" : site.stack.frames.front().function;
  }

  Json location_of(const Site& site) const {
    Json location = place_of(own_place(site), function_of(site));
    location["message"] = text(fmt::format("{} {} (event {})", thread_words(site.thread),
                                           says(site.op, site.target), site.event));
    return location;
  }

  /// Without a place in a source there is still the trace; viewers ask for some file.
  Json nowhere() const {
    return {{"physicalLocation", {{"artifactLocation", artifact(report_->trace.file)}}}};
  }

  Json place_of(const Place& place, const std::string& function) const {
    Json location = nowhere();
    if (!place.file.empty()) {
      Json& physical = location["physicalLocation"];
      physical["artifactLocation"] = artifact(place.file);
      if (place.line != 0) {
        Json& region = physical["region"] = {{"startLine", place.line}};
        if (place.column != 0) region["startColumn"] = place.column;
        if (const std::string* line = source_line(place)) region["snippet"] = text(*line);
      }
    }
    if (!function.empty()) {
      location["logicalLocations"] =
          Json::array({{{"fullyQualifiedName", function}, {"kind", "function"}}});
    } else if (place.file.empty() && place.known()) {
      location["logicalLocations"] = Json::array({{{"fullyQualifiedName", place.text}}});
    }
    return location;
  }

  const std::string* source_line(const Place& place) const {
    const auto source = std::ranges::lower_bound(report_->sources, place.file, {}, &Source::file);
    if (source == report_->sources.end() || source->file != place.file) return nullptr;
    const auto line = source->lines.find(place.line);
    return line == source->lines.end() ? nullptr : &line->second;
  }

  Json artifact(std::string_view file) const {
    if (!root_.empty() && file.starts_with(root_)) file.remove_prefix(root_.size());
    if (file.starts_with('/')) return {{"uri", "file://" + escaped(file)}};
    while (file.starts_with("./")) file.remove_prefix(2);
    Json object = {{"uri", escaped(file.empty() ? "unknown" : file)}};
    if (!root_.empty()) object["uriBaseId"] = kBase;
    return object;
  }

  std::string root_;  // ends with a slash, or is empty
  std::vector<std::string_view> rule_names_;
  const Report* report_ = nullptr;
  Json results_ = Json::array();
};

}  // namespace

std::string to_sarif(std::span<const Report> reports, const SarifOptions& options) {
  return clean_json(
             Writer(options).write(reports).dump(1, ' ', false, Json::error_handler_t::replace)) +
         "\n";
}

}  // namespace syndrome::report
