#include "explore/answers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "report/html.h"
#include "report/quoted.h"
#include "report/words.h"

namespace syndrome::explore {
namespace {

using report::quoted;

constexpr std::uint64_t kMostColumns = 4096;
constexpr std::uint64_t kMostLanes = 256;
constexpr std::uint64_t kMostRows = 1000;      // of events, for one answer
constexpr std::size_t kMostListed = 4096;      // threads that the page lists
constexpr std::size_t kMostMatches = 30;       // names, of each space
constexpr std::size_t kMostShownSpans = 4000;  // blocks, and waits

/// Of ids that come from an index file, which may be anybody's.
std::string name_in(const Names& names, Space space, std::uint32_t id) {
  const StringTable& table = names.table(space);
  return id < table.size() ? std::string(table[id]) : fmt::format("#{}", id);
}

Result<std::uint64_t> number(const Request& request, std::string_view name,
                             std::optional<std::uint64_t> otherwise = std::nullopt) {
  const auto found = request.query.find(name);
  if (found == request.query.end() && otherwise) return *otherwise;
  std::uint64_t value = 0;
  const std::string text = found == request.query.end() ? "" : found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error{fmt::format("{}: expected a number, found '{}'", name, text)};
  }
  return value;
}

/// from … to of the query, both included there.
Result<Range> range(const Request& request, EventNumber events) {
  const Result<std::uint64_t> from = number(request, "from", 1);
  if (!from) return from.error();
  const Result<std::uint64_t> to = number(request, "to", events);
  if (!to) return to.error();
  Range result;
  result.from = std::clamp<EventNumber>(*from, 1, std::max<EventNumber>(1, events));
  result.to = std::clamp<EventNumber>(*to, result.from - 1, events) + 1;
  return result;
}

std::string list(const std::vector<std::uint64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

std::string_view word_of(Space space) {
  switch (space) {
    case Space::kThread: return "thread";
    case Space::kVariable: return "variable";
    case Space::kLock: return "lock";
    case Space::kBarrier: return "barrier";
    case Space::kSemaphore: return "semaphore";
    case Space::kCondition: return "condition";
    case Space::kLabel: return "function";
    case Space::kObject: return "object";
    case Space::kSite: return "place";
  }
  return "";
}

std::optional<Space> space_of(std::string_view word) {
  for (std::size_t i = 0; i < kSpaceCount; ++i) {
    if (word_of(static_cast<Space>(i)) == word) return static_cast<Space>(i);
  }
  return std::nullopt;
}

std::string spans_json(const Spans& spans, const Names& names) {
  std::string text = "\"blocks\":[";
  for (std::size_t i = 0; i < std::min(spans.blocks.size(), kMostShownSpans); ++i) {
    const BlockSpan& block = spans.blocks[i];
    text += fmt::format(
        "{}[{},{},{},{}]", i == 0 ? "" : ",", block.thread.value, block.begin, block.end,
        quoted(report::function_words(name_in(names, Space::kLabel, block.label.value))));
  }
  text += "],\"waits\":[";
  for (std::size_t i = 0; i < std::min(spans.waits.size(), kMostShownSpans); ++i) {
    const Wait& wait = spans.waits[i];
    text += fmt::format("{}[{},{},{},{}]", i == 0 ? "" : ",", wait.thread.value, wait.after,
                        wait.until, quoted(name_in(names, Space::kLock, wait.lock.value)));
  }
  return text + "]";
}

}  // namespace

Answer Answers::operator()(const Request& request) const {
  if (request.path.empty()) return {200, "text/html", report::served_page()};
  if (request.path == "api/findings") return {200, "application/json", findings_()};
  using Method = Result<std::string> (Answers::*)(const Request&) const;
  static const std::map<std::string_view, Method> kMethods = {
      {"api/view", &Answers::view},     {"api/events", &Answers::events},
      {"api/counts", &Answers::counts}, {"api/names", &Answers::names},
      {"api/find", &Answers::find},
  };
  const auto method = kMethods.find(request.path);
  if (method == kMethods.end() && request.path != "api/trace") {
    return {404, "application/json", R"({"error":"there is no such page"})"};
  }
  const Result<std::string> body =
      method == kMethods.end() ? trace() : (this->*method->second)(request);
  if (!body) {
    return {400, "application/json",
            fmt::format(R"({{"error":{}}})", quoted(body.error().message))};
  }
  return {200, "application/json", *body};
}

Result<std::string> Answers::trace() const {
  const Names& all = explorer_.names();
  const Result<std::vector<std::pair<std::uint32_t, std::uint64_t>>> sums =
      explorer_.counts({1, explorer_.events() + 1});
  if (!sums) return sums.error();
  std::vector<std::uint64_t> events(explorer_.index().threads);
  std::map<std::uint32_t, std::uint64_t> facts;
  for (const auto& [key, count] : *sums) {
    facts[fact_of(key)] += count;
    if (fact_of(key) < kEventKindCount) events[thread_of(key).index()] += count;
  }
  std::string threads;
  for (std::size_t i = 0; i < std::min(events.size(), kMostListed); ++i) {
    threads += fmt::format("{}[{},{}]", i == 0 ? "" : ",",
                           quoted(report::thread_words(all.thread(ThreadId(i)))), events[i]);
  }
  std::string warnings;
  for (const std::string& warning : explorer_.index().warnings) {
    warnings += (warnings.empty() ? "" : ",") + quoted(warning);
  }
  return fmt::format(
      R"({{"file":{},"format":{},"events":{},"threads":{},"variables":{},"locks":{},"waits":{},"lanes":[{}],"warnings":[{}]}})",
      quoted(file_), quoted(explorer_.index().format), explorer_.events(),
      explorer_.index().threads, all.table(Space::kVariable).size(), all.table(Space::kLock).size(),
      facts[kWaits], threads, warnings);
}

Result<std::string> Answers::view(const Request& request) const {
  const Result<Range> part = range(request, explorer_.events());
  if (!part) return part.error();
  const Result<std::uint64_t> columns = number(request, "columns", 1000);
  if (!columns) return columns.error();
  const Result<std::uint64_t> thread = number(request, "thread", 0);
  if (!thread) return thread.error();
  const Result<std::uint64_t> threads = number(request, "threads", 64);
  if (!threads) return threads.error();
  const std::uint64_t first = std::min<std::uint64_t>(*thread, explorer_.index().threads);
  const Result<View> view =
      explorer_.view(*part, std::clamp<std::uint64_t>(*columns, 1, kMostColumns),
                     ThreadId(static_cast<std::uint32_t>(first)), std::min(*threads, kMostLanes));
  if (!view) return view.error();
  std::string lanes;
  for (const Lane& lane : view->lanes) {
    lanes += fmt::format(R"({}{{"thread":{},"events":{},"writes":{},"inside":{},"waited":{}}})",
                         lanes.empty() ? "" : ",", lane.thread.value, list(lane.events),
                         list(lane.writes), list(lane.inside), list(lane.waited));
  }
  std::string text = fmt::format(
      R"({{"from":{},"to":{},"first":{},"width":{},"events":{},"waited":{},"lanes":[{}])",
      part->from, part->to - 1, view->first, view->width, list(view->events), list(view->waited),
      lanes);
  if (part->to - part->from <= kMostSpanned) {
    const Result<Spans> spans = explorer_.spans(*part);
    if (!spans) return spans.error();
    text += "," + spans_json(*spans, explorer_.names());
  }
  return text + "}";
}

Result<std::string> Answers::events(const Request& request) const {
  const Result<std::uint64_t> count = number(request, "count", 100);
  if (!count) return count.error();
  Result<Range> part = range(request, explorer_.events());
  if (!part) return part.error();
  part->to = std::min({part->to, part->from + *count, part->from + kMostRows});
  const Names& all = explorer_.names();
  std::string rows;
  const Status status = explorer_.each(*part, [&](EventNumber event_number, const Event& event) {
    const std::optional<Space> space = target_space(event.kind);
    const std::string_view target = space ? all.of(*space, event.target) : std::string_view();
    rows += fmt::format("{}[{},{},{},{},{}]", rows.empty() ? "" : ",", event_number,
                        event.thread.value, quoted(syndrome::word_of(event.kind, event.order)),
                        quoted(report::says(event.kind, target)), quoted(all.site(event.site)));
    return true;
  });
  if (!status) return status.error();
  return fmt::format(R"({{"events":[{}]}})", rows);
}

Result<std::string> Answers::counts(const Request& request) const {
  const Result<Range> part = range(request, explorer_.events());
  if (!part) return part.error();
  const auto sums = explorer_.counts(*part);
  if (!sums) return sums.error();
  std::map<std::uint32_t, std::uint64_t> kinds;
  std::map<std::uint32_t, std::uint64_t> threads;
  for (const auto& [key, count] : *sums) {
    kinds[fact_of(key)] += count;
    if (fact_of(key) < kEventKindCount) threads[thread_of(key).value] += count;
  }
  std::string text;
  for (const auto& [fact, count] : kinds) {
    if (fact >= kEventKindCount) continue;
    text += fmt::format("{}[{},{}]", text.empty() ? "" : ",", quoted(kEventKindNames[fact]), count);
  }
  return fmt::format(
      R"({{"from":{},"to":{},"kinds":[{}],"threads":{},"inside":{},"waits":{},"waited":{}}})",
      part->from, part->to - 1, text, threads.size(), kinds[kInside], kinds[kWaits],
      kinds[kWaited]);
}

Result<std::string> Answers::names(const Request& request) const {
  const auto text = request.query.find("text");
  if (text == request.query.end()) return Error{"text: expected a part of a name"};
  std::string matches;
  for (const NameMatch& match : search_names(explorer_.names(), text->second, kMostMatches)) {
    matches += fmt::format("{}[{},{},{}]", matches.empty() ? "" : ",", quoted(word_of(match.space)),
                           match.id, quoted(explorer_.names().of(match.space, match.id)));
  }
  return fmt::format(R"({{"matches":[{}]}})", matches);
}

Result<std::string> Answers::find(const Request& request) const {
  const auto word = request.query.find("space");
  const std::optional<Space> space =
      word == request.query.end() ? std::nullopt : space_of(word->second);
  if (!space)
    return Error{"space: expected thread, variable, lock, function or another kind of name"};
  const Result<std::uint64_t> id = number(request, "id");
  if (!id) return id.error();
  const Result<std::uint64_t> from = number(request, "from", 1);
  if (!from) return from.error();
  const auto step = request.query.find("step");
  const bool forwards = step == request.query.end() || step->second != "-1";
  if (*id >= explorer_.names().table(*space).size()) return Error{"id: there is no such name"};
  const Result<Explorer::Found> found =
      explorer_.find(*space, static_cast<std::uint32_t>(*id), *from, forwards);
  if (!found) return found.error();
  return fmt::format(R"({{"event":{},"resume":{}}})", found->event, found->resume);
}

}  // namespace syndrome::explore
