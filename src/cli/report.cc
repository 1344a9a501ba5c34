// syndrome report: saved findings, rendered again.

#include "report/report.h"

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/findings.h"
#include "cli/io.h"
#include "cli/render.h"
#include "report/json.h"

namespace syndrome::cli {
namespace {

struct ReportCall {
  std::string findings;
  RenderOptions render;
};

int run(const ReportCall& call) {
  if (const Status status = check_format(call.render); !status) {
    complain(status.error().message);
    return kWrong;
  }
  const Result<report::SavedReports> saved = read_findings(call.findings);
  if (!saved) {
    complain(saved.error().message);
    return kWrong;
  }
  const Status status =
      write_file(call.render.output, render(saved->reports, saved->array, call.render));
  if (status) return kClean;
  complain(status.error().message);
  return kWrong;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<ReportCall>();
  CLI::App* command = app.add_subcommand("report", "Render saved findings again");
  command
      ->add_option("FINDINGS", call->findings,
                   "What `syndrome check --format json` wrote; - is standard input")
      ->required()
      ->type_name("");
  add_render_options(*command, call->render);
  command->footer(
      "Example:\n"
      "  syndrome check --format json -o findings.json trace.std\n"
      "  syndrome report findings.json --format text");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
