// syndrome check: the verdict on recorded or imported traces.

#include <algorithm>
#include <memory>

#include "cli/checker.h"
#include "cli/command.h"
#include "cli/io.h"
#include "cli/ranks.h"

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
      "  syndrome check --baseline findings.json --suppressions known.supp new.std\n"
      "  mpirun -n 4 syndrome check --check nondeterminism trace.syn");
  command->callback([call, &exit_code] {
    Checker checker(*call);
    const std::optional<Error> wrong = checker.prepare();
    if (wrong) {
      complain(wrong->message);
      exit_code = kWrong;
      return;
    }
    const Result<std::unique_ptr<Ranks>> ranks = Ranks::join();
    if (!ranks) {
      complain(ranks.error().message);
      exit_code = kWrong;
      return;
    }
    if (*ranks != nullptr && std::ranges::find(call->traces, "-") != call->traces.end()) {
      (*ranks)->give_up("standard input cannot be shared between ranks; give the trace as a file");
    }
    // mpirun gives rank 0 a terminal, whatever stands behind it.
    if (*ranks != nullptr && call->render.colour == "auto") call->render.colour = "never";
    exit_code = checker.run(ranks->get());
  });
}

}  // namespace syndrome::cli
