// Saved findings may come from anywhere. Every field is checked before it is believed, and what
// the other formats rely on is checked too: sites and blocks ascend, and whatever a cycle or a
// site refers to is there.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "check/patterns.h"
#include "report/failure.h"
#include "report/json.h"

namespace syndrome::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "an array";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "true or false";
    case Json::value_t::number_float: return "a fraction";
    case Json::value_t::number_integer: return "a negative number";
    default: return "a number";
  }
}

/// Takes values out of a document, and remembers the first thing that is wrong with it. After an
/// error all that it gives is empty; so callers look at error() once, at the end.
class Reader {
 public:
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  void fail(const std::string& path, std::string_view expected, std::string_view found) {
    if (!error_) error_ = Error{fmt::format("{}: expected {}, found {}", path, expected, found)};
  }

  /// The member `key` of an object, or nullptr when it is not there.
  const Json* member(const Json& object, const char* key, const std::string& path, bool required) {
    if (!object.is_object()) {
      fail(path, "an object", kind_of(object));
      return nullptr;
    }
    const auto it = object.find(key);
    if (it != object.end()) return &*it;
    if (required) fail(fmt::format("{}.{}", path, key), "a value", "nothing");
    return nullptr;
  }

  std::string text(const Json& object, const char* key, const std::string& path,
                   bool required = true) {
    const Json* value = member(object, key, path, required);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get_ref<const std::string&>();
    fail(fmt::format("{}.{}", path, key), "a string", kind_of(*value));
    return {};
  }

  std::uint64_t number(const Json& object, const char* key, const std::string& path,
                       bool required = true,
                       std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const Json* value = member(object, key, path, required);
    if (value == nullptr) return 0;
    if (value->is_number_unsigned()) {
      const auto number = value->get<std::uint64_t>();
      if (number <= most) return number;
      fail(fmt::format("{}.{}", path, key), fmt::format("at most {}", most),
           fmt::format("{}", number));
      return 0;
    }
    fail(fmt::format("{}.{}", path, key), "a whole number", kind_of(*value));
    return 0;
  }

  double seconds(const Json& object, const std::string& path, bool required) {
    const Json* value = member(object, "seconds", path, required);
    if (value == nullptr) return 0;
    if (value->is_number() && value->get<double>() >= 0) return value->get<double>();
    fail(path + ".seconds", "a number from 0", kind_of(*value));
    return 0;
  }

  bool flag(const Json& object, const char* key, const std::string& path, bool otherwise) {
    const Json* value = member(object, key, path, false);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    fail(fmt::format("{}.{}", path, key), "true or false", kind_of(*value));
    return otherwise;
  }

  /// Calls `each(element, path)` for the elements of an array.
  template <class Each>
  void list(const Json& object, const char* key, const std::string& path, bool required,
            Each each) {
    const Json* value = member(object, key, path, required);
    if (value == nullptr) return;
    const std::string here = fmt::format("{}.{}", path, key);
    if (!value->is_array()) return fail(here, "an array", kind_of(*value));
    for (std::size_t i = 0; i < value->size() && !error_; ++i) {
      each((*value)[i], fmt::format("{}[{}]", here, i));
    }
  }

  std::vector<std::string> texts(const Json& object, const char* key, const std::string& path) {
    std::vector<std::string> result;
    list(object, key, path, false, [&](const Json& value, const std::string& here) {
      if (!value.is_string()) return fail(here, "a string", kind_of(value));
      result.push_back(value.get_ref<const std::string&>());
    });
    return result;
  }

  std::vector<std::uint64_t> numbers(const Json& object, const char* key, const std::string& path) {
    std::vector<std::uint64_t> result;
    list(object, key, path, false, [&](const Json& value, const std::string& here) {
      if (!value.is_number_unsigned()) return fail(here, "a whole number", kind_of(value));
      result.push_back(value.get<std::uint64_t>());
    });
    return result;
  }

