// syndrome flow: which steps of a function are connected, and why.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/io.h"
#include "trace/demangle.h"
#include "trace/unit_file.h"

namespace syndrome::cli {
namespace {

constexpr std::size_t kMostFlowBytes = std::size_t{1} << 32U;

struct FlowCall {
  std::string file;
  std::string function;
  std::vector<std::uint32_t> between;
};

/// What one unit has to say.
class FlowText {
 public:
  explicit FlowText(const trace::UnitInFile& unit) : unit_(unit) {}

  /// Of one function: objects, and connected steps by their lines. Empty when there is nothing.
  [[nodiscard]] std::string all(const unit::Function& function) const {
    std::string text;
    for (std::uint32_t i = function.first; i < function.first + function.sites; ++i) {
      const unit::Site& site = unit_.sites()[i];
      if (site.kind != unit::SiteKind::kObject) continue;
      const std::string_view name = unit_.text(site.name);
      text +=
          fmt::format("  works on {} ({} bytes)\n", name.empty() ? "an object" : name, site.bytes);
    }
    for (const unit::Flow& flow : flows_of(function)) text += line(flow);
    return text;
  }

  /// Why two lines of it are connected or not; empty when one of them has no step in it.
  [[nodiscard]] std::string between(const unit::Function& function, std::uint32_t first,
                                    std::uint32_t second) const {
    if (!has_line(function, first) || !has_line(function, second)) return {};
    std::string text;
    for (const unit::Flow& flow : flows_of(function)) {
      const std::uint32_t from = unit_.sites()[flow.from].line;
      const std::uint32_t to = unit_.sites()[flow.to].line;
      if ((from == first && to == second) || (from == second && to == first)) text += line(flow);
    }
    if (!text.empty()) return text;
    return fmt::format(
        "  lines {} and {} are not connected: nothing that one reads or returns is part of what "
        "the other\n  writes, of where, or decides whether; no two reads are put together; no two "
        "writes have one source\n",
        first, second);
  }

 private:
  [[nodiscard]] std::vector<unit::Flow> flows_of(const unit::Function& function) const {
    std::vector<unit::Flow> found;
    for (const unit::Flow& flow : unit_.flows()) {
      if (flow.from - function.first < function.sites) found.push_back(flow);
    }
    std::ranges::stable_sort(found, {}, [this](const unit::Flow& flow) {
      return std::pair(unit_.sites()[flow.from].line, unit_.sites()[flow.to].line);
    });
    return found;
  }
  [[nodiscard]] bool has_line(const unit::Function& function, std::uint32_t line) const {
    for (std::uint32_t i = function.first; i < function.first + function.sites; ++i) {
      const unit::Site& site = unit_.sites()[i];
      if (site.kind != unit::SiteKind::kObject && site.line == line) return true;
    }
    return false;
  }

