#include "report/reordering.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "report/cells.h"
#include "report/details.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kMostRows = 40;

std::string event_words(const Finding& finding, EventNumber event) {
  const Site* const site = finding.site_at(event);
  if (site == nullptr) return fmt::format("event {}", event);
  const std::string place = short_text(own_place(*site));
  return fmt::format("{}{}{}", thread_words(site->thread),
                     place.empty() ? fmt::format(" at event {}", event) : "",
                     place.empty() ? "" : fmt::format(" at {} (event {})", place, event));
}

/// "the initial value", "what T1 wrote at a.cc:3 (event 2)"
std::string value_words(const Finding& finding, EventNumber write) {
  if (write == 0) return "the initial value";
  const Site* const site = finding.site_at(write);
  if (site == nullptr) return fmt::format("what event {} wrote", write);
  const std::string place = short_text(own_place(*site));
  if (place.empty()) {
    return fmt::format("what {} wrote at event {}", thread_words(site->thread), write);
  }
  return fmt::format("what {} wrote at {} (event {})", thread_words(site->thread), place, write);
}

/// "12  T1 reads x, from event 4"
std::string row_words(const Finding& finding, const Site& site, EventNumber source,
                      std::size_t number_width, std::size_t columns) {
  std::string head =
      fmt::format("{:>{}}  {} ", site.event, number_width, clean(thread_words(site.thread)));
  std::string tail;
  if (site.event == finding.read) {
    tail = source == 0 ? ", initial value" : fmt::format(", from event {}", source);
  }
  const std::string place = clean(short_text(own_place(site)));
  std::string words = clean(says(site.op, site.target)) + tail;
  const std::size_t used = width(head) + width(words) + 2;
  if (!place.empty() && used + width(place) <= columns) return head + words + "  " + place;
  const std::size_t room =
      columns > width(head) + width(tail) ? columns - width(head) - width(tail) : 1;
  return fit(head + fit(clean(says(site.op, site.target)), room) + tail, columns);
}

}  // namespace

bool is_reordering(const Finding& finding) {
  return finding.rule == "nondeterministic-read" || finding.rule == "unsettled-final-value";
}

std::string reordering_headline(const Finding& finding) {
  if (finding.rule == "nondeterministic-read") {
    return fmt::format("read of {} is nondeterministic", finding.variable);
  }
  return fmt::format("final value of {} is not settled", finding.variable);
}

std::string reordering_words(const Finding& finding) {
  if (finding.rule == "nondeterministic-read") {
    return fmt::format(
        "In this run {} reads {}. In another order of the same events, in which every read before "
        "it reads what it read here, it reads {}.",
        event_words(finding, finding.read), value_words(finding, finding.write),
        value_words(finding, finding.challenger));
  }
  return fmt::format(
      "In this run {} ends with {}. In another order of all its events, in which every read reads "
      "what it read here, it ends with {}.",
      finding.variable, value_words(finding, finding.write),
      value_words(finding, finding.challenger));
}

std::vector<EventNumber> reordering_events(const Finding& finding) {
  return {finding.read, finding.write, finding.challenger};
}

std::vector<std::string> draw_reordering(const Finding& finding, std::size_t columns,
                                         const Paint& paint) {
  std::vector<const Site*> observed;
  for (const Site& site : finding.sites) {
    if (observed.size() < kMostRows) observed.push_back(&site);
  }
  if (observed.empty()) return {};
  std::unordered_map<EventNumber, std::size_t> step;
  for (const Site* site : observed) step.emplace(site->event, 0);
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    if (const auto at = step.find(finding.schedule[i]); at != step.end()) at->second = i + 1;
  }
  std::vector<const Site*> predicted;
  for (const Site* site : observed) {
    if (step[site->event] != 0) predicted.push_back(site);
  }
  std::ranges::sort(predicted, {}, [&](const Site* site) { return step[site->event]; });

  constexpr std::size_t kGap = 3;
  const std::size_t half = (columns - kGap) / 2;
  const std::size_t number_width = std::to_string(observed.back()->event).size();
  std::vector<std::string> lines;
  lines.push_back(paint(Style::kStrong, pad("observed", half + kGap)) +
                  paint(Style::kStrong, "predicted"));
  bool parted = false;
  for (std::size_t i = 0; i < std::max(observed.size(), predicted.size()); ++i) {
    const Site* const left = i < observed.size() ? observed[i] : nullptr;
    const Site* const right = i < predicted.size() ? predicted[i] : nullptr;
    if (!parted && left != right) {
      parted = true;
      std::string rule;
      for (std::size_t column = 0; column < columns; ++column) rule += "╌";
      lines.push_back(paint(Style::kArrow, rule));
    }
    const std::string one =
        left == nullptr ? "" : row_words(finding, *left, finding.write, number_width, half);
    const std::string other =
        right == nullptr ? "" : row_words(finding, *right, finding.challenger, number_width, half);
    const auto style = [&finding](const Site* site) {
      const bool told =
          site != nullptr && (site->event == finding.read || site->event == finding.challenger ||
                              site->event == finding.write);
      return told ? Style::kStrong : Style::kPlain;
    };
    std::string text = paint(style(left), pad(one, half));
    if (right != nullptr) text += std::string(kGap, ' ') + paint(style(right), other);
    if (right == nullptr) text = paint(style(left), one);
    lines.push_back(text);
  }
  if (finding.schedule.size() > predicted.size()) {
    lines.push_back(paint(Style::kFaint,
                          fmt::format("{} of the {} events of the schedule; --format json has all",
                                      predicted.size(), grouped(finding.schedule.size()))));
  }
  return lines;
}

}  // namespace syndrome::report
