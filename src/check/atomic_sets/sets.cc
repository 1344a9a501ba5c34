#include "check/atomic_sets/sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "event/labels.h"
#include "event/library.h"
#include "spec/pattern.h"

namespace syndrome::check::atomic_sets {
namespace {

/// Sets of the spec that a variable may be in; more are passed over.
constexpr std::size_t kMostSets = 1000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Without what tells one life of a variable from another: "x" of "x~2".
std::string_view without_generation(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && is_digit(text[end - 1])) --end;
  return end > 1 && end < text.size() && text[end - 1] == '~' ? text.substr(0, end - 1) : text;
}

/// "table" of "table+24".
std::string_view without_offset(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && is_digit(text[end - 1])) --end;
  return end > 1 && end < text.size() && text[end - 1] == '+' ? text.substr(0, end - 1) : text;
}

/// Where a character stands that is in no brackets, from behind; npos when nowhere.
std::size_t find_outside(std::string_view text, char wanted) {
  std::size_t depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    if (c == '>' || c == ')' || c == '}') ++depth;
    if ((c == '<' || c == '(' || c == '{') && depth > 0) --depth;
    if (c == wanted && depth == 0) return i;
  }
  return std::string_view::npos;
}

bool of_library(std::string_view name) {
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

/// What people call a container of libstdc++ whose field has this name.
std::string_view container_of(std::string_view field) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Pair, 10> kContainers = {{
      {"_Vector_", "std::vector"},
      {"basic_string", "std::string"},
      {"_Rb_tree", "std::map"},
      {"_Deque_", "std::deque"},
      {"_Hashtable", "std::unordered_map"},
      {"_List_", "std::list"},
      {"shared_ptr", "std::shared_ptr"},
      {"unique_ptr", "std::unique_ptr"},
      {"_Optional_", "std::optional"},
      {"_Fwd_list", "std::forward_list"},
  }};
  const auto is_named = [&](const Pair& pair) {
    return field.find(pair.first) != std::string_view::npos;
  };
  const auto* const found = std::ranges::find_if(kContainers, is_named);
  return found == kContainers.end() ? std::string_view() : found->second;
}

/// "Shop::items_@5581c0", "std::vector at 5581c0"
std::string container_name(const VariableName& parts) {
  if (!parts.inside.empty()) return fmt::format("{}@{}", parts.name, parts.object);
  const std::string_view known = container_of(parts.name);
  return fmt::format("{} at {}", known.empty() ? spec::without_templates(parts.name) : known,
                     parts.object);
}

/// The global array that an element belongs to, "table" of "table[]:table+24"; empty: not known.
std::string_view array_of(const VariableName& parts) {
  const std::string_view name =
      parts.is_element() ? parts.name.substr(0, parts.name.size() - 2) : parts.name;
  return without_offset(parts.place) == name ? name : std::string_view();
}

/// "balance" of "bank::Account::balance".
std::string_view last_word(std::string_view name) {
  const std::string_view type = class_of(name);
  return type.empty() ? name.substr(name.starts_with("::") ? 2 : 0) : name.substr(type.size() + 2);
}

/// Where the name of a field of the library begins, which no program may use: "._M_finish+8".
std::size_t inside_of(std::string_view name) {
  std::size_t dot = name.find("._");
  while (dot != std::string_view::npos &&
         (dot + 2 == name.size() || name[dot + 2] < 'A' || name[dot + 2] > 'Z')) {
    dot = name.find("._", dot + 1);
  }
  return dot;
}

}  // namespace

VariableName::VariableName(std::string_view text) : name(without_generation(text)) {
  if (const std::size_t at = name.rfind('@'); at != std::string_view::npos) {
    object = name.substr(at + 1);
    name = name.substr(0, at);
    if (const std::size_t dot = inside_of(name); dot != std::string_view::npos) {
      inside = name.substr(dot);
      name = name.substr(0, dot);
    }
    return;
  }
  const std::size_t colon = find_outside(name, ':');
  if (colon == std::string_view::npos || colon == 0 || name[colon - 1] == ':') return;
  place = name.substr(colon + 1);
  name = name.substr(0, colon);
}

