#include "explore/open.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "explore/index_file.h"
#include "trace/capture_reader.h"
#include "trace/input.h"
#include "trace/output_file.h"
#include "trace/syn_writer.h"

namespace syndrome::explore {
namespace {

/// An index that was kept, if it is of this very trace and all that it speaks of is there.
std::optional<Opened> find(const std::string& trace, const Identity& identity,
                           const std::string& index_path) {
  if (index_path.empty()) return std::nullopt;
  Result<IndexFile> file = load(index_path, trace);
  if (!file || file->trace != identity) return std::nullopt;
  std::string events = trace;
  if (file->has_copy) {
    events = copy_of(index_path);
    const Result<Identity> copy = identity_of(events);
    if (!copy || *copy != file->copy) return std::nullopt;
  }
  Result<std::unique_ptr<EventFile>> opened = EventFile::open(events, file->index.chunks);
  if (!opened || (*opened)->names().table(Space::kThread).size() != file->index.threads) {
    return std::nullopt;
  }
  return Opened{std::move(file->index), std::move(*opened), false, index_path, {}};
}

/// Whether single events can be read from the file as it is.
Result<bool> has_events(const std::string& path, trace::Format format) {
  if (format != trace::Format::kSyn) return false;
  std::array<char, trace::kSynMagic.size()> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  if (std::memcmp(head.data(), trace::kSynMagic.data(), head.size()) != 0) return false;
  const Result<bool> recorded = trace::is_capture(path);
  if (!recorded) return recorded.error();
  return !*recorded;
}

/// A .syn file that gets its name when it is complete.
class Copy {
 public:
  ~Copy() {
    if (!part_.empty()) ::unlink(part_.c_str());
  }
  /// Of `trace`, for the index at `index_path`.
  Status begin(const std::string& trace, const std::string& index_path) {
    if (index_path.empty()) return Error{"there is no folder for it"};
    final_ = copy_of(index_path);
    struct stat there{};
    if (::lstat(final_.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) {
      return Error{fmt::format("{}: is a folder", final_)};
    }
    Result<trace::PartFile> part = trace::make_part(final_, mode_like(trace));
    if (!part) return part.error();
    part_ = std::move(part->name);
    Result<std::unique_ptr<trace::Sink>> sink = trace::write_syn(std::move(part->fd));
    if (!sink) return sink.error();
    sink_ = std::move(*sink);
    return {};
  }
  [[nodiscard]] bool wanted() const { return sink_ != nullptr; }
  Status append(const Batch& batch, const Names& names) {
    return sink_->append(batch.events, names);
  }
  Status commit() {
    if (const Status status = sink_->close(); !status) return status;
    if (std::rename(part_.c_str(), final_.c_str()) != 0) {
      return Error{fmt::format("{}: cannot give the finished file its name: {}", final_,
                               std::strerror(errno))};
    }
    part_.clear();
    return {};
  }
  [[nodiscard]] const std::string& path() const { return final_; }

 private:
  std::unique_ptr<trace::Sink> sink_;
  std::string final_;
  std::string part_;
};

Result<Index> read_all(trace::Source& source, Copy& copy, const OpenOptions& options) {
  IndexBuilder builder;
  EventNumber events = 0;
  for (;;) {
    const Result<Batch> batch = source.next();
    if (!batch) return batch.error();
    if (options.on_progress) options.on_progress(events, source.progress());
    if (batch->empty()) break;
    builder.take(*batch);
    if (copy.wanted()) {
      if (const Status status = copy.append(*batch, source.names()); !status) return status.error();
    }
    events += batch->events.size();
    if (options.interrupted && options.interrupted()) {
      return Error{fmt::format(
          "interrupted after {} events: the index is not complete, and not kept", events)};
    }
  }
  if (source.names().table(Space::kThread).size() > kMostThreads) {
    return Error{fmt::format("{} threads; expected at most {}",
                             source.names().table(Space::kThread).size(), kMostThreads)};
  }
  Index index = builder.finish();
  index.threads = source.names().table(Space::kThread).size();
  index.warnings = source.warnings();
  return index;
}

Result<Opened> build(const std::string& path, const Identity& identity,
                     const OpenOptions& options) {
  Result<trace::Input> input = trace::Input::open(path, {options.jobs});
  if (!input) return input.error();
  const Result<bool> direct = has_events(path, input->format());
  if (!direct) return direct.error();
  std::string index_path = index_beside(path);
  Copy copy;
  if (!*direct) {
    if (const Status beside = copy.begin(path, index_path); !beside) {
      index_path = index_in_cache(path);
      if (const Status cached = copy.begin(path, index_path); !cached) {
        return Error{
            fmt::format("exploring this trace needs a file beside it ({}) or in the cache folder "
                        "({}): set XDG_CACHE_HOME to a folder that can be written to",
                        beside.error().message, cached.error().message)};
      }
    }
  }
  Result<std::unique_ptr<trace::Source>> source = input->read();
  if (!source) return source.error();
  Result<Index> index = read_all(**source, copy, options);
  if (!index) return index.error();
  index->format = *direct || input->format() != trace::Format::kSyn
                      ? std::string(trace::name_of(input->format()))
                      : "recording";
  source->reset();
  if (copy.wanted()) {
    if (const Status status = copy.commit(); !status) return status.error();
  }
  const std::string& events = copy.wanted() ? copy.path() : path;
  Result<std::vector<ChunkPlace>> chunks = find_chunks(events);
  if (!chunks) return chunks.error();
  index->chunks = std::move(*chunks);
  Result<std::unique_ptr<EventFile>> file = EventFile::open(events, index->chunks);
  if (!file) return file.error();
  if ((*file)->events() != index->events) {
    return Error{"the trace has grown while it was read; try again when its recording has ended"};
  }
  Opened opened{{}, std::move(*file), true, index_path, {}};
  IndexFile kept{identity, copy.wanted(), {}, std::move(*index)};
  if (kept.has_copy) {
    const Result<Identity> found = identity_of(copy.path());
    if (!found) return found.error();
    kept.copy = *found;
  }
  Status saved = save(kept, index_path, path);
  if (!saved && !kept.has_copy) {
    opened.kept = index_in_cache(path);
    if (!opened.kept.empty()) saved = save(kept, opened.kept, path);
  }
  if (!saved) {
    opened.notes.push_back(fmt::format(
        "the index cannot be kept ({}): the next time it is built again", saved.error().message));
    opened.kept.clear();
  }
  opened.index = std::move(kept.index);
  return opened;
}

}  // namespace

Result<Opened> open_trace(const std::string& path, const OpenOptions& options) {
  const Result<Identity> identity = identity_of(path);
  if (!identity) return identity.error();
  std::optional<Opened> found = find(path, *identity, index_beside(path));
  if (!found) found = find(path, *identity, index_in_cache(path));
  if (found) return std::move(*found);
  return build(path, *identity, options);
}

}  // namespace syndrome::explore
