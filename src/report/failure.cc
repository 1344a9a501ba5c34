#include "report/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>

#include "report/cells.h"
#include "report/places.h"
#include "report/verdict_words.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::uint32_t kMostSignals = 64;

/// Without the address that tells two objects apart.
std::string variable_words(const std::string& name) {
  return clean(name.substr(0, name.find('@')));
}

Site site_of(EventNumber number, const Event& event, const Names& names, Places& places) {
  Site site;
  site.event = number;
  site.thread = names.thread(event.thread);
  site.op = event.kind;
  site.target = names.of(*target_space(event.kind), event.target);
  site.place = places.of(event.site).front();
  return site;
}

std::string at_words(const Place& place) {
  return place.known() ? " at " + clean(short_text(place)) : std::string();
}

}  // namespace

std::string signal_name(std::uint32_t number) {
  const char* const known =
      number <= kMostSignals ? ::sigabbrev_np(static_cast<int>(number)) : nullptr;
  return known == nullptr ? fmt::format("SIG{}", number) : fmt::format("SIG{}", known);
}

std::optional<std::uint32_t> signal_number(std::string_view name) {
  for (std::uint32_t number = 1; number <= kMostSignals; ++number) {
    if (signal_name(number) == name) return number;
  }
  return std::nullopt;
}

Program program_of(const Ended& ended, const std::optional<check::FailureResult>& failure) {
  Program program;
  program.signal = ended.signal;
  program.number = ended.number;
  if (ended.thread) program.thread = *ended.thread == 0 ? "main" : fmt::format("T{}", *ended.thread);
  if (!failure || !failure->failure.thread) return program;
  const check::Failure& found = failure->failure;
  program.thread = failure->names.thread(*found.thread);
  program.function = failure->names.label(found.function);
  if (found.last == 0) return program;
  Places places(failure->names);
  places.prepare({found.last_event.site});
  program.place = places.of(found.last_event.site).front();
  return program;
}

std::vector<Cause> causes_of(const check::FailureResult& result) {
  const Names& names = result.names;
  Places places(names);
  std::vector<SiteId> sites;
  for (const check::Explanation& each : result.failure.explanations) {
    sites.push_back(each.read_event.site);
    sites.push_back(each.write_event.site);
  }
  places.prepare(sites);
  std::vector<Cause> causes;
  for (const check::Explanation& each : result.failure.explanations) {
    Cause& cause = causes.emplace_back();
    cause.kind = each.kind;
    cause.variable = names.variable(each.read_event.var());
    cause.read = each.read;
    cause.write = each.write;
    cause.thread = names.thread(each.read_event.thread);
    cause.writer = names.thread(each.write_event.thread);
    cause.function = names.label(each.function);
    cause.unfinished = each.open;
    cause.sites = {site_of(each.read, each.read_event, names, places),
                   site_of(each.write, each.write_event, names, places)};
    std::ranges::sort(cause.sites, {}, &Site::event);
  }
  return causes;
}

const Site* Cause::site_at(EventNumber event) const {
  const auto it = std::ranges::find(sites, event, &Site::event);
  return it == sites.end() ? nullptr : &*it;
}

std::string ended_words(const Report& report) {
  const Program& program = *report.program;
  std::string text = program.run == 0 ? "" : fmt::format("Run {}: ", program.run);
  text += file_words(report.trace);
  if (report.trace.kept) text += ": the program";
  text += program.signal ? fmt::format(" was killed by {}.", signal_name(program.number))
                         : fmt::format(" ended with exit code {}.", program.number);
  if (program.thread.empty()) return text;
  const std::string thread = clean(thread_words(program.thread));
  if (program.function.empty() && !program.place.known()) {
    return text + fmt::format(" Thread {} ended it.", thread);
  }
  text += fmt::format(" Thread {} was", thread);
  if (!program.function.empty()) text += " in " + clean(function_words(program.function));
  if (!program.place.known()) return text + ".";
  return text + fmt::format("{} last{}.", program.function.empty() ? "" : ",",
                            at_words(program.place));
}

std::string cause_words(const Cause& cause) {
  const std::string variable = variable_words(cause.variable);
  const auto place = [&cause](EventNumber event) {
    const Site* const site = cause.site_at(event);
    return site == nullptr ? std::string() : at_words(site->place);
  };
  const std::string in =
      cause.function.empty() ? "" : " in " + clean(function_words(cause.function));
  std::string text = fmt::format("{} had read {}{}. {} ", clean(thread_words(cause.thread)),
                                 variable, place(cause.read), clean(thread_words(cause.writer)));
  if (cause.kind == check::ExplanationKind::kStaleRead) {
    return text + fmt::format("has changed it since{}{}.", place(cause.write), in);
  }
  text += fmt::format("wrote it{}{}, which was not finished", place(cause.write), in);
  return text + (cause.unfinished ? "." : ": it wrote it again after that.");
}

std::string no_cause_words(const Report& report) {
  if (report.program->thread.empty()) {
    return "It is not known which thread ended the program, and so neither what it had read.";
  }
  return fmt::format(
      "Nothing that was recorded: what {} had read last was neither half done by another thread "
      "nor changed since.",
      clean(thread_words(report.program->thread)));
}

}  // namespace syndrome::report
