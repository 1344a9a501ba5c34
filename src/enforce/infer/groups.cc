#include "enforce/infer/groups.h"

#include <algorithm>
#include <tuple>

namespace syndrome::enforce {

void VariableGroups::add(const Group& names) {
  std::set<std::string> all(names.begin(), names.end());
  std::erase_if(groups_, [&all](const Group& known) {
    const bool common =
        std::ranges::any_of(known, [&](const auto& name) { return all.contains(name); });
    // Known groups do not overlap, so none that was passed over can overlap with what is added.
    if (common) all.insert(known.begin(), known.end());
    return common;
  });
  groups_.emplace_back(all.begin(), all.end());
  names_.clear();
  of_.clear();
  for (const Group& group : groups_) {
    std::string joined;
    for (const std::string& name : group) {
      joined += (joined.empty() ? "" : "+") + name;
      of_.emplace(name, names_.size());
    }
    names_.push_back(std::move(joined));
  }
}

const std::string* VariableGroups::name_of(std::string_view variable) const {
  const auto found = of_.find(variable);
  // A group of one is the variable itself.
  if (found == of_.end() || groups_[found->second].size() < 2) return nullptr;
  return &names_[found->second];
}

void Companions::merge(const Companions& other) {
  shared.insert(other.shared.begin(), other.shared.end());
  for (const auto& [name, functions] : other.cases) {
    cases[name].insert(functions.begin(), functions.end());
  }
  for (const auto& [names, functions] : other.together) {
    together[names].insert(functions.begin(), functions.end());
  }
}

bool Companions::correlated(const std::string& a, const std::string& b, unsigned percent) const {
  const auto both = together.find(std::minmax(a, b));
  if (both == together.end() || both->second.size() < kLeastTogether) return false;
  if (!shared.contains(a) || !shared.contains(b)) return false;
  const std::size_t most = std::max(cases.at(a).size(), cases.at(b).size());
  return both->second.size() * 100 >= most * percent;
}

std::vector<Group> Companions::groups(unsigned percent) const {
  struct Link {
    std::size_t both = 0;
    std::size_t most = 0;  // cases of either
    const std::pair<std::string, std::string>* names = nullptr;
  };
  std::vector<Link> links;
  for (const auto& [names, functions] : together) {
    if (!correlated(names.first, names.second, percent)) continue;
    links.push_back({functions.size(),
                     std::max(cases.at(names.first).size(), cases.at(names.second).size()),
                     &names});
  }
  std::ranges::sort(links, [](const Link& a, const Link& b) {
    const std::size_t stronger = a.both * b.most;
    const std::size_t weaker = b.both * a.most;
    return std::tuple(weaker, b.both, *a.names) < std::tuple(stronger, a.both, *b.names);
  });
  std::vector<Group> found;
  const auto group_of = [&found](const std::string& name) {
    const auto at = std::ranges::find_if(found, [&name](const Group& group) {
      return std::ranges::find(group, name) != group.end();
    });
    if (at != found.end()) return static_cast<std::size_t>(at - found.begin());
    found.push_back({name});
    return found.size() - 1;
  };
  for (const Link& link : links) {
    const std::size_t a = group_of(link.names->first);
    const std::size_t b = group_of(link.names->second);
    if (a == b) continue;
    const bool all = std::ranges::all_of(found[a], [&](const std::string& one) {
      return std::ranges::all_of(
          found[b], [&](const std::string& other) { return correlated(one, other, percent); });
    });
    if (!all) continue;
    found[a].insert(found[a].end(), found[b].begin(), found[b].end());
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(b));
  }
  std::erase_if(found, [](const Group& group) { return group.size() < 2; });
  for (Group& group : found) std::ranges::sort(group);
  std::ranges::sort(found);
  return found;
}

}  // namespace syndrome::enforce