  /// One of the values of an enumeration, by its name.
  template <class Value, std::size_t size>
  Value word(const Json& object, const char* key, const std::string& path,
             const std::array<Value, size>& values) {
    const std::string found = text(object, key, path);
    std::string known;
    for (const Value value : values) {
      if (name_of(value) == found) return value;
      known += known.empty() ? "" : ", ";
      known += name_of(value);
    }
    fail(fmt::format("{}.{}", path, key), fmt::format("one of {}", known),
         fmt::format("\"{}\"", found));
    return values[0];
  }

 private:
  std::optional<Error> error_;
};

constexpr std::array<check::Verdict, 3> kVerdicts = {
    check::Verdict::kClean, check::Verdict::kViolated, check::Verdict::kUndecided};
constexpr std::array<check::Certainty, 3> kCertainties = {
    check::Certainty::kObserved, check::Certainty::kPredicted, check::Certainty::kConfirmed};
constexpr std::array<check::ExplanationKind, 2> kExplanations = {
    check::ExplanationKind::kDirtyRead, check::ExplanationKind::kStaleRead};
constexpr std::array<EventKind, kEventKindCount> kKinds = [] {
  std::array<EventKind, kEventKindCount> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<EventKind>(i);
  return kinds;
}();

Place read_place(Reader& reader, const Json& object, const std::string& path) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  Place place;
  place.file = reader.text(object, "file", path, false);
  if (place.file.empty()) {
    place.text = reader.text(object, "location", path, false);
    return place;
  }
  place.line = static_cast<std::uint32_t>(reader.number(object, "line", path, true, kMost));
  place.column = static_cast<std::uint32_t>(reader.number(object, "column", path, false, kMost));
  place.function = reader.text(object, "function", path, false);
  place.text = place_text(place.file, place.line, place.column, place.function);
  return place;
}

Stack read_stack(Reader& reader, const Json& object, const std::string& path) {
  Stack stack;
  reader.list(object, "stack", path, false, [&](const Json& value, const std::string& here) {
    Frame frame;
    frame.place = read_place(reader, value, here);
    frame.function = reader.text(value, "function", here, false);
    stack.frames.push_back(std::move(frame));
  });
  stack.deeper = reader.number(object, "deeper", path, false);
  return stack;
}

HeldLock read_held(Reader& reader, const Json& object, const std::string& path) {
  HeldLock held;
  held.lock = reader.text(object, "lock", path);
  held.event = reader.number(object, "event", path, false);
  held.shared = reader.flag(object, "shared", path, false);
  held.place = read_place(reader, object, path);
  return held;
}

Thread read_thread(Reader& reader, const Json& object, const std::string& path) {
  Thread thread;
  thread.thread = reader.text(object, "thread", path);
  thread.fork = reader.number(object, "fork", path, false);
  thread.creator = reader.text(object, "creator", path);
  thread.place = read_place(reader, object, path);
  thread.stack = read_stack(reader, object, path);
  return thread;
}

Source read_source(Reader& reader, const Json& object, const std::string& path) {
  Source source;
  source.file = reader.text(object, "file", path);
  source.changed = reader.flag(object, "changed", path, false);
  reader.list(object, "lines", path, true, [&](const Json& value, const std::string& here) {
    const std::uint64_t line =
        reader.number(value, "line", here, true, std::numeric_limits<std::uint32_t>::max());
    source.lines[static_cast<std::uint32_t>(line)] = reader.text(value, "text", here);
  });
  return source;
}

Site read_site(Reader& reader, const Json& object, const std::string& path) {
  Site site;
  site.event = reader.number(object, "event", path);
  site.thread = reader.text(object, "thread", path);
  site.op = reader.word(object, "op", path, kKinds);
  site.target = reader.text(object, "target", path, false);
  site.place = read_place(reader, object, path);
  site.block = reader.number(object, "block", path, false);
  site.locks = reader.texts(object, "locks", path);
  reader.list(object, "held", path, false, [&](const Json& held, const std::string& there) {
    site.held.push_back(read_held(reader, held, there));
  });
  site.stack = read_stack(reader, object, path);
  return site;
}

