// syndrome record: runs an instrumented program and keeps the trace of it.

#include "record/record.h"

#include <memory>

#include "cli/command.h"
#include "cli/program.h"

namespace syndrome::cli {

void add_record(CLI::App& app, int& exit_code, bool pipe_ignored, std::span<char*>& arguments) {
  auto options = std::make_shared<record::Options>();
  options->ignore_pipe = pipe_ignored;
  CLI::App* command = app.add_subcommand(
      "record", "Run a program that was built with `syndrome c++` and keep its trace");
  command->add_option("-o,--output", options->output, "The trace; other processes get FILE.PID")
      ->required()
      ->type_name("FILE");
  command->add_flag("-q,--quiet", options->quiet, "Say nothing when all went well");
  add_program(*command, options, arguments);
  command->footer(
      "The exit code is the program's own.\n\n"
      "Example:\n"
      "  syndrome record -o run.syn -- ./server --port 8080\n"
      "  syndrome check run.syn");
  command->callback([options, &exit_code] { exit_code = record::record(*options).exit_code; });
}

}  // namespace syndrome::cli
