#include "measure.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace syndrome::bench {

TraceFiles::TraceFiles(TraceFiles&& other) noexcept
    : prefix(std::exchange(other.prefix, {})),
      events(other.events),
      threads(other.threads),
      locks(other.locks),
      variables(other.variables),
      blocks(other.blocks) {}

TraceFiles::~TraceFiles() {
  if (prefix.empty()) return;
  std::error_code ignored;
  for (const std::string_view suffix : {"std", "syn", "counts"}) {
    std::filesystem::remove(path(suffix), ignored);
  }
}

double TraceFiles::bytes_per_event(std::string_view format) const {
  std::error_code ignored;
  return static_cast<double>(std::filesystem::file_size(path(format), ignored)) /
         static_cast<double>(events);
}

TraceFiles Tools::generate(std::string_view name, std::uint64_t events,
                           Violations violations) const {
  TraceFiles files;
  files.prefix = fmt::format("{}/{}-{}", directory, name, events);
  std::vector<std::string> command = {bin + "/bench_generate", std::string(name),
                                      std::to_string(events), files.prefix};
  if (violations == Violations::kClean) command.emplace_back("clean");
  constexpr double kNoLimit = 100'000;
  static_cast<void>(run_expecting(command, kNoLimit, {0}, files.path("counts")));
  std::ifstream counts(files.path("counts"));
  counts >> files.events >> files.threads >> files.locks >> files.variables >> files.blocks;
  return files;
}

Run Tools::decode(const std::string& file) const {
  return run_expecting({bin + "/bench_decode", file}, kLimitSeconds, {0});
}

Run Tools::decide(std::string_view engine, const std::string& file) const {
  return run_expecting({bin + "/bench_decide", std::string(engine), file}, kLimitSeconds, {0});
}

Run Tools::check(std::string_view engine, const std::string& file, bool first) const {
  std::vector<std::string> command = {bin + "/syndrome", "check", "--engine", std::string(engine)};
  if (first) command.emplace_back("--first");
  command.push_back(file);
  return run_expecting(command, kLimitSeconds, {0, 1});
}

std::uint64_t number_argument(int argc, char** argv, int index, std::uint64_t otherwise,
                              std::string_view usage) {
  if (index >= argc) return otherwise;
  std::uint64_t value = 0;
  const char* const end = argv[index] + std::strlen(argv[index]);
  const auto [stop, error] = std::from_chars(argv[index], end, value);
  if (error != std::errc() || stop != end || value == 0) {
    fmt::print(stderr, "{}\n", usage);
    std::exit(2);
  }
  return value;
}

}  // namespace syndrome::bench