std::string_view class_of(std::string_view name) {
  const std::size_t colon = find_outside(name, ':');
  return colon == std::string_view::npos || colon == 0 || name[colon - 1] != ':'
             ? std::string_view()
             : name.substr(0, colon - 1);
}

std::uint32_t Words::of(std::string_view word) {
  const auto next = static_cast<std::uint32_t>(numbers_.size() + 1);
  return numbers_.try_emplace(std::string(word), next).first->second;
}

SetRule::SetRule(const SetRuleOptions& options, Words& words)
    : options_(options), words_(&words), declared_(1), details_(1) {
  if (options.spec == nullptr) return;
  for (const spec::Entry& entry : options.spec->excluded_locations) track(entry, kExcluded);
  for (const spec::NamedList& list : options.spec->atomic_sets) {
    for (const spec::Entry& entry : list.entries) declare(list.name, entry);
  }
}

void SetRule::declare(std::string_view set, const spec::Entry& entry) {
  const std::string_view type =
      entry.pattern.is_regex() ? std::string_view() : class_of(entry.pattern.text());
  const auto next = static_cast<std::uint32_t>(declared_.size());
  const auto [known, is_new] = declared_by_name_.try_emplace(std::string(set), next);
  track(entry, known->second);
  if (is_new) {
    declared_.push_back({std::string(set), !type.empty(), std::string(type)});
  } else {
    Declared& declared = declared_[known->second];
    declared.of_objects &= type == declared.type;
  }
}

void SetRule::take_labels(const Names& names) {
  const StringTable& labels = names.table(Space::kLabel);
  for (; labels_taken_ < labels.size(); ++labels_taken_) {
    const std::optional<SetMember> said = set_member(labels[labels_taken_]);
    if (!said) continue;
    // The compiler's names are whole.
    Result<spec::Pattern> member = spec::Pattern::parse("::" + std::string(said->name));
    if (!member) continue;
    said_by_program_.push_back({std::move(*member), 0, 0});
    declare(said->set, said_by_program_.back());
    entries_.back().matched = true;
  }
}

void SetRule::track(const spec::Entry& entry, std::uint32_t of) {
  const auto position = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back({&entry, of, false});
  const std::string_view text = entry.pattern.text();
  if (entry.pattern.is_regex() || text.find_first_of("*<(") != std::string_view::npos) {
    others_.push_back(position);
  } else {
    by_word_[std::string(last_word(text))].push_back(position);
  }
}

/// What the spec says of a variable, ascending, each once.
std::vector<std::uint32_t> SetRule::declared_for(std::string_view text, const VariableName& parts) {
  std::vector<std::uint32_t> result;
  if (entries_.empty()) return result;
  const spec::TakenApart taken(std::vector<std::string_view>{parts.name, text});
  const auto attempt = [&](const std::vector<std::uint32_t>& positions) {
    for (const std::uint32_t position : positions) {
      Tracked& tracked = entries_[position];
      if (!tracked.entry->pattern.matches(taken)) continue;
      tracked.matched = true;
      result.push_back(tracked.of);
    }
  };
  // Every entry that may match is tried, because each wants to know whether it matches anything.
  attempt(others_);
  for (const std::string_view form : {parts.name, text}) {
    const auto found = by_word_.find(std::string(last_word(form)));
    if (found != by_word_.end()) attempt(found->second);
  }
  std::ranges::sort(result);
  const auto rest = std::ranges::unique(result);
  result.erase(rest.begin(), rest.end());
  return result;
}

