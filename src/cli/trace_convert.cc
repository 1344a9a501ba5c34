// syndrome trace convert: a trace in another format.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/io.h"
#include "cli/trace_copy.h"
#include "trace/input.h"

namespace syndrome::cli {
namespace {

struct ConvertCall {
  std::string trace;
  std::string output;
  std::string to;
  unsigned jobs = 0;
};

int run(const ConvertCall& call) {
  if (same_file(call.trace, call.output)) {
    complain(fmt::format("-o {}: is the trace itself; give the new one another name", call.output));
    return kWrong;
  }
  Result<trace::Input> input = trace::Input::open(call.trace, {call.jobs});
  if (!input) {
    complain(call.trace, input.error());
    return kWrong;
  }
  Result<std::unique_ptr<trace::Source>> source = input->read();
  if (!source) {
    complain(call.trace, source.error());
    return kWrong;
  }
  return copy_trace(**source, call.trace, call.output, call.to);
}

}  // namespace

void add_trace_convert(CLI::App& trace, int& exit_code) {
  auto call = std::make_shared<ConvertCall>();
  CLI::App* command = trace.add_subcommand("convert", "Write a trace in another format");
  command->add_option("TRACE", call->trace, "A trace file in any format; - is standard input")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", call->output, "The new trace; - is standard output")
      ->required()
      ->type_name("FILE");
  command->add_option("--to", call->to, "syn or std (default: by the suffix of FILE)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"syn", "std"}).description(""));
  command->add_option("--jobs", call->jobs, "Threads for reading (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U).description(""));
  command->footer(
      "Comments are not kept.\n\n"
      "Example:\n"
      "  syndrome trace convert trace.std.gz -o trace.syn");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