Finding read_finding(Reader& reader, const Json& object, const std::string& path) {
  Finding finding;
  finding.check = reader.text(object, "check", path);
  finding.rule = reader.text(object, "rule", path);
  finding.certainty = reader.word(object, "certainty", path, kCertainties);
  finding.message = reader.text(object, "message", path);
  finding.event = reader.number(object, "event", path);
  finding.fingerprint = reader.text(object, "fingerprint", path);
  finding.count = std::max<std::uint64_t>(1, reader.number(object, "count", path, false));
  finding.run = reader.number(object, "run", path, false);
  finding.block = reader.number(object, "block", path, false);
  finding.pattern = static_cast<std::uint8_t>(
      reader.number(object, "pattern", path, false, check::atomic_sets::kPatternCount));
  finding.set = reader.text(object, "set", path, false);
  finding.locations = reader.texts(object, "locations", path);
  finding.tier = reader.text(object, "tier", path, false);
  finding.connection = reader.text(object, "connection", path, false);
  finding.read = reader.number(object, "read", path, false);
  finding.write = reader.number(object, "write", path, false);
  finding.challenger = reader.number(object, "challenger", path, false);
  finding.variable = reader.text(object, "variable", path, false);
  finding.schedule = reader.numbers(object, "schedule", path);
  finding.units = reader.numbers(object, "units", path);

  reader.list(object, "blocks", path, false, [&](const Json& value, const std::string& here) {
    Block block;
    block.begin = reader.number(value, "begin", here);
    block.end = reader.number(value, "end", here, false);
    block.thread = reader.text(value, "thread", here);
    block.label = reader.text(value, "label", here, false);
    block.place = read_place(reader, value, here);
    if (block.begin <= (finding.blocks.empty() ? 0 : finding.blocks.back().begin)) {
      reader.fail(here + ".begin", "a greater number than the one before",
                  fmt::format("{}", block.begin));
    }
    if (block.end != 0 && block.end <= block.begin) {
      reader.fail(here + ".end", "a number after the begin", fmt::format("{}", block.end));
    }
    finding.blocks.push_back(std::move(block));
  });
  reader.list(object, "sites", path, false, [&](const Json& value, const std::string& here) {
    Site site = read_site(reader, value, here);
    if (site.event <= (finding.sites.empty() ? 0 : finding.sites.back().event)) {
      reader.fail(here + ".event", "a greater number than the one before",
                  fmt::format("{}", site.event));
    }
    if (site.block != 0 && finding.block_at(site.block) == nullptr) {
      reader.fail(here + ".block", "a block that `blocks` has", fmt::format("{}", site.block));
    }
    finding.sites.push_back(std::move(site));
  });
  reader.list(object, "threads", path, false, [&](const Json& value, const std::string& here) {
    finding.threads.push_back(read_thread(reader, value, here));
  });
  reader.list(object, "cycle", path, false, [&](const Json& value, const std::string& here) {
    const check::Edge edge{reader.number(value, "from", here), reader.number(value, "to", here)};
    if (edge.from >= edge.to) {
      reader.fail(here, "`from` before `to`", fmt::format("{} and {}", edge.from, edge.to));
    }
    for (const EventNumber event : {edge.from, edge.to}) {
      if (finding.site_at(event) == nullptr) {
        reader.fail(here, "events that `sites` has", fmt::format("{}", event));
      }
    }
    finding.cycle.push_back(edge);
  });
  reader.list(object, "events", path, false, [&](const Json& value, const std::string& here) {
    if (!value.is_number_unsigned()) {
      reader.fail(here, "the number of an event", kind_of(value));
      return;
    }
    const auto event = value.get<EventNumber>();
    if (finding.site_at(event) == nullptr) {
      reader.fail(here, "an event that `sites` has", fmt::format("{}", event));
    }
    finding.events.push_back(event);
  });
  return finding;
}

