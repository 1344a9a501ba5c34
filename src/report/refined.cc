#include "report/refined.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/cells.h"
#include "report/report.h"
#include "report/words.h"
#include "spec/namer.h"

namespace syndrome::report {
namespace {

using check::Candidate;
using check::Refinement;
using State = Candidate::State;

constexpr std::size_t kPageColumns = 100;

/// An entry of the spec, and the functions that it stands for.
struct Line {
  std::string entry;  // empty: the name cannot be written into a spec
  std::vector<std::string> functions;
  Candidate all;  // of them together; the reason of the first
};

struct Lists {
  std::vector<Line> atomic;   // ascending by entry
  std::vector<Line> exclude;  // by state, then by entry
};

Lists lists_of(const Refinement& refinement) {
  std::vector<std::string> names;
  for (const auto& [name, candidate] : refinement.functions()) names.push_back(name);
  const spec::Namer namer(names);
  const auto state = [&refinement](std::string_view name) {
    return refinement.functions().at(std::string(name)).state;
  };
  std::map<std::pair<State, std::string>, Line> lines;
  for (const auto& [name, candidate] : refinement.functions()) {
    const std::optional<std::string> entry = namer.entry_for(
        name, [&](std::string_view other) { return state(other) == candidate.state; });
    Line& line = lines[{candidate.state, entry.value_or("")}];
    if (line.functions.empty()) {
      line.entry = entry.value_or("");
      line.all = candidate;
    } else {
      Candidate& all = line.all;
      // Of several, the one of which least is known speaks for all: so a number is never too high.
      all.use.contended = std::min(all.use.contended, candidate.use.contended);
      all.use.calls += candidate.use.calls;
      all.use.threads = std::max(all.use.threads, candidate.use.threads);
      all.runs = std::max(all.runs, candidate.runs);
      all.use.marked |= candidate.use.marked;
      all.blocks += candidate.blocks;
    }
    line.functions.push_back(name);
  }
  Lists lists;
  for (auto& [key, line] : lines) {
    (key.first == State::kAtomic ? lists.atomic : lists.exclude).push_back(std::move(line));
  }
  return lists;
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string times(const Candidate& candidate) {
  return fmt::format(
      "{} in {} by {}", many(candidate.use.calls, "call"), many(candidate.runs, "run"),
      candidate.use.threads == 1 ? "1 thread" : fmt::format("{} threads", candidate.use.threads));
}

std::string sure_words(const Line& line) {
  std::string text = fmt::format("{}: {}", name_of(check::sureness_of(line.all)), times(line.all));
  text += line.all.use.contended == 0 ? ", never with another thread at the same data"
                                      : fmt::format(", {}{} with another thread at the same data",
                                                    line.functions.size() > 1 ? "at least " : "",
                                                    grouped(line.all.use.contended));
  if (line.functions.size() > 1) text += fmt::format(" ({} functions)", line.functions.size());
  return text;
}

std::string why_words(const Line& line) {
  switch (line.all.state) {
    case State::kMain: return "the program's main function";
    case State::kEntry: return fmt::format("threads begin here; {}", times(line.all));
    default: break;
  }
  std::string text = fmt::format("run {}: {}", line.all.run, line.all.reason);
  if (line.all.blocks > 1) text += fmt::format(" (seen {} times)", grouped(line.all.blocks));
  if (line.all.use.marked) {
    text += ". The program says that it is a block (SYNDROME_ATOMIC, or begin in the trace)";
  }
  return text;
}

class SpecWriter {
 public:
  SpecWriter(const Refinement& refinement, const RefinedFrom& from)
      : refinement_(refinement), from_(from), lists_(lists_of(refinement)) {}

  std::string write() {
    write_head();
    out_ += "\n[blocks]\natomic = [\n";
    for (const Line& line : lists_.atomic) write_line(line, sure_words(line));
    out_ += "]\nexclude = [\n";
    for (const Line& line : lists_.exclude) write_line(line, why_words(line));
    out_ += "]\n";
    return std::move(out_);
  }

 private:
  void comment(std::string_view text, std::size_t indent) {
    for (const std::string& each : wrap(clean(text), kPageColumns - indent - 2)) {
      out_ += std::string(indent, ' ') + "# " + each + "\n";
    }
  }

  void write_head() {
    std::array<std::size_t, 3> sure{};
    for (const Line& line : lists_.atomic) {
      ++sure.at(static_cast<std::size_t>(check::sureness_of(line.all)));
    }
    const std::size_t violated = static_cast<std::size_t>(std::ranges::count(
        lists_.exclude, State::kViolated, [](const Line& line) { return line.all.state; }));
    comment(fmt::format("Learned by syndrome refine {} from {} of {}{}.", SYNDROME_VERSION,
                        many(refinement_.runs(), "run"), from_.what,
                        from_.left_out == 0 ? std::string()
                                            : fmt::format("; {} failed and {} left out",
                                                          many(from_.left_out, "more run"),
                                                          from_.left_out == 1 ? "was" : "were")),
            0);
    comment(fmt::format("{} atomic in all of them: {} tested, {} little tested, {} not tested. {} "
                        "violated and excluded.",
                        many(lists_.atomic.size(), "entry is", "entries are"), sure[0], sure[1],
                        sure[2], many(violated, "entry was", "entries were")),
            0);
    if (!from_.stable) {
      comment(fmt::format("NOT STABLE: only the last {} dropped nothing new.",
                          many(from_.quiet, "run")),
              0);
    }
    comment(
        "Tested: in at least 30 calls another thread was at the same data meanwhile, and "
        "each call still ran as if alone. Not tested: no call was disturbed.",
        0);
  }

  void write_line(const Line& line, const std::string& words) {
    comment(words, 2);
    if (line.entry.empty()) {
      for (const std::string& name : line.functions) {
        comment(fmt::format("{} (cannot be named in a spec)", name), 2);
      }
      return;
    }
    out_ += fmt::format("  {},\n", toml_string(line.entry));
  }

  static std::string many(std::uint64_t number, std::string_view noun) {
    return report::many(number, noun);
  }
  static std::string many(std::uint64_t number, std::string_view one, std::string_view several) {
    return fmt::format("{} {}", grouped(number), number == 1 ? one : several);
  }

  const Refinement& refinement_;
  const RefinedFrom& from_;
  Lists lists_;
  std::string out_;
};

std::string_view why_name(State state) {
  switch (state) {
    case State::kMain: return "main";
    case State::kEntry: return "thread-entry";
    case State::kViolated: return "violated";
    case State::kAtomic: break;
  }
  return "";
}

}  // namespace

std::string to_spec(const Refinement& refinement, const RefinedFrom& from) {
  return SpecWriter(refinement, from).write();
}

std::string to_refined_json(const Refinement& refinement, const RefinedFrom& from) {
  using Json = nlohmann::ordered_json;
  const Lists lists = lists_of(refinement);
  Json document = {{"version", 1},
                   {"tool", {{"name", "syndrome"}, {"version", SYNDROME_VERSION}}},
                   {"runs",
                    {{"of", from.what},
                     {"passed", refinement.runs()},
                     {"left_out", from.left_out},
                     {"quiet", from.quiet},
                     {"stable", from.stable}}}};
  const auto common = [](const Line& line) {
    Json object = Json::object();
    if (!line.entry.empty()) object["entry"] = line.entry;
    object["functions"] = line.functions;
    object["calls"] = line.all.use.calls;
    object["runs"] = line.all.runs;
    object["threads"] = line.all.use.threads;
    if (line.all.use.marked) object["marked"] = true;
    return object;
  };
  Json& atomic = document["atomic"] = Json::array();
  for (const Line& line : lists.atomic) {
    Json object = common(line);
    object["contended"] = line.all.use.contended;
    object["certainty"] = name_of(check::sureness_of(line.all));
    atomic.push_back(std::move(object));
  }
  Json& exclude = document["exclude"] = Json::array();
  for (const Line& line : lists.exclude) {
    Json object = common(line);
    object["why"] = why_name(line.all.state);
    if (line.all.state == State::kViolated) {
      object["run"] = line.all.run;
      object["violations"] = line.all.blocks;
    }
    object["reason"] = why_words(line);
    exclude.push_back(std::move(object));
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

/// A variable's name without its address, which is another one in the next run.
std::string_view without_address(std::string_view target) {
  const std::size_t at = target.rfind('@');
  const bool address =
      at != std::string_view::npos && at + 1 < target.size() &&
      target.find_first_not_of("0123456789abcdef~", at + 1) == std::string_view::npos;
  return address ? target.substr(0, at) : target;
}

/// Without event numbers: the recording may be gone when somebody reads this.
std::string edge(const Site& from, const Site& to) {
  const auto place = [](const Site& site) {
    return site.place.known() ? fmt::format(" ({})", short_text(site.place)) : std::string();
  };
  const bool same = target_space(from.op) == target_space(to.op) && from.target == to.target;
  return fmt::format("{} {}{} before {} {}{}", thread_words(from.thread),
                     says(from.op, without_address(from.target)), place(from),
                     from.thread == to.thread ? "it" : thread_words(to.thread),
                     same ? says_it(to.op) : says(to.op, without_address(to.target)), place(to));
}

}  // namespace

std::vector<std::string> reasons_of(const std::string& file, const check::PassResult& pass) {
  constexpr std::size_t kToldEdges = 4;
  std::vector<std::string> reasons;
  const Report report = make_report(file, pass);
  for (const Finding& finding : report.checks.front().findings) {
    std::string reason;
    const std::size_t told = std::min(finding.cycle.size(), kToldEdges);
    for (std::size_t i = 0; i < told; ++i) {
      const Site* from = finding.site_at(finding.cycle[i].from);
      const Site* to = finding.site_at(finding.cycle[i].to);
      if (from == nullptr || to == nullptr) continue;
      reason += (reason.empty() ? "" : ", and ") + edge(*from, *to);
    }
    if (told < finding.cycle.size()) {
      reason += fmt::format(", and {}", many(finding.cycle.size() - told, "more edge"));
    }
    reasons.push_back(reason.empty() ? finding.message : reason);
  }
  return reasons;
}

}  // namespace syndrome::report
