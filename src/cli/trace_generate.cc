// syndrome trace generate: traces made to measure.

#include "trace/generate.h"

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/io.h"
#include "cli/trace_copy.h"

namespace syndrome::cli {
namespace {

struct GenerateCall {
  trace::GenerateOptions options;
  std::string output;
  std::string to;
};

int run(const GenerateCall& call) {
  Result<std::unique_ptr<trace::GeneratedSource>> source =
      trace::GeneratedSource::make(call.options);
  if (!source) {
    complain(source.error().message);
    return kWrong;
  }
  return copy_trace(**source, "generated trace", call.output, call.to);
}

}  // namespace

void add_trace_generate(CLI::App& trace, int& exit_code) {
  auto call = std::make_shared<GenerateCall>();
  trace::GenerateOptions& options = call->options;
  CLI::App* command = trace.add_subcommand("generate", "Make a trace to measure with");
  const auto number = [command](const char* name, auto& value, const char* help) {
    command->add_option(name, value, help)->type_name("N")->capture_default_str();
  };
  number("--events", options.events, "How many events");
  number("--threads", options.threads, "How many threads");
  number("--variables", options.variables, "How many variables; each belongs to one lock");
  number("--locks", options.locks, "How many locks");
  number("--seed", options.seed, "The same seed gives the same trace");
  number("--violations", options.violations, "How many atomicity violations to plant");
  command->add_option("-o,--output", call->output, "The new trace; - is standard output")
      ->required()
      ->type_name("FILE");
  command->add_option("--to", call->to, "syn or std (default: by the suffix of FILE)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"syn", "std"}).description(""));
  command->footer(
      "A block is one lock scope with 4 to 16 accesses to that lock's variables, 30% writes; one\n"
      "access in ten is in a lock scope outside of blocks. Clean unless violations are planted.\n\n"
      "Example:\n"
      "  syndrome trace generate --events 10000000 --threads 8 --variables 10000 \\\n"
      "    --locks 100 --seed 1 -o t.syn");
  command->callback([call, &exit_code] { exit_code = run(*call); });
}

}  // namespace syndrome::cli