  [[nodiscard]] std::string place(const unit::Site& site) const {
    std::string_view file = unit_.text(site.file);
    if (const std::size_t at = file.rfind('/'); at != std::string_view::npos) {
      file.remove_prefix(at + 1);
    }
    return fmt::format("{}:{}", file.empty() ? "?" : file, site.line);
  }
  [[nodiscard]] std::string step(const unit::Site& site) const {
    const std::string_view name = unit_.text(site.name);
    if (site.kind == unit::SiteKind::kCall) {
      const std::string callee = trace::demangle(unit_.text(site.bytes));
      return fmt::format("{} calls {}", place(site),
                         callee.empty() ? "a function" : trace::without_parameters(callee));
    }
    constexpr std::array<const char*, 8> kDoes = {"reads",    "writes", "changes", "calls",
                                                  "accesses", "reads",  "writes",  "has"};
    return fmt::format(
        "{} {} {}", place(site),
        kDoes[std::min<std::size_t>(static_cast<std::size_t>(site.kind), kDoes.size() - 1)],
        name.empty() ? "memory" : name);
  }
  [[nodiscard]] std::string line(const unit::Flow& flow) const {
    const unit::Site& from = unit_.sites()[flow.from];
    const unit::Site& to = unit_.sites()[flow.to];
    std::string text = fmt::format("  {}  ->  {}\n", step(from), step(to));
    const bool calls = from.kind == unit::SiteKind::kCall;
    const std::string what = fmt::format("what line {} {}", from.line, calls ? "returns" : "reads");
    const std::string target = fmt::format(
        "line {} {}", to.line, to.kind == unit::SiteKind::kCall ? "is called with" : "writes");
    const auto add = [&text](std::string_view how, const std::string& why) {
      text += fmt::format("      {}: {}\n", how, why);
    };
    if ((flow.how & unit::kFlowData) != 0) {
      const bool pointer = (flow.how & unit::kFlowPointer) != 0;
      add("data",
          fmt::format("{} is part of what {}{}", what, target, pointer ? "; it is a pointer" : ""));
    }
    if ((flow.how & unit::kFlowAddress) != 0) {
      add("address", fmt::format("{} is part of where line {} goes", what, to.line));
    }
    if ((flow.how & unit::kFlowControl) != 0) {
      add("control", fmt::format("{} decides whether line {} happens", what, to.line));
    }
    if ((flow.how & unit::kFlowCompared) != 0) {
      add("compared", fmt::format("line {} looks again itself", to.line));
    }
    if ((flow.how & unit::kFlowReset) != 0) {
      add("reset",
          fmt::format("line {} writes a constant where line {} reads", to.line, from.line));
    }
    if ((flow.how & unit::kFlowReread) != 0) {
      add("reread", fmt::format("line {} reads again what line {} updates", to.line, from.line));
    }
    if ((flow.how & unit::kFlowJoined) != 0) {
      add("joined", fmt::format("what lines {} and {} read is put together", from.line, to.line));
    }
    if ((flow.how & unit::kFlowSource) != 0) {
      add("source",
          fmt::format("what lines {} and {} write comes from one source", from.line, to.line));
    }
    return text;
  }

  const trace::UnitInFile& unit_;
};

int flow(const FlowCall& call) {
  const auto wrong = [&call](const Error& error) {
    complain(call.file, error);
    return kWrong;
  };
  const Result<std::string> bytes = read_file(call.file, kMostFlowBytes);
  if (!bytes) return wrong(bytes.error());
  const Result<std::vector<trace::UnitInFile>> units = trace::find_units(*bytes);
  if (!units) return wrong(units.error());
  std::string text;
  bool any = false;
  for (const trace::UnitInFile& unit : *units) {
    const FlowText words(unit);
    for (const unit::Function& function : unit.functions()) {
      if ((function.flags & (unit::kSystem | unit::kSetMember)) != 0) continue;
      const std::string name = trace::demangle(unit.text(function.name));
      if (!call.function.empty() && name.find(call.function) == std::string::npos) continue;
      any = true;
      const std::string found = call.between.size() == 2
                                    ? words.between(function, call.between[0], call.between[1])
                                    : words.all(function);
      if (!found.empty()) text += fmt::format("{}\n{}", name, found);
    }
  }
  if (!any) {
    return wrong({call.function.empty()
                      ? "it has no functions of the program"
                      : fmt::format("it has no function with '{}' in its name", call.function)});
  }
  if (text.empty()) {
    text = call.between.size() == 2
               ? fmt::format("no function has steps in line {} and in line {}\n", call.between[0],
                             call.between[1])
               : "no steps are connected\n";
  }
  return print_lines(text) ? kClean : kWrong;
}

}  // namespace

void add_flow(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<FlowCall>();
  CLI::App* command =
      app.add_subcommand("flow", "Show which steps of functions are connected, and why");
  command
      ->add_option("FILE", call->file,
                   "An object file, program or library that was built with probes")
      ->required()
      ->type_name("");
  command->add_option("FUNCTION", call->function, "Only functions with this in their names")
      ->type_name("");
  command
      ->add_option("--between", call->between,
                   "Say why these two lines of a function are connected, or that they are not")
      ->expected(2)
      ->type_name("LINE LINE");
  command->footer(
      "Exit code: 0, or 2 when the input or the call is wrong.\n\n"
      "Example:\n"
      "  syndrome c++ -g -c bank.cc\n"
      "  syndrome flow bank.o transfer\n"
      "  syndrome flow bank.o --between 21 26");
  command->callback([call, &exit_code] { exit_code = flow(*call); });
}

}  // namespace syndrome::cli
