// Reads profiles back: the one file here that needs a JSON parser.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "enforce/profile.h"

namespace syndrome::enforce {
namespace {

using nlohmann::json;

/// Thrown inside of this file only: where in the profile, and what was expected.
struct Bad {
  std::string message;
};

const json& member(const json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key)) {
    throw Bad{fmt::format("{}: expected an object with \"{}\"", where, key)};
  }
  return object[key];
}
std::string text(const json& object, const char* key, const std::string& where) {
  const json& value = member(object, key, where);
  if (!value.is_string()) throw Bad{fmt::format("{}: \"{}\" is not a string", where, key)};
  return value.get<std::string>();
}
std::uint64_t number(const json& object, const char* key, const std::string& where) {
  const json& value = member(object, key, where);
  if (!value.is_number_unsigned()) throw Bad{fmt::format("{}: \"{}\" is not a number", where, key)};
  return value.get<std::uint64_t>();
}
const json& list(const json& object, const char* key, const std::string& where) {
  const json& value = member(object, key, where);
  if (!value.is_array()) throw Bad{fmt::format("{}: \"{}\" is not a list", where, key)};
  return value;
}
std::set<std::string> names(const json& object, const char* key, const std::string& where) {
  std::set<std::string> found;
  for (const json& entry : list(object, key, where)) {
    if (!entry.is_string()) throw Bad{fmt::format("{}: \"{}\" is not a list of names", where, key)};
    found.insert(entry.get<std::string>());
  }
  return found;
}

template <class Kind>
Kind one_of(const std::string& word, std::initializer_list<Kind> kinds, const std::string& where) {
  for (const Kind kind : kinds) {
    if (name_of(kind) == word) return kind;
  }
  throw Bad{fmt::format("{}: there is no '{}'", where, word)};
}

Spot spot(const json& object, const std::string& key, const std::string& where) {
  return {text(object, key.c_str(), where),
          one_of(text(object, (key + "_kind").c_str(), where),
                 {SpotKind::kRead, SpotKind::kWrite, SpotKind::kCall}, where)};
}

Variable variable_of(const json& entry, const std::string& where) {
  Variable variable;
  variable.instances = number(entry, "instances", where);
  variable.guards = names(entry, "guards", where);
  for (const json& access : list(entry, "accesses", where)) {
    variable.accesses.insert({text(access, "function", where), spot(access, "at", where)});
  }
  for (const json& raw : list(entry, "pairs", where)) {
    Pair pair;
    pair.type = one_of(text(raw, "type", where),
                       {AtomicType::kNone, AtomicType::kRead, AtomicType::kExclusive}, where);
    pair.seen = number(raw, "seen", where);
    pair.guards = names(raw, "guards", where);
    variable.pairs.insert_or_assign(PairKey{text(raw, "function", where), spot(raw, "first", where),
                                            spot(raw, "second", where)},
                                    std::move(pair));
  }
  return variable;
}

}  // namespace

Result<Profile> read_profile(std::string_view bytes) {
  try {
    // Each value takes far more memory than text.
    constexpr std::size_t kMostValues = 6'000'000;
    std::size_t values = 0;
    const json root = json::parse(bytes, [&values](int, json::parse_event_t, const json&) {
      return ++values <= kMostValues;
    });
    if (values > kMostValues) return Error{"this is larger than any profile; infer it again"};
    if (!root.is_object() || root.value("kind", json()) != "syndrome-profile") {
      return Error{"this is not a profile; expected what 'syndrome infer -o FILE' writes"};
    }
    if (number(root, "version", "profile") != 1) {
      return Error{"this profile is of another version of Syndrome; infer it again"};
    }
    Profile profile;
    profile.runs = number(root, "runs", "profile");
    for (const json& entry : list(root, "variables", "profile")) {
      const std::string name = text(entry, "name", "variables");
      profile.variables.insert_or_assign(name, variable_of(entry, "variable " + name));
    }
    return profile;
  } catch (const Bad& bad) {
    return Error{bad.message};
  } catch (const json::parse_error& wrong) {
    return Error{
        fmt::format("byte {}: this is not a profile; expected what 'syndrome infer -o FILE' writes",
                    wrong.byte)};
  } catch (const json::out_of_range&) {
    return Error{"this has a number that is no number of a profile; infer it again"};
  }
}

}  // namespace syndrome::enforce
