#include "cli/program.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <random>
#include <string_view>

namespace syndrome::cli {
namespace {

/// Whether the value of the last option in `word` ("-o", "--output", "-qo") is the next word.
bool wants_next(const CLI::App& command, std::string_view word) {
  const auto takes_value = [&command](const std::string& name) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_max() > 0;
  };
  if (word.starts_with("--")) return takes_value(std::string(word));
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (takes_value(std::string("-") + word[i])) return i + 1 == word.size();
  }
  return false;
}

/// Where the program stands in a call of `syndrome record` or `syndrome run`: behind --, or at the
/// first word that is none of our options.
std::size_t program_at(const CLI::App& command, std::span<char*> arguments) {
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--") return i + 1;
    if (word.size() < 2 || word[0] != '-') return i;
    if (wants_next(command, word)) ++i;
  }
  return arguments.size();
}

/// A drawn one is short enough to be typed.
std::uint64_t seed_of(const std::string& text) {
  if (text == "random") return std::random_device()() % 1'000'000;
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc() || at != end) {
    throw CLI::ValidationError("--noise",
                               "expected a number from 0 to 2^64 - 1, found '" + text + "'");
  }
  return seed;
}

}  // namespace

void add_program(CLI::App& command, const std::shared_ptr<record::Options>& options,
                 std::span<char*>& arguments) {
  auto order = std::make_shared<std::string>("feasible");
  command
      .add_option("--order", *order,
                  "Order of plain accesses that race: feasible, or exact: the one that the values "
                  "show, which is slower. Everything else is always exact")
      ->type_name("ORDER")
      ->check(CLI::IsMember({"feasible", "exact"}).description(""))
      ->capture_default_str();
  command
      .add_option("--buffer", options->buffer,
                  "Memory for each thread that runs; a thread waits when the recorder is behind "
                  "by that much (64K to 1G)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{64} << 10, std::uint64_t{1} << 30).description(""))
      ->default_str("512K");
  auto noise = std::make_shared<std::string>();
  command.add_flag("--noise{random}", *noise,
                   "Let threads pause here and there, so that rare schedules become likely; "
                   "--noise=SEED pauses as that seed says, as far as the system lets it");
  command.add_option("PROG", options->command, "The program and its arguments, after --")
      ->required()
      ->type_name("");
  command.positionals_at_end();
  std::span<char*> rest;
  if (arguments.size() > 1 && arguments[1] == command.get_name()) {
    const std::size_t at = std::min(program_at(command, arguments), arguments.size());
    rest = arguments.subspan(at);
    arguments = arguments.first(std::min(at + 1, arguments.size()));
  }
  command.parse_complete_callback([options, order, noise, rest] {
    if (!noise->empty()) options->noise = seed_of(*noise);
    options->command.assign(rest.begin(), rest.end());
    options->buffer = std::bit_ceil(options->buffer);
    options->order = *order == "exact" ? rt::Order::kExact : rt::Order::kFeasible;
  });
}

}  // namespace syndrome::cli
