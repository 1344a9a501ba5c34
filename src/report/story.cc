#include "report/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/details.h"
#include "report/pattern_words.h"
#include "report/reordering.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kToldEdges = 12;  // of a cycle; more would not be read

bool is_pair(const Finding& finding, std::string_view rule) {
  return finding.rule == rule && finding.events.size() == 2;
}

Explanation explain_cycle(const Finding& finding) {
  Explanation result;
  const std::size_t told = std::min(finding.cycle.size(), kToldEdges);
  for (std::size_t i = 0; i < told; ++i) {
    const Site* from = finding.site_at(finding.cycle[i].from);
    const Site* to = finding.site_at(finding.cycle[i].to);
    std::string& text = result.edges.emplace_back();
    if (from == nullptr || to == nullptr) continue;
    text = fmt::format("{} must come before {}: {}.", transaction_words(finding, *from),
                       transaction_words(finding, *to), edge_words(*from, *to));
  }
  if (is_set_cycle(finding)) {
    result.conclusion = fmt::format(
        "No order of whole units of work does {}: {} would have to come before itself. (Atomic "
        "set {}.)",
        finding.cycle.size() == 2 ? "both" : "all of them", set_cycle_unit(finding, 0),
        finding.set);
    return result;
  }
  const Block* block = finding.block_at(finding.block);
  const std::string name =
      block == nullptr ? std::string("the block") : block_words(finding, *block);
  result.conclusion =
      fmt::format("No order of whole blocks does {}: {} would have to come before itself.",
                  finding.cycle.size() == 2 ? "both" : "all of them", name);
  return result;
}

}  // namespace

std::string headline_of(const Finding& finding) {
  if (is_reordering(finding)) return reordering_headline(finding);
  if (const Block* block = finding.block_at(finding.block)) {
    return fmt::format(
        "{} is not {}",
        block->label.empty() ? block_words(finding, *block) : function_words(block->label),
        property_of(finding));
  }
  if (is_pattern(finding)) return pattern_headline(finding);
  if (is_set_cycle(finding)) return set_cycle_headline(finding);
  if (is_pair(finding, "race")) return race_headline(finding);
  return finding.rule;
}

std::string whereabouts(const Finding& finding) {
  std::string where = fmt::format("event {}", finding.event);
  if (const Block* block = finding.block_at(finding.block)) {
    where = thread_words(block->thread);
    where += block->place.known() ? ", " + short_text(block->place)
                                  : fmt::format(", event {}", block->begin);
  } else if (is_pattern(finding)) {
    where = fmt::format("pattern {}, event {}", finding.pattern, finding.event);
    if (!finding.tier.empty()) where = finding.tier + ", " + where;
  } else if (is_pair(finding, "race")) {
    where = fmt::format("events {} and {}", finding.events[0], finding.events[1]);
  }
  if (finding.count > 1) where += fmt::format(", seen {} times", grouped(finding.count));
  if (finding.certainty != check::Certainty::kObserved) {
    where += fmt::format(", {}", name_of(finding.certainty));
  }
  return where;
}

Explanation explain(const Finding& finding) {
  if (!finding.cycle.empty()) return explain_cycle(finding);
  if (is_pair(finding, "race")) {
    return {{},
            fmt::format("{}. Nothing orders the two: in another run they may come the other way "
                        "round, or at the same time.",
                        race_words(finding))};
  }
  if (is_pair(finding, "conflict-in-block")) return {{}, conflict_words(finding)};
  if (is_reordering(finding)) return {{}, reordering_words(finding)};
  if (is_pattern(finding) && !finding.tier.empty()) {
    const std::string connected =
        finding.connection.empty()
            ? ""
            : fmt::format(" What connects the two steps: {}.", finding.connection);
    return {{},
            fmt::format("{}. {}{}", pattern_words(finding), pattern_meaning(finding), connected)};
  }
  if (is_pattern(finding)) {
    return {{},
            fmt::format("{}. {} (Pattern {}, atomic set {}.)", pattern_words(finding),
                        pattern_meaning(finding), finding.pattern, finding.set)};
  }
  return {};
}

EventKind Step::op() const {
  return site != nullptr ? site->op : ends ? EventKind::kEnd : EventKind::kBegin;
}

std::string Step::target() const {
  return site != nullptr ? site->target : function_words(block->label);
}

const Place& Step::place() const {
  static const Place kUnknown;
  return site != nullptr ? own_place(*site) : ends ? kUnknown : block->place;
}

std::vector<Step> steps_of(const Finding& finding) {
  std::vector<Step> steps;
  for (const Site& site : finding.sites) {
    const bool begins = site.op == EventKind::kBegin && finding.block_at(site.event) != nullptr;
    steps.push_back({site.event, &site, nullptr, false, begins ? site.event : site.block});
  }
  for (const Block& block : finding.blocks) {
    if (finding.site_at(block.begin) == nullptr) {
      steps.push_back({block.begin, nullptr, &block, false, block.begin});
    }
    if (block.end != 0 && finding.site_at(block.end) == nullptr) {
      steps.push_back({block.end, nullptr, &block, true, block.begin});
    }
  }
  std::ranges::sort(steps, {}, &Step::event);
  return steps;
}

std::vector<check::Edge> arrows_of(const Finding& finding) {
  std::vector<check::Edge> arrows = finding.cycle;
  if (!arrows.empty()) return arrows;
  for (std::size_t i = 1; i < finding.events.size(); ++i) {
    arrows.push_back({finding.events[i - 1], finding.events[i]});
  }
  if (arrows.empty() && finding.read != 0 && finding.write != 0) {
    arrows.push_back({finding.write, finding.read});
  }
  return arrows;
}

std::string closer_command(const Trace& trace, const Finding& finding) {
  if (!trace.kept || trace.file == "-") return {};
  return fmt::format("syndrome trace cat --number --around {} {}", finding.event,
                     shell_word(trace.file));
}

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./+,:=@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace syndrome::report
