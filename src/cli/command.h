// The subcommands. Each file adds its own to the command line: options, help with an example, and
// what to do when it is called, which leaves the exit code in `exit_code`.

#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace syndrome::cli {

// contract.md, exit codes.
inline constexpr int kClean = 0;
inline constexpr int kFindings = 1;
inline constexpr int kWrong = 2;  // the input or the call
inline constexpr int kUndecided = 3;
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells do

/// `pipe_ignored`: whoever called us ignores SIGPIPE, and so shall the program. Takes what is the
/// program's from the end of `arguments`, but for its name.
void add_record(CLI::App& app, int& exit_code, bool pipe_ignored, std::span<char*>& arguments);
void add_run(CLI::App& app, int& exit_code, bool pipe_ignored, std::span<char*>& arguments);
/// `arguments` likewise, but for what stands before --.
void add_refine(CLI::App& app, int& exit_code, bool pipe_ignored, std::span<char*>& arguments);
void add_check(CLI::App& app, int& exit_code);
void add_infer(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_flow(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_explore(CLI::App& app, int& exit_code);
/// `man` and `completion`; after all other commands.
void add_man(CLI::App& app, int& exit_code);
void add_replay_check(CLI::App& app, int& exit_code);
void add_trace_info(CLI::App& trace, int& exit_code);
void add_trace_cat(CLI::App& trace, int& exit_code);
void add_trace_convert(CLI::App& trace, int& exit_code);
void add_trace_validate(CLI::App& trace, int& exit_code);
void add_trace_generate(CLI::App& trace, int& exit_code);

/// "syndrome trace info", or with something else between.
std::string full_name(const CLI::App& app, std::string_view between = " ");

}  // namespace syndrome::cli