void SetRule::decide(std::uint32_t variable, const Names& names) {
  if (variable >= places_.size()) {
    places_.resize(std::max<std::size_t>(variable + 1, names.table(Space::kVariable).size()));
  }
  take_labels(names);
  const std::string_view text = names.variable(VarId(variable));
  const VariableName parts(text);
  Place place;
  place.known = true;
  std::vector<Membership> in;
  const std::uint32_t life = life_of(text, parts);
  const std::vector<std::uint32_t> said = declared_for(text, parts);
  const bool excluded = !said.empty() && said.front() == kExcluded;
  for (const std::uint32_t number : said) {
    if (excluded || in.size() == kMostSets) break;
    const Declared& declared = declared_[number];
    const bool of_object = declared.of_objects && !parts.object.empty();
    const std::uint32_t set =
        of_object ? set_of("declared", fmt::format("{} {}", declared.name, parts.object), life)
                  : set_of("declared", declared.name);
    details_of(set).name =
        of_object ? fmt::format("{} of {}", declared.name, parts.object) : declared.name;
    details_of(set).declared = true;
    add(details_of(set).titles, words_->of(declared.name));
    if (!parts.object.empty()) add_class(set, class_of(parts.name));
    in.push_back({set, parts.inside.empty() ? variable : container(set, variable, parts.name)});
  }
  const bool by_class = options_.otherwise == spec::DefaultSets::kClass;
  if (said.empty() && !(by_class && keeps_itself(parts.name))) {
    place.counts_atomics = !by_class;
    in.push_back(by_default(variable, text, parts, life));
  }
  place.count = static_cast<std::uint16_t>(in.size());
  if (in.size() == 1) place.one = in.front();
  if (in.size() > 1) {
    place.one.location = static_cast<std::uint32_t>(memberships_.size());
    memberships_.insert(memberships_.end(), in.begin(), in.end());
  }
  places_[variable] = place;
}

Membership SetRule::alone(std::uint32_t variable) {
  sets_.emplace_back();
  return {static_cast<std::uint32_t>(sets_.size() - 1), variable};
}

std::uint32_t SetRule::life_of(std::string_view text, const VariableName& parts) {
  if (parts.object.empty() || parts.is_element()) return 0;
  const std::hash<std::string_view> hash;
  Life& life = lives_[hash(parts.object)];
  const auto field = static_cast<std::uint32_t>(hash(parts.name) + hash(parts.inside));
  const auto type = static_cast<std::uint32_t>(hash(class_of(parts.name)));
  const bool used_again = without_generation(text) != text;
  const bool of_another_class = !life.classes.empty() && !contains(life.classes, type) &&
                                !contains(life.classes_before, type);
  if (contains(life.fields, field) || (used_again && of_another_class)) {
    ++life.number;
    life.fields.clear();
    life.classes_before = std::move(life.classes);
    life.classes.clear();
  }
  life.fields.push_back(field);
  if (!contains(life.classes, type)) life.classes.push_back(type);
  return life.number;
}

Membership SetRule::by_default(std::uint32_t variable, std::string_view text,
                               const VariableName& parts, std::uint32_t life) {
  const std::string_view type = class_of(parts.name);
  switch (options_.otherwise) {
    case spec::DefaultSets::kAll: {
      const std::uint32_t set = set_of("all", "");
      details_of(set).name = "all";
      return {set, variable};
    }
    case spec::DefaultSets::kEach: {
      const Membership own = alone(variable);
      if (!parts.object.empty()) add_class(own.set, type);
      return own;
    }
    case spec::DefaultSets::kClass: break;
  }
  if (!parts.object.empty()) {
    // The elements of an array in an object: where the object begins is not known.
    if (parts.is_element()) return alone(variable);
    const std::uint32_t set = set_of("object", parts.object, life);
    if (of_library(parts.name)) return {set, container(set, variable, {})};
    classes_[spec::without_templates(type)] = true;
    // What has no field in its name is an object as a whole.
    add_class(set, type);
    add_class(set, parts.name);
    return {set, parts.inside.empty() ? variable : container(set, variable, parts.name)};
  }
  if (!parts.place.empty()) {
    const std::string_view array = array_of(parts);
    return array.empty() ? alone(variable) : Membership{set_of("object", array), variable};
  }
  if (!type.empty() && !classes_.empty() && classes_.contains(spec::without_templates(type))) {
    const std::uint32_t set = set_of("static", type);
    details_of(set).name = fmt::format("static members of {}", type);
    add_class(set, type);
    return {set, variable};
  }
  // Memory without a name is known by its address, and that is used again.
  if (without_generation(text) != text) return alone(variable);
  return {set_of("object", without_offset(parts.name)), variable};
}

