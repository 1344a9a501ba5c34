#include "micro.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "runner.h"
#include "trace/std_format.h"
#include "trace/syn_writer.h"

namespace syndrome::bench {
namespace {

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "bench_micro: {}\n", error.message);
  std::exit(2);
}

Generated generate(std::size_t shape) {
  auto source = trace::GeneratedSource::make(options_of(kShapes[shape], kMicroEvents));
  if (!source) give_up(source.error());
  Generated result;
  while (true) {
    const Result<Batch> batch = (*source)->next();
    if (!batch) give_up(batch.error());
    if (batch->empty()) break;
    result.events.insert(result.events.end(), batch->events.begin(), batch->events.end());
  }
  result.names = (*source)->names();
  return result;
}

std::string write(std::size_t shape, const std::string& format) {
  static const TemporaryDirectory directory;
  const std::string path = fmt::format("{}/{}.{}", directory.path(), kShapes[shape].name, format);
  auto sink = format == "std" ? trace::write_std(path) : trace::write_syn(path);
  if (!sink) give_up(sink.error());
  const Generated& trace = generated(shape);
  if (const Status status = (*sink)->append(trace.events, trace.names); !status) {
    give_up(status.error());
  }
  if (const Status status = (*sink)->close(); !status) give_up(status.error());
  return path;
}

}  // namespace

const Generated& generated(std::size_t shape) {
  static std::map<std::size_t, Generated> made;
  auto at = made.find(shape);
  if (at == made.end()) at = made.emplace(shape, generate(shape)).first;
  return at->second;
}

const std::string& generated_file(std::size_t shape, const std::string& format) {
  static std::map<std::pair<std::size_t, std::string>, std::string> made;
  auto at = made.find({shape, format});
  if (at == made.end()) at = made.emplace(std::pair(shape, format), write(shape, format)).first;
  return at->second;
}

}  // namespace syndrome::bench
