#include "report/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "check/registry.h"
#include "spec/pattern.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

/// Whether a name is of a file or module, and whether it is an innermost frame's: a few kinds look
/// at those alone (spec::Suppression).
struct Role {
  bool file = false;
  bool innermost = false;
};

/// Calls `each(name, role)` for every name that a suppression can match.
template <class Each>
void for_each_name(const Finding& finding, Each each) {
  const auto function = [&each](std::string_view name, bool innermost) {
    each(name, Role{false, innermost});
    each(spec::spoken_name(name), Role{false, innermost});
  };
  const auto place = [&](const Place& at, bool innermost) {
    each(at.file.empty() ? at.text : at.file, Role{true, innermost});
    function(at.function, innermost);
  };
  for (const Site& site : finding.sites) {
    place(site.place, site.stack.frames.empty());
    if (target_space(site.op) == Space::kLabel) {
      function(site.target, false);
    } else {
      each(site.target, Role{});
    }
    for (std::size_t i = 0; i < site.stack.frames.size(); ++i) {
      function(site.stack.frames[i].function, i == 0);
      place(site.stack.frames[i].place, i == 0);
    }
  }
  for (const Block& block : finding.blocks) {
    function(block.label, false);
    place(block.place, false);
  }
}

}  // namespace

Filter::Filter(Options options)
    : options_(std::move(options)),
      asked_(options_.suppressions.size()),
      matched_(options_.suppressions.size()) {
  for (const Report& report : options_.baseline) {
    for (const CheckReport& entry : report.checks) {
      for (const Finding& finding : entry.findings) {
        known_.try_emplace(finding.fingerprint, entry.check);
      }
    }
  }
  options_.baseline.clear();
}

const Filter::Indices& Filter::matching(std::string_view name) {
  const auto [at, added] = remembered_.try_emplace(std::string(name));
  if (added) {
    for (std::size_t i = 0; i < options_.suppressions.size(); ++i) {
      if (options_.suppressions[i].pattern.matches(name)) at->second.push_back(i);
    }
  }
  return at->second;
}

std::size_t Filter::suppressor(const Finding& finding) {
  std::size_t first = kNone;
  for_each_name(finding, [&](std::string_view name, const Role& role) {
    if (name.empty()) return;
    for (const std::size_t i : matching(name)) {
      const spec::Suppression& one = options_.suppressions[i];
      if (!one.about(finding.check, finding.rule)) continue;
      if (one.files_only() && !role.file) continue;
      if (one.innermost_only() && !role.innermost) continue;
      matched_[i] = true;
      first = std::min(first, i);
    }
  });
  return first;
}

void Filter::apply(CheckReport& entry, bool last) {
  std::map<std::size_t, std::uint64_t> suppressed;  // by suppression
  const std::size_t before = entry.findings.size();
  std::vector<Finding> left;
  for (Finding& finding : entry.findings) {
    const std::size_t by = options_.suppressions.empty() ? kNone : suppressor(finding);
    if (by != kNone) {
      ++suppressed[by];
      entry.left_out.push_back({std::move(finding), options_.suppressions[by].line});
    } else if (known_.contains(finding.fingerprint)) {
      seen_.insert(finding.fingerprint);
      ++entry.known;
      entry.left_out.push_back({std::move(finding), 0});
    } else {
      left.push_back(std::move(finding));
    }
  }
  entry.findings = std::move(left);
  for (const auto& [i, findings] : suppressed) {
    const spec::Suppression& one = options_.suppressions[i];
    entry.suppressed.push_back({one.line, one.text, findings});
  }
  if (options_.has_baseline && last) {
    entry.gone = 0;
    for (const auto& [fingerprint, check] : known_) {
      if (check == entry.check && !seen_.contains(fingerprint)) ++*entry.gone;
    }
  }
  if (entry.verdict == check::Verdict::kViolated && before != 0 && entry.findings.empty()) {
    entry.verdict = entry.complete ? check::Verdict::kClean : check::Verdict::kUndecided;
  }
  if (options_.first && entry.findings.size() > 1) entry.findings.resize(1);
}

void Filter::apply(Report& report, bool last) {
  for (CheckReport& entry : report.checks) {
    const check::Registration* const known = check::find(entry.check);
    for (std::size_t i = 0; known != nullptr && i < options_.suppressions.size(); ++i) {
      for (const check::Rule& rule : known->rules) {
        if (options_.suppressions[i].about(entry.check, rule.name)) asked_[i] = true;
      }
    }
    apply(entry, last);
  }
}

std::vector<std::string> Filter::unmatched() const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < options_.suppressions.size(); ++i) {
    if (!asked_[i] || matched_[i]) continue;
    const spec::Suppression& one = options_.suppressions[i];
    result.push_back(fmt::format("line {}: {} matched no finding", one.line, one.text));
  }
  return result;
}

}  // namespace syndrome::report