/// The location that the container of this name is; there is one without a name.
std::uint32_t SetRule::container(std::uint32_t set, std::uint32_t variable, std::string_view name) {
  const std::uint64_t key = std::hash<std::string_view>()(name) ^ set * 0x9E3779B97F4A7C15U;
  const std::uint32_t location = containers_.try_emplace(key, variable).first->second;
  is_container_[location] = true;
  return location;
}

/// By a hash: among a million sets, two that are taken for one have odds of one to 30 million.
std::uint32_t SetRule::set_of(std::string_view kind, std::string_view key, std::uint32_t life) {
  const std::hash<std::string_view> hash;
  const std::uint64_t identity =
      hash(key) ^ (hash(kind) + life * 0xD6E8FEB86659FD93U) * 0x9E3779B97F4A7C15U;
  const auto [at, is_new] = by_key_.try_emplace(identity, static_cast<std::uint32_t>(sets_.size()));
  if (is_new) sets_.emplace_back();
  return at->second;
}

SetRule::Details& SetRule::details_of(std::uint32_t set) {
  if (sets_[set].details == 0) {
    sets_[set].details = static_cast<std::uint32_t>(details_.size());
    details_.emplace_back();
  }
  return details_[sets_[set].details];
}

void SetRule::add_class(std::uint32_t set, std::string_view qualified) {
  if (qualified.empty()) return;
  const std::string bare = spec::without_templates(qualified);
  const std::uint32_t word = words_->of(bare);
  Details& details = details_of(set);
  if (contains(details.classes, word)) return;
  details.classes.push_back(word);
  add(details.titles, word);
  add(details.titles, words_->of(spec::simple_name(bare)));
}

std::string SetRule::name_of_set(Membership where, const Names& names) const {
  const std::string& name = details_[sets_[where.set].details].name;
  if (!name.empty()) return name;
  const std::string_view text = names.variable(VarId(where.location));
  if (options_.otherwise == spec::DefaultSets::kEach) return std::string(text);
  const VariableName parts(text);
  if (!parts.object.empty()) {
    if (parts.is_element()) return std::string(text);
    if (of_library(parts.name)) return container_name(parts);
    const std::string_view type = class_of(parts.name);
    return fmt::format("{} at {}", type.empty() ? parts.name : type, parts.object);
  }
  if (!parts.place.empty()) {
    const std::string_view array = array_of(parts);
    return std::string(array.empty() ? text : array);
  }
  return std::string(without_generation(text) != text ? text : without_offset(parts.name));
}

std::string SetRule::name_of_location(std::uint32_t location, const Names& names) const {
  const std::string_view text = names.variable(VarId(location));
  return is_container_.contains(location) ? container_name(VariableName(text)) : std::string(text);
}

std::vector<SetRule::Unmatched> SetRule::unmatched() const {
  std::vector<Unmatched> result;
  for (const Tracked& tracked : entries_) {
    if (tracked.matched) continue;
    const bool excluded = tracked.of == kExcluded;
    result.push_back({excluded ? "exclude" : declared_[tracked.of].name, tracked.entry});
  }
  return result;
}

}  // namespace syndrome::check::atomic_sets
