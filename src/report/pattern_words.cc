#include "report/pattern_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "check/patterns.h"
#include "report/details.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

using check::atomic_sets::Pattern;

const Pattern& pattern_of(const Finding& finding) {
  return check::atomic_sets::pattern(finding.pattern);
}

/// A location without the object that it is in: that is told with the set.
std::string_view field_of(std::string_view location) {
  return location.substr(0, location.find('@'));
}

std::string_view location_of(const Finding& finding, const check::atomic_sets::Step& step) {
  return field_of(finding.locations[step.second ? 1 : 0]);
}

std::string where(const Site& site) {
  const std::string place = short_text(own_place(site));
  return place.empty() ? fmt::format("(event {})", site.event)
                       : fmt::format("(event {}, {})", site.event, place);
}

/// "a", "a and b", "a, b and c", "a, b and 3 others"; each once.
std::string joined(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> each;
  for (const std::string& word : words) {
    if (std::ranges::find(each, word) == each.end()) each.push_back(word);
  }
  if (each.size() > kMost) {
    const std::size_t more = each.size() - kMost + 1;
    each.resize(kMost - 1);
    each.push_back(fmt::format("{} others", more));
  }
  const std::string last = each.back();
  each.pop_back();
  return each.empty() ? last : fmt::format("{} and {}", fmt::join(each, ", "), last);
}

std::string unit_words(const Finding& finding, const Site& site) {
  return site.block == 0 ? "outside of units" : "in " + transaction_words(finding, site);
}

}  // namespace

bool is_pattern(const Finding& finding) {
  if (finding.rule != "pattern" || finding.pattern < 1 ||
      finding.pattern > check::atomic_sets::kPatternCount) {
    return false;
  }
  const Pattern& pattern = pattern_of(finding);
  return finding.events.size() == pattern.length &&
         finding.locations.size() == (pattern.two_locations() ? 2 : 1) &&
         finding.units.size() == 2 && std::ranges::all_of(finding.events, [&](EventNumber event) {
           return finding.site_at(event) != nullptr;
         });
}

std::string pattern_headline(const Finding& finding) {
  std::string text =
      fmt::format("{} of {}", pattern_of(finding).title, field_of(finding.locations[0]));
  if (finding.locations.size() == 2) text += fmt::format(" and {}", field_of(finding.locations[1]));
  return text;
}

std::string pattern_words(const Finding& finding) {
  const Pattern& pattern = pattern_of(finding);
  std::string text;
  for (std::size_t i = 0; i < pattern.length; ++i) {
    const check::atomic_sets::Step& step = pattern.steps[i];
    const Site& site = *finding.site_at(finding.events[i]);
    const bool same =
        i > 0 && location_of(finding, step) == location_of(finding, pattern.steps[i - 1]);
    const bool told = std::ranges::any_of(
        std::span(pattern.steps).first(i),
        [&](const check::atomic_sets::Step& before) { return before.other == step.other; });
    text += i == 0 ? "" : ", then ";
    text += fmt::format("{} {} {}", thread_words(site.thread),
                        same ? says_it(site.op) : says(site.op, location_of(finding, step)),
                        where(site));
    if (!told) text += " " + unit_words(finding, site);
  }
  return text;
}

std::string pattern_meaning(const Finding& finding) {
  std::string text(pattern_of(finding).meaning);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string pattern_group(const Finding& finding) {
  std::string key;
  std::vector<std::string_view> fields;
  for (const std::string& location : finding.locations) fields.push_back(field_of(location));
  std::ranges::sort(fields);
  for (const std::string_view field : fields) key += fmt::format("{}\n", field);
  std::vector<std::string> units;
  for (const EventNumber unit : finding.units) {
    const Block* const block = finding.block_at(unit);
    units.push_back(block == nullptr ? "" : block->label);
  }
  std::ranges::sort(units);
  for (const std::string& unit : units) key += fmt::format("{}\n", unit);
  return key;
}

bool is_set_cycle(const Finding& finding) {
  return finding.rule == "set-cycle" && finding.cycle.size() >= 2 &&
         finding.units.size() == finding.cycle.size() && !finding.locations.empty() &&
         std::ranges::all_of(finding.cycle, [&](const check::Edge& edge) {
           return finding.site_at(edge.from) != nullptr && finding.site_at(edge.to) != nullptr;
         });
}

std::string set_cycle_unit(const Finding& finding, std::size_t unit) {
  return transaction_words(finding, *finding.site_at(finding.cycle[unit].from));
}

std::string set_cycle_headline(const Finding& finding) {
  std::vector<std::string> units;
  for (std::size_t i = 0; i < finding.units.size(); ++i) {
    units.push_back(set_cycle_unit(finding, i));
  }
  std::vector<std::string> fields;
  for (const std::string& location : finding.locations) fields.emplace_back(field_of(location));
  return fmt::format("{} did not run one after the other on {}", joined(units), joined(fields));
}

}  // namespace syndrome::report
