// syndrome record: runs an instrumented program and keeps the trace of it.

#include "record/record.h"

#include <bit>
#include <memory>

#include "cli/command.h"
#include "cli/io.h"

namespace syndrome::cli {

void add_record(CLI::App& app, int& exit_code, bool pipe_ignored) {
  auto options = std::make_shared<record::Options>();
  options->ignore_pipe = pipe_ignored;
  auto order = std::make_shared<std::string>("feasible");
  CLI::App* command = app.add_subcommand(
      "record", "Run a program that was built with `syndrome c++` and keep its trace");
  command->add_option("-o,--output", options->output, "The trace; other processes get FILE.PID")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--order", *order,
                   "Order of plain accesses that race: feasible, or exact: the one that the values "
                   "show, which is slower. Everything else is always exact")
      ->type_name("ORDER")
      ->check(CLI::IsMember({"feasible", "exact"}).description(""))
      ->capture_default_str();
  command
      ->add_option("--buffer", options->buffer,
                   "Memory for each thread that runs; a thread waits when the recorder is behind "
                   "by that much (64K to 1G)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{64} << 10, std::uint64_t{1} << 30).description(""))
      ->default_str("512K");
  command->add_flag("-q,--quiet", options->quiet, "Say nothing when all went well");
  command->add_option("PROG", options->command, "The program and its arguments, after --")
      ->required()
      ->type_name("");
  command->positionals_at_end();
  command->footer(
      "The exit code is the program's own.\n\n"
      "Example:\n"
      "  syndrome record -o run.syn -- ./server --port 8080\n"
      "  syndrome check run.syn");
  command->callback([options, order, &exit_code] {
    options->buffer = std::bit_ceil(options->buffer);
    options->order = *order == "exact" ? rt::Order::kExact : rt::Order::kFeasible;
    exit_code = record::record(*options);
  });
}

}  // namespace syndrome::cli
