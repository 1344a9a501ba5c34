#include "spec/block_mapper.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "spec/nearest.h"

namespace syndrome::spec {
namespace {

constexpr std::string_view kAtomic = "atomic";
constexpr std::string_view kDeterministic = "deterministic";
constexpr std::string_view kExclude = "exclude";

constexpr std::size_t kMaxNearest = 3;
// The search for near names compares each unmatched entry with each label. It is a help, not a
// promise: after so many steps (about a second) the rest of the entries go without.
constexpr std::size_t kMaxSteps = 300'000'000;

/// The state of an id that has a vector's place; grows the vector when it is the first time.
template <class T>
[[nodiscard]] T& at_id(std::vector<T>& by_id, std::size_t id, std::size_t expected_size) {
  if (id >= by_id.size()) by_id.resize(std::max(id + 1, expected_size));
  return by_id[id];
}

/// How far `label` is from what an entry means: 0 when only what stands before the name differs
/// (`transfer` for `Account::transfer(int)`), slip_of + 1 when it is something else.
[[nodiscard]] std::size_t distance(std::string_view entry, std::string_view entry_simple,
                                   std::string_view label) {
  const std::size_t slip = slip_of(entry);
  if (simple_name(label) == entry_simple) return 0;
  std::size_t best = slip + 1;
  for (const std::string_view form : forms_of(label)) {
    best = std::min(best, edit_distance(entry, form, slip));
  }
  best = std::min(best, edit_distance(entry, without_templates(label), slip));
  return best;
}

/// What stands behind the line of a site: "Account::get" in "src/bank.cc:12:5 Account::get".
[[nodiscard]] std::string_view function_of(std::string_view site) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = site.find(':'); at != std::string_view::npos; at = site.find(':', at + 1)) {
    std::size_t end = at + 1;
    while (end < site.size() && is_digit(site[end])) ++end;
    if (end > at + 1 && end < site.size() && site[end] == ' ') return site.substr(end + 1);
  }
  return {};
}

}  // namespace

BlockMapper::BlockMapper(Options options) : options_(options) {
  if (options_.only != nullptr) options_.spec = nullptr;
  if (options_.spec != nullptr) {
    const auto track = [this](const std::vector<Entry>& list, std::string_view name) {
      for (const Entry& entry : list) entries_.push_back({&entry, name});
    };
    const Blocks& blocks = options_.spec->blocks;
    if (blocks.atomic) track(*blocks.atomic, kAtomic);
    track(blocks.deterministic, kDeterministic);
    track(blocks.exclude, kExclude);
  }
  idle_ = entries_.empty() && !options_.roadrunner && options_.only == nullptr;
}

void BlockMapper::apply(Batch& batch, const Names& names) {
  if (idle_) return;
  for (Event& event : batch.events) {
    const bool mine = event.kind == EventKind::kEnter || event.kind == EventKind::kExit ||
                      event.kind == EventKind::kBegin || event.kind == EventKind::kEnd;
    if (mine && (event.flags & kDropped) == 0) map(event, names);
  }
}

void BlockMapper::map(Event& event, const Names& names) {
  Open& open = at_id(open_, event.thread.index(), names.table(Space::kThread).size());
  const auto close = [](std::vector<bool>& stack) {
    if (stack.empty()) return false;
    const bool changed = stack.back();
    stack.pop_back();
    return changed;
  };
  switch (event.kind) {
    case EventKind::kEnter:
      functions_ = true;
      open.functions.push_back((decide(event.label(), names) & kIsBlock) != 0);
      if (open.functions.back()) event.kind = EventKind::kBegin;
      break;
    case EventKind::kExit:
      if (close(open.functions)) event.kind = EventKind::kEnd;
      break;
    case EventKind::kBegin:
      open.blocks.push_back((decide(event.label(), names) & kExcluded) != 0);
      if (open.blocks.back()) event.kind = EventKind::kEnter;
      break;
    default:
      if (close(open.blocks)) event.kind = EventKind::kExit;
      break;
  }
}

