#include "check/atomic_sets/units.h"

#include <algorithm>

#include "event/labels.h"
#include "spec/pattern.h"

namespace syndrome::check::atomic_sets {
namespace {

// How a recording calls what SYNDROME_UNIT and SYNDROME_DETERMINISTIC mark.
constexpr std::string_view kUnit = "unit";
constexpr std::string_view kDeterministic = "deterministic ";
constexpr std::string_view kExclude = "exclude";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

UnitRule::UnitRule(const spec::Spec* spec, Words& words) : words_(&words) {
  if (spec == nullptr) return;
  for (const spec::NamedList& list : spec->units) {
    for (const spec::Entry& entry : list.entries) {
      entries_.push_back({list.name, &entry, 0, list.name == kExclude, false});
    }
  }
  for (const spec::NamedList& list : spec->units_for) {
    for (const spec::Entry& entry : list.entries) {
      entries_.push_back({list.name, &entry, words.of(list.name), false, false});
    }
  }
}

namespace {

/// A member function of the library that returns when another thread has left its result.
bool is_wait(std::string_view type, std::string_view own) {
  if (type == "std::future" || type == "std::shared_future") return own == "get";
  return (type == "std::__basic_future" || type == "std::__future_base::_State_baseV2") &&
         (own == "_M_get_result" || own.starts_with("wait"));
}

}  // namespace

void UnitRule::decide(std::uint32_t label, const Names& names) {
  if (label >= labels_.size()) {
    labels_.resize(std::max<std::size_t>(label + 1, names.table(Space::kLabel).size()));
  }
  UnitLabel unit;
  unit.known = true;
  const std::string_view name = names.label(LabelId(label));
  if (name == kCalledBackLabel) {
    unit.library = true;
    unit.called_back = true;
  } else if (name == kUnit || name.starts_with("unit ")) {
    unit.annotation = true;
    std::string_view sets = trimmed(name.substr(kUnit.size()));
    unit.for_all = sets.empty();
    while (!sets.empty()) {
      const std::string_view set = trimmed(sets.substr(0, sets.find(',')));
      sets.remove_prefix(std::min(sets.size(), sets.find(',')));
      if (sets.starts_with(',')) sets.remove_prefix(1);
      if (!set.empty()) unit.sets.push_back(words_->of(set));
    }
  } else if (name.starts_with(kDeterministic)) {
    unit.library = true;
  } else if (name.empty() || name.starts_with(kSetMemberLabel)) {
    unit.never = true;
  } else {
    const spec::TakenApart taken(name);
    for (Tracked& tracked : entries_) {
      if (!tracked.entry->pattern.matches(taken)) continue;
      tracked.matched = true;
      if (tracked.exclude) {
        unit.never = true;
      } else if (tracked.set == 0) {
        unit.for_all = true;
      } else {
        unit.sets.push_back(tracked.set);
      }
    }
    unit.library = spec::of_library(name);
    const std::string bare = spec::without_templates(name);
    unit.never |= bare == "main";
    const std::string_view type = class_of(bare);
    if (!type.empty()) {
      unit.type = words_->of(type);
      const std::string_view own = spec::simple_name(bare);
      unit.copies = own == "operator=" || own == spec::simple_name(type);
      unit.waits = is_wait(type, own);
    }
  }
  labels_[label] = std::move(unit);
}

std::vector<SetRule::Unmatched> UnitRule::unmatched(const Names& names) {
  std::vector<SetRule::Unmatched> result;
  if (entries_.empty()) return result;
  // Blocks, which are units anyway, were not asked for.
  const auto labels = static_cast<std::uint32_t>(names.table(Space::kLabel).size());
  for (std::uint32_t label = 0; label < labels; ++label) (void)of(label, names);
  for (const Tracked& tracked : entries_) {
    if (!tracked.matched) result.push_back({std::string(tracked.list), tracked.entry});
  }
  return result;
}

}  // namespace syndrome::check::atomic_sets
