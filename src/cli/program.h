// Commands that run a program: `syndrome record`, `syndrome run`.

#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>

#include "record/record.h"

namespace syndrome::cli {

/// --order, --buffer, --noise and the program itself, which is taken from the end of `arguments`,
/// but for its name: what is the program's is not for CLI11, which takes "[a,b]" apart. Call it
/// after the command has all its other options.
void add_program(CLI::App& command, const std::shared_ptr<record::Options>& options,
                 std::span<char*>& arguments);

}  // namespace syndrome::cli
