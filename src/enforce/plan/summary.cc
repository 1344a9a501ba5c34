#include "enforce/plan/summary.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "trace/demangle.h"

namespace syndrome::enforce {
namespace {

constexpr std::string_view kSection = ".syndrome.summary";

template <class T>
std::optional<T> record_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T record;
  std::memcpy(&record, bytes.data() + offset, sizeof(T));
  return record;
}

std::optional<std::string_view> part(std::string_view bytes, std::uint64_t offset,
                                     std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.substr(offset, size);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<Program> run() {
    while (!rest_.empty()) {
      ++line_;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      // Between the units of two files the linker may leave room.
      while (!line.empty() && line.front() == '\0') line.remove_prefix(1);
      if (line.empty()) continue;
      split(line);
      if (!take()) {
        return Error{fmt::format(
            "line {} of the program's summary is damaged: expected {}; build the program again "
            "with this version of Syndrome",
            line_, expected_)};
      }
      if (fast_) {
        return Error{
            "the program was built with --syndrome-mode=fast, in which labels are not those of "
            "the source; build it without"};
      }
    }
    if (!finish_function()) {
      return Error{"the program's summary has a block that does not exist; build it again"};
    }
    return std::move(program_);
  }

 private:
  void split(std::string_view line) {
    fields_.clear();
    while (true) {
      const std::size_t tab = line.find('\t');
      fields_.push_back(line.substr(0, tab));
      if (tab == std::string_view::npos) return;
      line.remove_prefix(tab + 1);
    }
  }

  [[nodiscard]] bool number(std::size_t field, std::uint32_t& value) {
    const std::string_view text = fields_[field];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }
  [[nodiscard]] bool string(std::string_view text, std::string_view& value) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > strings_.size()) {
      return false;
    }
    value = number == 0 ? std::string_view() : strings_[number - 1];
    return true;
  }

  [[nodiscard]] bool fields(std::size_t count, const char* expected) {
    expected_ = expected;
    return fields_.size() == count;
  }

  bool take() {
    const std::string_view kind = fields_[0];
    if (kind == "U") {
      std::uint32_t version = 0;
      std::uint32_t fast = 0;
      if (!fields(3, "version 1") || !number(1, version) || !number(2, fast) || version != 1) {
        return false;
      }
      fast_ |= fast != 0;
      strings_.clear();
      return finish_function();
    }
    if (kind == "S") {
      if (!fields(2, "a string")) return false;
      strings_.push_back(fields_[1]);
      return true;
    }
    if (kind == "F") return take_function();
    if (!current_.has_value()) {
      expected_ = "a function before its nodes";
      return false;
    }
    if (kind == "B") return take_block();
    if (kind == "A") return take_access();
    if (kind == "C") return take_call();
    if (kind == "X") {
      expected_ = "an exit in a block";
      Node node;
      node.kind = Node::Kind::kExit;
      return add(std::move(node));
    }
    expected_ = "U, S, F, B, A, C or X";
    return false;
  }

  bool take_function() {
    expected_ = "the end of a function";
    if (!finish_function()) return false;
    std::string_view name;
    std::string_view file;
    std::string_view type;
    Function function;
    if (!fields(7, "a function") || !string(fields_[1], name) || !string(fields_[2], file) ||
        !number(3, function.line) || !number(4, function.hash) || !string(fields_[6], type)) {
      return false;
    }
    function.linkage = name;
    function.name = trace::demangle(name);
    function.file = file;
    function.signature = type;
    function.internal = fields_[5].find('i') != std::string_view::npos;
    function.address_taken = fields_[5].find('a') != std::string_view::npos;
    current_ = std::move(function);
    return true;
  }

  bool take_block() {
    if (!fields(2, "a block")) return false;
    Node node;
    blocks_.push_back(static_cast<NodeId>(current_->nodes.size()));
    successors_.emplace_back();
    std::string_view list = fields_[1];
    while (!list.empty()) {
      std::uint32_t block = 0;
      const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), block);
      if (error != std::errc()) return false;
      successors_.back().push_back(block);
      list.remove_prefix(static_cast<std::size_t>(end - list.data()));
      if (!list.empty() && list.front() == ',') list.remove_prefix(1);
    }
    current_->nodes.push_back(std::move(node));
    return true;
  }

  bool add(Node node) {
    if (blocks_.empty()) return false;
    current_->nodes.push_back(std::move(node));
    return true;
  }

  /// As trace/capture_names.cc names sites.
  bool place(std::size_t first, std::string& text) {
    std::string_view file;
    std::string_view inlined;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    if (!string(fields_[first], file) || !number(first + 1, line) || !number(first + 2, column) ||
        !string(fields_[first + 3], inlined)) {
      return false;
    }
    if (file.empty() || line == 0) return true;
    const std::string name =
        inlined.empty() ? current_->name : std::string(trace::demangle(inlined));
    const std::string_view shown = trace::without_parameters(name);
    text = column == 0 ? fmt::format("{}:{} {}", file, line, shown)
                       : fmt::format("{}:{}:{} {}", file, line, column, shown);
    return true;
  }

  bool take_access() {
    Node node;
    node.kind = Node::Kind::kAccess;
    std::string_view variable;
    if (!fields(8, "an access") || !place(3, node.place) || !string(fields_[7], variable)) {
      return false;
    }
    node.reads = fields_[1] != "w";
    node.writes = fields_[1] != "r";
    node.exact = fields_[2] == "g";
    node.variable = variable;
    return add(std::move(node));
  }

  bool take_call() {
    Node node;
    node.kind = Node::Kind::kCall;
    std::string_view lock;
    std::string_view type;
    if (!fields(10, "a call") || !string(fields_[2], lock) || !place(3, node.place) ||
        !string(fields_[8], type)) {
      return false;
    }
    if (fields_[1] == "L") node.op = Node::LockOp::kAcquire;
    if (fields_[1] == "U") node.op = Node::LockOp::kRelease;
    node.lock = lock;
    node.indirect = fields_[7] == "i";
    node.signature = type;
    std::string_view list = fields_[9];
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      std::string_view callee;
      if (!string(list.substr(0, comma), callee)) return false;
      if (!callee.empty()) node.callees.emplace_back(callee);
      if (comma == std::string_view::npos) break;
      list.remove_prefix(comma + 1);
    }
    return add(std::move(node));
  }

  bool finish_function() {
    if (!current_.has_value()) return true;
    Function function = std::move(*current_);
    current_.reset();
    const std::vector<NodeId> blocks = std::exchange(blocks_, {});
    const std::vector<std::vector<std::uint32_t>> successors = std::exchange(successors_, {});
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto end =
          b + 1 < blocks.size() ? blocks[b + 1] : static_cast<NodeId>(function.nodes.size());
      for (NodeId node = blocks[b]; node + 1 < end; ++node) {
        function.nodes[node].next.push_back(node + 1);
      }
      for (const std::uint32_t to : successors[b]) {
        if (to >= blocks.size()) return false;
        std::vector<NodeId>& next = function.nodes[end - 1].next;
        if (std::find(next.begin(), next.end(), blocks[to]) == next.end()) {
          next.push_back(blocks[to]);
        }
      }
    }
    // A function of a header is in every file that uses it.
    if (!function.internal && !known_.emplace(function.linkage, function.hash).second) return true;
    program_.functions.push_back(std::move(function));
    return true;
  }

  std::string_view rest_;
  std::size_t line_ = 0;
  const char* expected_ = "";
  bool fast_ = false;
  std::vector<std::string_view> fields_;
  std::vector<std::string_view> strings_;
  std::optional<Function> current_;
  std::vector<NodeId> blocks_;
  std::vector<std::vector<std::uint32_t>> successors_;
  std::set<std::pair<std::string, std::uint32_t>> known_;
  Program program_;
};

}  // namespace

Result<std::string_view> find_summary(std::string_view elf) {
  const auto header = record_at<Elf64_Ehdr>(elf, 0);
  if (!header.has_value() || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return Error{"expected a program of this machine (a 64-bit ELF file)"};
  }
  const Error cut{"the program is cut off: its table of sections lies behind its end"};
  const auto section = [&](std::uint64_t index) {
    return record_at<Elf64_Shdr>(elf, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names_header = section(header->e_shstrndx);
  if (!names_header.has_value()) return cut;
  const auto names = part(elf, names_header->sh_offset, names_header->sh_size);
  if (!names.has_value()) return cut;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto at = section(i);
    if (!at.has_value()) return cut;
    if (at->sh_name >= names->size()) continue;
    const std::string_view name = names->substr(at->sh_name);
    if (name.substr(0, name.find('\0')) != kSection) continue;
    const auto bytes = part(elf, at->sh_offset, at->sh_size);
    if (!bytes.has_value()) return cut;
    return *bytes;
  }
  return Error{
      "the program has no summary: build it with 'syndrome cc' or 'syndrome c++' of this version, "
      "without --syndrome-enforce"};
}

Result<Program> read_summary(std::string_view text) {
  return Reader(text).run();
}

}  // namespace syndrome::enforce