CheckReport read_check(Reader& reader, const Json& object, const std::string& path) {
  CheckReport entry;
  entry.check = reader.text(object, "check", path);
  entry.engine = reader.text(object, "engine", path, false);
  entry.verdict = reader.word(object, "verdict", path, kVerdicts);
  entry.seconds = reader.seconds(object, path, true);
  entry.notes = reader.texts(object, "notes", path);
  reader.list(object, "findings", path, true, [&](const Json& value, const std::string& here) {
    entry.findings.push_back(read_finding(reader, value, here));
  });
  entry.complete = reader.flag(object, "complete", path, true);
  reader.list(object, "suppressed", path, false, [&](const Json& value, const std::string& here) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    Suppressed one;
    one.line = static_cast<std::uint32_t>(reader.number(value, "line", here, true, kMost));
    one.text = reader.text(value, "suppression", here);
    one.findings = reader.number(value, "findings", here);
    entry.suppressed.push_back(std::move(one));
  });
  reader.list(object, "left_out", path, false, [&](const Json& value, const std::string& here) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    Finding finding = read_finding(reader, value, here);
    const std::uint64_t line = reader.number(value, "suppressed_by", here, false, kMost);
    entry.left_out.push_back({std::move(finding), static_cast<std::uint32_t>(line)});
  });
  if (const Json* baseline = reader.member(object, "baseline", path, false)) {
    entry.known = reader.number(*baseline, "known", path + ".baseline");
    if (reader.member(*baseline, "gone", path + ".baseline", false) != nullptr) {
      entry.gone = reader.number(*baseline, "gone", path + ".baseline");
    }
  }
  if (const Json* stats = reader.member(object, "stats", path, false)) {
    if (!stats->is_object()) reader.fail(path + ".stats", "an object", kind_of(*stats));
    for (const auto& [name, value] : stats->items()) {
      if (!value.is_number_unsigned()) {
        reader.fail(fmt::format("{}.stats.{}", path, name), "a whole number", kind_of(value));
        break;
      }
      entry.stats.push_back({name, value.get<std::uint64_t>()});
    }
  }
  return entry;
}

Program read_program(Reader& reader, const Json& object, const std::string& path) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  Program program;
  program.signal = reader.member(object, "signal", path, false) != nullptr;
  if (program.signal) {
    const std::string name = reader.text(object, "signal", path);
    const std::optional<std::uint32_t> number = signal_number(name);
    if (!number) reader.fail(path + ".signal", "the name of a signal", fmt::format("\"{}\"", name));
    program.number = number.value_or(0);
  } else {
    program.number = static_cast<std::uint32_t>(reader.number(object, "exit", path, true, kMost));
  }
  program.run = reader.number(object, "run", path, false);
  program.thread = reader.text(object, "thread", path, false);
  program.function = reader.text(object, "function", path, false);
  if (const Json* site = reader.member(object, "site", path, false)) {
    program.place = read_place(reader, *site, path + ".site");
  }
  return program;
}

Cause read_cause(Reader& reader, const Json& object, const std::string& path) {
  Cause cause;
  cause.kind = reader.word(object, "kind", path, kExplanations);
  cause.variable = reader.text(object, "variable", path);
  cause.read = reader.number(object, "read", path);
  cause.write = reader.number(object, "write", path);
  cause.thread = reader.text(object, "thread", path);
  cause.writer = reader.text(object, "writer", path);
  cause.function = reader.text(object, "function", path, false);
  cause.unfinished = reader.flag(object, "unfinished", path, true);
  reader.list(object, "sites", path, false, [&](const Json& value, const std::string& here) {
    cause.sites.push_back(read_site(reader, value, here));
  });
  return cause;
}

