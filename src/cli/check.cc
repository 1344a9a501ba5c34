// syndrome check: the verdict on recorded or imported traces.

#include <memory>

#include "cli/checker.h"
#include "cli/command.h"
#include "cli/io.h"

namespace syndrome::cli {

void add_check(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<CheckCall>();
  CLI::App* command = app.add_subcommand("check", "Check recorded or imported traces");
  command->add_option("TRACE", call->traces, "Trace files in any format; - is standard input")
      ->required()
      ->type_name("");
  add_check_options(*command, *call, "-o,--output");
  command->footer(
      "Exit code: 0 clean, 1 findings, 2 the input or the call is wrong, 3 undecided.\n\n"
      "Example:\n"
      "  syndrome check --format json -o findings.json trace.std\n"
      "  syndrome check --baseline findings.json --suppressions known.supp new.std");
  command->callback([call, &exit_code] {
    Checker checker(*call);
    const std::optional<Error> wrong = checker.prepare();
    if (wrong) complain(wrong->message);
    exit_code = wrong ? kWrong : checker.run();
  });
}

}  // namespace syndrome::cli
