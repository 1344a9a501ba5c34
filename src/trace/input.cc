#include "trace/input.h"

#include <fmt/format.h>

#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "trace/bytes.h"
#include "trace/capture_reader.h"
#include "trace/csv_reader.h"
#include "trace/pipelined.h"
#include "trace/roadrunner_reader.h"
#include "trace/std_format.h"
#include "trace/syn_reader.h"
#include "trace/text_source.h"

namespace syndrome::trace {
namespace {

// RoadRunner's log begins with what the program and its start-up print.
constexpr std::size_t kHeadSize = 64 * 1024;

Result<std::string> read_head(const ByteFile& file) {
  Result<std::unique_ptr<ByteSource>> bytes = file.read();
  if (!bytes) return bytes.error();
  std::string head(kHeadSize, '\0');
  std::size_t have = 0;
  while (have < head.size()) {
    const Result<std::size_t> count = (*bytes)->read(std::span(head).subspan(have));
    // What is damaged further on is for the reader to tell, when it comes there.
    if (!count && have == 0) return count.error();
    if (!count || *count == 0) break;
    have += *count;
  }
  head.resize(have);
  return head;
}

/// The first line that is neither blank nor a comment.
std::string_view first_line(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with('#')) return line;
  }
  return {};
}

Result<Format> format_of(std::string_view head) {
  if (is_syn(std::as_bytes(std::span(head)))) return Format::kSyn;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  if (looks_like_roadrunner(head)) return Format::kRoadRunner;
  const std::string_view line = first_line(head);
  // Nothing at all, or nothing but comments, is an empty trace.
  if (line.empty() || line.find('|') != std::string_view::npos) return Format::kStd;
  if (looks_like_csv(head)) return Format::kCsv;
  return Error{fmt::format(
      "not a trace: expected .syn, STD text (thread|op(target)|location), RoadRunner's log "
      "(@ Op(thread,target)) or CSV (one column for each thread), found {}",
      shown(line))};
}

}  // namespace

std::string_view name_of(Format format) {
  switch (format) {
    case Format::kSyn: return "syn";
    case Format::kStd: return "std";
    case Format::kCsv: return "csv";
    case Format::kRoadRunner: return "roadrunner";
  }
  return "";
}

struct Input::State {
  std::string path;
  ReadOptions options;
  ByteFile file;
  Format format;
};

Input::Input(std::unique_ptr<State> state) : state_(std::move(state)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Result<Input> Input::open(const std::string& path, ReadOptions options) {
  Result<ByteFile> file = ByteFile::open(path);
  if (!file) return file.error();
  const Result<std::string> head = read_head(*file);
  if (!head) return head.error();
  const Result<Format> format = format_of(*head);
  if (!format) return format.error();
  return Input(std::make_unique<State>(State{path, options, std::move(*file), *format}));
}

Result<std::unique_ptr<Source>> Input::read() {
  if (state_->format == Format::kSyn) {
    Result<std::string> path = state_->file.seekable_path();
    if (!path) return path.error();
    const Result<bool> recorded = is_capture(*path);
    if (!recorded) return recorded.error();
    return *recorded ? read_capture(*path, state_->options) : read_syn(*path, state_->options);
  }
  std::stop_source stop;
  Result<std::unique_ptr<ByteSource>> bytes = state_->file.read(stop.get_token());
  if (!bytes) return bytes.error();
  std::unique_ptr<Source> source;
  switch (state_->format) {
    case Format::kCsv: source = read_csv(std::move(*bytes)); break;
    case Format::kRoadRunner: source = read_roadrunner(std::move(*bytes)); break;
    case Format::kStd:
    case Format::kSyn: source = read_std(std::move(*bytes)); break;
  }
  const unsigned jobs =
      state_->options.jobs != 0 ? state_->options.jobs : std::thread::hardware_concurrency();
  if (jobs == 1) return source;
  return pipelined(std::move(source), std::move(stop));
}

Result<bool> Input::is_recorded() {
  if (state_->format != Format::kSyn) return false;
  const Result<std::string> path = state_->file.seekable_path();
  if (!path) return path.error();
  return is_capture(*path);
}

Format Input::format() const {
  return state_->format;
}
const std::string& Input::path() const {
  return state_->path;
}
std::uint64_t Input::bytes() const {
  return state_->file.size();
}

}  // namespace syndrome::trace
