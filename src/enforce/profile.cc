#include "enforce/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace syndrome::enforce {
namespace {

std::set<std::string> common(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  return both;
}

std::string list_of(const std::set<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() == 1 ? "" : ", ") + quoted(name);
  return text + "]";
}

std::string spot_of(std::string_view key, const Spot& spot) {
  return fmt::format("\"{}\": {}, \"{}_kind\": \"{}\"", key, quoted(spot.place), key,
                     name_of(spot.kind));
}

/// "/src/log.cc:867:3 f" -> "log.cc:867:3".
std::string_view short_place(std::string_view place) {
  const std::string_view path = place.substr(0, place.find(' '));
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t plus = name.find('+');
    parts.emplace_back(name.substr(0, plus));
    if (plus == std::string_view::npos) return parts;
    name.remove_prefix(plus + 1);
  }
}

AtomicType needed_for(const PairKey& key, const Pair& pair) {
  const bool reads = key.first.kind == SpotKind::kRead && key.second.kind == SpotKind::kRead;
  return reads ? std::min(pair.type, AtomicType::kRead) : pair.type;
}

bool is_guarded(const Variable& variable, const Pair& pair) {
  return !common(variable.guards, pair.guards).empty();
}

void Profile::merge(const Profile& other) {
  runs += other.runs;
  for (const auto& [name, theirs] : other.variables) {
    const auto [at, is_new] = variables.try_emplace(name, theirs);
    if (is_new) continue;
    Variable& ours = at->second;
    // Without a shared instance there is nothing that could have been unguarded.
    if (ours.instances == 0) {
      ours.guards = theirs.guards;
    } else if (theirs.instances != 0) {
      ours.guards = common(ours.guards, theirs.guards);
    }
    ours.instances += theirs.instances;
    ours.accesses.insert(theirs.accesses.begin(), theirs.accesses.end());
    for (const auto& [key, pair] : theirs.pairs) {
      const auto [known, added] = ours.pairs.try_emplace(key, pair);
      if (added) continue;
      known->second.type = std::min(known->second.type, pair.type);
      known->second.seen += pair.seen;
      known->second.guards = common(known->second.guards, pair.guards);
    }
  }
}

std::string to_json(const Profile& profile) {
  std::string text =
      fmt::format("{}, \"runs\": {},\n\"variables\": [", kProfileBegins, profile.runs);
  bool first = true;
  for (const auto& [name, variable] : profile.variables) {
    text +=
        fmt::format("{}\n{{\"name\": {}, \"instances\": {}, \"guards\": {},\n \"accesses\": [",
                    first ? "" : ",", quoted(name), variable.instances, list_of(variable.guards));
    first = false;
    bool inner = true;
    for (const Access& access : variable.accesses) {
      text += fmt::format("{}\n  {{\"function\": {}, {}}}", inner ? "" : ",",
                          quoted(access.function), spot_of("at", access.spot));
      inner = false;
    }
    text += "],\n \"pairs\": [";
    inner = true;
    for (const auto& [key, pair] : variable.pairs) {
      text += fmt::format(
          "{}\n  {{\"function\": {}, {}, {}, \"type\": \"{}\", \"seen\": {}, \"guards\": {}}}",
          inner ? "" : ",", quoted(key.function), spot_of("first", key.first),
          spot_of("second", key.second), name_of(pair.type), pair.seen, list_of(pair.guards));
      inner = false;
    }
    text += "]}";
  }
  return text + "]}\n";
}

std::string to_text(const Profile& profile) {
  std::uint64_t exclusive = 0;
  std::uint64_t read = 0;
  std::uint64_t guarded = 0;
  std::uint64_t none = 0;
  std::string body;
  for (const auto& [name, variable] : profile.variables) {
    std::map<std::string, std::vector<std::string>> by_function;
    for (const auto& [key, pair] : variable.pairs) {
      if (pair.type == AtomicType::kNone) {
        ++none;
        continue;
      }
      if (is_guarded(variable, pair)) {
        ++guarded;
        continue;
      }
      ++(pair.type == AtomicType::kRead ? read : exclusive);
      by_function[key.function].push_back(
          fmt::format("    {:<9} {} {} .. {} {}   seen {}\n", name_of(pair.type),
                      short_place(key.first.place), name_of(key.first.kind),
                      short_place(key.second.place), name_of(key.second.kind), pair.seen));
    }
    if (by_function.empty()) continue;
    body += name + "\n";
    for (const auto& [function, lines] : by_function) {
      body += "  " + function + "\n";
      for (const std::string& line : lines) body += line;
    }
  }
  return fmt::format(
      "{}{} variable{} of {} run{}: {} exclusive-atomic and {} read-atomic pairs; {} that the "
      "program's own locks keep, {} that are not atomic\n",
      body, profile.variables.size(), profile.variables.size() == 1 ? "" : "s", profile.runs,
      profile.runs == 1 ? "" : "s", exclusive, read, guarded, none);
}

}  // namespace syndrome::enforce