Report read_report(Reader& reader, const Json& object, const std::string& path) {
  Report report;
  const std::uint64_t version = reader.number(object, "version", path);
  if (!reader.error() && version != 1) {
    reader.fail(path + ".version", "1, which this program can read", fmt::format("{}", version));
  }
  if (const Json* tool = reader.member(object, "tool", path, true)) {
    report.tool_version = reader.text(*tool, "version", path + ".tool");
  }
  if (const Json* trace = reader.member(object, "trace", path, true)) {
    const std::string here = path + ".trace";
    report.trace.file = reader.text(*trace, "file", here);
    report.trace.format = reader.text(*trace, "format", here, false);
    report.trace.events = reader.number(*trace, "events", here);
    report.trace.threads = reader.number(*trace, "threads", here);
    report.trace.variables = reader.number(*trace, "variables", here);
    report.trace.locks = reader.number(*trace, "locks", here);
    report.trace.blocks = reader.number(*trace, "blocks", here);
    report.trace.passed_over = reader.number(*trace, "passed_over", here, false);
    report.trace.whole = reader.flag(*trace, "whole", here, true);
    report.trace.interrupted = reader.flag(*trace, "interrupted", here, false);
    if (reader.member(*trace, "noise", here, false) != nullptr) {
      report.trace.noise = reader.number(*trace, "noise", here);
    }
    report.trace.warnings = reader.texts(*trace, "warnings", here);
    report.trace.candidates = reader.texts(*trace, "candidates", here);
  }
  report.runs = reader.number(object, "runs", path, false);
  report.seeds = reader.numbers(object, "seeds", path);
  if (const Json* program = reader.member(object, "program", path, false)) {
    report.program = read_program(reader, *program, path + ".program");
  }
  reader.list(object, "explanations", path, false, [&](const Json& value, const std::string& here) {
    report.causes.push_back(read_cause(reader, value, here));
  });
  reader.list(object, "checks", path, true, [&](const Json& value, const std::string& here) {
    report.checks.push_back(read_check(reader, value, here));
  });
  reader.list(object, "sources", path, false, [&](const Json& value, const std::string& here) {
    report.sources.push_back(read_source(reader, value, here));
  });
  std::ranges::sort(report.sources, {}, &Source::file);
  if (const Json* stats = reader.member(object, "stats", path, false)) {
    report.seconds = reader.seconds(*stats, path + ".stats", false);
    report.peak_memory = reader.number(*stats, "peak_memory", path + ".stats", false);
  }
  return report;
}

/// Notes where the text stops being JSON, and whether it is too much of it; builds nothing.
struct Syntax : nlohmann::json_sax<Json> {
  std::size_t byte = 0;
  std::size_t values = 0;
  bool another() { return ++values <= kMostSavedValues; }
  bool null() override { return another(); }
  bool boolean(bool) override { return another(); }
  bool number_integer(number_integer_t) override { return another(); }
  bool number_unsigned(number_unsigned_t) override { return another(); }
  bool number_float(number_float_t, const string_t&) override { return another(); }
  bool string(string_t&) override { return another(); }
  bool binary(binary_t&) override { return another(); }
  bool start_object(std::size_t) override { return another(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return another(); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    byte = position;
    return false;
  }
};

}  // namespace

Result<SavedReports> from_json(std::string_view text) {
  Syntax syntax;
  const bool good = Json::sax_parse(text, &syntax);
  if (syntax.values > kMostSavedValues) {
    return Error{fmt::format(
        "expected findings of at most {} values (some 100,000 findings), found more; save fewer of "
        "them, for example without --all",
        kMostSavedValues)};
  }
  if (!good) {
    return Error{fmt::format(
        "byte {}: this is not JSON; expected what `syndrome check --format json` writes",
        syntax.byte)};
  }
  const Json document = Json::parse(text, nullptr, false);
  Reader reader;
  SavedReports saved;
  saved.array = document.is_array();
  if (saved.array) {
    for (std::size_t i = 0; i < document.size() && !reader.error(); ++i) {
      saved.reports.push_back(read_report(reader, document[i], fmt::format("report[{}]", i)));
    }
  } else {
    saved.reports.push_back(read_report(reader, document, "report"));
  }
  if (reader.error()) return *reader.error();
  return saved;
}

}  // namespace syndrome::report