std::uint8_t BlockMapper::decide(LabelId label, const Names& names) {
  const StringTable& labels = names.table(Space::kLabel);
  std::uint8_t& decision = at_id(decisions_, label.index(), labels.size());
  if (decision != kUndecided) return decision;
  decision = kDecided;
  if (options_.only != nullptr) {
    const bool named = label.index() != 0 && label.index() < labels.size();
    decision =
        named && options_.only->contains(std::string(labels[label.index()])) ? kIsBlock : kExcluded;
    return decision;
  }
  // No label, no name to match; a function without a name is no block.
  if (label.index() == 0 || label.index() >= labels.size()) return decision;
  const std::string_view name = labels[label.index()];
  const TakenApart taken(name);
  const bool by_default = options_.roadrunner &&
                          (options_.spec == nullptr || !options_.spec->blocks.atomic.has_value());
  bool atomic = false;
  bool excluded = false;
  if (by_default) {
    const std::string_view method = simple_name(name);
    atomic = method != "main" && method != "run";
  }
  // Every entry is tried, because each wants to know whether it matches anything.
  for (Tracked& tracked : entries_) {
    if (!tracked.entry->pattern.matches(taken)) continue;
    tracked.matched = true;
    if (tracked.list == kAtomic) atomic = true;
    if (tracked.list == kExclude) excluded = true;
  }
  unsigned bits = kDecided;
  if (atomic && !excluded) bits |= kIsBlock;
  if (excluded) bits |= kExcluded;
  decision = static_cast<std::uint8_t>(bits);
  return decision;
}

/// Where a function is entered, its name is a label. So one that only sites name is part of those
/// functions that it is called from: the compiler has put it there.
bool BlockMapper::is_merged(const Pattern& pattern, const Names& names) const {
  if (!functions_) return false;
  const auto any = [](const StringTable& table, auto matches) {
    for (std::size_t i = 1; i < table.size(); ++i) {
      if (matches(table[i])) return true;
    }
    return false;
  };
  // Sites name functions without their parameters.
  std::optional<Pattern> spoken;
  if (!pattern.is_regex() && pattern.text().find('(') != std::string::npos) {
    Result<Pattern> parsed = Pattern::parse(spoken_name(pattern.text()));
    if (!parsed) return false;
    spoken.emplace(std::move(*parsed));
    // Another overload than the one that was meant.
    if (any(names.table(Space::kLabel),
            [&](std::string_view label) { return spoken->matches(forms_of(label)); })) {
      return false;
    }
  }
  const Pattern& wanted = spoken ? *spoken : pattern;
  std::string_view last;  // neighbours often have the same function
  return any(names.table(Space::kSite), [&](std::string_view site) {
    const std::string_view function = function_of(site);
    if (function.empty() || function == last) return false;
    last = function;
    return wanted.matches(forms_of(function));
  });
}

std::vector<Unmatched> BlockMapper::unmatched(const Names& names) {
  const StringTable& labels = names.table(Space::kLabel);
  // Labels that no batch has shown yet (reading may have stopped early) count as well.
  if (!entries_.empty()) {
    for (std::size_t i = 1; i < labels.size(); ++i) (void)decide(LabelId(i), names);
  }
  std::vector<Unmatched> result;
  std::size_t steps = 0;
  for (const Tracked& tracked : entries_) {
    if (tracked.matched) continue;
    const Pattern& pattern = tracked.entry->pattern;
    Unmatched unmatched{tracked.list, pattern.text(), tracked.entry->line, tracked.entry->column,
                        {},           false};
    unmatched.merged = is_merged(pattern, names);
    if (unmatched.merged) {
      result.push_back(std::move(unmatched));
      continue;
    }
    // What a regular expression was meant to match, nobody knows.
    if (!pattern.is_regex()) {
      const std::string_view entry = pattern.text();
      const std::string_view simple = simple_name(entry);
      const std::size_t steps_for_each = entry.size() * (2 * slip_of(entry) + 1);
      std::vector<std::pair<std::size_t, std::size_t>> found;  // distance, label
      for (std::size_t i = 1; i < labels.size() && steps < kMaxSteps; ++i) {
        steps += labels[i].size() + steps_for_each;
        const std::size_t far = distance(entry, simple, labels[i]);
        if (far > slip_of(entry)) continue;
        found.emplace_back(far, i);
        std::sort(found.begin(), found.end());
        if (found.size() > kMaxNearest) found.pop_back();
      }
      for (const auto& [far, label] : found) unmatched.nearest.emplace_back(labels[label]);
    }
    result.push_back(std::move(unmatched));
  }
  return result;
}

}  // namespace syndrome::spec
