#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "event/clean.h"
#include "trace/output_file.h"
#include "trace/std_format.h"

namespace syndrome::trace {
namespace {

constexpr std::size_t kBufferSize = 256 * 1024;

bool needs_escape(std::string_view name, Space space) {
  if (name.empty()) return space != Space::kLabel && space != Space::kSite;
  if (space == Space::kThread && name.front() == '#') return true;
  // Locations run to the end of the line, so bars may be in them.
  if (space != Space::kSite && name.find('|') != std::string_view::npos) return true;
  // A tab may stay.
  return !is_clean(name) &&
         (clean_lines(name) != name || name.find('\n') != std::string_view::npos);
}

std::string escaped(std::string_view name, Space space) {
  if (name.empty()) return "%";
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t length = std::max<std::size_t>(decode_utf8(name.substr(i)).length, 1);
    const std::string_view one = name.substr(i, length);
    const bool escape = one == "#" ? i == 0 && space == Space::kThread : needs_escape(one, space);
    for (const char c : one) {
      if (escape) {
        out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
    }
    i += length;
  }
  return out;
}

class StdSink : public Sink {
 public:
  explicit StdSink(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {
    buffer_.reserve(kBufferSize);
  }

  Status append(std::span<const Event> events, const Names& names) override {
    if (const Status status = look_at_new(names); !status.ok()) return status;
    for (const Event& event : events) {
      const std::string_view thread = written(names, Space::kThread, event.thread.value);
      const std::string_view word = word_of(event.kind, event.order);
      const std::optional<Space> space = target_space(event.kind);
      std::string_view target;
      if (space) target = written(names, *space, event.target);
      std::string_view site = written(names, Space::kSite, event.site.value);
      if (site.empty()) site = "0";
      const std::size_t size = thread.size() + word.size() + target.size() + site.size() + 5;
      if (buffer_.size() + size > kBufferSize) {
        if (const Status status = flush(); !status.ok()) return status;
      }
      const std::size_t at = buffer_.size();
      buffer_.resize(at + size);
      char* out = buffer_.data() + at;
      out = put(out, thread);
      *out++ = '|';
      out = put(out, word);
      *out++ = '(';
      out = put(out, target);
      *out++ = ')';
      *out++ = '|';
      out = put(out, site);
      *out = '\n';
    }
    return {};
  }

  [[nodiscard]] Status flush() override {
    Status status = file_->write(buffer_);
    buffer_.clear();
    return status;
  }

  Status close() override {
    if (const Status status = flush(); !status.ok()) return status;
    return file_->commit();
  }

 private:
  struct Table {
    std::size_t seen = 0;
    std::unordered_map<std::uint32_t, std::string> escaped;  // names that are written otherwise
    std::unordered_set<std::string> with_percent;            // forms that an escape could equal
  };

  static char* put(char* out, std::string_view text) {
    return out + text.copy(out, text.size());  // also of no text, whose data may be null
  }

  [[nodiscard]] std::string_view written(const Names& names, Space space, std::uint32_t id) const {
    const Table& table = tables_[static_cast<std::size_t>(space)];
    if (!table.escaped.empty()) [[unlikely]] {
      if (const auto it = table.escaped.find(id); it != table.escaped.end()) return it->second;
    }
    return names.of(space, id);
  }

  Status look_at_new(const Names& names) {
    for (std::size_t s = 0; s < kSpaceCount; ++s) {
      const auto space = static_cast<Space>(s);
      const StringTable& strings = names.table(space);
      Table& table = tables_[s];
      for (; table.seen < strings.size(); ++table.seen) {
        const std::string_view name = strings[table.seen];
        const bool escape = needs_escape(name, space);
        if (!escape && name.find('%') == std::string_view::npos) continue;
        std::string form = escape ? escaped(name, space) : std::string(name);
        if (!table.with_percent.insert(form).second) {
          return Error{fmt::format(
              "cannot write this trace as STD: two names become '{}'; write it as .syn", form)};
        }
        if (escape) table.escaped.emplace(static_cast<std::uint32_t>(table.seen), std::move(form));
      }
    }
    return {};
  }

  std::unique_ptr<OutputFile> file_;
  std::string buffer_;
  std::array<Table, kSpaceCount> tables_;
};

}  // namespace

Result<std::unique_ptr<Sink>> write_std(const std::string& path) {
  Result<std::unique_ptr<OutputFile>> file = OutputFile::create(path);
  if (!file) return file.error();
  return std::unique_ptr<Sink>(std::make_unique<StdSink>(std::move(*file)));
}

}  // namespace syndrome::trace
