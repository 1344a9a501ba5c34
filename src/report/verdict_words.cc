#include "report/verdict_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "report/cells.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kNamedInHeadline = 3;

/// "x, y and 3 other variables"
std::string listed(const std::vector<std::string>& names, std::string_view noun) {
  std::string text;
  const std::size_t named = std::min(names.size(), kNamedInHeadline);
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == named && named == names.size();
    text += i == 0 ? "" : last ? " and " : ", ";
    text += names[i];
  }
  if (names.size() > named) text += " and " + many(names.size() - named, noun);
  return text;
}

/// ": on balance, total and 3 other variables."
std::string raced_on(const CheckReport& entry) {
  std::vector<std::string> names;
  for (const Finding& finding : entry.findings) {
    if (finding.events.empty() || finding.site_at(finding.events.front()) == nullptr) continue;
    std::string name = clean(finding.site_at(finding.events.front())->target);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names.empty() ? "." : ": on " + listed(names, "other variable") + ".";
}

/// ": on balance, total and 3 other variables."
std::string undetermined(const CheckReport& entry) {
  std::vector<std::string> names;
  for (const Finding& finding : entry.findings) {
    std::string name = clean(finding.variable);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names.empty() ? "." : ": on " + listed(names, "other variable") + ".";
}

/// ": checking, savings and 3 other locations were not seen or left consistent."
std::string inconsistent(const CheckReport& entry) {
  std::vector<std::string> names;
  for (const Finding& finding : entry.findings) {
    for (const std::string& location : finding.locations) {
      std::string name = clean(location.substr(0, location.find('@')));
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  if (names.empty()) return ".";
  return fmt::format(": {} {} not seen or left consistent.", listed(names, "other location"),
                     names.size() == 1 ? "was" : "were");
}

/// ": transfer, audit and 3 other blocks did not run as if alone."
std::string violators(const CheckReport& entry) {
  std::vector<std::string> names;
  for (const Finding& finding : entry.findings) {
    const Block* block = finding.block_at(finding.block);
    if (block == nullptr) continue;
    const std::string name =
        clean(!block->label.empty() ? function_words(block->label) : block_words(finding, *block));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (names.empty()) return ".";
  const std::string all = listed(names, "other block");
  if (entry.check == "determinism") {
    return fmt::format(": {} {} not deterministic.", all, names.size() == 1 ? "is" : "are");
  }
  return ": " + all + " did not run as if alone.";
}

/// "3 blocks"; those of determinism are others than those of the trace.
std::string blocks_words(const Trace& trace, const CheckReport& entry) {
  if (entry.check == "atomic-sets") {
    const auto units = std::ranges::find(entry.stats, "units of work", &check::Stat::name);
    const auto sets = std::ranges::find(entry.stats, "atomic sets", &check::Stat::name);
    if (units != entry.stats.end() && sets != entry.stats.end()) {
      return fmt::format("{}, {}", many(sets->value, "atomic set"),
                         many(units->value, "unit of work", "units of work"));
    }
  }
  if (entry.check != "determinism") return many(trace.blocks, "block");
  const auto blocks = std::ranges::find(entry.stats, "deterministic blocks", &check::Stat::name);
  return blocks == entry.stats.end() ? many(trace.blocks, "block")
                                     : many(blocks->value, "deterministic block");
}

}  // namespace

std::string capital(std::string_view word) {
  std::string result(word);
  if (!result.empty()) {
    result[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[0])));
  }
  return result;
}

std::string file_words(const Trace& trace) {
  return trace.file == "-" ? "standard input" : clean(trace.file);
}

bool left_out(const CheckReport& entry) {
  return !entry.suppressed.empty() || entry.known != 0;
}

std::string verdict_words(const Trace& trace, const CheckReport& entry) {
  const std::string check = capital(clean(entry.check));
  const std::string file = file_words(trace);
  if (entry.verdict == check::Verdict::kClean) {
    return fmt::format("{} clean: no {}{} in {}.", check, left_out(entry) ? "other " : "",
                       entry.check == "races" ? "race" : "violation", file);
  }
  if (entry.verdict == check::Verdict::kUndecided) {
    return fmt::format("{} undecided for {}.", check, file);
  }
  if (entry.check == "races") return fmt::format("{} found in {}{}", check, file, raced_on(entry));
  if (entry.check == "nondeterminism") {
    return fmt::format("{} found in {}{}", check, file, undetermined(entry));
  }
  return fmt::format("{} violated in {}{}", check, file,
                     entry.check == "atomic-sets" ? inconsistent(entry) : violators(entry));
}

std::string size_words(const Trace& trace, const CheckReport& entry) {
  std::string text;
  if (!entry.findings.empty()) text = many(entry.findings.size(), "finding") + " in ";
  text += fmt::format("{}, {}, {}, {}, {}", many(trace.events, "event"),
                      many(trace.threads, "thread"), many(trace.variables, "variable"),
                      many(trace.locks, "lock"), blocks_words(trace, entry));
  if (!entry.engine.empty()) text += fmt::format("; engine {}", clean(entry.engine));
  return text + ".";
}

std::string limits_words(const Trace& trace, const CheckReport& entry) {
  if (entry.check == "races") {
    return "Whenever two threads accessed one variable and one of them wrote, something ordered "
           "them, or both were atomic. This is what happened in one run: what did not run, and "
           "what the trace does not have, was not judged.";
  }
  if (entry.check == "atomic-sets") {
    const auto cycles =
        std::ranges::find(entry.stats, "edges that closed a cycle", &check::Stat::name);
    if (cycles != entry.stats.end()) {
      return "The units of work on each atomic set ran as if one after the other: no cycle of "
             "conflicts, and so none of the 14 patterns. This is what happened in one run: another "
             "schedule may still break them, and code that did not run was not judged.";
    }
    return "None of the 14 patterns occurred: every unit of work found and left the atomic sets "
           "that it works on as if no other unit had been there. This is what happened in one "
           "run: another schedule may still break them, and code that did not run was not judged.";
  }
  if (entry.check != "atomicity") return {};
  return fmt::format(
      "{}{} ran as if one after the other. This is what happened in one run: "
      "another input or another schedule may still break them, and code that "
      "did not run, or ran outside of blocks, was not judged.",
      left_out(entry) ? "But for what was left out, the " : "The ",
      trace.blocks == 1 ? std::string("block") : fmt::format("{} blocks", grouped(trace.blocks)));
}

}  // namespace syndrome::report
